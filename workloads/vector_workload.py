"""Workloads of the vector unit alone: operands come from memory and results go back there."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..rtl import Design
from ..rtl.commands import Load, Store
from ..rtl.vector_commands import VectorCommand
from .checks import check_integer
from .errors import WorkloadError
from .gemm_builder import keep_shapes
from .program import Program

__all__ = ["Block", "VectorWorkload", "element_bytes", "first_and_last", "saturate", "spans",
           "to_bytes"]


@dataclass
class Block:
    """The commands of what is in the vector slots at a time."""
    loads: list[Load] = field(default_factory=list)
    vectors: list[VectorCommand] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)


class VectorWorkload(ABC):
    """Elements that pass through the vector unit in blocks, each loaded, worked on and stored.

    Nothing goes through the array or the hand-off, so all vector slots but the scratch ones are
    buffers of blocks under way.

    Parameters
    ----------
    bits : int or None
        Bits of an element of the operands and of the result, which saturates to them; in memory
        it takes whole bytes. None: `activation_bits` of the design.
    most_bits : int
        The most that there may be.
    """

    name = ""
    useful_macs = 0

    def __init__(self, bits: int | None, most_bits: int):
        self.bits = None if bits is None else check_integer("bits", bits, 2, most_bits)

    # -- what simulations ask ------------------------------------------------------------------

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What was run, for reports: JSON-able."""

    @abstractmethod
    def check(self, design: Design) -> None:
        """Raise :class:`WorkloadError` unless the operands fit the design."""

    @abstractmethod
    def reference(self, design: Design) -> tuple[np.ndarray | None, bool]:
        """The result by numpy, bit by bit, and whether an element of the unit overflows."""

    @abstractmethod
    def place(self, program: Program, design: Design, contents: bool) -> list[int]:
        """Put the operands and the result into memory; the addresses that blocks begin from."""

    @abstractmethod
    def kinds(self, design: Design) -> Iterator[tuple[Block, int]]:
        """One block of each size, at any address, and how many there are."""

    @abstractmethod
    def blocks(self, design: Design, bases: list[int]) -> Iterator[Block]:
        """All blocks in their order, for operands at the addresses of :meth:`place`."""

    def seeded(self, seed: int) -> Self:
        """This workload with its random operands, if it has any, drawn with `seed`."""
        check_integer("seed", seed, 0)
        return self

    def parts(self) -> list[Self]:
        """The jobs that run one after another: this one."""
        return [self]

    def element_bits(self, design: Design) -> int:
        return design.activation_bits if self.bits is None else self.bits

    def descriptors(self, design: Design) -> int:
        """Loads and stores of the program."""
        return sum(number * (len(block.loads) + len(block.stores))
                   for block, number in self.kinds(design))

    def program(self, design: Design, contents: bool = True) -> Program:
        """The commands for a design and, with `contents`, the operands in memory."""
        self.check(design)
        program = Program()
        bases = self.place(program, design, contents)
        for block in self.blocks(design, bases):
            program.loads += block.loads
            program.vectors += block.vectors
            program.stores += block.stores
        program.loads = keep_shapes(program.loads)
        return program


def element_bytes(bits: int) -> int:
    return -(-bits // 8)


def to_bytes(values: np.ndarray, nbytes: int) -> np.ndarray:
    """Signed integers [..., n] as bytes [..., n * `nbytes`], little-endian."""
    digits = values.astype("<i8")[..., np.newaxis].view(np.uint8)[..., :nbytes]
    return digits.reshape(*values.shape[:-1], -1)


def saturate(values: np.ndarray, bits: int) -> np.ndarray:
    """Within `bits` bits, signed."""
    return np.clip(values, -(1 << bits - 1), (1 << bits - 1) - 1)


def spans(total: int, step: int) -> list[tuple[int, int]]:
    """Start and size of the parts of `total` of at most `step` each."""
    return [(start, min(step, total - start)) for start in range(0, total, step)]


def first_and_last(loads: list[Load]) -> list[Load]:
    """The loads of one slot: the first takes it, the last fills it."""
    loads[0] = loads[0]._replace(take=1)
    loads[-1] = loads[-1]._replace(last=1)
    return loads


def check_values(name: str, array: np.ndarray, bits: int) -> None:
    """Raise :class:`WorkloadError` unless every element has at most `bits` bits, signed."""
    for value in (int(array.min()), int(array.max())):
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise WorkloadError(f"{name} must be from {-(1 << bits - 1)} to "
                                f"{(1 << bits - 1) - 1}, {bits} bits, but holds {value}")
