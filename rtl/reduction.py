"""Maximum or sum of rows: a tree of registered rounds, then one element a row."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .checks import ceil_div, ceil_log2, check_integer
from .rounder import Rounder
from .rounding import sign_extended
from .vector_commands import SHIFT_BITS
from .vector_format import VectorFormat, check_element_bits

__all__ = ["LONGEST_ROW", "Reduction"]

LONGEST_ROW = 1 << 24  # elements whose sum fits the register


class Reduction(wiring.Component):
    """Greatest element of a row, or its sum / 2**shift rounded half up and saturated.

    One beat per cycle, rows back to back. Latency from a row's last beat to its result:
    :meth:`latency`: ceil(log2(lanes)) rounds, one cycle that adds the beats of a row up, and those
    that round. The numpy model is :class:`VectorFormat`.

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
    maximum : In(1)
        Look for the greatest element; otherwise add.
    x : In(ArrayLayout(signed(element_bits), lanes))
    count : In(range(lanes + 1))
        Elements of the beat that are real.
    first, last : In(1)
        First and last beat of a row.
    shift : In(SHIFT_BITS)
        Of a sum.
    row : Out(signed(element_bits))
        Kept until the next result.
    overflow : Out(1)
        The sum that `row` shows since this cycle did not fit.
    """

    def __init__(self, *, element_bits, lanes):
        check_element_bits(element_bits)
        check_integer("lanes", lanes, 1, 1 << 16)
        self._format, self._lanes = VectorFormat(element_bits), lanes
        element = signed(element_bits)
        super().__init__({
            "valid": In(1), "maximum": In(1),
            "x": In(data.ArrayLayout(element, lanes)), "count": In(range(lanes + 1)),
            "first": In(1), "last": In(1), "shift": In(SHIFT_BITS),
            "row": Out(element), "overflow": Out(1),
        })

    @staticmethod
    def latency(lanes):
        """Cycles from a row's last beat to its result."""
        return ceil_log2(lanes) + 1 + Rounder.LATENCY + 1

    def _padded(self, neutral):
        """The elements of the beat, `neutral` where there is none."""
        return [Mux(lane < self.count, self.x[lane], neutral) for lane in range(self._lanes)]

    def elaborate(self, platform):
        m = Module()
        beat = Signal(data.StructLayout(
            {"valid": 1, "maximum": 1, "first": 1, "last": 1, "shift": SHIFT_BITS}))
        m.d.comb += [getattr(beat, name).eq(getattr(self, name))
                     for name, _field in beat.shape()]
        greatest, added = self._padded(self._format.masked), self._padded(0)
        for number in range(ceil_log2(self._lanes)):
            beat, level = self._elaborate_round(m, number, beat, greatest, added)
            greatest = added = [level[place] for place in range(level.shape().length)]
        self._elaborate_rows(m, beat, greatest[0], added[0])
        return m

    def _elaborate_round(self, m, number, beat, greatest, added):
        """Halve the number of elements; one that has no partner passes."""
        count = ceil_div(len(added), 2)
        shape = signed(self._format.element_bits + number + 1)
        level = Signal(data.ArrayLayout(shape, count), name=f"round_{number}")
        beat_out = Signal(beat.shape(), name=f"beat_{number}")
        m.d.sync += beat_out.valid.eq(beat.valid)
        with m.If(beat.valid):
            m.d.sync += Value.cast(beat_out)[1:].eq(Value.cast(beat)[1:])
            with m.If(beat.maximum):
                m.d.sync += level.eq(_pairwise(greatest, shape, lambda a, b: Mux(a > b, a, b)))
            with m.Else():
                m.d.sync += level.eq(_pairwise(added, shape, lambda a, b: a + b))
        return beat_out, level

    def _elaborate_rows(self, m, beat, greatest, added):
        bits = self._format.element_bits
        total = Signal(signed(bits + ceil_log2(LONGEST_ROW)))
        valid = Signal(2)  # of the stages: all of a row is in `total`; it is being rounded
        maximum = Signal()
        m.submodules.rounder = rounder = Rounder(value_bits=len(total), element_bits=bits, lanes=1)
        m.d.sync += [valid.eq(Cat(beat.valid & beat.last, valid[0])),
                     self.overflow.eq(valid[1] & rounder.outside)]
        m.d.comb += [
            rounder.scaled.eq(~beat.maximum),
            rounder.shift.eq(beat.shift),
            rounder.valid.eq(valid[0]),
            rounder.value[0].eq(total),
            rounder.masked.eq(maximum & (total == self._format.masked)),
        ]
        with m.If(beat.valid):
            m.d.sync += maximum.eq(beat.maximum)
            with m.If(beat.maximum):
                m.d.sync += total.eq(Mux(beat.first | (greatest > total), greatest, total))
            with m.Else():
                m.d.sync += total.eq(Mux(beat.first, 0, total) + added)
        with m.If(valid[1]):
            m.d.sync += self.row.eq(rounder.o[0])


def _pairwise(values, shape, combine):
    """Packed results of the given shape."""
    pairs = [combine(*values[place:place + 2]) if place + 1 < len(values) else values[place]
             for place in range(0, len(values), 2)]
    return Cat(sign_extended(value, shape.width) for value in pairs)
