"""The queue: nothing lost, doubled or reordered; level right; never stuck; stream rules."""

import pytest
from amaranth import Array, Mux, Signal
from proofs.broken import assert_caught, broken
from proofs.prover import prove
from proofs.spec import Spec

from cubewave.rtl.queue import Queue

WIDTH = 3


class QueueSpec(Spec):
    """A queue against one marked entry.

    Any one entry may be marked when it goes in. Its data and the number of entries before it are
    kept; when that many have left, the entry that leaves must be it. As every entry may be the
    marked one, no entry is lost, doubled, changed or overtaken.
    """

    def __init__(self, dut):
        super().__init__(dut)
        self._depth = dut.depth

    def describe(self, m):
        dut, depth = self.dut, self._depth
        push, pop = Signal(), Signal()
        m.d.comb += [push.eq(dut.i.valid & dut.i.ready), pop.eq(dut.o.valid & dut.o.ready)]
        mark = self.free(1, "mark")
        marked = Signal()              # the marked entry is in the queue
        done = Signal()                # it has left
        entry = Signal(WIDTH)
        ahead = Signal(range(depth + 1))  # entries that leave before it
        count = Signal(range(depth + 2))  # entries that went in and did not leave
        m.d.sync += count.eq(count + push - pop)
        with m.If(mark & push & ~marked & ~done):
            m.d.sync += [marked.eq(1), entry.eq(dut.i.payload), ahead.eq(count - pop)]
        with m.If(marked & pop):
            m.d.sync += ahead.eq(ahead - 1)
            with m.If(ahead == 0):
                m.d.sync += [marked.eq(0), done.eq(1)]

        self.claim(m, "level is the number of entries that went in and did not leave",
                   dut.level == count)
        self.claim(m, "no more than `depth` entries are inside", count <= depth)
        self.claim(m, "an entry is offered exactly if one is inside",
                   dut.o.valid == (count != 0))
        self.claim(m, "an entry is taken exactly if there is a place or one leaves",
                   dut.i.ready == ((count != depth) | pop))
        self.claim(m, "the marked entry is inside until it leaves",
                   ~marked | (ahead < count))
        self.claim(m, "the marked entry leaves as it went in, after those before it",
                   ~(marked & (ahead == 0)) | (dut.o.valid & (dut.o.payload == entry)))
        self._describe_stream(m)
        self._describe_storage(m, marked, entry, ahead)
        self.cover(m, "the queue is full, an entry leaves and one comes",
                   (dut.level == depth) & push & pop)
        self.cover(m, "the marked entry has left", done)

    def _describe_stream(self, m):
        """An offered entry stays until it is taken."""
        dut = self.dut
        stalled = Signal()
        offered = Signal(WIDTH)
        m.d.sync += [stalled.eq(dut.o.valid & ~dut.o.ready), offered.eq(dut.o.payload)]
        self.claim(m, "an entry that was not taken is still offered, unchanged",
                   ~stalled | (dut.o.valid & (dut.o.payload == offered)))

    def _describe_storage(self, m, marked, entry, ahead):
        """Where the marked entry is: an invariant, for the induction."""
        dut, depth = self.dut, self._depth
        if depth == 1:
            self.claim(m, "the marked entry is in the register",
                       ~marked | (dut.o.payload == entry))
            return
        head, tail = (self.probe(f"dut.{name}", range(depth)) for name in ("head", "tail"))
        storage = Array(self.probe(f"dut.storage[{place}]", WIDTH) for place in range(depth))
        place = Signal(range(2 * depth))
        end = Signal(range(2 * depth))
        m.d.comb += [place.eq(head + ahead), end.eq(head + dut.level)]

        def ring(value):
            return Mux(value >= depth, value - depth, value)
        self.claim(m, "head and tail are places of the ring", (head < depth) & (tail < depth))
        self.claim(m, "tail is `level` places behind head", tail == ring(end))
        self.claim(m, "the marked entry is in its place, unless it is offered",
                   ~marked | (ahead == 0) | (storage[ring(place)] == entry))


def spec(depth, queue=Queue):
    return QueueSpec(queue(shape=WIDTH, depth=depth))


@pytest.mark.parametrize("depth", [1, 2, 4, 5, 8])
def test_queue_for_all_time(depth):
    assert prove(lambda: spec(depth), depth=1, cycles=2 * depth + 3) is None


@pytest.mark.parametrize("depth, text, replacement, sentence", [
    (1, "(self.level != self._depth) | self.o.ready", "self.level != self._depth",
     "an entry is taken exactly if there is a place or one leaves"),
    (2, "pop | ~self.o.valid", "pop",
     "the marked entry leaves as it went in, after those before it"),
    (4, "m.If(push & ~pop)", "m.If(push)",
     "level is the number of entries that went in and did not leave"),
    (2, "write.en.eq(self.i.valid)", "write.en.eq(self.i.valid & self.o.valid)",
     "the marked entry leaves as it went in, after those before it"),
    (5, "Mux(self.o.valid, following(head), head)", "head",
     "the marked entry leaves as it went in, after those before it"),
    (5, "transparent_for=(write,)", "transparent_for=()",
     "the marked entry leaves as it went in, after those before it"),
    (5, "self._depth - 1, 0", "self._depth, 0", "head and tail are places of the ring"),
])
def test_planted_bugs(depth, text, replacement, sentence):
    assert_caught(spec(depth, broken(Queue, text, replacement)), 3 * depth, sentence)
