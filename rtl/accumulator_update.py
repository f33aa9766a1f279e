"""Arithmetic of one accumulator row update."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .stand_in import stand_in

__all__ = ["AccumulatorUpdate"]


class AccumulatorUpdate(wiring.Component):
    """Adds a row of sums to a row of accumulators; wraps or saturates what does not fit.

    Combinational. The numpy model is :meth:`IntegerFormat.accumulate`.

    Parameters
    ----------
    format : IntegerFormat
    cols : int
        Accumulators in a row.
    overflow : str
        "wrap" or "saturate".

    Members
    -------
    old : In(ArrayLayout(accumulator, cols))
    accumulate : In(1)
        Add to `old`; otherwise to 0.
    sums : In(ArrayLayout(sum, cols))
    new : Out(ArrayLayout(accumulator, cols))
    overflows : Out(cols)
        One bit for each sum that does not fit.
    """

    def __init__(self, *, format, cols, overflow):
        self._format, self._cols, self._saturate = format, cols, overflow == "saturate"
        row = data.ArrayLayout(format.accumulator_shape, cols)
        super().__init__({
            "old": In(row),
            "accumulate": In(1),
            "sums": In(data.ArrayLayout(format.sum_shape, cols)),
            "new": Out(row),
            "overflows": Out(cols),
        })

    def lane(self):
        """The same for a single column."""
        return AccumulatorUpdate(format=self._format, cols=1,
                                 overflow="saturate" if self._saturate else "wrap")

    def elaborate(self, platform):
        m = Module()
        lanes = stand_in(platform, self, old=self.old, accumulate=self.accumulate,
                         sums=self.sums, new=self.new,
                         overflows=self.overflows)
        if lanes is not None:
            m.submodules.lanes = lanes
            return m
        low, high = self._format.accumulator_range()
        for col in range(self._cols):
            exact = Mux(self.accumulate, self.old[col], 0) + self.sums[col]
            total = Signal(exact.shape(), name=f"total_{col}")
            above, below = total > high, total < low
            m.d.comb += [total.eq(exact), self.overflows[col].eq(above | below)]
            if self._saturate:
                m.d.comb += self.new[col].eq(Mux(above, high, Mux(below, low, total)))
            else:
                m.d.comb += self.new[col].eq(total)
        return m
