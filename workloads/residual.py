"""Residual addition: the sum of two matrices in memory, element by element."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..rtl import Design
from ..rtl.commands import Destination, Load, Store
from ..rtl.vector_commands import (
    Operand,
    VectorCommand,
    VectorOp,
    vector_slot_elements,
    vector_slots,
)
from .checks import check_integer
from .errors import WorkloadError
from .operands import integer_matrix
from .program import Output, Program
from .vector_workload import (
    Block,
    VectorWorkload,
    check_values,
    element_bytes,
    saturate,
    spans,
    to_bytes,
)

__all__ = ["RandomResidual", "Residual"]

MOST_BITS = 32


class Residual(VectorWorkload):
    """x + y, saturated to `bits`.

    The matrices lie in memory row after row and are taken as rows of `cols` elements, with what
    is left over in a row of its own. An element takes one addition, and one saturation.

    Parameters
    ----------
    x, y : arrays of integers of one shape
    bits : int or None
        See :class:`VectorWorkload`; at most 32.

    Raises
    ------
    WorkloadError
        Shapes or values that do not fit, here or when the program for a design is built.
    """

    name = "residual"

    def __init__(self, x: Any, y: Any, *, bits: int | None = None):
        super().__init__(bits, MOST_BITS)
        self.x, self.y = integer_matrix("x", x), integer_matrix("y", y)
        if self.x.shape != self.y.shape:
            raise WorkloadError(f"y must have the shape of x, {self.x.shape}, not {self.y.shape}")
        self.rows, self.columns = self.x.shape

    @property
    def operations(self) -> int:
        """One addition for each element."""
        return self.rows * self.columns

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "rows": self.rows, "columns": self.columns,
                **({} if self.bits is None else {"bits": self.bits}),
                "operations": self.operations}

    def operands(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """x and y for a design."""
        return self.x, self.y

    def check(self, design: Design) -> None:
        for name, matrix in zip("xy", self.operands(design)):
            check_values(name, matrix, self.element_bits(design))

    def reference(self, design: Design) -> tuple[np.ndarray, bool]:
        x, y = self.operands(design)
        return saturate(x + y, self.element_bits(design)), False

    # -- the program ---------------------------------------------------------------------------

    def place(self, program: Program, design: Design, contents: bool) -> list[int]:
        """Addresses of x, of y and of the result."""
        element = element_bytes(self.element_bits(design))
        size = self.rows * self.columns * element
        if contents:
            bases = [program.place_image(to_bytes(matrix, element))
                     for matrix in self.operands(design)]
        else:
            bases = [program.place(size), program.place(size)]
        bases.append(program.place(size))
        program.outputs.append(Output(bases[2], self.rows, self.columns, element))
        return bases

    def _parts(self, design: Design) -> list[tuple[int, int, int]]:
        """First element, rows of the block, and elements of its rows."""
        whole, left = divmod(self.rows * self.columns, design.cols)
        units = design.vector_units
        most = min(design.accumulator_rows,
                   vector_slot_elements(design) // design.cols * units)
        # A few blocks overlap; a block fills the lanes, and all units alike.
        wanted = max(-(-whole // 8), -(-design.lanes // design.cols) * units)
        step = min(most, -(-wanted // units) * units)
        step = step // units * units or step
        parts = [(start * design.cols, rows, design.cols) for start, rows in spans(whole, step)]
        return parts + ([(whole * design.cols, 1, left)] if left else [])

    def kinds(self, design: Design) -> Iterator[tuple[Block, int]]:
        sizes: dict[tuple[int, int], int] = {}
        for _start, *size in self._parts(design):
            rows, elements = size
            sizes[rows, elements] = sizes.get((rows, elements), 0) + 1
        for (rows, elements), number in sizes.items():
            yield self._block(design, [0, 0, 0], 0, 0, rows, elements), number

    def blocks(self, design: Design, bases: list[int]) -> Iterator[Block]:
        for number, (start, rows, elements) in enumerate(self._parts(design)):
            yield self._block(design, bases, number, start, rows, elements)

    def _block(self, design: Design, bases: list[int], number: int, start: int, rows: int,
               elements: int) -> Block:
        """Block `number`, from element `start` on."""
        results = 2 * design.handoff_slots
        a_slot = number % results
        b_slot = results + number % (vector_slots(design) - results)
        element = element_bytes(self.element_bits(design))
        shape: dict[str, Any] = {
            "rows": rows, "bytes_per_row": elements * element, "row_stride": elements * element,
            "pitch": elements, "element_bytes": element}
        loads = [Load(Destination.VECTOR, base + start * element, slot=slot, take=1, last=1,
                      **shape) for base, slot in zip(bases, (a_slot, b_slot))]
        store = Store(a_slot, 0, base=bases[2] + start * element, vector=1, wait=1, **shape)
        return Block(loads, self._commands(design, a_slot, b_slot, rows, elements), [store])

    def _commands(self, design: Design, a_slot: int, b_slot: int, rows: int,
                  elements: int) -> list[VectorCommand]:
        """Add and saturate. The rows of a unit adjoin: what all have is one row each."""
        units, bits = design.vector_units, self.element_bits(design)
        alike, rest = divmod(rows, units)
        shapes: list[dict[str, Any]] = []
        if alike:
            shapes.append({"rows": units, "length": alike * elements})
        if rest:
            place = alike * elements
            shapes.append({"rows": rest, "length": elements, "a_address": place,
                           "d_address": place})
        adds = [VectorCommand(VectorOp.ADD, a_slot, a_slot, b=Operand.VECTOR, b_slot=b_slot,
                              b_address=shape.get("a_address", 0), **shape) for shape in shapes]
        saturations = [VectorCommand(VectorOp.MULTIPLY, a_slot, a_slot, immediate=1, bits=bits,
                                     **shape) for shape in shapes]
        adds[0] = adds[0]._replace(wait_a=1, wait_b=1)
        adds[-1] = adds[-1]._replace(free_b=1)
        saturations[-1] = saturations[-1]._replace(done=1, last=1)
        return adds + saturations


class RandomResidual(Residual):
    """The sum of random matrices, uniform over all bits of an element.

    Parameters
    ----------
    rows, columns : int
        1 or more each.
    seed : int
        0 or more.
    bits : int or None
        See :class:`Residual`.
    """

    def __init__(self, rows: int = 16, columns: int = 32, *, seed: int = 0,
                 bits: int | None = None):
        VectorWorkload.__init__(self, bits, MOST_BITS)
        self.rows = check_integer("rows", rows, 1)
        self.columns = check_integer("columns", columns, 1)
        self.seed = check_integer("seed", seed, 0)

    def operands(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        limit = 1 << self.element_bits(design) - 1
        rng, size = np.random.default_rng(self.seed), (self.rows, self.columns)
        return rng.integers(-limit, limit, size=size), rng.integers(-limit, limit, size=size)

    def check(self, design: Design) -> None:
        """Random elements are made to fit."""

    def seeded(self, seed: int) -> "RandomResidual":
        other = copy.copy(self)
        other.seed = check_integer("seed", seed, 0)
        return other

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "seed": self.seed}
