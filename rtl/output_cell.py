"""Output-stationary multiply-accumulate cell."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer

__all__ = ["OutputStationaryCell"]


class OutputStationaryCell(wiring.Component):
    """One cell of the array: keeps a sum, multiplies the pair that passes, adds to its sum.

    Activations move right and weights move down, one cell per cycle (chapter 4.2.1, figure 4-8).
    `first` rides on the first pair of a sum, `last` on the last one, which leaves the finished
    sum in the result register while the next sum begins. The result registers of a column are a
    chain: a register that holds a new result keeps it until `start`, then passes on what comes
    from above until it takes its next result. So `start` may come every `rows` cycles, when the
    bottom cell has its result, and results leave below, the bottom row's first.

    Latency from an activation to its product in `sum_out`: :meth:`latency`. Never stalls.

    Parameters
    ----------
    format : IntegerFormat
        Shapes and product of the operands.
    mac_latency : int
        Cycles of the multiplier and adder together, 1 or more.

    Members
    -------
    activation_in, activation_out : In, Out(format.activation_shape)
    first_in, first_out, last_in, last_out : In, Out(1)
        Ride with the activation.
    weight_in, weight_out : In, Out(format.weight_shape)
    start : In(1)
        Results of the column move down.
    sum_in, sum_out : In, Out(format.sum_shape)
        The chain of results.
    """

    TRANSPORT = 1  # cycles by which a word moves one cell on, in every direction

    def __init__(self, *, format, mac_latency=1):
        check_integer("mac_latency", mac_latency, 1, 64)
        self._format, self._mac_latency = format, mac_latency
        super().__init__({
            "activation_in": In(format.activation_shape),
            "activation_out": Out(format.activation_shape),
            "first_in": In(1),
            "first_out": Out(1),
            "last_in": In(1),
            "last_out": Out(1),
            "weight_in": In(format.weight_shape),
            "weight_out": Out(format.weight_shape),
            "start": In(1),
            "sum_in": In(format.sum_shape),
            "sum_out": Out(format.sum_shape),
        })

    @classmethod
    def latency(cls, mac_latency):
        """Cycles from an activation on `activation_in` to its share of `sum_out`."""
        return cls.TRANSPORT + mac_latency

    def elaborate(self, platform):
        m = Module()
        m.d.sync += [
            self.activation_out.eq(self.activation_in),
            self.first_out.eq(self.first_in),
            self.last_out.eq(self.last_in),
            self.weight_out.eq(self.weight_in),
        ]
        product = self._format.multiply(self.activation_out, self.weight_out)
        first, last = self.first_out, self.last_out
        for stage in range(1, self._mac_latency):
            registers = [Signal(value.shape(), name=f"{name}_{stage}") for name, value in
                         (("product", product), ("first", first), ("last", last))]
            m.d.sync += [register.eq(value)
                         for register, value in zip(registers, (product, first, last))]
            product, first, last = registers

        partial = Signal(self._format.sum_shape)
        total = Signal(self._format.sum_shape)
        fresh = Signal()  # the result register keeps its result
        m.d.comb += total.eq(Mux(first, 0, partial) + product)
        m.d.sync += partial.eq(total)
        with m.If(last):
            m.d.sync += [self.sum_out.eq(total), fresh.eq(1)]
        with m.Elif(self.start | ~fresh):
            m.d.sync += [self.sum_out.eq(self.sum_in), fresh.eq(0)]
        return m
