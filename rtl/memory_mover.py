"""Delivers the data of loads to one destination, when the channel's timing says so."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .commands import ADDRESS_BITS, WindowRegister, operand_tag, request_layout
from .stand_in import left_out
from .window_addresses import WindowAddresses

__all__ = ["MemoryMover", "TIME_BITS", "transfer_layout"]

TIME_BITS = 48  # cycles since reset, in the channel


def transfer_layout(design):
    """A started load: its request and the cycle in which its first rows are read."""
    return data.StructLayout({"request": request_layout(design, "load"),
                              "first_at": TIME_BITS})


class MemoryMover(wiring.Component):
    """Reads the rows of a load from the storage and hands them over, `lanes` a beat.

    Latency from `first_at` to the first beat: `LATENCY`; one beat per cycle without gaps; the
    destination never stalls. The rows of a load of windows come a segment a cycle, and make a
    beat with their last one; a configuring load takes a cycle and makes none.

    Parameters
    ----------
    design : Design
    row_bits : int
        Bits of a row at the destination.
    line_bytes : int
        Bytes that the storage returns for an address.
    lanes : int
        Rows of a beat.
    window_bytes : int
        Most bytes of a row of windows; 0 for a destination that never gets any.
    window_element_bits : int
        What is kept of each of their elements, of `design.activation_bytes` bytes; 0: all.

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
    windows_read : Out
        Bytes of windows that are read in this cycle, those in the image.
    under_way : Out(1)
        Some load is not wholly delivered.
    """

    LATENCY = 1  # cycles from reading rows to their beat on `o`

    def __init__(self, *, design, row_bits, line_bytes, lanes, window_bytes=0,
                 window_element_bits=0):
        check_integer("lanes", lanes, 1, 16)
        self._design, self._row_bits, self._lanes = design, row_bits, lanes
        self._window_bytes, self._element_bits = window_bytes, window_element_bits
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
            "windows_read": Out(range(max(1, lanes * window_bytes) + 1)),
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
        whole = Signal(init=1)  # what is read completes rows
        last = Signal()
        configures = Signal()
        configured = Signal()
        m.d.comb += [
            due.eq(self.i.valid & ~active & (self.now >= head.first_at)),
            self.i.ready.eq(due),
            current.eq(Mux(active, rest, head.request)),
            configures.eq(due & (head.request.configure != WindowRegister.NONE)),
            reads.eq((active | due) & ~configures),
            last.eq(whole & (current.rows <= lanes)),
            self.under_way.eq(self.i.valid | active | self.o.valid | configured),
        ]
        m.d.sync += configured.eq(configures)
        with m.If(reads):
            m.d.sync += [rest.eq(current), active.eq(~last)]
            with m.If(whole):
                m.d.sync += [
                    rest.base.eq(current.base + lanes * current.row_stride),
                    rest.rows.eq(current.rows - lanes),
                ]
        first = Signal()    # nothing of the load has made a beat
        waited = Signal()
        first_read = Signal()
        last_read = Signal()
        count = Signal.like(beat.count, name="count")
        tag = Signal.like(beat.tag, name="tag")
        m.d.comb += [first.eq(due | waited), beat.first.eq(first_read), beat.last.eq(last_read),
                     beat.count.eq(count), beat.tag.eq(tag)]
        m.d.sync += self.o.valid.eq(reads & whole)
        with m.If(reads):
            m.d.sync += [
                waited.eq(first & ~whole),
                first_read.eq(first),
                last_read.eq(last),
                count.eq(Mux(current.rows <= lanes, current.rows, lanes)),
                tag.eq(current.tag),
                self.bytes.eq(current.bytes_per_row),
            ]
        rows = self._plain_rows(m, current, reads)
        if self._window_bytes and not left_out(platform, WindowAddresses):
            rows = self._window_rows(m, current, due, reads, configures, whole, rows)
        for lane in range(lanes):
            m.d.comb += beat.rows[lane].eq(Mux(count > lane, rows[lane], 0))
        return m

    def _plain_rows(self, m, current, reads):
        """Reads rows that lie in memory; what has been read of each lane."""
        row_mask = Signal(self._row_bits)
        with m.If(reads):
            m.d.sync += row_mask.eq((1 << (current.bytes_per_row << 3)) - 1)
        for lane in range(self._lanes):
            m.d.comb += [
                self.address[lane].eq(current.base + lane * current.row_stride),
                self.enable[lane].eq(reads & (current.rows > lane)),
            ]
        return [self.data[lane][:self._row_bits] & row_mask for lane in range(self._lanes)]

    def _window_rows(self, m, current, due, reads, configures, whole, plain):
        """Reads segments of windows and puts them together; rows of either kind."""
        lanes, nbytes = self._lanes, self._window_bytes
        m.submodules.windows = windows = WindowAddresses(design=self._design, lanes=lanes)
        steps = Signal()
        read = Signal()
        element = Signal(8 * self._design.activation_bytes)
        padding = Signal(8 * nbytes)
        mask = Signal(nbytes)
        continues = Signal()
        m.d.comb += [
            windows.request.eq(current),
            windows.first.eq(due),
            windows.step.eq(steps),
            windows.configure.eq(configures),
            steps.eq(reads & current.window),
            whole.eq(~current.window | windows.last_segment),
            element.eq(windows.padding),
            padding.eq(element.replicate(nbytes // self._design.activation_bytes)),
            self.windows_read.eq(sum(
                Mux(steps & windows.real[lane] & (current.rows > lane), windows.count, 0)
                for lane in range(lanes))),
        ]
        m.d.sync += read.eq(reads & current.window)
        with m.If(steps):
            m.d.sync += [
                mask.eq(((1 << windows.count) - 1) << windows.offset),
                continues.eq(~windows.first_segment),
            ]
        bit_mask = Cat(byte.replicate(8) for byte in mask)
        rows = []
        for lane in range(lanes):
            real = Signal(name=f"real_{lane}")
            before = Signal(8 * nbytes, name=f"before_{lane}")
            row = Signal(8 * nbytes, name=f"row_{lane}")
            m.d.sync += real.eq(windows.real[lane])
            with m.If(current.window):
                m.d.comb += [
                    self.address[lane].eq(windows.address[lane]),
                    self.enable[lane].eq(reads & (current.rows > lane) & windows.real[lane]),
                ]
            m.d.comb += row.eq(
                (Mux(real, self.data[lane][:8 * nbytes], padding) & bit_mask)
                | Mux(continues, before, 0))
            with m.If(read):
                m.d.sync += before.eq(row)
            rows.append(Mux(read, self._kept(row), plain[lane]))
        return rows

    def _kept(self, row):
        """The bits of a row's elements that the destination takes."""
        size = 8 * self._design.activation_bytes
        if self._element_bits in (0, size):
            return row
        return Cat(row[start:start + self._element_bits] for start in range(0, len(row), size))
