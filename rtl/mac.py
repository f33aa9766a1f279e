"""Weight-stationary multiply-accumulate cell."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer

__all__ = ["WeightStationaryCell"]


class WeightStationaryCell(wiring.Component):
    """One cell of the array: holds a weight, multiplies what passes, adds to what falls.

    Activations move right, partial sums and weight words move down, one cell per cycle. A cell
    whose weight place is empty takes the first valid word that reaches it and clears its valid
    bit on the way down, so `rows` words sent in order 0 to rows - 1 fill a column.

    With `double_buffer` the place is a shadow register. `turn` rides on the first activation row
    of a tile: the shadow becomes the active weight and is empty again, and a word that arrives
    in that very cycle may be taken. Without, there is one register; `turn` rides on the last row
    of a tile and empties it.

    Latency from an activation to its product in `sum_out`: :meth:`latency`. Never stalls.

    Parameters
    ----------
    format : IntegerFormat
        Shapes and product of the operands.
    double_buffer : bool
        A shadow register holds the next weight while the active one works.
    mac_latency : int
        Cycles of the multiplier and adder together, 1 or more.

    Members
    -------
    activation_in, activation_out : In, Out(format.activation_shape)
    turn_in, turn_out : In, Out(1)
        Rides with the activation.
    weight_in, weight_out : In, Out(format.weight_shape)
    weight_valid_in, weight_valid_out : In, Out(1)
    sum_in, sum_out : In, Out(format.sum_shape)
    """

    TRANSPORT = 1  # cycles by which a word moves one cell on, in every direction

    def __init__(self, *, format, double_buffer=True, mac_latency=1):
        check_integer("mac_latency", mac_latency, 1, 64)
        self._format = format
        self._double_buffer = bool(double_buffer)
        self._mac_latency = mac_latency
        super().__init__({
            "activation_in": In(format.activation_shape),
            "activation_out": Out(format.activation_shape),
            "turn_in": In(1),
            "turn_out": Out(1),
            "weight_in": In(format.weight_shape),
            "weight_out": Out(format.weight_shape),
            "weight_valid_in": In(1),
            "weight_valid_out": Out(1),
            "sum_in": In(format.sum_shape),
            "sum_out": Out(format.sum_shape),
        })

    @classmethod
    def latency(cls, mac_latency):
        """Cycles from an activation on `activation_in` to its share of `sum_out`."""
        return cls.TRANSPORT + mac_latency

    def elaborate(self, platform):
        m = Module()
        held = Signal(self._format.weight_shape)
        full = Signal()
        take = Signal()
        m.d.sync += [
            self.activation_out.eq(self.activation_in),
            self.turn_out.eq(self.turn_in),
            self.weight_out.eq(self.weight_in),
            self.weight_valid_out.eq(self.weight_valid_in & ~take),
        ]
        m.d.comb += take.eq(self.weight_valid_in & (~full | self.turn_in))
        with m.If(take):
            m.d.sync += [held.eq(self.weight_in), full.eq(1)]
        with m.Elif(self.turn_in):
            m.d.sync += full.eq(0)

        active = held
        if self._double_buffer:
            active = Signal(self._format.weight_shape)
            with m.If(self.turn_in):
                m.d.sync += active.eq(held)

        product = self._format.multiply(self.activation_out, active)
        for stage in range(1, self._mac_latency):
            register = Signal(product.shape(), name=f"product_{stage}")
            m.d.sync += register.eq(product)
            product = register
        m.d.sync += self.sum_out.eq(self.sum_in + product)
        return m
