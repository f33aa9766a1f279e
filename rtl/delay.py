"""Fixed delay: one packed shift register."""

from amaranth import *
from amaranth.lib import wiring
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
        width = Shape.cast(self._shape).width
        words = Signal(self._cycles * width)
        m.d.sync += words.eq(Cat(self.i, words[:-width]) if self._cycles > 1 else self.i)
        m.d.comb += self.o.eq(words[-width:])
        return m
