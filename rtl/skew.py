"""Triangles of registers that skew and de-skew the lanes of a vector."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer

__all__ = ["Skew"]


class Skew(wiring.Component):
    """Delays lane i of a vector by i cycles, or by lanes - 1 - i cycles with `reverse`.

    Throughput 1 vector per cycle; never stalls. Stage s is one packed register that holds the
    lanes which still have to wait, so the triangle costs lanes - 1 signals.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a lane.
    lanes : int
        Lanes in the vector, 1 or more.
    reverse : bool
        False: skew (lane 0 passes at once). True: de-skew (the last lane passes at once).

    Members
    -------
    i, o : In, Out(ArrayLayout(shape, lanes))
    """

    def __init__(self, *, shape, lanes, reverse=False):
        check_integer("lanes", lanes, 1, 1 << 12)
        self._shape, self._lanes, self._reverse = shape, lanes, bool(reverse)
        layout = data.ArrayLayout(shape, lanes)
        super().__init__({"i": In(layout), "o": Out(layout)})

    def latency(self, lane):
        """Cycles by which `lane` is delayed."""
        return self._lanes - 1 - lane if self._reverse else lane

    def elaborate(self, platform):
        m = Module()
        width = Shape.cast(self._shape).width
        waiting = self.i.as_value()
        lanes = [None] * self._lanes
        for stage in range(self._lanes):
            if self._reverse:
                leaves = self._lanes - 1 - stage
                lanes[leaves] = waiting[leaves * width:]
                stay = waiting[:leaves * width]
            else:
                leaves = stage
                lanes[leaves] = waiting[:width]
                stay = waiting[width:]
            if stage == self._lanes - 1:
                break
            waiting = Signal(len(stay), name=f"stage_{stage + 1}")
            m.d.sync += waiting.eq(stay)
        m.d.comb += self.o.as_value().eq(Cat(*lanes))
        return m
