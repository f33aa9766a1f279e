"""Numbers of the vector unit: masked integers, and the numpy model of every operation."""

import math
from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np

from .checks import check_integer
from .vector_commands import IMMEDIATE_BITS, VectorOp

__all__ = ["DIVISOR_BITS", "EXPONENTIAL_TABLE", "GELU_TABLE", "MULTIPLIER_BITS", "QUOTIENT_BITS",
           "VectorFormat", "check_element_bits"]

DIVISOR_BITS = 48     # a greater divisor counts as the greatest of so many bits
MULTIPLIER_BITS = 17  # of a division's immediate, unsigned
QUOTIENT_BITS = 24    # of a quotient's magnitude; a greater one saturates

_INT64_LIMIT = 1 << 62  # an intermediate result below it is computed in int64


def _exponential_entry(place):
    """2**30 * 2**(-place / 128), rounded from 40 decimal digits."""
    return round(Context(prec=40).power(2, Decimal(30) - Decimal(place) / 128))


def _gelu_entry(place):
    """4096 * gelu(place / 16 - 8), rounded; no entry is near a tie, see the tests."""
    x = place / 16 - 8
    return round(4096 * x * math.erfc(-x / math.sqrt(2)) / 2)


#: 2**30 * 2**(-j / 128) for j from 0 to 128.
EXPONENTIAL_TABLE = tuple(_exponential_entry(place) for place in range(129))

#: gelu(-8 + j / 16) in units of 2**-12 for j from 0 to 256.
GELU_TABLE = tuple(_gelu_entry(place) for place in range(257))


def check_element_bits(element_bits):
    """Raise unless it is a width that the vector unit is built for: see VectorFormat."""
    check_integer("element_bits", element_bits, 34, 49)


def _magnitude(values):
    """The greatest magnitude in an array, as a Python integer."""
    values = np.asarray(values)
    return max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0


def _wide(limit, *arrays):
    """The arrays as int64 if `limit` fits, otherwise as exact Python integers."""
    dtype = np.int64 if limit < _INT64_LIMIT else object
    return [np.asarray(array).astype(dtype) for array in arrays]


def _round_shift(values, shift):
    """values / 2**shift, rounded half up."""
    half = 1 << shift - 1 if shift else 0
    values, = _wide(_magnitude(values) + half, values)
    return np.asarray((values + half) >> shift)


@dataclass(frozen=True)
class VectorFormat:
    """Elements of `element_bits` bits, signed; the least number means *masked*.

    Methods take arrays of integers (int64 or object) that broadcast, every element a number of
    the format, and return int64. The results are exact, in Python integers where int64 could
    overflow.

    Parameters
    ----------
    element_bits : int
        34 to 49: an immediate and 2**30, the one of the exponential, must fit.
    """

    element_bits: int

    def __post_init__(self):
        check_element_bits(self.element_bits)

    @property
    def masked(self):
        """The least number, which means that there is none."""
        return -(1 << self.element_bits - 1)

    @property
    def lowest(self):
        """The least number that is not masked."""
        return self.masked + 1

    @property
    def highest(self):
        return (1 << self.element_bits - 1) - 1

    def apply(self, op, x, y=0, *, immediate=0, shift=0, bits=0):
        """Any operation by its :class:`VectorOp`, and whether it overflowed.

        Reductions are over the last axis. `y` is the second operand, already chosen; `immediate`
        is only the multiplier of a division.
        """
        if op in (VectorOp.ADD, VectorOp.SUBTRACT):
            return (self.add if op is VectorOp.ADD else self.subtract)(x, y)
        if op is VectorOp.ROW_SUM:
            return self.row_sum(x, shift)
        operations = {
            VectorOp.MULTIPLY: lambda: self.multiply(x, y, shift, bits),
            VectorOp.MAXIMUM: lambda: self.maximum(x, y),
            VectorOp.MASK: lambda: self.mask(x, y),
            VectorOp.ROW_MAXIMUM: lambda: self.row_maximum(x),
            VectorOp.EXPONENTIAL: lambda: self.exponential(x),
            VectorOp.DIVIDE: lambda: self.divide(x, y, immediate, shift),
            VectorOp.GELU: lambda: self.gelu(x),
        }
        return operations[op](), False

    def mask_beyond(self, x, valid, valid_step=0):
        """x [rows, length] with masked elements from `valid` + row * `valid_step` on."""
        x = np.asarray(x, dtype=np.int64)
        rows, length = x.shape
        ends = np.array([min(max(valid + row * valid_step, 0), length) for row in range(rows)])
        return np.where(np.arange(length) < ends[:, None], x, self.masked)

    def _saturate(self, exact):
        """Within the format and not masked, and whether anything was outside."""
        outside = bool(((exact < self.lowest) | (exact > self.highest)).any())
        return np.clip(exact, self.lowest, self.highest).astype(np.int64), outside

    def add(self, x, y):
        """x + y, saturated; masked where x is. Returns also whether anything saturated."""
        x, y = (np.asarray(each, dtype=np.int64) for each in (x, y))
        return self._keep_masked(x, x + y)

    def subtract(self, x, y):
        """x - y, saturated; masked where x is. Returns also whether anything saturated."""
        x, y = (np.asarray(each, dtype=np.int64) for each in (x, y))
        return self._keep_masked(x, x - y)

    def _keep_masked(self, x, exact):
        is_masked = x == self.masked
        values, outside = self._saturate(np.where(is_masked, 0, exact))
        return np.where(is_masked, self.masked, values), outside

    def multiply(self, x, y, shift=0, bits=0):
        """x * y / 2**shift, rounded half up, saturated to `bits` bits; masked where x is.

        Of y the low 32 bits, signed, count. No result is masked, of as many bits as there are
        or (`bits` 0) all of an element's.
        """
        x, y = (np.asarray(each, dtype=np.int64) for each in (x, y))
        sign = 1 << IMMEDIATE_BITS - 1
        y = (y + sign) % (2 * sign) - sign
        wide_x, wide_y = _wide(_magnitude(x) * _magnitude(y), x, y)
        half_range = 1 << (bits or self.element_bits) - 1
        values = np.clip(_round_shift(wide_x * wide_y, shift),
                         max(-half_range, self.lowest), half_range - 1)
        return np.where(x == self.masked, self.masked, values).astype(np.int64)

    def maximum(self, x, y):
        """The greater one; anything is greater than masked."""
        return np.maximum(np.asarray(x, dtype=np.int64), np.asarray(y, dtype=np.int64))

    def mask(self, x, y):
        """x where y is not 0, elsewhere masked."""
        return np.where(np.asarray(y) == 0, self.masked, np.asarray(x, dtype=np.int64))

    def row_maximum(self, x):
        """The greatest x of each row, the last axis."""
        return np.asarray(x, dtype=np.int64).max(axis=-1)

    def row_sum(self, x, shift=0):
        """The sum of each row / 2**shift, rounded half up once, saturated; and whether it was.

        Masked elements count as the number that they are.
        """
        x = np.asarray(x, dtype=np.int64)
        wide, = _wide(_magnitude(x) * x.shape[-1], x)
        return self._saturate(_round_shift(np.asarray(wide.sum(axis=-1)), shift))

    def exponential(self, x):
        """2**(x / 2**16) in units of 2**-30 for x <= 0; x > 0 counts as 0, masked gives 0."""
        table = np.array(EXPONENTIAL_TABLE, dtype=np.int64)
        u = -np.minimum(np.asarray(x, dtype=np.int64), 0)
        whole, place, rest = u >> 16, (u & 0xffff) >> 9, u & 511
        y = table[place] - ((table[place] - table[place + 1]) * rest + 256 >> 9)
        shift = np.minimum(whole, 31)
        return np.where(whole > 31, 0, (2 * y >> shift) + 1 >> 1)

    def divide(self, x, y, immediate, shift=0):
        """x * immediate / (y * 2**shift), rounded half up, saturated to 24 bits and a sign.

        Of `immediate` the low 17 bits, unsigned, count. y <= 0 and masked x give 0. The divisor
        saturates at 48 bits.
        """
        x, y = np.broadcast_arrays(*(np.asarray(each, dtype=np.int64) for each in (x, y)))
        multiplier = immediate % (1 << MULTIPLIER_BITS)
        greatest = (1 << DIVISOR_BITS) - 1
        is_large = y > greatest >> shift
        small = np.where((y <= 0) | is_large, 1, y)
        divisor = np.where(is_large, greatest, small << min(shift, DIVISOR_BITS))
        wide, divisor = _wide(2 * _magnitude(x) * multiplier + greatest, x, divisor)
        quotient = (2 * wide * multiplier + divisor) // (2 * divisor)
        limit = (1 << QUOTIENT_BITS) - 1
        return np.where((y <= 0) | (x == self.masked), 0,
                        np.clip(quotient, -limit, limit)).astype(np.int64)

    def gelu(self, x):
        """x * normal distribution(x), x and the result in units of 2**-12; masked gives 0."""
        x = np.asarray(x, dtype=np.int64)
        table = np.array(GELU_TABLE, dtype=np.int64)
        inside = np.clip(x + (8 << 12), 0, (16 << 12) - 1)
        place, rest = inside >> 8, inside & 255
        y = table[place] + ((table[place + 1] - table[place]) * rest + 128 >> 8)
        return np.where(x >= 8 << 12, x, np.where(x < -(8 << 12), 0, y))
