"""What a descriptor costs the memory channel."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .commands import ADDRESS_BITS
from .memory_timing import MemoryTiming

__all__ = ["COST_BITS", "MemoryCost"]

COST_BITS = 40  # bytes, transactions and cycles of one descriptor


class MemoryCost(wiring.Component):
    """Bytes, transactions, occupancy and beats of a descriptor; combinational.

    Parameters
    ----------
    timing : MemoryTiming
    row_bits, row_bytes_bits, segment_bits : int
        Bits of a number of rows, of the bytes of a row, and of the segments of a row.

    Members
    -------
    rows, bytes_per_row, row_stride : In
        The descriptor.
    vector : In(1)
        It is a load into the vector slots.
    window, bytes, segments : In
        It is a load of windows; then what it counts, and the segments of its rows. Otherwise 1.
    configure : In(1)
        It is a configuring load.
    nbytes, transactions, occupancy, beats : Out(COST_BITS)
        Real bytes, bus transactions, cycles of the channel, and beats at the destination.
    """

    def __init__(self, *, timing, row_bits, row_bytes_bits, segment_bits):
        self._timing = timing
        super().__init__({
            "rows": In(row_bits),
            "bytes_per_row": In(row_bytes_bits),
            "row_stride": In(ADDRESS_BITS),
            "vector": In(1),
            "window": In(1),
            "configure": In(1),
            "bytes": In(row_bits + row_bytes_bits),
            "segments": In(segment_bits),
            "nbytes": Out(COST_BITS),
            "transactions": Out(COST_BITS),
            "occupancy": Out(COST_BITS),
            "beats": Out(COST_BITS),
        })

    @property
    def timing(self) -> MemoryTiming:
        return self._timing

    def elaborate(self, platform):
        m = Module()
        nbytes = Signal(len(self.rows) + len(self.bytes_per_row))
        m.d.comb += [
            nbytes.eq(Mux(self.configure, 0,
                          Mux(self.window, self.bytes, self.rows * self.bytes_per_row))),
            self.nbytes.eq(nbytes),
            self.transactions.eq(self._timing.transactions_value(
                nbytes, self.rows, self.bytes_per_row, self.row_stride,
                self.window | self.configure)),
            self.occupancy.eq(self._timing.occupancy_value(nbytes)),
            self.beats.eq(Mux(self.configure, 1, self._timing.beats_value(
                self.rows, self.vector, self.segments))),
        ]
        return m
