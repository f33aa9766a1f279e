"""The sequencer: the commands of its memory in order, each once, none beyond the length."""

import pytest
from amaranth import Signal
from proofs.broken import assert_caught, broken
from proofs.prover import prove
from proofs.spec import Spec

from cubewave.rtl.sequencer import Sequencer

DEPTH = 3


class SequencerSpec(Spec):
    """A sequencer whose command at place k is the number k + 1."""

    def __init__(self, dut):
        super().__init__(dut)
        dut.program.init = range(1, DEPTH + 1)

    def describe(self, m):
        dut = self.dut
        started = Signal()   # it has been rewound
        sent = Signal(range(DEPTH + 1))
        stalled = Signal()
        m.d.sync += stalled.eq(dut.o.valid & ~dut.o.ready & ~dut.rewind)
        with m.If(dut.rewind):
            m.d.sync += [started.eq(1), sent.eq(0)]
        with m.Elif(dut.o.valid & dut.o.ready):
            m.d.sync += sent.eq(sent + 1)
        length = self.before(m, dut.length, "length_before")
        self.assume(m, "the length fits the memory", dut.length <= DEPTH)
        self.assume(m, "the length changes only before a rewind, which comes first",
                    dut.rewind | ~started & ~dut.go | started & (dut.length == length))
        self.assume(m, "the length stays after a rewind",
                    ~self.before(m, dut.rewind, "rewound") | (dut.length == length))
        self.assume(m, "`go` stays while a command waits", ~stalled | dut.go)
        self.assume(m, "nothing goes while it is rewound", ~dut.rewind | ~dut.go)

        self.claim(m, "the next command is offered at once while there is one",
                   dut.o.valid == (dut.go & (sent != dut.length)))
        self.claim(m, "the k-th command offered is the k-th of the memory",
                   ~dut.o.valid | (dut.o.payload == sent + 1))
        self.claim(m, "no more than `length` commands are sent",
                   ~started | (sent <= length))
        self.claim(m, "a command that was not taken is still offered",
                   ~stalled | dut.o.valid)
        place = self.probe("dut.place", range(DEPTH + 1))
        self.claim(m, "the place is the number of commands sent", place == sent)
        data = self.probe("dut.o__payload", dut.o.payload.shape())
        self.claim(m, "after the rewind the memory shows the next command",
                   ~started | (sent == DEPTH) | (data == sent + 1))
        self.cover(m, "all commands are sent twice",
                   started & (sent == DEPTH) & self._twice(m, sent))

    def _twice(self, m, sent):
        """All commands have been sent before the last rewind."""
        once = Signal()
        with m.If(self.dut.rewind & (sent == DEPTH)):
            m.d.sync += once.eq(1)
        return once


def spec(sequencer=Sequencer):
    return SequencerSpec(sequencer(shape=range(DEPTH + 1), depth=DEPTH))


def test_sequencer_for_all_time():
    assert prove(spec, depth=1, cycles=3 * DEPTH + 3) is None


@pytest.mark.parametrize("text, replacement, sentence", [
    ("place != self.length", "place < self.length - 1",
     "the next command is offered at once while there is one"),
    ("place + (self.o.valid & self.o.ready)", "place + self.o.valid",
     "the next command is offered at once while there is one"),
    ("read.addr.eq(following)", "read.addr.eq(place)",
     "the k-th command offered is the k-th of the memory"),
    ("Mux(self.rewind, 0, place", "Mux(self.rewind, 1, place",
     "the k-th command offered is the k-th of the memory"),
])
def test_planted_bugs(text, replacement, sentence):
    assert_caught(spec(broken(Sequencer, text, replacement)), 8, sentence)
