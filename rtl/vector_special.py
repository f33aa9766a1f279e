"""Special arithmetic of one vector unit: exponentials, divisions and GELU."""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .divider import Divider
from .exponential import Exponential
from .gelu import Gelu
from .rounding import sign_extended
from .vector_commands import IMMEDIATE_BITS, SHIFT_BITS, VectorOp
from .vector_format import check_element_bits

__all__ = ["VectorSpecial"]

FUNCTIONS = {VectorOp.EXPONENTIAL: Exponential, VectorOp.DIVIDE: Divider, VectorOp.GELU: Gelu}


class VectorSpecial(wiring.Component):
    """The special operations, `lanes` elements per cycle.

    One beat per cycle, never stalls; :meth:`latency` cycles to the result. The operation may
    change only after the last result of the one before has been seen. The numpy model is
    :class:`VectorFormat`.

    Parameters
    ----------
    element_bits : int
        Bits of an element, see :class:`VectorFormat`.
    lanes : int
        Elements of a beat.

    Members
    -------
    valid : In(1)
        A beat is there; the other inputs belong to it.
    op : In(VectorOp)
        A special one.
    x, y : In(ArrayLayout(signed(element_bits), lanes))
        Operands; y only for a division.
    immediate : In(IMMEDIATE_BITS)
        Multiplier of a division, 0 to 2**16.
    shift : In(SHIFT_BITS)
        Of a divisor.
    o : Out(ArrayLayout(signed(element_bits), lanes))
        Kept until the next result of the same operation.
    """

    def __init__(self, *, element_bits, lanes):
        check_element_bits(element_bits)
        check_integer("lanes", lanes, 1, 1 << 16)
        self._bits, self._lanes = element_bits, lanes
        elements = data.ArrayLayout(signed(element_bits), lanes)
        super().__init__({
            "valid": In(1), "op": In(VectorOp), "x": In(elements), "y": In(elements),
            "immediate": In(IMMEDIATE_BITS), "shift": In(SHIFT_BITS), "o": Out(elements),
        })

    @classmethod
    def latency(cls, op):
        """Cycles from a beat to its result."""
        return FUNCTIONS[op].LATENCY

    def elaborate(self, platform):
        m = Module()
        shown, outputs = Value.cast(self.o), []
        for op, function in FUNCTIONS.items():
            running = Signal(name=f"{op.name.lower()}_running")
            with m.If(self.valid):
                m.d.sync += running.eq(self.op == op)
            unit = function(element_bits=self._bits, lanes=self._lanes)
            m.submodules[op.name.lower()] = unit
            m.d.comb += [unit.valid.eq(self.valid & (self.op == op)), unit.x.eq(self.x)]
            if op is VectorOp.DIVIDE:
                m.d.comb += [unit.y.eq(self.y), unit.shift.eq(self.shift),
                             unit.multiplier.eq(self.immediate)]
            results = Signal.like(shown, name=f"{op.name.lower()}_results")
            m.d.comb += results.eq(Cat(sign_extended(unit.o[lane], self._bits)
                                       for lane in range(self._lanes)))
            outputs.append(results & running.replicate(len(results)))
        m.d.comb += shown.eq(reduce(or_, outputs))
        return m
