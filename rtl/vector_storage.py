# amaranth: UnusedElaboratable=no
"""All vector slots of one vector unit, with the ways to them."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from .checks import ceil_log2
from .choice import chosen
from .vector_commands import vector_element_bits, vector_slot_elements, vector_slots
from .vector_slot import VectorSlot, bank_rows, rotated, vector_word

__all__ = ["VectorStorage", "read_signature", "write_signature"]


def read_signature(design):
    """A request for the elements from an address on, there `VectorStorage.LATENCY` cycles later."""
    return wiring.Signature({
        "en": wiring.Out(1),
        "slot": wiring.Out(range(vector_slots(design))),
        "address": wiring.Out(range(vector_slot_elements(design))),
        "data": wiring.In(data.ArrayLayout(signed(vector_element_bits(design)),
                                           vector_word(design)))})


def write_signature(design):
    """`count` elements to be written from an address on; 0: nothing."""
    word = vector_word(design)
    return wiring.Signature({
        "count": wiring.Out(range(word + 1)),
        "slot": wiring.Out(range(vector_slots(design))),
        "address": wiring.Out(range(vector_slot_elements(design))),
        "data": wiring.Out(data.ArrayLayout(signed(vector_element_bits(design)), word))})


class VectorStorage(wiring.Component):
    """Joins readers and writers with the slots' ports.

    Each slot has one read and one write port, or two of each with two engines: the first for
    engine 0, hand-off, load and store, the second for engine 1. Two accesses to one port in the
    same cycle are the program's error: one is lost.

    Latency `LATENCY` from a request to its data; never stalls.

    Parameters
    ----------
    design : Design
    engines : int
        1 or 2.

    Members
    -------
    read_a_<engine>, read_b_<engine>, read_handoff, read_store : In(read_signature)
    write_<engine>, write_handoff, write_load : In(write_signature)
    """

    LATENCY = VectorSlot.LATENCY  # cycles from a request to its elements

    def __init__(self, *, design, engines):
        self._design, self._engines = design, engines
        self.slots = [VectorSlot(design=design, ports=engines)
                      for _ in range(vector_slots(design))]
        # In the order in which it is known whether they read or write, the last one first: the
        # address is the first one's unless another one chooses.
        self._readers = {"read_store": 0, "read_handoff": 0}
        for engine in range(engines):
            self._readers |= {f"read_a_{engine}": engine, f"read_b_{engine}": engine}
        self._writers = {f"write_{engine}": engine for engine in range(engines)}
        self._writers |= {"write_handoff": 0, "write_load": 0}
        super().__init__({**{name: In(read_signature(design)) for name in self._readers},
                          **{name: In(write_signature(design)) for name in self._writers}})

    def elaborate(self, platform):
        m = Module()
        for number, slot in enumerate(self.slots):
            m.submodules[f"slot_{number}"] = slot
        rows = {name: self._elaborate_rows(m, name) for name in (*self._readers, *self._writers)}
        writes = {name: self._elaborate_writer(m, name) for name in self._writers}
        for number, slot in enumerate(self.slots):
            for port in range(self._engines):
                self._elaborate_read_port(m, number, slot, port, rows)
                self._elaborate_write_port(m, number, slot, port, rows, writes)
        for name, port in self._readers.items():
            self._elaborate_reader(m, name, port)
        return m

    def _elaborate_rows(self, m, name):
        """The row of each bank: those before the first element's are a row on.

        Here, before it is known who reads or writes a slot: that is known late.
        """
        address = getattr(self, name).address
        word, row_shape = vector_word(self._design), range(bank_rows(self._design))
        shift = ceil_log2(word)
        row = Signal(row_shape, name=f"{name}_row")
        following = Signal.like(row, name=f"{name}_following")
        rows = Signal(data.ArrayLayout(row_shape, word), name=f"{name}_rows")
        m.d.comb += [
            row.eq(address >> shift),
            following.eq(row + 1),
            *(rows[number].eq(Mux(number < address[:shift], following, row))
              for number in range(word - 1)),
            rows[word - 1].eq(row),
        ]
        return rows

    def _elaborate_read_port(self, m, number, slot, port, rows):
        """Who reads the slot."""
        names = [name for name, its in self._readers.items() if its == port]
        enable, its_rows = (getattr(slot, f"read_{port}_{name}") for name in ("en", "rows"))
        m.d.comb += its_rows.eq(rows[names[0]])
        for name in names:
            request = getattr(self, name)
            with m.If(request.en & (request.slot == number)):
                m.d.comb += enable.eq(1)
                if name != names[0]:
                    m.d.comb += its_rows.eq(rows[name])

    def _elaborate_write_port(self, m, number, slot, port, rows, writes):
        """Who writes the slot."""
        names = [name for name, its in self._writers.items() if its == port]
        enable, its_rows, elements = (getattr(slot, f"write_{port}_{name}")
                                      for name in ("en", "rows", "data"))
        m.d.comb += [its_rows.eq(rows[names[0]]), elements.eq(writes[names[0]][1])]
        for name in names:
            request, (banks, values) = getattr(self, name), writes[name]
            with m.If((request.count != 0) & (request.slot == number)):
                m.d.comb += enable.eq(banks)
                if name != names[0]:
                    m.d.comb += [its_rows.eq(rows[name]), elements.eq(values)]

    def _elaborate_reader(self, m, name, port):
        """The elements that were read, of the slot that they are in, the first one first."""
        request = getattr(self, name)
        word, bits = vector_word(self._design), vector_element_bits(self._design)
        was_slot = Signal.like(request.slot, name=f"{name}_was_slot")
        first_bank = Signal(ceil_log2(word), name=f"{name}_first_bank")
        banks = Signal(word * bits, name=f"{name}_banks")
        with m.If(request.en):
            m.d.sync += [was_slot.eq(request.slot), first_bank.eq(request.address)]
        m.d.comb += [
            banks.eq(chosen([getattr(slot, f"read_{port}_data") for slot in self.slots],
                            was_slot)),
            Value.cast(request.data).eq(rotated(m, banks, first_bank, bits, name)),
        ]

    def _elaborate_writer(self, m, name):
        """Which banks are written, and the elements bank by bank."""
        request = getattr(self, name)
        word, bits = vector_word(self._design), vector_element_bits(self._design)
        wanted = Signal(word, name=f"{name}_wanted")
        back = Signal(ceil_log2(word), name=f"{name}_back")  # from the first element to bank 0
        m.d.comb += [wanted.eq((1 << request.count) - 1), back.eq(-request.address)]
        return (rotated(m, wanted, back, 1, f"{name}_wanted"),
                rotated(m, Value.cast(request.data), back, bits, name))
