"""Operand slots: taken, ready, free in that order; what is read was written."""

import pytest
from amaranth import Array, Mux, Signal
from proofs.broken import assert_caught, broken
from proofs.prover import prove
from proofs.spec import Spec

from cubewave.rtl import Design
from cubewave.rtl.commands import slot_words
from cubewave.rtl.operand_slots import OperandSlots

SLOTS, ROW_BITS = 2, 4


def design(port):
    return Design(rows=1, cols=1, activation_bits=ROW_BITS, slot_bytes=4, input_slots=SLOTS,
                  buffer_port_rows=port, probability_bits=8, handoff_bytes_per_cycle=port,
                  accumulator_rows=1, handoff_slots=1)


class OperandSlotsSpec(Spec):
    """One slot and one row of it, any ones, while loads, hand-off and array keep the rules."""

    def __init__(self, dut, port):
        super().__init__(dut)
        self._port, self._words = port, slot_words(design(port))

    def describe(self, m):
        dut = self.dut
        slot = self.chosen(m, range(SLOTS), "slot")
        taken, ready = Signal(), Signal()
        beat = dut.i.payload
        takes, filled, freed = Signal(), Signal(), Signal()
        m.d.comb += [
            takes.eq((dut.take & (dut.take_slot == slot))
                     | (dut.handoff_take & (dut.handoff_take_slot == slot))),
            filled.eq((dut.i.valid & (beat.tag.slot == slot) & beat.last & beat.tag.last)
                      | (dut.handoff_ready & (dut.handoff_ready_slot == slot))),
            freed.eq(dut.release & (dut.release_slot == slot)),
        ]
        with m.If(takes):
            m.d.sync += taken.eq(1)
        with m.If(filled):
            m.d.sync += ready.eq(1)
        with m.If(freed):
            m.d.sync += [taken.eq(0), ready.eq(0)]
        self.claim(m, "the slot is taken from its first load or hand-off to its last use",
                   dut.taken.bit_select(slot, 1) == taken)
        self.claim(m, "the slot is ready from its last data to its last use",
                   dut.ready.bit_select(slot, 1) == ready)
        self.claim(m, "a slot that is ready is taken", ~ready | taken)
        self._describe_users(m, slot, taken, ready)
        self._describe_data(m, slot, ready)
        self.cover(m, "a slot is freed in the cycle after it has become ready",
                   freed & self.before(m, filled, "was_filled"))

    def _describe_users(self, m, slot, taken, ready):
        """The rules, for the chosen slot and so for every one."""
        dut, beat = self.dut, self.dut.i.payload
        rules = (
            ("a load takes a free slot", dut.take, dut.take_slot, ~taken),
            ("the hand-off takes a free slot", dut.handoff_take, dut.handoff_take_slot, ~taken),
            ("a beat goes to a slot that is being filled", dut.i.valid, beat.tag.slot,
             taken & ~ready),
            ("the hand-off writes to a slot that is being filled", dut.handoff_write.any(),
             dut.handoff_slot, taken & ~ready),
            ("the hand-off completes a slot that is being filled", dut.handoff_ready,
             dut.handoff_ready_slot, taken & ~ready),
            ("the array reads a slot that is ready", dut.read, dut.read_slot, ready),
            ("the array frees a slot that is ready", dut.release, dut.release_slot, ready),
        )
        for sentence, event, its_slot, rule in rules:
            self.assume(m, sentence, ~event | (its_slot != slot) | rule)
        self.assume(m, "only one takes a slot", ~(dut.take & dut.handoff_take)
                    | (dut.take_slot != dut.handoff_take_slot))
        self.assume(m, "a beat is for a slot", ~dut.i.valid | (beat.tag.slot < SLOTS))
        self.assume(m, "beat and hand-off go to different slots",
                    ~dut.i.valid | ((dut.handoff_slot != beat.tag.slot)
                                    & (~dut.handoff_ready
                                       | (dut.handoff_ready_slot != beat.tag.slot))))
        for number, row in enumerate(dut.handoff_row):
            for other in range(number):
                self.assume(m, f"rows {other} and {number} of the hand-off are in other lanes",
                            ~dut.handoff_write[number] | ~dut.handoff_write[other]
                            | (row % self._port != dut.handoff_row[other] % self._port))

    def _describe_data(self, m, slot, ready):
        dut, port, beat = self.dut, self._port, self.dut.i.payload
        row = self.chosen(m, range(port * self._words), "row")
        word = Signal(range(self._words + 1))
        following = Signal.like(word)
        value = Signal(ROW_BITS)   # what the chosen row holds
        m.d.comb += word.eq(Mux(beat.first, beat.tag.word, following))
        self.assume(m, "a load stays inside its slot", ~dut.i.valid | (word < self._words))
        with m.If(dut.i.valid):
            m.d.sync += following.eq(word + 1)
            with m.If(beat.tag.slot == slot):
                for lane in range(port):
                    with m.If(word * port + lane == row):
                        m.d.sync += value.eq(beat.rows[lane])
        with m.If(dut.handoff_slot == slot):
            for write, its_row, data in zip(dut.handoff_write, dut.handoff_row,
                                            dut.handoff_data):
                with m.If(write & (its_row == row)):
                    m.d.sync += value.eq(data)
        stored = Array(
            Array(self.probe(f"dut.slot_{number}_{place % port}[{place // port}]", ROW_BITS)
                  for place in range(port * self._words)) for number in range(SLOTS))
        self.claim(m, "the memory holds the row", stored[slot][row] == value)
        mine = self.probe("dut.following", range(self._words))
        self.claim(m, "the next word of a load is the one after the last",
                   mine == following[:len(mine)])
        hit = self.before(m, dut.read & (dut.read_slot == slot) & (dut.read_row == row), "hit")
        self.claim(m, "a row is read as it was written last",
                   ~hit | (dut.o == self.before(m, value, "value_before")))
        self.cover(m, "a row that is not zero is read", hit & (dut.o != 0))


def spec(port, slots=OperandSlots):
    return OperandSlotsSpec(slots(design=design(port)), port)


@pytest.mark.parametrize("port", [1, 2])
def test_slots_for_all_time(port):
    assert prove(lambda: spec(port), depth=2, cycles=7) is None


@pytest.mark.parametrize("text, replacement, sentence", [
    ("(self.taken & ~freed) | (", "self.taken | (",
     "the slot is taken from its first load or hand-off to its last use"),
    ("self.i.valid & beat.last & beat.tag.last", "self.i.valid & beat.tag.last",
     "the slot is ready from its last data to its last use"),
    ("| (self.handoff_ready << self.handoff_ready_slot)", "",
     "the slot is ready from its last data to its last use"),
    ("Mux(beat.first, beat.tag.word, following)", "Mux(beat.first, 0, following)",
     "the memory holds the row"),
    ("load.eq(self.i.valid & (beat.tag.slot == slot))", "load.eq(self.i.valid)",
     "the memory holds the row"),
    ("was_slot * design.buffer_port_rows + was_lane",
     "self.read_slot * design.buffer_port_rows + was_lane",
     "a row is read as it was written last"),
    ("write & (its_lane == lane)", "write", "the memory holds the row"),
])
def test_planted_bugs(text, replacement, sentence):
    assert_caught(spec(2, broken(OperandSlots, text, replacement)), 8, sentence)
