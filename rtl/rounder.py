"""Rounding and saturation of wide numbers, pipelined."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .vector_commands import SHIFT_BITS
from .vector_format import VectorFormat, check_element_bits

__all__ = ["Rounder"]

FINE_BITS = 4  # of a shift, which come after the others


class Rounder(wiring.Component):
    """value / 2**shift, rounded half up and saturated, `lanes` numbers per cycle.

    Never stalls. A result is there `LATENCY` cycles after its value and depends on registers
    only. Whether a value is too large is seen before it is shifted, so that the shifter is as
    narrow as the result.

    Parameters
    ----------
    value_bits : int
        Bits of a value.
    element_bits : int
        Bits of a result, see :class:`VectorFormat`.
    lanes : int

    Members
    -------
    shift : In(SHIFT_BITS), bits : In(range(element_bits + 1))
        Of the values of the *next* cycle; `bits` is the width of their results, 0 for all bits.
    scaled : In(1)
        Also of the next cycle; without it `shift` and `bits` count as 0.
    valid : In(1)
        Values are there.
    value : In(ArrayLayout(signed(value_bits), lanes))
    masked : In(lanes)
        The result is the least number, which means masked, whatever the value.
    o : Out(ArrayLayout(signed(element_bits), lanes))
        Kept until the next result.
    outside : Out(lanes)
        The result was saturated; means something only of results of all bits.
    """

    LATENCY = 1  # cycles from a value to its result

    def __init__(self, *, value_bits, element_bits, lanes):
        check_element_bits(element_bits)
        check_integer("value_bits", value_bits, element_bits + 1, 128)
        check_integer("lanes", lanes, 1, 1 << 16)
        self._format, self._lanes = VectorFormat(element_bits), lanes
        super().__init__({
            "shift": In(SHIFT_BITS), "bits": In(range(element_bits + 1)), "scaled": In(1),
            "valid": In(1),
            "value": In(data.ArrayLayout(signed(value_bits), lanes)), "masked": In(lanes),
            "o": Out(data.ArrayLayout(signed(element_bits), lanes)), "outside": Out(lanes),
        })

    def elaborate(self, platform):
        m = Module()
        width, all_bits = len(self.value[0]), self._format.element_bits
        shift = Signal.like(self.shift)
        high = Signal(all_bits - 1)  # the greatest result
        kept_bits = Signal(range(width + (1 << SHIFT_BITS) + 1))  # those below the sign
        signs = Signal(range(width + 1))              # how many bits only repeat the sign
        beyond = Signal(width)                        # which
        last_high = Signal.like(high)
        m.d.comb += [
            kept_bits.eq(self.shift + Mux(self.bits == 0, all_bits, self.bits) - 1),
            beyond.eq(C(-1 << width, signed(width + 1)) >> signs),
        ]
        m.d.sync += [
            shift.eq(Mux(self.scaled, self.shift, 0)),
            high.eq(Mux(self.scaled, (1 << self.bits >> 1) - 1, -1)),  # 0 bits give all ones
            # `scaled` is known last.
            signs.eq(Mux(~self.scaled, width - (all_bits - 1),
                         Mux(kept_bits > width, 0, width - kept_bits))),
        ]
        with m.If(self.valid):
            m.d.sync += last_high.eq(high)
        for lane in range(self._lanes):
            self._elaborate_lane(m, lane, shift, beyond, last_high)
        return m

    def _elaborate_lane(self, m, lane, shift, beyond, high):
        value, bits = self.value[lane], self._format.element_bits
        coarse = Signal(bits + (1 << FINE_BITS), name=f"coarse_{lane}")
        kept = Signal(bits, name=f"kept_{lane}")      # the value without its fraction
        half = Signal(name=f"half_{lane}")            # the fraction is a half or more
        negative = Signal(name=f"negative_{lane}")
        too_large = Signal(name=f"too_large_{lane}")  # before it is rounded
        masked = Signal(name=f"masked_{lane}")
        bound = Signal(bits, name=f"bound_{lane}")
        sign = value[-1]
        m.d.comb += coarse.eq((value << 1) >> Cat(C(0, FINE_BITS), shift[FINE_BITS:]))
        with m.If(self.valid):
            m.d.sync += [
                Cat(half, kept).eq(coarse >> shift[:FINE_BITS]),
                negative.eq(sign),
                too_large.eq(((value ^ sign.replicate(len(value))) & beyond).any()),
                masked.eq(self.masked[lane]),
            ]
        m.d.comb += [
            # Of all bits the least number would mean masked: the next one is the bound.
            bound.eq(Cat(high ^ negative.replicate(bits - 1), negative)
                     | (negative & high.all())),
            self.outside[lane].eq(~masked & (
                too_large | (~negative & half & (kept[:-1] | ~high).all())
                | (kept[-1] & ~(kept[:-1].any() | half) & high.all()))),
        ]
        with m.If(masked):
            m.d.comb += self.o[lane].eq(self._format.masked)
        with m.Elif(self.outside[lane]):
            m.d.comb += self.o[lane].eq(bound)
        with m.Else():
            m.d.comb += self.o[lane].eq(kept + half)
