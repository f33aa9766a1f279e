"""First-in first-out queue of any shape, at full rate from depth 1 up."""

from amaranth import *
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .stand_in import left_out

__all__ = ["Queue"]


class Queue(wiring.Component):
    """A first-in first-out queue with a fill level.

    Latency 1 cycle; throughput 1 entry per cycle at every depth; full back-pressure. A full queue
    accepts an entry in the very cycle in which one leaves, so depth 1 does not halve the rate.

    Parameters
    ----------
    shape : ShapeLike
        Shape of an entry.
    depth : int
        Entries, 1 or more.

    Members
    -------
    i, o : In, Out(stream.Signature(shape))
    level : Out(range(depth + 1))
        Entries in the queue; `depth` when full.
    """

    LATENCY = 1  # cycles from a transfer on `i` to the entry being offered on `o`, when empty

    def __init__(self, *, shape, depth):
        check_integer("depth", depth, 1, 1 << 24)
        self._shape, self._depth = shape, depth
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
            "level": Out(range(depth + 1)),
        })

    @property
    def depth(self):
        return self._depth

    def elaborate(self, platform):
        m = Module()
        if left_out(platform, self):
            return m
        push = Signal()
        pop = Signal()
        m.d.comb += [
            self.i.ready.eq((self.level != self._depth) | self.o.ready),
            push.eq(self.i.valid & self.i.ready),
            pop.eq(self.o.valid & self.o.ready),
        ]
        with m.If(push & ~pop):
            m.d.sync += self.level.eq(self.level + 1)
        with m.If(pop & ~push):
            m.d.sync += self.level.eq(self.level - 1)
        # As `level != 0`, but known with the clock.
        with m.If(push):
            m.d.sync += self.o.valid.eq(1)
        with m.Elif(pop & (self.level == 1)):
            m.d.sync += self.o.valid.eq(0)

        if self._depth == 1:
            with m.If(push):
                m.d.sync += self.o.payload.eq(self.i.payload)
        else:
            self._elaborate_memory(m, push, pop)
        return m

    def _elaborate_memory(self, m, push, pop):
        """The entries are a ring in a memory, which FPGAs have in their LUTs.

        The read port shows the head and fetches the entry after it when one leaves, so that only
        its enable depends on `o.ready`. An empty queue fetches the entry that is coming; a word
        written in this very cycle is forwarded by the port (`transparent_for`). So that this does
        not depend on `o.ready` either, a full queue writes what it cannot take, in the place of
        the head, which the port shows.
        """
        m.submodules.storage = storage = memory.Memory(
            shape=self._shape, depth=self._depth, init=[])
        write = storage.write_port()
        read = storage.read_port(transparent_for=(write,))
        head = Signal(range(self._depth))
        tail = Signal(range(self._depth))

        def following(pointer):
            return Mux(pointer == self._depth - 1, 0, pointer + 1)

        with m.If(push):
            m.d.sync += tail.eq(following(tail))
        with m.If(pop):
            m.d.sync += head.eq(following(head))
        m.d.comb += [
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            write.en.eq(self.i.valid),
            read.addr.eq(Mux(self.o.valid, following(head), head)),
            read.en.eq(pop | ~self.o.valid),
            self.o.payload.eq(read.data),
        ]
