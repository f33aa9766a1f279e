"""Store: moves finished rows of a bank or vector slot to memory."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .commands import ADDRESS_BITS, request_layout, row_layout, store_layout
from .status import StoreStatus
from .vector_commands import vector_element_bits, vector_slot_elements, vector_slots

__all__ = ["StoreUnit"]


class StoreUnit(wiring.Component):
    """Requests the store at the head of its queue when its result is there, then reads the rows.

    The result of a bank is there when the bank is full, that of a vector slot when the slot holds
    one or, without `wait`, at once; it is used up at the start. One row is read per cycle from
    the cycle in which the descriptor starts; the bank or slot is freed, unless the store is to
    `keep` it, and the next store may be requested, when all rows are read and the descriptor has
    left the channel.

    Status, first that applies: `BUSY` a store reads its rows or occupies the channel; without a
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
    results : In(vector_slots)
        One bit a vector slot: it holds a result.
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
    vector_read, use, vector_release : Out(1), vector_slot, vector_unit, vector_address : Out
        The same for a vector slot; `use`: its result is used up.
    vector_data : In(ArrayLayout(element, cols))
    write : Out(stream, always_ready)
        Rows for memory, each with its address and real bytes.
    status : Out(StoreStatus)
    """

    LATENCY = 0      # cycles from a full bank to the request
    ROW_LATENCY = 2  # cycles from reading a row to writing it

    def __init__(self, *, design):
        self._design = design
        super().__init__({
            "i": In(stream.Signature(store_layout(design))),
            "o": Out(stream.Signature(request_layout(design, "store"))),
            "banks_full": In(design.accumulator_banks),
            "results": In(vector_slots(design)),
            "stays": In(1),
            "under_way": In(1),
            "read": Out(1),
            "bank": Out(range(design.accumulator_banks)),
            "row": Out(range(design.accumulator_rows)),
            "release": Out(1),
            "data": In(design.cols * design.accumulator_bits),
            "vector_read": Out(1),
            "vector_slot": Out(range(vector_slots(design))),
            "vector_unit": Out(range(design.vector_units)),
            "vector_address": Out(range(vector_slot_elements(design))),
            "use": Out(1),
            "vector_release": Out(1),
            "vector_data": In(data.ArrayLayout(signed(vector_element_bits(design)),
                                               design.cols)),
            "write": Out(stream.Signature(row_layout(design), always_ready=True)),
            "status": Out(StoreStatus),
        })

    def elaborate(self, platform):
        m = Module()
        store, request = self.i.payload, self.o.payload
        active = Signal()                                      # started, not yet done
        count = Signal(range(self._design.accumulator_rows + 1))  # rows read
        there = Signal()
        starts = Signal()
        reading = Signal()
        all_read = Signal()
        ends = Signal()
        address = Signal(ADDRESS_BITS)
        m.d.comb += [
            there.eq(Mux(store.vector, ~store.wait | self.results.bit_select(store.bank, 1),
                         self.banks_full.bit_select(store.bank, 1))),
            self.o.valid.eq(self.i.valid & there & ~active),
            request.base.eq(store.base),
            request.rows.eq(store.rows),
            request.bytes_per_row.eq(store.bytes_per_row),
            request.row_stride.eq(store.row_stride),
            starts.eq(self.o.valid & self.o.ready),
            reading.eq(starts | (active & (count != store.rows))),
            # After this cycle, if the store is active or starts, which the memory decides.
            all_read.eq((count + 1 == store.rows) | (active & (count == store.rows))),
            self.read.eq(reading & ~store.vector),
            self.bank.eq(store.bank),
            self.row.eq(store.acc_row + count),
            ends.eq((starts | active) & all_read & ~self.stays),
            self.release.eq(ends & ~store.vector & ~store.keep),
            self.i.ready.eq(ends),
        ]
        with m.If(ends):
            m.d.sync += [active.eq(0), count.eq(0)]
        with m.Else():
            m.d.sync += [active.eq(starts | active), count.eq(count + reading)]
        with m.If(reading):
            m.d.sync += address.eq(Mux(active, address + store.row_stride, store.base))
        self._elaborate_vector(m, active, starts, reading, ends)
        self._elaborate_write(m, reading, address)

        with m.If(starts | active):
            m.d.comb += self.status.eq(StoreStatus.BUSY)
        with m.Elif(~self.i.valid):
            m.d.comb += self.status.eq(Mux(self.under_way, StoreStatus.DRAIN,
                                           StoreStatus.IDLE))
        with m.Elif(~there):
            m.d.comb += self.status.eq(StoreStatus.RESULT)
        with m.Else():
            m.d.comb += self.status.eq(StoreStatus.MEMORY)
        return m

    def _elaborate_vector(self, m, active, starts, reading, ends):
        """Rows of a vector slot: each unit in turn, then the next address."""
        store = self.i.payload
        unit = Signal.like(self.vector_unit)
        place = Signal.like(self.vector_address)
        m.d.comb += [
            self.vector_read.eq(reading & store.vector),
            self.vector_slot.eq(store.bank),
            self.vector_unit.eq(Mux(active, unit, 0)),
            self.vector_address.eq(Mux(active, place, store.acc_row)),
            self.use.eq(starts & store.vector & store.wait),
            self.vector_release.eq(ends & store.vector & ~store.keep),
        ]
        with m.If(self.vector_read):
            last_unit = self.vector_unit == self._design.vector_units - 1
            m.d.sync += [
                unit.eq(Mux(last_unit, 0, self.vector_unit + 1)),
                place.eq(self.vector_address + Mux(last_unit, store.pitch, 0)),
            ]

    def _elaborate_write(self, m, reading, address):
        """What is read comes in the next cycle and is registered; then it becomes a row."""
        store, row = self.i.payload, self.write.payload
        what = {"bytes": store.bytes_per_row, "vector": store.vector,
                "element_bytes": store.element_bytes}
        read, written = ({name: Signal.like(value, name=f"{stage}_{name}")
                          for name, value in what.items()} for stage in ("read", "written"))
        written_address = Signal.like(address)
        comes = Signal()
        accumulators = Signal.like(self.data)
        elements = Signal.like(self.vector_data)
        m.d.sync += [comes.eq(reading), self.write.valid.eq(comes)]
        with m.If(reading):
            m.d.sync += [read[name].eq(value) for name, value in what.items()]
        with m.If(comes):
            m.d.sync += [written[name].eq(read[name]) for name in what]
            m.d.sync += written_address.eq(address)
            with m.If(read["vector"]):
                m.d.sync += elements.eq(self.vector_data)
            with m.Else():
                m.d.sync += accumulators.eq(self.data)
        m.d.comb += [row.address.eq(written_address), row.bytes.eq(written["bytes"])]
        with m.If(~written["vector"]):
            m.d.comb += row.data.eq(self._accumulators(accumulators))
        with m.Else():
            with m.Switch(written["element_bytes"]):
                for size in range(1, 8):
                    with m.Case(size):
                        m.d.comb += row.data.eq(self._elements(elements, 8 * size))

    def _accumulators(self, row):
        """The row with each accumulator sign-extended to whole bytes."""
        bits, width = self._design.accumulator_bits, 8 * self._design.result_element_bytes
        if width == bits:
            return row
        words = [row[col * bits:(col + 1) * bits].as_signed()
                 for col in range(self._design.cols)]
        return Cat(Cat(word, word[-1].replicate(width - bits)) for word in words)

    def _elements(self, row, width):
        """The row with `width` low bits of each element, as far as it is written."""
        words = []
        for element in row:
            missing = max(0, width - len(element))
            words.append(Cat(element[:width], element[-1].replicate(missing)))
        return Cat(*words)[:len(self.write.payload.data)]
