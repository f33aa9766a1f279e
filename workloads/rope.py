"""Rotary position embedding: pairs of elements turned by angles that grow with the position."""

import copy
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..rtl import Design
from ..rtl.commands import Destination, Load, Store
from ..rtl.vector_commands import (
    Operand,
    VectorCommand,
    VectorOp,
    operand_slot,
    scratch_slot,
    vector_slot_elements,
)
from .checks import check_integer
from .errors import WorkloadError
from .operands import as_array, integer_matrix
from .program import Output, Program
from .vector_workload import (
    Block,
    VectorWorkload,
    check_values,
    element_bytes,
    first_and_last,
    saturate,
    spans,
    to_bytes,
)

__all__ = ["COEFFICIENT_BYTES", "FRACTION", "RandomRope", "Rope", "rope_table"]

FRACTION = 14          # fraction bits of a coefficient: 15 bits of magnitude, for 1 is there too
COEFFICIENT_BYTES = 2
MOST_BITS = 16
LARGEST_POSITION = (1 << 31) - 1


def rope_table(positions: np.ndarray, head_dim: int, base: float) -> np.ndarray:
    """Coefficients [positions, head_dim]: cosines of all pairs, then sines, times 2**14, rounded.

    Pair i turns by position * base**(-2 i / head_dim).
    """
    pairs = np.arange(head_dim // 2)
    angles = np.asarray(positions)[:, np.newaxis] * base ** (-2 * pairs / head_dim)
    table = np.concatenate((np.cos(angles), np.sin(angles)), axis=1)
    return np.rint(table * (1 << FRACTION)).astype(np.int64)


class _Sizes(NamedTuple):
    """Of a block: heads, positions, pairs of a head."""
    heads: int
    positions: int
    pairs: int


class Rope(VectorWorkload):
    """Pairs (x1, x2) = elements (i, i + head_dim / 2) of every head become
    (x1 cos - x2 sin, x1 sin + x2 cos).

    Coefficients of 15 bits come from a table in memory with head_dim entries for each position,
    which all heads share. The products and their sum are exact; the result is rounded once, half
    up, and saturated to `bits`. A pair takes 6 operations (chapter 4.2.2), and two roundings.

    A block holds some heads at some positions. Heads are dealt out to the vector units, so each
    unit reads a copy of the block's coefficients.

    Parameters
    ----------
    x : array of integers [rows, heads * head_dim]
    heads : int
    start : int
        Position of the first row; the others follow.
    positions : array of integers [rows] or None
        The position of each row, instead of `start`.
    base : float
        Of the angles; 10000 unless given, 1000000 in Qwen3.
    bits : int or None
        See :class:`VectorWorkload`; at most 16.

    Raises
    ------
    WorkloadError
        Shapes or values that do not fit, here or when the program for a design is built.
    """

    name = "rope"

    def __init__(self, x: Any, *, heads: int = 1, start: int = 0, positions: Any = None,
                 base: float = 1e4, bits: int | None = None):
        super().__init__(bits, MOST_BITS)
        self.x = integer_matrix("x", x)
        self._set_shape(self.x.shape, heads, start, positions, base)

    def _set_shape(self, shape: tuple[int, ...], heads: int, start: int, positions: Any,
                   base: float) -> None:
        self.heads = check_integer("heads", heads, 1)
        if shape[1] % (2 * heads):
            raise WorkloadError(f"x must have an even number of columns for each of {heads} heads, "
                                f"not {shape[1]} in all")
        self.rows, self.head_dim = shape[0], shape[1] // heads
        self.start = check_integer("start", start, 0, LARGEST_POSITION - self.rows)
        if isinstance(base, bool) or not isinstance(base, int | float) or not (
                1 <= base < math.inf):
            raise WorkloadError(f"base must be a number from 1, not {base!r}")
        self.base = float(base)
        self.positions = np.arange(self.start, self.start + self.rows)
        self._given = positions is not None
        if self._given:
            self.positions = as_array("positions", positions)
            if (self.positions.shape != (self.rows,) or self.positions.dtype.kind not in "iu"
                    or self.positions.min() < 0 or self.positions.max() > LARGEST_POSITION):
                raise WorkloadError(f"positions must be {self.rows} integers from 0 to "
                                    f"{LARGEST_POSITION}, one for each row of x")

    # -- work and storage ----------------------------------------------------------------------

    @property
    def pairs(self) -> int:
        """Pairs of all rows and heads."""
        return self.rows * self.heads * self.head_dim // 2

    @property
    def operations(self) -> int:
        """4 multiplications, an addition and a subtraction for each pair."""
        return 6 * self.pairs

    @property
    def table_bytes(self) -> int:
        """Of the coefficients of all rows' positions, in memory."""
        return self.rows * self.head_dim * COEFFICIENT_BYTES

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "rows": self.rows, "heads": self.heads,
                "head_dim": self.head_dim, **({"positions": "given"} if self._given else
                                              {"start": self.start}),
                "base": self.base, **({} if self.bits is None else {"bits": self.bits}),
                "pairs": self.pairs, "operations": self.operations,
                "table_bytes": self.table_bytes}

    def operand(self, design: Design) -> np.ndarray:
        """x for a design."""
        return self.x

    def check(self, design: Design) -> None:
        bits = self.element_bits(design)
        if bits > MOST_BITS:
            raise WorkloadError(f"bits must be from 2 to {MOST_BITS}, not {bits}")
        check_values("x", self.operand(design), bits)

    def reference(self, design: Design) -> tuple[np.ndarray, bool]:
        half = self.head_dim // 2
        x = self.operand(design).reshape(self.rows, self.heads, 2, half)
        table = rope_table(self.positions, self.head_dim, self.base)
        cos, sin = (part[:, np.newaxis] for part in (table[:, :half], table[:, half:]))
        x1, x2 = x[:, :, 0], x[:, :, 1]
        exact = np.stack((x1 * cos - x2 * sin, x1 * sin + x2 * cos), axis=2)
        values = exact + (1 << FRACTION - 1) >> FRACTION
        return saturate(values.reshape(self.rows, -1), self.element_bits(design)), False

    # -- the program ---------------------------------------------------------------------------

    def place(self, program: Program, design: Design, contents: bool) -> list[int]:
        """Addresses of x, of the table and of the result."""
        element, columns = element_bytes(self.element_bits(design)), self.heads * self.head_dim
        if contents:
            x = program.place_image(to_bytes(self.operand(design), element))
            table = program.place_image(to_bytes(
                rope_table(self.positions, self.head_dim, self.base), COEFFICIENT_BYTES))
        else:
            x = program.place(self.rows * columns * element)
            table = program.place(self.table_bytes)
        result = program.place(self.rows * columns * element)
        program.outputs.append(Output(result, self.rows, columns, element))
        return [x, table, result]

    def _largest(self, design: Design) -> _Sizes:
        """Of a block: whole heads, as many as fit, then as many positions as are useful."""
        elements, units, half = vector_slot_elements(design), design.vector_units, (
            self.head_dim // 2)
        pairs = min(half, elements // 2)
        heads = min(self.heads, design.accumulator_rows, elements // (2 * pairs) * units)
        heads = -(-self.heads // -(-self.heads // heads))  # about as many in each block
        fit = elements // (-(-heads // units) * 2 * pairs)
        # A few blocks overlap; a block fills the lanes.
        wanted = max(-(-self.rows // 8), -(-design.lanes // pairs))
        return _Sizes(heads, min(self.rows, fit, wanted), pairs)

    def kinds(self, design: Design) -> Iterator[tuple[Block, int]]:
        most = self._largest(design)
        sizes: dict[_Sizes, int] = {}
        parts = [_counts(total, step) for total, step in (
            (self.heads, most.heads), (self.rows, most.positions),
            (self.head_dim // 2, most.pairs))]
        for heads, heads_count in parts[0].items():
            for positions, positions_count in parts[1].items():
                for pairs, pairs_count in parts[2].items():
                    size = _Sizes(heads, positions, pairs)
                    sizes[size] = heads_count * positions_count * pairs_count
        for size, number in sizes.items():
            yield self._block(design, [0, 0, 0], 0, (0, 0, 0), size), number

    def blocks(self, design: Design, bases: list[int]) -> Iterator[Block]:
        most, number = self._largest(design), 0
        for row, positions in spans(self.rows, most.positions):
            for head, heads in spans(self.heads, most.heads):
                for pair, pairs in spans(self.head_dim // 2, most.pairs):
                    yield self._block(design, bases, number, (head, row, pair),
                                      _Sizes(heads, positions, pairs))
                    number += 1

    def _block(self, design: Design, bases: list[int], number: int,
               first: tuple[int, int, int], size: _Sizes) -> Block:
        """Block `number`, from head, row and pair `first` on.

        Its slot holds of each head the first elements of all pairs, position by position, then
        the second ones. The slot of the table holds cosines, then sines, in the same order.
        """
        x, table, result = bases
        slot = number % (2 * design.handoff_slots)
        coefficients = operand_slot(design, number % design.handoff_slots)
        element = element_bytes(self.element_bits(design))
        loads, copies, stores = [], [], []
        for word, row, pair, half, elements in self._pieces(design, first, size):
            column = first[0] * self.head_dim + half * (self.head_dim // 2) + pair
            place = (row * self.heads * self.head_dim + column) * element
            shape: dict[str, Any] = {
                "rows": size.heads, "bytes_per_row": elements * element,
                "row_stride": self.head_dim * element,
                "pitch": 2 * size.positions * size.pairs, "element_bytes": element}
            loads.append(Load(Destination.VECTOR, x + place, slot=slot, word=word, **shape))
            stores.append(Store(slot, word, base=result + place, vector=1, keep=1, **shape))
            entry = row * self.head_dim + half * (self.head_dim // 2) + pair
            copies.append(Load(
                Destination.VECTOR, table + entry * COEFFICIENT_BYTES,
                min(size.heads, design.vector_units), elements * COEFFICIENT_BYTES, 0,
                slot=coefficients, word=word, element_bytes=COEFFICIENT_BYTES))
        stores[0] = stores[0]._replace(wait=1)
        stores[-1] = stores[-1]._replace(keep=0)
        return Block(first_and_last(loads) + first_and_last(copies),
                     self._commands(design, slot, coefficients, size), stores)

    @staticmethod
    def _pieces(design: Design, first: tuple[int, int, int],
                size: _Sizes) -> Iterator[tuple[int, int, int, int, int]]:
        """What a load takes of each head: place in the slot, row, pair, half, elements."""
        _head, row, pair = first
        for half in range(2):
            for position in range(size.positions):
                for start, elements in spans(size.pairs, design.cols):
                    word = (half * size.positions + position) * size.pairs + start
                    yield word, row + position, pair + start, half, elements

    def _commands(self, design: Design, x: int, table: int,
                  size: _Sizes) -> list[VectorCommand]:
        """Four products into the scratch slots, their sums back, and one rounding of both."""
        length = size.positions * size.pairs
        shape: dict[str, Any] = {"rows": size.heads, "length": length, "a_pitch": 2 * length,
                                 "d_pitch": 2 * length}
        left, right = scratch_slot(design, 0), scratch_slot(design, 1)

        def multiply(half: int, coefficient: int, to: int, place: int) -> VectorCommand:
            return VectorCommand(
                VectorOp.MULTIPLY, x, to, a_address=half * length, d_address=place * length,
                b=Operand.VECTOR, b_slot=table, b_address=coefficient * length, **shape)

        def combine(op: VectorOp, place: int) -> VectorCommand:
            return VectorCommand(
                op, left, x, a_address=place * length, d_address=place * length,
                b=Operand.VECTOR, b_slot=right, b_address=place * length, b_pitch=2 * length,
                valid=length, **shape)

        return [
            multiply(0, 0, left, 0)._replace(wait_a=1, wait_b=1),  # x1 cos
            multiply(1, 1, right, 0),                              # x2 sin
            multiply(0, 1, left, 1),                               # x1 sin
            multiply(1, 0, right, 1)._replace(free_b=1),           # x2 cos
            combine(VectorOp.SUBTRACT, 0),
            combine(VectorOp.ADD, 1),
            VectorCommand(VectorOp.MULTIPLY, x, x, **{**shape, "length": 2 * length},
                          immediate=1, shift=FRACTION, bits=self.element_bits(design), done=1,
                          last=1)]


def _counts(total: int, step: int) -> dict[int, int]:
    """How many parts there are of each size."""
    counts: dict[int, int] = {}
    for _start, size in spans(total, step):
        counts[size] = counts.get(size, 0) + 1
    return counts


class RandomRope(Rope):
    """Rotary embedding of random elements, uniform over all of their bits.

    Parameters
    ----------
    rows, heads, head_dim : int
        1 or more each; head_dim even.
    seed : int
        0 or more.
    Others : see :class:`Rope`.
    """

    def __init__(self, rows: int = 16, heads: int = 4, head_dim: int = 8, *, seed: int = 0,
                 start: int = 0, positions: Any = None, base: float = 1e4,
                 bits: int | None = None):
        VectorWorkload.__init__(self, bits, MOST_BITS)
        rows, heads, head_dim = (check_integer(name, value, 1) for name, value in (
            ("rows", rows), ("heads", heads), ("head_dim", head_dim)))
        if head_dim % 2:
            raise WorkloadError(f"head_dim must be even, not {head_dim}")
        self.seed = check_integer("seed", seed, 0)
        self._set_shape((rows, heads * head_dim), heads, start, positions, base)

    def operand(self, design: Design) -> np.ndarray:
        limit = 1 << self.element_bits(design) - 1
        return np.random.default_rng(self.seed).integers(
            -limit, limit, size=(self.rows, self.heads * self.head_dim))

    def check(self, design: Design) -> None:
        """Random elements are made to fit."""

    def seeded(self, seed: int) -> "RandomRope":
        other = copy.copy(self)
        other.seed = check_integer("seed", seed, 0)
        return other

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "seed": self.seed}
