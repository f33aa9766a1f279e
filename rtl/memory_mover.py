"""Delivers the data of loads to one destination, when the channel's timing says so."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .commands import ADDRESS_BITS, operand_tag, request_layout

__all__ = ["MemoryMover", "TIME_BITS", "transfer_layout"]

TIME_BITS = 48  # cycles since reset, in the channel


def transfer_layout(design):
    """A started load: its request and the cycle in which its first rows are read."""
    return data.StructLayout({"request": request_layout(design, "load"),
                              "first_at": TIME_BITS})


class MemoryMover(wiring.Component):
    """Reads the rows of a load from the storage and hands them over, `lanes` a beat.

    Latency from `first_at` to the first beat: `LATENCY`; one beat per cycle without gaps; the
    destination never stalls.

    Parameters
    ----------
    design : Design
    row_bits : int
        Bits of a row at the destination.
    line_bytes : int
        Bytes that the storage returns for an address.
    lanes : int
        Rows of a beat.

    Members
    -------
    i : In(stream.Signature(transfer_layout))
        Started loads, in order.
    now : In(TIME_BITS)
    address, enable : Out
        Row addresses for the storage, one a lane.
    data : In
        What the storage returns, one cycle later.
    o : Out(stream, always_ready)
        Beats, see :func:`beat_layout`. Bits above a row's real bytes, and rows above `count`,
        are zero.
    bytes : Out
        Real bytes of each row of the beat.
    under_way : Out(1)
        Some load is not wholly delivered.
    """

    LATENCY = 1  # cycles from reading rows to their beat on `o`

    def __init__(self, *, design, row_bits, line_bytes, lanes):
        check_integer("lanes", lanes, 1, 16)
        self._row_bits, self._lanes = row_bits, lanes
        beat = data.StructLayout({
            "rows": data.ArrayLayout(row_bits, lanes), "count": range(lanes + 1), "first": 1,
            "last": 1, "tag": operand_tag(design)})
        request = request_layout(design, "load")
        super().__init__({
            "i": In(stream.Signature(transfer_layout(design))),
            "now": In(TIME_BITS),
            "address": Out(data.ArrayLayout(ADDRESS_BITS, lanes)),
            "enable": Out(lanes),
            "data": In(data.ArrayLayout(8 * line_bytes, lanes)),
            "o": Out(stream.Signature(beat, always_ready=True)),
            "bytes": Out(request["bytes_per_row"].shape),
            "under_way": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self._lanes
        head, beat = self.i.payload, self.o.payload
        current = Signal.like(head.request)
        rest = Signal.like(head.request)
        active = Signal()
        due = Signal()
        reads = Signal()
        last = Signal()
        m.d.comb += [
            due.eq(self.i.valid & ~active & (self.now >= head.first_at)),
            self.i.ready.eq(due),
            current.eq(Mux(active, rest, head.request)),
            reads.eq(active | due),
            last.eq(current.rows <= lanes),
            self.under_way.eq(self.i.valid | active | self.o.valid),
        ]
        with m.If(reads):
            m.d.sync += [
                rest.eq(current),
                rest.base.eq(current.base + lanes * current.row_stride),
                rest.rows.eq(current.rows - lanes),
                active.eq(~last),
            ]
        m.d.sync += self.o.valid.eq(reads)
        row_mask = Signal(self._row_bits)
        first_read = Signal()
        last_read = Signal()
        count = Signal.like(beat.count, name="count")
        tag = Signal.like(beat.tag, name="tag")
        m.d.comb += [beat.first.eq(first_read), beat.last.eq(last_read), beat.count.eq(count),
                     beat.tag.eq(tag)]
        with m.If(reads):
            m.d.sync += [
                first_read.eq(due),
                last_read.eq(last),
                count.eq(Mux(last, current.rows, lanes)),
                tag.eq(current.tag),
                self.bytes.eq(current.bytes_per_row),
                row_mask.eq((1 << (current.bytes_per_row << 3)) - 1),
            ]
        for lane in range(lanes):
            row = self.data[lane][:self._row_bits] & row_mask
            m.d.comb += [
                self.address[lane].eq(current.base + lane * current.row_stride),
                self.enable[lane].eq(reads & (current.rows > lane)),
                beat.rows[lane].eq(Mux(count > lane, row, 0)),
            ]
        return m
