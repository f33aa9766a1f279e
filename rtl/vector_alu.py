"""Ordinary arithmetic of one vector unit: element by element, and reductions of rows."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .reduction import Reduction
from .rounder import Rounder
from .vector_commands import IMMEDIATE_BITS, SHIFT_BITS, VectorOp
from .vector_format import VectorFormat, check_element_bits

__all__ = ["VectorAlu"]


class VectorAlu(wiring.Component):
    """All operations that are not special, `lanes` elements per cycle.

    One beat per cycle, never stalls. A result is there `LATENCY` cycles after its beat, that of a
    row :meth:`row_latency` after the row's last beat. Elementwise operations may change with
    every beat. Between beats nothing changes except `overflow`. The numpy model is
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
    x, y : In(ArrayLayout(signed(element_bits), lanes))
        Operands; of y a product takes the low 32 bits.
    shift : In(SHIFT_BITS)
        Of a product or a row's sum.
    bits : In(range(element_bits + 1))
        Width of a product, 0 for all bits.
    count : In(range(lanes + 1))
        Elements of the beat that are real; the others' results mean nothing.
    first, last : In(1)
        First and last beat of a row.
    o : Out(ArrayLayout(signed(element_bits), lanes))
        Kept until the next result, as is `row`.
    row : Out(signed(element_bits))
        Maximum or sum of a row.
    overflow : Out(1)
        In the first cycle of a result: a real element, or the row, saturated in an addition,
        subtraction or sum.
    """

    LATENCY = 1 + Rounder.LATENCY + 1  # cycles from a beat to its result

    def __init__(self, *, element_bits, lanes):
        check_element_bits(element_bits)
        check_integer("lanes", lanes, 1, 1 << 16)
        self._format, self._lanes = VectorFormat(element_bits), lanes
        elements = data.ArrayLayout(signed(element_bits), lanes)
        super().__init__({
            "valid": In(1), "op": In(VectorOp), "x": In(elements), "y": In(elements),
            "shift": In(SHIFT_BITS), "bits": In(range(element_bits + 1)),
            "count": In(range(lanes + 1)), "first": In(1), "last": In(1),
            "o": Out(elements), "row": Out(signed(element_bits)), "overflow": Out(1),
        })

    @classmethod
    def row_latency(cls, lanes):
        """Cycles from a row's last beat to its result."""
        return Reduction.latency(lanes)

    def elaborate(self, platform):
        m = Module()
        reduces = Signal()
        m.d.comb += reduces.eq((self.op == VectorOp.ROW_MAXIMUM) | (self.op == VectorOp.ROW_SUM))
        self._elaborate_reduction(m, reduces)
        overflow = self._elaborate_elements(m, self.valid & ~reduces)
        m.d.comb += self.overflow.eq(overflow | m.submodules.reduction.overflow)
        return m

    def _elaborate_reduction(self, m, reduces):
        m.submodules.reduction = reduction = Reduction(element_bits=self._format.element_bits,
                                                       lanes=self._lanes)
        m.d.comb += [
            reduction.valid.eq(self.valid & reduces),
            reduction.maximum.eq(self.op == VectorOp.ROW_MAXIMUM),
            *(getattr(reduction, name).eq(getattr(self, name))
              for name in ("x", "count", "first", "last", "shift")),
            self.row.eq(reduction.row),
        ]

    def _elaborate_elements(self, m, beat):
        """The stages: exact results, and two that round and saturate them."""
        bits, lanes = self._format.element_bits, self._lanes
        m.submodules.rounder = rounder = Rounder(value_bits=bits + IMMEDIATE_BITS,
                                                 element_bits=bits, lanes=lanes)
        valid = Signal(2)  # of the stages but the last one
        is_product = self.op == VectorOp.MULTIPLY
        is_sum = (self.op == VectorOp.ADD) | (self.op == VectorOp.SUBTRACT)
        counted = [Signal(lanes, name=f"counted_{stage}") for stage in range(2)]
        overflow = Signal()
        m.d.sync += [
            valid.eq(Cat(beat, valid[0])),
            overflow.eq(valid[1] & (counted[1] & rounder.outside).any()),
        ]
        m.d.comb += [
            rounder.valid.eq(valid[0]),
            rounder.scaled.eq(is_product),
            rounder.shift.eq(self.shift),
            rounder.bits.eq(self.bits),
        ]
        for lane in range(lanes):
            self._elaborate_exact(m, beat, lane)
        with m.If(beat):
            m.d.sync += counted[0].eq(Mux(is_sum, (1 << self.count) - 1, 0))
        with m.If(valid[0]):
            m.d.sync += counted[1].eq(counted[0])
        with m.If(valid[1]):
            m.d.sync += self.o.eq(rounder.o)
        return overflow

    def _elaborate_exact(self, m, beat, lane):
        """A lane's result in full width, and whether it is masked.

        The halves of a product are added in the cycle in which the rounder takes it.
        """
        bits, x, y = self._format.element_bits, self.x[lane], self.y[lane]
        rounder, half = m.submodules.rounder, IMMEDIATE_BITS // 2
        masked = rounder.masked[lane]
        exact = Signal(signed(bits + half), name=f"exact_{lane}")   # without the high half
        high = Signal(signed(bits + half), name=f"exact_high_{lane}")
        subtracts = self.op != VectorOp.ADD
        total = Signal(signed(bits + 1), name=f"total_{lane}")
        x_masked, y_masked = x == self._format.masked, y == self._format.masked
        # x + y or, y inverted and with a carry, x - y
        addend = (y ^ subtracts.replicate(bits))[:bits]
        m.d.comb += [
            total.eq((Cat(1, x).as_signed() + Cat(subtracts, addend).as_signed()) >> 1),
            rounder.value[lane].eq(exact + (high << half)),
        ]
        with m.If(beat):
            m.d.sync += [masked.eq(x_masked), high.eq(0)]
            with m.Switch(self.op):
                with m.Case(VectorOp.MULTIPLY):
                    m.d.sync += [exact.eq(x * y[:half]),
                                 high.eq(x * y[half:IMMEDIATE_BITS].as_signed())]
                with m.Case(VectorOp.MAXIMUM):
                    m.d.sync += [exact.eq(Mux(total < 0, y, x)), masked.eq(x_masked & y_masked)]
                with m.Case(VectorOp.MASK):
                    m.d.sync += [exact.eq(x), masked.eq(x_masked | (y == 0))]
                with m.Default():
                    m.d.sync += exact.eq(total)
