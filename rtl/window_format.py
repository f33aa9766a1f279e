"""The numpy model of convolution windows: what a load of them reads."""

from typing import NamedTuple

import numpy as np

from .commands import ADDRESS_BITS, Load, WindowRegister

__all__ = ["WindowReads", "Windows"]


class WindowReads(NamedTuple):
    """What a load of windows reads: `real` and `address` of each row and segment.

    Segment s has `size[s]` bytes of every row, from byte `offset[s]` on.
    """
    real: np.ndarray
    address: np.ndarray
    offset: np.ndarray
    size: np.ndarray

    @property
    def nbytes(self) -> int:
        """Real bytes of all rows; those of padding are not read."""
        return int((self.real.sum(axis=0) * self.size).sum())


class Windows:
    """The registers of a destination's windows, as loads set and use them.

    Parameters
    ----------
    output_stationary : bool
        Rows are elements of the windows, segments are output pixels; otherwise the reverse.
    """

    def __init__(self, output_stationary: bool):
        self._transposed = output_stationary
        self._registers: dict[WindowRegister, int] = dict.fromkeys(WindowRegister, 0)

    def configure(self, load: Load) -> None:
        """Set the register of a configuring load; steps may be negative."""
        half = 1 << ADDRESS_BITS - 1
        self._registers[load.configure] = (load.base ^ half) - half

    def reads(self, load: Load) -> WindowReads:
        """What a load of windows reads."""
        register = self._registers
        row_of, segment_of = self._pixels, self._taps
        if self._transposed:
            row_of, segment_of = segment_of, row_of
        row_y, row_x, row_address = row_of(load, load.rows)
        y, x, address = segment_of(load, load.segments)
        y = load.y + row_y[:, None] + y
        x = load.x + row_x[:, None] + x
        real = ((y >= 0) & (y < register[WindowRegister.HEIGHT])
                & (x >= 0) & (x < register[WindowRegister.WIDTH]))
        skip = np.where(np.arange(load.segments) == 0, load.skip, 0)
        run = register[WindowRegister.RUN_BYTES] - skip
        offset = np.concatenate(([0], np.cumsum(run)[:-1]))
        count = np.minimum(run, load.bytes_per_row - offset)
        address = load.base + row_address[:, None] + address + skip
        return WindowReads(real, address % (1 << ADDRESS_BITS), offset, count)

    def _pixels(self, load: Load, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Steps from the first of so many output pixels: down, right, and in bytes."""
        register = self._registers
        step = np.arange(number)
        wraps = (load.column + step) // (register[WindowRegister.COLUMNS] + 1)
        return (wraps * register[WindowRegister.ROW_Y],
                (step - wraps) * register[WindowRegister.COLUMN_X]
                + wraps * register[WindowRegister.ROW_X],
                (step - wraps) * register[WindowRegister.COLUMN_ADDRESS]
                + wraps * register[WindowRegister.ROW_ADDRESS])

    def _taps(self, load: Load, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Steps from the first of so many runs."""
        register = self._registers
        step = np.arange(number)
        taps = (load.run + step) // (register[WindowRegister.RUNS] + 1)
        rows = (load.tap + taps) // (register[WindowRegister.TAPS] + 1)
        return (rows * register[WindowRegister.KERNEL_ROW_Y],
                (taps - rows) * register[WindowRegister.TAP_X]
                + rows * register[WindowRegister.KERNEL_ROW_X],
                (step - taps) * register[WindowRegister.RUN_ADDRESS]
                + (taps - rows) * register[WindowRegister.TAP_ADDRESS]
                + rows * register[WindowRegister.KERNEL_ROW_ADDRESS])
