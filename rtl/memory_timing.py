"""Timing of the memory channel: one formula, as Python and as Amaranth expressions."""

from dataclasses import dataclass
from fractions import Fraction

from amaranth import Const, Mux

from .checks import ceil_div

__all__ = ["MemoryTiming"]


@dataclass(frozen=True)
class MemoryTiming:
    """How long a descriptor occupies the channel and its write port.

    A descriptor of n = ceil(bytes / s) transactions occupies the channel for

        floor((n-1)/N) * max(N b, b + L) + ((n-1) mod N) * b + l  cycles, rounded up once,

    with s = `transaction_bytes`, N = `outstanding` tags, L = `latency` and, for a bandwidth of B
    bytes per cycle, b = s / B, l = (bytes of the last transaction) / B. It equals a simulation in
    which every transaction takes one of N tags from its start to L cycles after its end
    (chapter 4.3.3, Little's law). Arithmetic is in units of 1 / numerator(B) cycles. Unlimited
    bandwidth: 1 cycle.

    Parameters
    ----------
    bandwidth : Fraction or None
        Bytes per cycle; None is unlimited.
    latency, outstanding, transaction_bytes, port_rows : int
        Cycles, tags, bytes, rows per cycle of a buffer's write port; that of the vector slots
        takes one row.
    """

    bandwidth: Fraction | None
    latency: int
    outstanding: int
    transaction_bytes: int
    port_rows: int

    @classmethod
    def of(cls, design):
        """The timing of the channel that `design` (a :class:`Design`) asks for."""
        return cls(design.memory_bandwidth, design.memory_latency_cycles,
                   design.memory_outstanding, design.memory_transaction_bytes,
                   design.buffer_port_rows)

    def _occupancy(self, nbytes, divide):
        """The formula over any operands: `divide(value, n)` is the quotient by a constant."""
        full = divide(nbytes - 1, self.transaction_bytes)
        last_bytes = nbytes - full * self.transaction_bytes
        per_cycle, per_byte = self.bandwidth.numerator, self.bandwidth.denominator
        transaction = self.transaction_bytes * per_byte
        window = max(self.outstanding * transaction, transaction + self.latency * per_cycle)
        windows = divide(full, self.outstanding)
        units = (windows * window + (full - windows * self.outstanding) * transaction
                 + last_bytes * per_byte)
        return divide(units + (per_cycle - 1), per_cycle)

    def occupancy(self, nbytes):
        """Cycles for which a descriptor of `nbytes` bytes occupies the channel; 1 for none."""
        if self.bandwidth is None or nbytes == 0:
            return 1
        return self._occupancy(nbytes, lambda value, n: value // n)

    def beats(self, rows, vector=False, segments=1):
        """Beats in which `rows` rows arrive; `vector`: at the vector slots.

        A load of windows takes as many for each of the `segments` that its rows are made of.
        """
        return (rows if vector else ceil_div(rows, self.port_rows)) * segments

    def hold(self, nbytes, rows, vector=False, segments=1):
        """Cycles for which a load of `rows` rows holds its destination's write port."""
        return max(self.occupancy(nbytes), self.beats(rows, vector, segments))

    def transactions(self, rows, bytes_per_row, row_stride):
        """Bus transactions of a descriptor: rows that adjoin each other share them.

        Rows with a gap between them cannot, so each needs ceil(bytes_per_row / s) of its own.
        """
        if rows == 1 or row_stride == bytes_per_row:
            return ceil_div(rows * bytes_per_row, self.transaction_bytes)
        return rows * ceil_div(bytes_per_row, self.transaction_bytes)

    def load_transactions(self, load):
        """Bus transactions of a :class:`Load`; what windows read counts as adjoining."""
        if load.window or not load.nbytes:
            return ceil_div(load.nbytes, self.transaction_bytes)
        return self.transactions(load.rows, load.bytes_per_row, load.row_stride)

    # -- the same as Amaranth values -----------------------------------------------------------

    def occupancy_value(self, nbytes):
        """`occupancy` of an unsigned Amaranth value."""
        if self.bandwidth is None:
            return Const(1)
        return Mux(nbytes == 0, 1, self._occupancy(nbytes, _divide))

    def beats_value(self, rows, vector, segments):
        """`beats` of Amaranth values."""
        return segments * Mux(vector, rows,
                              _divide(rows + (self.port_rows - 1), self.port_rows))

    def transactions_value(self, nbytes, rows, bytes_per_row, row_stride, adjoining):
        """`transactions` of Amaranth values; `adjoining`: whatever the rows are."""
        s = self.transaction_bytes
        joined = (rows == 1) | (row_stride == bytes_per_row) | adjoining
        return Mux(joined, _divide(nbytes + (s - 1), s),
                   rows * _divide(bytes_per_row + (s - 1), s))


def _divide(value, n):
    """Quotient of a value that is never negative by a constant."""
    value = value.as_unsigned()
    if n & (n - 1) == 0:
        return value[n.bit_length() - 1:]
    return value // n
