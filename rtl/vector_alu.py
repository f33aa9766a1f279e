"""Ordinary arithmetic of one vector unit: element by element, and reductions of rows."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .reduction import Reduction
from .rounding import round_shift, saturate, sign_extended
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

    LATENCY = 2  # cycles from a beat to its result

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
        outside = self._elaborate_elements(m, self.valid & ~reduces)
        m.d.comb += self.overflow.eq(outside | m.submodules.reduction.overflow)
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

    def _elaborate_elements(self, m, valid):
        """Exact results in the first cycle; rounded and saturated in the second."""
        bits, lanes = self._format.element_bits, range(self._lanes)
        exact = Signal(data.ArrayLayout(signed(bits + IMMEDIATE_BITS), self._lanes))
        is_masked = Signal(self._lanes)
        counted = Signal(self._lanes)
        shift = Signal(SHIFT_BITS)
        high = Signal(bits - 1)
        exact_valid = Signal()
        is_product = self.op == VectorOp.MULTIPLY
        is_sum = (self.op == VectorOp.ADD) | (self.op == VectorOp.SUBTRACT)
        m.d.sync += exact_valid.eq(valid)
        with m.If(valid):
            m.d.sync += [
                shift.eq(Mux(is_product, self.shift, 0)),
                # 0 bits give all ones, the greatest number of an element
                high.eq((1 << Mux(is_product, self.bits, 0) >> 1) - 1),
                counted.eq(Mux(is_sum, (1 << self.count) - 1, 0)),
            ]
            self._elaborate_exact(m, exact, is_masked)
        rounded = Signal.like(exact)
        low = Signal(signed(bits))
        outside = Signal(self._lanes)
        overflow = Signal()
        m.d.comb += [low.eq(Cat(~high, 1) + high.all()),  # full width: the least one is masked
                     rounded.eq(Cat(round_shift(exact[lane], shift) for lane in lanes))]
        with m.If(exact_valid & counted.any()):
            m.d.comb += outside.eq(counted & ~is_masked & Cat(
                (rounded[lane] < low) | (rounded[lane] > high) for lane in lanes))
        m.d.sync += overflow.eq(outside.any())
        with m.If(exact_valid):
            m.d.sync += self.o.eq(Cat(
                Mux(is_masked[lane], self._format.masked,
                    saturate(rounded[lane], low, high))[:bits] for lane in lanes))
        return overflow

    def _elaborate_exact(self, m, exact, is_masked):
        """The result of each lane in full width, and whether it is masked."""
        masked, shape = self._format.masked, exact.shape().elem_shape
        pairs = list(zip(self.x, self.y))
        x_masked = [x == masked for x, _y in pairs]
        operations = {
            VectorOp.ADD: ([x + y for x, y in pairs], x_masked),
            VectorOp.SUBTRACT: ([x - y for x, y in pairs], x_masked),
            VectorOp.MULTIPLY: ([x * y[:IMMEDIATE_BITS].as_signed() for x, y in pairs], x_masked),
            VectorOp.MAXIMUM: ([Mux(x > y, x, y) for x, y in pairs],
                               [(x == masked) & (y == masked) for x, y in pairs]),
            VectorOp.MASK: ([x for x, _y in pairs],
                            [(x == masked) | (y == 0) for x, y in pairs]),
        }
        with m.Switch(self.op):
            for op, (values, are_masked) in operations.items():
                with m.Case(op):
                    m.d.sync += [exact.eq(Cat(sign_extended(value, shape.width)
                                              for value in values)),
                                 is_masked.eq(Cat(are_masked))]
