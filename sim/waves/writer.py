"""Writes a VCD file cycle by cycle, so that it is valid whenever it is closed."""

import io
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from vcd import VCDWriter
from vcd.writer import Variable

from ..errors import OptionError

__all__ = ["VERSION", "VcdFile", "half_period"]

VERSION = "cubewave waves 1"  # in the header; what says that a file is ours

_TIMESCALES = (("1 ns", 10 ** 9), ("1 ps", 10 ** 12), ("1 fs", 10 ** 15))


def half_period(clock_hz: int) -> tuple[str, int]:
    """Timescale, and half a clock period in it.

    The coarsest of ns, ps and fs in which half a period is whole; in fs it is rounded.
    """
    half = Fraction(1)
    for name, per_second in _TIMESCALES:
        half = Fraction(per_second, 2 * clock_hz)
        if half.denominator == 1:
            return name, int(half)
    return name, max(1, round(half))


class VcdFile:
    """A VCD file with a clock.

    Cycle k lasts from k to k + 1 periods. All its values change at its start, where `clk` falls;
    the active edge of `clk` rises in its middle, where nothing else changes. Only whole cycles
    reach the file, so what an interrupt leaves behind is a shorter waveform.

    Parameters
    ----------
    path : str
    clock_hz : int
    first_cycle : int
        The file's first cycle; its time stamps start there.
    comment : str
        For the header.

    Raises
    ------
    OptionError
        The file cannot be written.
    """

    def __init__(self, path: str, *, clock_hz: int, first_cycle: int, comment: str) -> None:
        timescale, self._half = half_period(clock_hz)
        try:
            self._file = open(path, "w", encoding="ascii", newline="\n")
        except OSError as error:
            raise OptionError(f"vcd {os.fspath(path)}: cannot be written: "
                              f"{error.strerror}") from None
        self._buffer = io.StringIO()
        self._writer = VCDWriter(
            self._buffer, timescale=timescale, date="", version=VERSION, check_values=False,
            comment=f"period {2 * self._half}\n{comment}",
            init_timestamp=2 * self._half * first_cycle)
        self._clk = self._writer.register_var("machine", "clk", "wire", 1, init=0)
        self._end = 2 * self._half * first_cycle  # where the last whole cycle ends
        #: Some cycle has been written.
        self.has_cycles = False

    def number(self, scope: Sequence[str], name: str, width: int, *,
               register: bool = False) -> Variable[Any]:
        """Declare a numeric variable."""
        kind = "reg" if register else "wire"
        return self._writer.register_var(scope, name, kind, max(1, width), init=0)

    def text(self, scope: Sequence[str], name: str) -> Variable[Any]:
        """Declare a text variable. GTKWave shows them; some readers skip them."""
        return self._writer.register_var(scope, name, "string", init="-")

    def alias(self, scope: Sequence[str], name: str, variable: Variable[Any]) -> None:
        """Declare a second name of a variable."""
        self._writer.register_alias(scope, name, variable)

    def write_cycle(self, cycle: int, changes) -> None:
        """Write one cycle.

        Parameters
        ----------
        cycle : int
        changes : iterable of (Variable, value)
            Values of this cycle; those that equal the ones before cost no space.
        """
        start = 2 * self._half * cycle
        change = self._writer.change
        change(self._clk, start, 0)
        for variable, value in changes:
            change(variable, start, value)
        change(self._clk, start + self._half, 1)
        self._end = start + 2 * self._half
        self.has_cycles = True
        self._flush()

    def _flush(self) -> None:
        buffer = self._buffer
        self._file.write(buffer.getvalue())
        buffer.seek(0)
        buffer.truncate()

    def close(self) -> None:
        """End the waveform after the last whole cycle; may be called again."""
        if self._file.closed:
            return
        with self._file:
            if self.has_cycles:
                self._buffer.seek(0)
                self._buffer.truncate()
                self._file.write(f"#{self._end}\n0{self._clk.ident}\n")
            else:
                self._writer.close()
                self._flush()
