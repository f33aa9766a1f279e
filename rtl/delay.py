"""Fixed delay, kept in a ring memory so that its cost does not grow with its length."""

from amaranth import *
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer

__all__ = ["Delay"]


class Delay(wiring.Component):
    """Repeats its input `cycles` cycles later.

    Latency `cycles`; throughput 1 word per cycle; never stalls. Before the first word arrives the
    output is zero.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a word.
    cycles : int
        The delay, 1 or more.

    Members
    -------
    i, o : In, Out(shape)
    """

    def __init__(self, *, shape, cycles):
        check_integer("cycles", cycles, 1, 1 << 16)
        self._shape, self._cycles = shape, cycles
        super().__init__({"i": In(shape), "o": Out(shape)})

    @property
    def latency(self):
        """Cycles from a word on `i` to the same word on `o`."""
        return self._cycles

    def elaborate(self, platform):
        m = Module()
        if self._cycles == 1:
            m.d.sync += self.o.eq(self.i)
            return m

        # The word read in this cycle is the one that the next cycle overwrites: reads and writes
        # never meet at one address.
        m.submodules.ring = ring = memory.Memory(shape=self._shape, depth=self._cycles, init=[])
        write = ring.write_port()
        read = ring.read_port()
        place = Signal(range(self._cycles))
        following = Signal(range(self._cycles))
        m.d.comb += [
            following.eq(Mux(place == self._cycles - 1, 0, place + 1)),
            write.addr.eq(place),
            write.data.eq(self.i),
            write.en.eq(1),
            read.addr.eq(following),
            self.o.eq(read.data),
        ]
        m.d.sync += place.eq(following)
        return m
