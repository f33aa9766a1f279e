"""Store: moves finished accumulator rows to memory."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .commands import ADDRESS_BITS, request_layout, row_layout, store_layout
from .status import StoreStatus

__all__ = ["StoreUnit"]


class StoreUnit(wiring.Component):
    """Requests the store at the head of its queue when its bank is full, then reads the bank.

    One row is read per cycle from the cycle in which the descriptor starts; the bank is freed,
    and the next store may be requested, when all rows are read and the descriptor has left the
    channel.

    Status, first that applies: `BUSY` a store reads its bank or occupies the channel; without a
    command `DRAIN`, `IDLE`; with one `RESULT`, `MEMORY`.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(stream.Signature(store_layout))
        Stores.
    o : Out(stream.Signature(request_layout))
        Requests.
    banks_full : In(accumulator_banks)
        One bit a bank.
    stays : In(1)
        The store that occupies the channel still does so in the next cycle.
    under_way : In(1)
        Some write is not complete.
    read : Out(1), bank, row : Out
        Read an accumulator row.
    release : Out(1)
        The bank is free after this cycle.
    data : In(cols * accumulator)
        The row read in the cycle before.
    write : Out(stream, always_ready)
        Rows for memory, each with its address and real bytes.
    status : Out(StoreStatus)
    """

    LATENCY = 0  # cycles from a full bank to the request

    def __init__(self, *, design):
        self._design = design
        super().__init__({
            "i": In(stream.Signature(store_layout(design))),
            "o": Out(stream.Signature(request_layout(design, "store"))),
            "banks_full": In(design.accumulator_banks),
            "stays": In(1),
            "under_way": In(1),
            "read": Out(1),
            "bank": Out(range(design.accumulator_banks)),
            "row": Out(range(design.accumulator_rows)),
            "release": Out(1),
            "data": In(design.cols * design.accumulator_bits),
            "write": Out(stream.Signature(row_layout(design), always_ready=True)),
            "status": Out(StoreStatus),
        })

    def elaborate(self, platform):
        m = Module()
        design = self._design
        store, request = self.i.payload, self.o.payload
        active = Signal()                                      # started, not yet done
        count = Signal(range(design.accumulator_rows + 1))     # rows read
        full = Signal()
        starts = Signal()
        reading = Signal()
        all_read = Signal()
        address = Signal(ADDRESS_BITS)
        m.d.comb += [
            full.eq(self.banks_full.bit_select(store.bank, 1)),
            self.o.valid.eq(self.i.valid & full & ~active),
            request.base.eq(store.base),
            request.rows.eq(store.rows),
            request.bytes_per_row.eq(store.bytes_per_row),
            request.row_stride.eq(store.row_stride),
            starts.eq(self.o.valid & self.o.ready),
            reading.eq(starts | (active & (count != store.rows))),
            all_read.eq((count + reading) == store.rows),
            self.read.eq(reading),
            self.bank.eq(store.bank),
            self.row.eq(store.acc_row + count),
            self.release.eq((starts | active) & all_read & ~self.stays),
            self.i.ready.eq(self.release),
        ]
        with m.If(self.release):
            m.d.sync += [active.eq(0), count.eq(0)]
        with m.Else():
            m.d.sync += [active.eq(starts | active), count.eq(count + reading)]
        with m.If(reading):
            m.d.sync += address.eq(Mux(starts, store.base, address + store.row_stride))

        # The row's data arrives in the next cycle, with the address registered beside it.
        row_bytes = Signal.like(store.bytes_per_row)
        m.d.sync += [self.write.valid.eq(reading), row_bytes.eq(store.bytes_per_row)]
        m.d.comb += [
            self.write.payload.address.eq(address),
            self.write.payload.bytes.eq(row_bytes),
            self.write.payload.data.eq(self._bytes()),
        ]

        with m.If(starts | active):
            m.d.comb += self.status.eq(StoreStatus.BUSY)
        with m.Elif(~self.i.valid):
            m.d.comb += self.status.eq(Mux(self.under_way, StoreStatus.DRAIN,
                                           StoreStatus.IDLE))
        with m.Elif(~full):
            m.d.comb += self.status.eq(StoreStatus.RESULT)
        with m.Else():
            m.d.comb += self.status.eq(StoreStatus.MEMORY)
        return m

    def _bytes(self):
        """The row with each accumulator sign-extended to whole bytes."""
        bits, width = self._design.accumulator_bits, 8 * self._design.result_element_bytes
        words = [self.data[col * bits:(col + 1) * bits].as_signed()
                 for col in range(self._design.cols)]
        if width == bits:
            return self.data
        return Cat(Cat(word, word[-1].replicate(width - bits)) for word in words)
