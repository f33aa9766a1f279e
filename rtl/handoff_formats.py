"""Conversions of elements that pass between matrix and vector unit: models and hardware."""

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .vector_commands import SHIFT_BITS

__all__ = ["ProbabilityFormat", "ScoreFormat", "ScoreShift", "convert_probability",
           "convert_score"]


def convert_score(design, accumulator, shift=0, narrow=0):
    """The element that the vector unit gets for an accumulator (integer or array of them)."""
    element = accumulator if shift == 0 else accumulator + (1 << shift - 1) >> shift
    if not narrow:
        return element
    high = (1 << design.score_bits - 1) - 1
    return np.minimum(np.maximum(element, -high), high)


def convert_probability(design, element, narrow=0):
    """The bits of the activation for a vector element (integer or array of them)."""
    if not narrow:
        return element & (1 << design.activation_bits) - 1
    one, most = (1 << design.probability_bits) - 1, (1 << design.activation_bits) - 1
    return ((element & one) * most + one // 2) // one


class ScoreShift(wiring.Component):
    """Twice an accumulator / 2**`shift`, rounded down: the lowest bit says how to round.

    Combinational.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(signed(accumulator_bits))
    shift : In(6)
    o : Out(signed(accumulator_bits + 1))
    """

    def __init__(self, *, design):
        super().__init__({
            "i": In(signed(design.accumulator_bits)),
            "shift": In(SHIFT_BITS),
            "o": Out(signed(design.accumulator_bits + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq((self.i << 1) >> self.shift)
        return m


class ScoreFormat(wiring.Component):
    """Half of what :class:`ScoreShift` makes, rounded half up, and with `narrow` saturated.

    Combinational. With `narrow` the result has `score_bits`, the least number left out.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(signed(accumulator_bits + 1))
    narrow : In(1)
    o : Out(signed(accumulator_bits))
    """

    def __init__(self, *, design):
        self._design = design
        super().__init__({
            "i": In(signed(design.accumulator_bits + 1)),
            "narrow": In(1),
            "o": Out(signed(design.accumulator_bits)),
        })

    def elaborate(self, platform):
        m = Module()
        rounded = Signal(signed(self._design.accumulator_bits + 1))
        m.d.comb += rounded.eq((self.i + 1) >> 1)
        high = (1 << self._design.score_bits - 1) - 1
        with m.If(self.narrow & (rounded > high)):
            m.d.comb += self.o.eq(high)
        with m.Elif(self.narrow & (rounded < -high)):
            m.d.comb += self.o.eq(-high)
        with m.Else():
            m.d.comb += self.o.eq(rounded)
        return m


class ProbabilityFormat(wiring.Component):
    """The low bits of an element or, with `narrow`, a probability as an unsigned activation.

    Combinational. A code of `probability_bits` (P) stands for a fraction, all ones being 1; it
    is rounded half up to a code of `activation_bits` (A). Exact: the quotient by 2**P - 1 is
    the sum of a number's digits in base 2**P, and what those still contain of 2**P - 1.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(max(A, P))
        Low bits of the element.
    narrow : In(1)
    o : Out(A)
    """

    def __init__(self, *, design):
        self._design = design
        bits, code_bits = design.activation_bits, design.probability_bits
        super().__init__({"i": In(max(bits, code_bits)), "narrow": In(1), "o": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        bits, code_bits = self._design.activation_bits, self._design.probability_bits
        code = self.i[:code_bits]
        one, most = (1 << code_bits) - 1, (1 << bits) - 1
        number = (code << bits) - code + one // 2
        quotient = self._divide(number.as_unsigned(), one * most + one // 2, code_bits)
        m.d.comb += self.o.eq(Mux(self.narrow, quotient, self.i[:bits]))
        return m

    @staticmethod
    def _divide(number, greatest, code_bits):
        """Quotient by 2**code_bits - 1 of a number that is not above `greatest`."""
        one = (1 << code_bits) - 1
        if greatest < 2 * one:
            return number >= one
        high, low = number[code_bits:], number[:code_bits]
        return high + ProbabilityFormat._divide(
            high + low, (greatest >> code_bits) + one, code_bits)
