"""Operand formats: shape, multiply-accumulate hardware and numpy model of a number family."""

from dataclasses import dataclass

import numpy as np
from amaranth import Shape, signed

from .checks import ceil_log2

__all__ = ["IntegerFormat", "OUTPUT_STATIONARY_TERMS"]

OUTPUT_STATIONARY_TERMS = 1 << 16  # longest sum that a cell can hold


@dataclass(frozen=True)
class IntegerFormat:
    """Two's complement integers, activations and weights of their own widths.

    The array asks its format for shapes and for the product; it never looks inside. Activations
    carry one bit more inside the array than in memory, so that one multiplier serves signed and
    unsigned ones. Sums inside the array cannot overflow: a product of `activation_bits` and
    `weight_bits` (signed or unsigned activation, signed weight) fits into their sum of bits, and
    `terms` of them need ceil(log2(terms)) bits more.

    Parameters
    ----------
    activation_bits, weight_bits : int
        Bits of an operand in memory, 4 to 16.
    accumulator_bits : int
        Bits of an accumulator, 16 to 48.
    terms : int
        Products added in one sum inside the array: the rows of a weight-stationary array, up to
        :data:`OUTPUT_STATIONARY_TERMS` (all of K) in an output-stationary one.
    """

    activation_bits: int
    weight_bits: int
    accumulator_bits: int
    terms: int

    @classmethod
    def of(cls, design):
        """The format that `design` (a :class:`Design`) asks for."""
        terms = (design.rows if design.dataflow == "weight_stationary"
                 else OUTPUT_STATIONARY_TERMS)
        return cls(design.activation_bits, design.weight_bits, design.accumulator_bits, terms)

    @property
    def activation_shape(self) -> Shape:
        """Shape of an activation inside the array."""
        return signed(self.activation_bits + 1)

    @property
    def weight_shape(self) -> Shape:
        return signed(self.weight_bits)

    @property
    def sum_shape(self) -> Shape:
        """Shape of a partial sum inside the array."""
        return signed(self.activation_bits + self.weight_bits + ceil_log2(self.terms))

    @property
    def accumulator_shape(self) -> Shape:
        return signed(self.accumulator_bits)

    def multiply(self, activation, weight):
        """The product of two Amaranth values, for the cell."""
        return activation * weight

    # -- numpy model ---------------------------------------------------------------------------

    def activation_range(self, unsigned: bool = False) -> tuple[int, int]:
        """Least and greatest activation, as Python integers."""
        if unsigned:
            return 0, (1 << self.activation_bits) - 1
        return -(1 << self.activation_bits - 1), (1 << self.activation_bits - 1) - 1

    def weight_range(self) -> tuple[int, int]:
        """Least and greatest weight, as Python integers."""
        return -(1 << self.weight_bits - 1), (1 << self.weight_bits - 1) - 1

    def accumulator_range(self) -> tuple[int, int]:
        """Least and greatest accumulator value, as Python integers."""
        return -(1 << self.accumulator_bits - 1), (1 << self.accumulator_bits - 1) - 1

    def accumulate(self, old, sums, overflow):
        """One accumulator update in numpy: the new words and whether any of them overflowed.

        Parameters
        ----------
        old, sums : ndarray of int64
            Accumulator words and the sums that leave the array; any equal shapes.
        overflow : str
            "wrap" or "saturate".
        """
        low, high = self.accumulator_range()
        exact = old + sums  # 48 bits and 32 + 10 bits: far inside int64
        outside = bool(((exact < low) | (exact > high)).any())
        if overflow == "saturate":
            return np.clip(exact, low, high), outside
        span = 1 << self.accumulator_bits
        return (exact - low) % span + low, outside

    def pack_rows(self, matrix, bits):
        """Pack each row of an integer matrix into whole bytes, first element in the low bits.

        Parameters
        ----------
        matrix : ndarray of int, shape [rows, elements]
        bits : int
            Bits kept of each element.

        Returns
        -------
        ndarray of uint8, shape [rows, ceil(elements * bits / 8)]
        """
        rows, elements = matrix.shape
        if bits == 8:
            return matrix.astype(np.uint8)
        if bits == 16:
            return np.ascontiguousarray(matrix.astype("<u2")).view(np.uint8).reshape(rows, -1)
        planes = (matrix[:, :, None].astype(np.int64) >> np.arange(bits)) & 1
        flat = planes.reshape(rows, elements * bits).astype(np.uint8)
        return np.packbits(flat, axis=1, bitorder="little")
