"""The loader: each load is requested once and in order, and only if there is room."""

import pytest
from amaranth import Mux, Signal
from proofs.broken import assert_caught, broken
from proofs.prover import prove
from proofs.spec import Spec

from cubewave.rtl import Design
from cubewave.rtl.commands import Destination, WindowRegister
from cubewave.rtl.loader import Loader
from cubewave.rtl.vector_commands import vector_slots

DESIGN = Design(rows=1, cols=1, slot_bytes=2, input_slots=2, accumulator_rows=1,
                handoff_slots=1)
SHAPE = ("rows", "bytes_per_row", "row_stride")


class LoaderSpec(Spec):
    """The loader between its queue, the channel and the buffers it loads."""

    def describe(self, m):
        dut, load, request = self.dut, self.dut.i.payload, self.dut.o.payload
        starts, stalled, waits = Signal(), Signal(), Signal()
        m.d.comb += starts.eq(dut.o.valid & dut.o.ready)
        m.d.sync += [stalled.eq(dut.o.valid & ~dut.o.ready),
                     waits.eq(dut.i.valid & ~dut.i.ready)]
        was = {name: self.before(m, signal, f"{name}_before") for name, signal in {
            "load": load.as_value(), "request": request.as_value(), "slots": dut.slots_taken,
            "vector": dut.vector_taken, "room": dut.fifo_room, "take": dut.take,
            "take_slot": dut.take_slot, "vector_take": dut.vector_take,
            "vector_slot": dut.vector_take_slot, "reserve": dut.reserve}.items()}
        self.assume(m, "a load waits unchanged in its queue",
                    ~waits | (dut.i.valid & (load.as_value() == was["load"])))
        self.assume(m, "a load goes somewhere", load.destination.as_value() < len(Destination))
        self.assume(m, "a load's slot is there", load.slot < Mux(
            load.destination == Destination.VECTOR, vector_slots(DESIGN), DESIGN.input_slots))
        self.assume(m, "only the loader takes operand slots", (
            dut.slots_taken & ~(was["slots"] | (was["take"] << was["take_slot"]))) == 0)
        self.assume(m, "only the loader takes vector slots", (
            dut.vector_taken & ~(was["vector"] | (was["vector_take"] << was["vector_slot"])))
            == 0)
        self.assume(m, "only the loader takes places of the FIFO",
                    ~was["room"] | dut.fifo_room | was["reserve"])

        self.claim(m, "a request that was not accepted is still there, unchanged",
                   ~stalled | (dut.o.valid & (request.as_value() == was["request"])))
        self.claim(m, "a load leaves its queue exactly with its request", dut.i.ready == starts)
        self.claim(m, "there is no request without a load", ~dut.o.valid | dut.i.valid)
        self._describe_room(m, starts)
        self._describe_request(m, starts)
        self.cover(m, "a request waits", stalled)
        self.cover(m, "an operand slot is taken", dut.take)
        self.cover(m, "a vector slot is taken", dut.vector_take)

    def _describe_room(self, m, starts):
        dut, load = self.dut, self.dut.i.payload
        free = {
            Destination.WEIGHT: dut.fifo_room,
            Destination.OPERAND: ~load.take | ~dut.slots_taken.bit_select(load.slot, 1),
            Destination.VECTOR: ~load.take | ~dut.vector_taken.bit_select(load.slot, 1)}
        takes = load.take & (load.configure == WindowRegister.NONE)
        events = {
            Destination.WEIGHT: (dut.reserve, 1, 0, 0),
            Destination.OPERAND: (dut.take, takes, dut.take_slot, load.slot),
            Destination.VECTOR: (dut.vector_take, takes, dut.vector_take_slot, load.slot)}
        for destination, (event, wanted, slot, its_slot) in events.items():
            name = destination.name.lower()
            goes = load.destination == destination
            self.claim(m, f"a load to {name} is requested at once if there is room",
                       ~(dut.i.valid & goes) | (dut.o.valid == free[destination]))
            self.claim(m, f"{name}: room is taken exactly once, at the start",
                       event == (starts & goes & wanted))
            self.claim(m, f"{name}: it is the load's slot that is taken",
                       ~event | (slot == its_slot))
            self.claim(m, f"{name}: only free room is taken", ~event | free[destination])

    def _describe_request(self, m, starts):
        """Each request says what its load says; with `keep_shape` what the last one said."""
        dut, load, request = self.dut, self.dut.i.payload, self.dut.o.payload
        for name, its, wanted in (
                ("destination", request.destination, load.destination),
                ("base", request.base, load.base), ("slot", request.tag.slot, load.slot),
                ("word", request.tag.word, load.word), ("last", request.tag.last, load.last),
                ("configure", request.configure, load.configure)):
            self.claim(m, f"a request has its load's {name}",
                       ~dut.o.valid | (its == wanted))
        for name in SHAPE:
            kept = [Signal.like(request[name], name=f"kept_{each.name.lower()}_{name}")
                    for each in Destination]
            for each, last in zip(Destination, kept):
                mine = load.destination == each
                with m.If(starts & mine):
                    m.d.sync += last.eq(request[name])
                self.claim(
                    m, f"a request to {each.name.lower()} has its load's {name}, or the last",
                    ~(dut.o.valid & mine)
                    | (request[name] == Mux(load.keep_shape, last, load[name])))
                inside = self.probe(f"dut.{each.name.lower()}_{name}", len(last))
                self.claim(m, f"the last {name} to {each.name.lower()} is kept", inside == last)


def spec(loader=Loader):
    return LoaderSpec(loader(design=DESIGN))


def test_loader_for_all_time():
    assert prove(spec, depth=1, cycles=4) is None


@pytest.mark.parametrize("text, replacement, sentence", [
    ("self.i.valid & ~slot_blocked & ~fifo_blocked", "self.i.valid & ~slot_blocked",
     "weight: only free room is taken"),
    ("self.i.ready.eq(starts)", "self.i.ready.eq(self.o.valid)",
     "a load leaves its queue exactly with its request"),
    ("takes.eq(starts & load.take", "takes.eq(self.o.valid & load.take",
     "operand: room is taken exactly once, at the start"),
    ("| (vector & self.vector_taken", "| (vector & self.slots_taken",
     "vector: only free room is taken"),
    ("kept[2], Mux", "kept[1], Mux",
     "a request to vector has its load's row_stride, or the last"),
    ("Mux(operand, kept[1], kept[0])", "kept[0]",
     "a request to operand has its load's rows, or the last"),
])
def test_planted_bugs(text, replacement, sentence):
    assert_caught(spec(broken(Loader, text, replacement)), 6, sentence)
