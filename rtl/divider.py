"""Pipelined division, two bits of the quotient in each stage."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .vector_commands import SHIFT_BITS
from .vector_format import (
    DIVISOR_BITS,
    MULTIPLIER_BITS,
    QUOTIENT_BITS,
    VectorFormat,
    check_element_bits,
)

__all__ = ["Divider"]

BITS_PER_STAGE = 2
STAGES = QUOTIENT_BITS // BITS_PER_STAGE


class Divider(wiring.Component):
    """x * multiplier / (y * 2**shift), rounded half up, `lanes` elements per cycle.

    One beat per cycle, never stalls; `LATENCY` cycles to the result: the magnitude, the product and
    the divisor, the rounding, and a stage for every two bits of the quotient. The numpy model is
    :meth:`VectorFormat.divide`: y <= 0 and masked x give 0, the divisor saturates at
    `DIVISOR_BITS` bits and the quotient at `QUOTIENT_BITS` bits and a sign.

    With A = |x| * multiplier, D the divisor and s = 1 for negative x, 0 otherwise, the quotient's
    magnitude is (2 A + D - s) // 2 D, which is (A + (D - s) // 2) // D. Its sign is put on while
    its bits come: with a magnitude Q so far and two more bits d, the result is -(4 Q + d), which
    is 4 (-Q) for d = 0 and 4 (-Q - 1) + 4 - d otherwise, and -Q - 1 is Q with each bit inverted
    (on-the-fly conversion: Ercegovac and Lang 1987).

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
    x, y : In(ArrayLayout(signed(element_bits), lanes))
    multiplier : In(MULTIPLIER_BITS)
    shift : In(SHIFT_BITS)
    o : Out(ArrayLayout(signed(QUOTIENT_BITS + 1), lanes))
        Kept until the next result.
    """

    LATENCY = 3 + STAGES  # cycles from a beat to its result

    def __init__(self, *, element_bits, lanes):
        check_element_bits(element_bits)
        check_integer("lanes", lanes, 1, 1 << 16)
        self._format, self._lanes = VectorFormat(element_bits), lanes
        elements = data.ArrayLayout(signed(element_bits), lanes)
        super().__init__({
            "valid": In(1), "x": In(elements), "y": In(elements),
            "multiplier": In(MULTIPLIER_BITS), "shift": In(SHIFT_BITS),
            "o": Out(data.ArrayLayout(signed(QUOTIENT_BITS + 1), lanes)),
        })

    def elaborate(self, platform):
        m = Module()
        valid = Signal(self.LATENCY - 1)
        m.d.sync += valid.eq(Cat(self.valid, valid[:-1]))
        product = self._elaborate_product(m, valid[0], self._elaborate_magnitude(m))
        stage = self._elaborate_rounding(m, valid[1], product)
        results = [C(0, 1)] * self._lanes  # the quotients with their signs, a digit later
        for number in range(STAGES):
            stage, results = self._elaborate_stage(m, number, valid[2 + number], stage, results)
        m.d.comb += [self.o[lane].eq(result) for lane, result in enumerate(results)]
        return m

    def _elaborate_magnitude(self, m):
        """|x| and the sign, y; 0 / 1 where the result is to be 0."""
        bits = self._format.element_bits
        magnitude = Signal(data.ArrayLayout(data.StructLayout({
            "amount": bits - 1, "y": bits - 1, "is_zero": 1, "negative": 1}), self._lanes))
        fields = []
        for x, y in zip(self.x, self.y):
            is_zero = (y <= 0) | (x == self._format.masked)
            amount = Mux(x < 0, -x, x)[:bits - 1]
            fields += [Mux(is_zero, 0, amount), y[:bits - 1], is_zero, x < 0]
        with m.If(self.valid):
            m.d.sync += magnitude.eq(Cat(fields))
        return magnitude

    def _elaborate_product(self, m, valid, magnitude):
        """|x| * multiplier, and y * 2**shift, saturated."""
        bits = self._format.element_bits
        product = Signal(data.ArrayLayout(data.StructLayout({
            "amount": bits - 1 + MULTIPLIER_BITS, "divisor": DIVISOR_BITS, "negative": 1}),
            self._lanes))
        multiplier = Signal.like(self.multiplier)
        shift = Signal.like(self.shift)
        limit = Signal(DIVISOR_BITS)  # the greatest y whose divisor does not saturate
        most = (1 << DIVISOR_BITS) - 1
        with m.If(self.valid):
            m.d.sync += [multiplier.eq(self.multiplier), shift.eq(self.shift),
                         limit.eq(most >> self.shift)]
        with m.If(valid):
            m.d.sync += product.eq(Cat(
                Cat(each.amount * multiplier, Mux(each.is_zero, 1, Mux(
                    each.y > limit, most, (each.y << shift)[:DIVISOR_BITS])), each.negative)
                for each in magnitude))
        return product

    def _elaborate_rounding(self, m, valid, product):
        """The dividend: its low bits, and the others as the first remainder."""
        width = product.shape().elem_shape["amount"].width + 1
        stage = Signal(self._stage_layout(width - QUOTIENT_BITS), name="dividend")
        fields = []
        for each in product:
            dividend = each.amount + ((each.divisor - each.negative) >> 1)[:DIVISOR_BITS - 1]
            fields += [dividend[:QUOTIENT_BITS], dividend[QUOTIENT_BITS:width], each.divisor,
                       each.negative, C(0, 1)]
        with m.If(valid):
            m.d.sync += stage.eq(Cat(fields))
        return stage

    def _stage_layout(self, remainder_bits):
        return data.ArrayLayout(data.StructLayout({
            "bits": QUOTIENT_BITS,  # of the dividend, on the left; of the quotient, on the right
            "remainder": remainder_bits, "divisor": DIVISOR_BITS, "negative": 1,
            "full": 1}),            # the quotient does not fit
            self._lanes)

    def _elaborate_stage(self, m, number, valid, stage, results):
        """Two bits more of the quotients."""
        known = BITS_PER_STAGE * number  # bits of a quotient
        following = Signal(self._stage_layout(DIVISOR_BITS), name=f"stage_{number}")
        bits = QUOTIENT_BITS if number == STAGES - 1 else known
        results_out = Signal(data.ArrayLayout(signed(bits + 1), self._lanes),
                             name=f"results_{number}")
        between = Signal(data.ArrayLayout(DIVISOR_BITS, self._lanes), name=f"between_{number}")
        fields, longer = [], []
        for each, rest, result in zip(stage, between, results):
            trials = [Cat(each.bits[-1], each.remainder), Cat(each.bits[-2], rest)]
            fits = [trial >= each.divisor for trial in trials]
            first, second = (Mux(fit, trial - each.divisor, trial)[:DIVISOR_BITS]
                             for fit, trial in zip(fits, trials))
            m.d.comb += rest.eq(first)
            full = (each.remainder >= each.divisor) if number == 0 else each.full
            digit = Cat(fits[1] | full, fits[0] | full)
            # From registers: the digit before, and in the last stage its own one as well.
            if number:
                result = _append(each.bits[2:known], result, each.bits[:2], each.negative)
            if number == STAGES - 1:
                result = _append(each.bits[:known], result, digit, each.negative)
            longer.append(result)
            fields += [Cat(digit, each.bits[:-2]), second, each.divisor, each.negative, full]
        with m.If(valid):
            m.d.sync += [following.eq(Cat(fields)), results_out.eq(Cat(longer))]
        return following, results_out


def _append(quotient, result, digit, negative):
    """The signed result with two bits more of the quotient, as packed bits."""
    inverted = Cat(~quotient, C(1, 1))
    of_negative = Mux(digit == 0, Cat(C(0, 2), result), Cat((4 - digit)[:2], inverted))
    return Mux(negative, of_negative, Cat(digit, quotient, C(0, 1)))
