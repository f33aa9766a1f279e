"""What the vector unit does with a matrix product before it is stored: bias, ReLU, requantise."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..rtl import Design
from ..rtl.commands import Destination, Load
from ..rtl.formats import IntegerFormat
from ..rtl.vector_commands import (
    IMMEDIATE_BITS,
    SHIFT_BITS,
    Direction,
    Handoff,
    Operand,
    VectorCommand,
    VectorOp,
    operand_slot,
    vector_element_bits,
)
from ..rtl.vector_format import VectorFormat
from .checks import check_integer
from .errors import WorkloadError
from .operands import as_array, check_range, integer_matrix

__all__ = ["REQUANTIZE_RANGE", "Epilogue", "Requantize", "bias_vector", "random_bias"]

LARGEST_ACCUMULATOR = 48  # bits
REQUANTIZE_RANGE = "MULTIPLIER,SHIFT,BITS"


class Requantize(NamedTuple):
    """x * `multiplier` / 2**`shift`, rounded half up once, saturated to `bits` bits signed."""
    multiplier: int
    shift: int
    bits: int

    @classmethod
    def of(cls, value: Any) -> "Requantize":
        """From three integers.

        Raises
        ------
        WorkloadError
            Not three integers, or one out of its range.
        """
        if not isinstance(value, tuple | list) or len(value) != 3:
            raise WorkloadError(f"requantize must be three integers {REQUANTIZE_RANGE}, not "
                                f"{value!r}")
        multiplier, shift, bits = value
        return cls(
            check_integer("requantize multiplier", multiplier, 1, (1 << IMMEDIATE_BITS - 1) - 1),
            check_integer("requantize shift", shift, 0, (1 << SHIFT_BITS) - 1),
            check_integer("requantize bits", bits, 2, LARGEST_ACCUMULATOR))


def bias_vector(value: Any, columns: int, of: str = "column of b") -> np.ndarray:
    """A bias of `columns` integers, one for each `of`; see :func:`integer_matrix`."""
    array = as_array("bias", value)
    if array.shape != (columns,):
        raise WorkloadError(f"bias must have shape ({columns},), one element for each {of}, not "
                            f"{array.shape}")
    return integer_matrix("bias", array[np.newaxis])[0]


def random_bias(format: IntegerFormat, terms: int, columns: int, amplitude: int,
                seed: int) -> np.ndarray:
    """A bias about as large as sums of `terms` products with operands up to `amplitude`."""
    largest = [min(amplitude, limits[1])
               for limits in (format.activation_range(False), format.weight_range())]
    limit = min(terms * largest[0] * largest[1], format.accumulator_range()[1])
    return np.random.default_rng([seed, 1]).integers(-limit, limit, size=columns, endpoint=True)


@dataclass(frozen=True)
class Epilogue:
    """Bias, ReLU and requantisation, in this order, of the sums in the accumulators.

    Each tile of the result is handed to the vector unit and stored from there. The bias is added
    exactly (an element of the vector unit is a bit wider than an accumulator; only the sum of
    two least 48-bit numbers, or the like, saturates, which counts as overflow). Without
    `requantize` a biased sum is then saturated to `accumulator_bits`, as requantisation by 1
    does: neither counts as overflow. ReLU before requantisation gives what ReLU after it would,
    for a product with a positive multiplier, rounded half up, keeps the sign, or becomes 0. So
    with both, results are from 0 to 2**(bits - 1) - 1.

    Parameters
    ----------
    biased, relu : bool
    requantize : Requantize or None
    """
    biased: bool = False
    relu: bool = False
    requantize: Requantize | None = None

    @property
    def names(self) -> list[str]:
        """The parts that there are, as :class:`Gemm` calls them."""
        parts = {"bias": self.biased, "relu": self.relu, "requantize": self.requantize}
        return [name for name, part in parts.items() if part]

    def check(self, design: Design) -> None:
        """Raise :class:`WorkloadError` unless it fits the design."""
        if self.requantize is not None and self.requantize.bits > design.accumulator_bits:
            raise WorkloadError(f"requantize bits must be from 2 to {design.accumulator_bits}, "
                                f"the accumulator_bits of this design, not "
                                f"{self.requantize.bits}")

    @staticmethod
    def check_bias(design: Design, bias: np.ndarray, name: str = "bias") -> None:
        """Raise :class:`WorkloadError` unless the bias fits the accumulators."""
        check_range(name, bias, *IntegerFormat.of(design).accumulator_range())

    def element_bytes(self, design: Design) -> int:
        """Bytes of a stored element."""
        if self.requantize is not None:
            return -(-self.requantize.bits // 8)
        return design.result_element_bytes

    def _scaling(self, design: Design) -> Requantize | None:
        """The last multiplication, if there is one."""
        if self.requantize is None and self.biased:
            return Requantize(1, 0, design.accumulator_bits)
        return self.requantize

    def apply(self, design: Design, sums: np.ndarray,
              bias: np.ndarray | None) -> tuple[np.ndarray, bool]:
        """The result of sums [M, N], and whether an element overflowed."""
        format = VectorFormat(vector_element_bits(design))
        overflow, scaling = False, self._scaling(design)
        if self.biased:
            sums, overflow = format.add(sums, bias)
        if self.relu:
            sums = format.maximum(sums, 0)
        if scaling is not None:
            sums = format.multiply(sums, scaling.multiplier, scaling.shift, scaling.bits)
        return sums, overflow

    # -- commands of a tile of the result ------------------------------------------------------

    @staticmethod
    def handoff(design: Design, slot: int, bank: int, row: int, rows: int,
                columns: int) -> Handoff:
        """From the bank into hand-off slot `slot`."""
        return Handoff(Direction.TO_VECTOR, slot, bank, rows, columns, row=row, pitch=columns,
                       element_bytes=design.result_element_bytes, take=1)

    def commands(self, design: Design, slot: int, rows: int,
                 columns: int) -> list[VectorCommand]:
        """The vector job of a tile in hand-off slot `slot`, in place."""
        tile: dict[str, Any] = {"a_slot": slot, "d_slot": slot, "rows": rows,
                                "length": columns, "a_pitch": columns, "d_pitch": columns}
        scaling, commands = self._scaling(design), []
        if self.biased:
            commands.append(VectorCommand(
                VectorOp.ADD, **tile, b=Operand.VECTOR, b_slot=operand_slot(design, slot),
                wait_b=1, free_b=1))
        if self.relu:
            commands.append(VectorCommand(VectorOp.MAXIMUM, **tile, chain=1))
        if scaling is not None:
            commands.append(VectorCommand(
                VectorOp.MULTIPLY, **tile, immediate=scaling.multiplier, shift=scaling.shift,
                bits=scaling.bits, chain=1))
        # Nothing of the jobs before touches this tile's slots.
        commands[0] = commands[0]._replace(wait_a=1, chain=2)
        commands[-1] = commands[-1]._replace(done=1, last=1)
        return commands

    @staticmethod
    def bias_load(design: Design, slot: int, base: int, columns: int) -> Load:
        """A tile's bias, for the operand slot of hand-off slot `slot`: a copy for every unit."""
        element = design.result_element_bytes
        return Load(Destination.VECTOR, base, design.vector_units, columns * element, 0,
                    slot=operand_slot(design, slot), take=1, last=1, element_bytes=element)

    @staticmethod
    def bias_image(design: Design, bias: np.ndarray) -> np.ndarray:
        """The bias as bytes in memory."""
        words = bias.astype("<i8").view(np.uint8).reshape(-1, 8)
        return words[:, :design.result_element_bytes]
