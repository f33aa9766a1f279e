"""The flags of the vector slots: each follows its own two events, slot by slot."""

import pytest
from amaranth import Signal
from proofs.broken import assert_caught, broken
from proofs.prover import prove
from proofs.spec import Spec

from cubewave.rtl import Design
from cubewave.rtl.vector_commands import vector_slots
from cubewave.rtl.vector_flags import VectorFlags, flag_events

DESIGN = Design(handoff_slots=1)


class VectorFlagsSpec(Spec):
    """The flags of one slot, any one, under any events."""

    def __init__(self, dut, engines):
        super().__init__(dut)
        self._events = flag_events(engines)

    def describe(self, m):
        slots = vector_slots(DESIGN)
        slot = self.chosen(m, range(slots), "slot")
        self.assume(m, "the chosen slot is there", slot < slots)

        def happens(event, name):
            signal = Signal(name=name)
            for who in self._events[event]:
                with m.If(getattr(self.dut, who) & (getattr(self.dut, f"{who}_slot") == slot)):
                    m.d.comb += signal.eq(1)
            return signal

        for flag, sets, clears in (("taken", "take", "release"), ("filled", "filled", "wait"),
                                   ("results", "done", "use")):
            on, off = happens(sets, f"sets_{flag}"), happens(clears, f"clears_{flag}")
            value = Signal(name=f"value_{flag}")
            shown = Signal(name=f"shown_{flag}")
            with m.If(on | off):
                m.d.sync += value.eq(on)
            m.d.comb += shown.eq(getattr(self.dut, flag).bit_select(slot, 1))
            self.claim(m, f"{flag} is what the slot's last event made it; set wins",
                       shown == value)
            self.cover(m, f"{flag} is cleared again", value & off & ~on)


@pytest.mark.parametrize("engines", [1, 2])
def test_flags_for_all_time(engines):
    def spec():
        return VectorFlagsSpec(VectorFlags(design=DESIGN, engines=engines), engines)
    assert prove(spec, depth=1, cycles=4) is None


@pytest.mark.parametrize("text, replacement, flag", [
    ("(flag & ~off) | on", "(flag | on) & ~off", "taken"),
    ("on, off = changes", "off, on = changes", "results"),
    ("slots |= getattr", "slots = getattr", "taken"),
])
def test_planted_bugs(text, replacement, flag):
    flags = broken(VectorFlags, text, replacement)(design=DESIGN, engines=1)
    assert_caught(VectorFlagsSpec(flags, 1), 4,
                  f"{flag} is what the slot's last event made it; set wins")
