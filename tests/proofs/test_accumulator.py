"""Accumulator banks: free, filled, full, free in that order, and every update counts once."""

import pytest
from amaranth import Array, Mux, Signal, signed
from amaranth.lib import enum
from proofs.broken import assert_caught, broken
from proofs.prover import prove
from proofs.spec import Spec

from cubewave.rtl import Design
from cubewave.rtl.accumulator import HANDOFF, NOBODY, STORE, Accumulators
from cubewave.rtl.formats import IntegerFormat

BITS = 16
LOW, HIGH = -1 << BITS - 1, (1 << BITS - 1) - 1


def design(overflow):
    return Design(rows=1, cols=1, activation_bits=4, weight_bits=4, accumulator_bits=BITS,
                  accumulator_banks=2, accumulator_rows=2, accumulator_overflow=overflow)


class Phase(enum.Enum, shape=3):
    FREE = 0
    FILLING = 1
    FINISHING = 2      # its last sums arrive in this cycle
    FULL = 3           # waits for the store
    HANDOFF_FULL = 4   # waits for the hand-off


class AccumulatorSpec(Spec):
    """One bank and one row of it, any ones, while array, store and hand-off keep the rules."""

    def __init__(self, dut, overflow):
        super().__init__(dut)
        self._saturate = overflow == "saturate"

    def describe(self, m):
        dut = self.dut
        bank, row = self.chosen(m, 1, "bank"), self.chosen(m, 1, "row")
        phase = Signal(Phase)
        finisher = Signal(2)   # who waits for the bank that is finished
        chosen_tag = dut.tag.valid & (dut.tag.bank == bank)
        self._describe_users(m, bank, phase)
        with m.Switch(phase):
            with m.Case(Phase.FREE):
                with m.If(dut.take & (dut.take_bank == bank)):
                    m.d.sync += phase.eq(Phase.FILLING)
            with m.Case(Phase.FILLING):
                with m.If(chosen_tag & dut.tag.finish):
                    m.d.sync += [phase.eq(Phase.FINISHING), finisher.eq(dut.tag.store)]
            with m.Case(Phase.FINISHING):
                with m.Switch(finisher):
                    for who, then in ((NOBODY, Phase.FREE), (STORE, Phase.FULL),
                                      (HANDOFF, Phase.HANDOFF_FULL)):
                        with m.Case(who):
                            m.d.sync += phase.eq(then)
            with m.Case(Phase.FULL):
                with m.If(dut.release & (dut.release_bank == bank)):
                    m.d.sync += phase.eq(Phase.FREE)
            with m.Case(Phase.HANDOFF_FULL):
                with m.If(dut.handoff_release & (dut.handoff_release_bank == bank)):
                    m.d.sync += phase.eq(Phase.FREE)
        flags = ((dut.free, Phase.FREE, "free"), (dut.full, Phase.FULL, "full for the store"),
                 (dut.handoff_full, Phase.HANDOFF_FULL, "full for the hand-off"))
        for flag, when, name in flags:
            self.claim(m, f"the bank is {name} exactly in its turn",
                       flag.bit_select(bank, 1) == (phase == when))
        self.claim(m, "who waits for a bank is known", finisher != 3)
        self._describe_data(m, bank, row, chosen_tag)
        for when, name in ((Phase.FULL, "store"), (Phase.HANDOFF_FULL, "hand-off")):
            self.cover(m, f"the {name} has the bank", phase == when)

    def _describe_users(self, m, bank, phase):
        """What array, store and hand-off do, seen from the chosen bank; the bank is any one, so
        they do so with every bank."""
        dut = self.dut
        for sentence, event, its_bank, when in (
                ("a job takes a free bank", dut.take, dut.take_bank, Phase.FREE),
                ("sums go to a bank that is taken", dut.tag.valid, dut.tag.bank, Phase.FILLING),
                ("the store reads a bank that is full for it", dut.read, dut.read_bank,
                 Phase.FULL),
                ("the store frees a bank that is full for it", dut.release, dut.release_bank,
                 Phase.FULL),
                ("the hand-off reads a bank that is full for it", dut.handoff_read,
                 dut.handoff_bank, Phase.HANDOFF_FULL),
                ("the hand-off frees a bank that is full for it", dut.handoff_release,
                 dut.handoff_release_bank, Phase.HANDOFF_FULL)):
            self.assume(m, sentence, ~event | (its_bank != bank) | (phase == when))
        self.assume(m, "a tag says who waits for the bank", dut.tag.store != 3)

    def _describe_data(self, m, bank, row, chosen_tag):
        dut = self.dut
        value = Signal(signed(BITS))       # what the row holds
        total = Signal(signed(BITS + 2))
        arrives = Signal()                 # sums for the row are there
        accumulate = Signal()
        overflows = Signal()
        m.d.sync += [arrives.eq(chosen_tag & (dut.tag.row == row)),
                     accumulate.eq(dut.tag.accumulate)]
        m.d.comb += [total.eq(Mux(accumulate, value, 0) + dut.sums[0]),
                     overflows.eq(arrives & ((total > HIGH) | (total < LOW)))]
        wrapped = total[:BITS].as_signed()
        saturated = Mux(total > HIGH, HIGH, Mux(total < LOW, LOW, total))
        with m.If(arrives):
            m.d.sync += value.eq(saturated if self._saturate else wrapped)
        stored = Array(Array(self.probe(f"dut.bank_{number}[{place}]", BITS)
                             for place in range(2)) for number in range(2))
        self.claim(m, "the memory holds the row", stored[bank][row].as_signed() == value)
        was = self.before(m, value, "value_before")
        for read, its_bank, its_row, data, name in (
                (dut.read, dut.read_bank, dut.read_row, dut.o, "store"),
                (dut.handoff_read, dut.handoff_bank, dut.handoff_row, dut.handoff_o,
                 "hand-off")):
            hit = Signal(name=f"hit_{name[0]}")
            m.d.sync += hit.eq(read & (its_bank == bank) & (its_row == row))
            self.claim(m, f"the {name} reads the sum of all updates, each once",
                       ~hit | (data[0] == was))
        self.claim(m, "a sum that does not fit sets `overflow`",
                   ~self.before(m, overflows & ~dut.clear, "overflowed") | dut.overflow)
        sticky = self.before(m, dut.overflow & ~dut.clear, "stays_set")
        self.claim(m, "`overflow` stays until it is cleared", ~sticky | dut.overflow)
        self.cover(m, "the row is updated in two cycles running",
                   arrives & accumulate & self.before(m, arrives, "arrived"))


def spec(overflow, accumulators=Accumulators):
    made = design(overflow)
    return AccumulatorSpec(accumulators(design=made, format=IntegerFormat.of(made)), overflow)


@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
def test_accumulators_for_all_time(overflow):
    assert prove(lambda: spec(overflow), depth=2, cycles=7) is None


@pytest.mark.parametrize("text, replacement, sentence", [
    ("Mux(recent_hit, recent, Array(bank_data)[update.bank])",
     "Array(bank_data)[update.bank]", "the memory holds the row"),
    (" & (update.bank == self.tag.bank)\n", "\n", "the memory holds the row"),
    ("(self.free & ~taken) | freed", "self.free | freed", "the bank is free exactly in its turn"),
    ("Mux(kept, 0, finished)", "0", "the bank is free exactly in its turn"),
    ("update.store == reader", "self.tag.store == reader",
     "the bank is full for the store exactly in its turn"),
    ("store_bank.eq(self.read_bank)", "store_bank.eq(self.handoff_bank)",
     "the store reads the sum of all updates, each once"),
])
def test_planted_bugs(text, replacement, sentence):
    assert_caught(spec("wrap", broken(Accumulators, text, replacement)), 8, sentence)
