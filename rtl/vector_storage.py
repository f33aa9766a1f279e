# amaranth: UnusedElaboratable=no
"""All vector slots of one vector unit, with the ways to them."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from .vector_commands import vector_element_bits, vector_slot_elements, vector_slots
from .vector_slot import VectorSlot, from_ring, place, to_ring, vector_word

__all__ = ["VectorStorage", "read_signature", "write_signature"]


def read_signature(design):
    """A request for the elements from an address on; they are there in the next cycle."""
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

    LATENCY = VectorSlot.LATENCY

    def __init__(self, *, design, engines):
        self._design, self._engines = design, engines
        self.slots = [VectorSlot(design=design, ports=engines)
                      for _ in range(vector_slots(design))]
        self._readers = {"read_handoff": 0, "read_store": 0}
        self._writers = {"write_handoff": 0, "write_load": 0}
        for engine in range(engines):
            self._readers |= {f"read_a_{engine}": engine, f"read_b_{engine}": engine}
            self._writers[f"write_{engine}"] = engine
        super().__init__({**{name: In(read_signature(design)) for name in self._readers},
                          **{name: In(write_signature(design)) for name in self._writers}})

    def elaborate(self, platform):
        m = Module()
        for number, slot in enumerate(self.slots):
            m.submodules[f"slot_{number}"] = slot
        for name, port in self._readers.items():
            self._elaborate_reader(m, name, port)
        for name, port in self._writers.items():
            self._elaborate_writer(m, name, port)
        return m

    def _elaborate_reader(self, m, name, port):
        request = getattr(self, name)
        word, bits = vector_word(self._design), vector_element_bits(self._design)
        even, odd, offset = place(m, request.address, word, name)
        was_slot = Signal.like(request.slot, name=f"{name}_was_slot")
        was_offset = Signal.like(offset, name=f"{name}_was_offset")
        ring = Signal(2 * word * bits, name=f"{name}_ring")
        with m.If(request.en):
            m.d.sync += [was_slot.eq(request.slot), was_offset.eq(offset)]
            with m.Switch(request.slot):
                for number, slot in enumerate(self.slots):
                    with m.Case(number):
                        m.d.comb += [getattr(slot, f"read_{port}_en").eq(1),
                                     getattr(slot, f"read_{port}_even").eq(even),
                                     getattr(slot, f"read_{port}_odd").eq(odd)]
        with m.Switch(was_slot):
            for number, slot in enumerate(self.slots):
                with m.Case(number):
                    m.d.comb += ring.eq(Cat(getattr(slot, f"read_{port}_even_data"),
                                            getattr(slot, f"read_{port}_odd_data")))
        m.d.comb += Value.cast(request.data).eq(
            from_ring(m, ring, was_offset, word, bits, name))

    def _elaborate_writer(self, m, name, port):
        request = getattr(self, name)
        word, bits = vector_word(self._design), vector_element_bits(self._design)
        half = word * bits
        even, odd, offset = place(m, request.address, word, name)
        wanted = Signal(word, name=f"{name}_wanted")
        m.d.comb += wanted.eq((1 << request.count) - 1)
        places = to_ring(m, wanted, offset, word, 1, f"{name}_wanted")
        ring = to_ring(m, Value.cast(request.data), offset, word, bits, name)
        with m.If(request.count != 0):
            with m.Switch(request.slot):
                for number, slot in enumerate(self.slots):
                    with m.Case(number):
                        for side, at, bit, first in (("even", even, 0, 0),
                                                     ("odd", odd, word, half)):
                            m.d.comb += [
                                getattr(slot, f"write_{port}_{side}").eq(at),
                                getattr(slot, f"write_{port}_{side}_en").eq(
                                    places[bit:bit + word]),
                                getattr(slot, f"write_{port}_{side}_data").eq(
                                    ring[first:first + half])]
