"""Operand registers in front of the arithmetic of a vector unit."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .vector_commands import IMMEDIATE_BITS, Operand
from .vector_format import check_element_bits

__all__ = ["VectorOperands"]


class VectorOperands(wiring.Component):
    """Keeps the operands of a beat as they come from the slots, `lanes` elements per cycle.

    Latency `LATENCY`; one beat per cycle, never stalls.

    Parameters
    ----------
    element_bits : int
        Bits of an element, see :class:`VectorFormat`.
    lanes : int
        Elements of a beat.

    Members
    -------
    take : In(1)
        A beat is there; the other inputs belong to it.
    a, b : In(ArrayLayout(signed(element_bits), lanes))
        Elements of the slots.
    row : In(signed(element_bits))
        The value of the row.
    real : In(range(lanes + 1))
        Elements of `a` that are not to be masked.
    kind : In(Operand)
        What `y` is: `immediate`, `row` or `b`.
    immediate : In(signed(IMMEDIATE_BITS))
    x, y : Out(ArrayLayout(signed(element_bits), lanes))
        Kept until the next beat.
    """

    LATENCY = 1  # cycles from a beat to its operands

    def __init__(self, *, element_bits, lanes):
        check_element_bits(element_bits)
        check_integer("lanes", lanes, 1, 1 << 16)
        self._bits, self._lanes = element_bits, lanes
        element = signed(element_bits)
        elements = data.ArrayLayout(element, lanes)
        super().__init__({
            "take": In(1), "a": In(elements), "b": In(elements), "row": In(element),
            "real": In(range(lanes + 1)), "kind": In(Operand),
            "immediate": In(signed(IMMEDIATE_BITS)), "x": Out(elements), "y": Out(elements),
        })

    def elaborate(self, platform):
        m = Module()
        lanes, masked = range(self._lanes), -1 << self._bits - 1
        with m.If(self.take):
            m.d.sync += [self.x[lane].eq(Mux(self.real > lane, self.a[lane], masked))
                         for lane in lanes]
            with m.Switch(self.kind):
                with m.Case(Operand.IMMEDIATE):
                    m.d.sync += [self.y[lane].eq(self.immediate) for lane in lanes]
                with m.Case(Operand.ROW):
                    m.d.sync += [self.y[lane].eq(self.row) for lane in lanes]
                with m.Case(Operand.VECTOR):
                    m.d.sync += self.y.eq(self.b)
        return m
