# amaranth: UnusedElaboratable=no
"""The numpy model of the vector unit against fractions and float64."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from cubewave.rtl.vector_commands import VectorOp
from cubewave.rtl.vector_format import EXPONENTIAL_TABLE, GELU_TABLE, VectorFormat

FORMAT = VectorFormat(34)
FORMATS = [FORMAT, VectorFormat(41), VectorFormat(49)]


def boundaries(format):
    """The ends of the range, what is around zero, and a few numbers between."""
    low, high = format.masked, format.highest
    return [low, low + 1, low + 2, high, high - 1, -1, 0, 1, 2, 3, -(1 << 31), (1 << 31) - 1,
            1 << 16, -(1 << 16), -98765, 54321]


def half_up(fraction):
    return math.floor(fraction + Fraction(1, 2))


def pairs(format):
    """Every two boundaries, and random numbers, as two lists."""
    random = Random(format.element_bits)
    edges = boundaries(format)
    found = [(x, y) for x in edges for y in edges]
    found += [tuple(random.randint(-1 << bits, (1 << bits) - 1) for _ in "xy")
              for bits in (8, 20, 33) for _ in range(100)]
    return zip(*found)


def clip(value, low, high):
    return min(max(value, low), high)


@pytest.mark.parametrize("format,half", [(FORMAT, 2 ** 33), (VectorFormat(49), 2 ** 48)])
def test_range(format, half):
    assert (format.masked, format.lowest, format.highest) == (-half, -half + 1, half - 1)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name,sign", [("add", 1), ("subtract", -1)])
def test_add_and_subtract(format, name, sign):
    xs, ys = pairs(format)
    for x, y in zip(xs, ys):
        value, overflow = getattr(format, name)(x, y)
        exact = x + sign * y
        if x == format.masked:
            assert (value, overflow) == (x, False)
        else:
            assert value == clip(exact, format.lowest, format.highest)
            assert overflow == (value != exact)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shift,bits", [(0, 0), (0, 8), (1, 1), (16, 24), (40, 0), (63, 34)])
def test_multiply(format, shift, bits):
    xs, ys = map(list, pairs(format))
    half_range = 1 << (bits or format.element_bits) - 1
    for x, y, value in zip(xs, ys, format.multiply(xs, ys, shift, bits).tolist(), strict=True):
        multiplier = (y + (1 << 31)) % (1 << 32) - (1 << 31)
        exact = half_up(Fraction(x * multiplier, 1 << shift))
        expected = clip(exact, max(-half_range, format.lowest), half_range - 1)
        assert value == (x if x == format.masked else expected)


def test_scaling_rounds_half_up_f072():
    scaled = FORMAT.multiply([120, 127, 128, -128, -129], 1, shift=8)
    assert scaled.tolist() == [0, 0, 1, 0, -1]


def test_a_multiplier_is_honoured_f075():
    assert FORMAT.multiply([1000, -1000], 77, shift=7, bits=8).tolist() == [127, -128]
    assert FORMAT.multiply([100, -100], 77, shift=7, bits=8).tolist() == [60, -60]


def test_maximum_and_mask():
    masked = FORMAT.masked
    assert FORMAT.maximum([masked, masked, 3, -4], [masked, -7, 2, 0]).tolist() == [masked, -7, 3,
                                                                                    0]
    assert FORMAT.mask([masked, 5, 6, -1], [1, 0, -1, masked]).tolist() == [masked, masked, 6, -1]


def test_mask_beyond():
    masked = FORMAT.masked
    rows = FORMAT.mask_beyond([[1, 2, 3]] * 5, 3, -1)
    assert rows.tolist() == [[1, 2, 3], [1, 2, masked], [1, masked, masked], [masked] * 3,
                             [masked] * 3]
    assert FORMAT.mask_beyond([[1, 2]], 7).tolist() == [[1, 2]]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shift", [0, 1, 17, 63])
def test_row_sum(format, shift):
    random = Random(shift)
    rows = [[random.choice(boundaries(format)) for _ in range(9)] for _ in range(200)]
    for row in rows:
        value, overflow = format.row_sum(row, shift)
        exact = half_up(Fraction(sum(row), 1 << shift))
        assert value == clip(exact, format.lowest, format.highest)
        assert overflow == (value != exact)
    assert format.row_maximum(rows).tolist() == list(map(max, rows))


def test_a_long_row_is_exact():
    format = VectorFormat(49)
    row = np.full(1 << 17, format.highest)
    assert format.row_sum(row, 17) == (format.highest, False)
    assert format.row_sum(row, 16) == (format.highest, True)


def test_exponential_table():
    assert EXPONENTIAL_TABLE[0] == 1 << 30 and EXPONENTIAL_TABLE[128] == 1 << 29
    for place, entry in enumerate(EXPONENTIAL_TABLE):
        # |entry - 2**(30 - place/128)| <= 1/2, without a rounded step
        assert (2 * entry - 1) ** 128 <= 1 << 31 * 128 - place <= (2 * entry + 1) ** 128


def test_exponential_is_accurate_to_17_bits():
    x = -np.arange(1 << 16)
    relative = FORMAT.exponential(x) / (2.0 ** 30 * 2.0 ** (x / 2 ** 16)) - 1
    assert np.abs(relative).max() < 2 ** -17
    x = -np.arange(0, 33 << 16, 97)
    error = FORMAT.exponential(x) - 2.0 ** 30 * 2.0 ** (x / 2 ** 16)
    assert (np.abs(error) < 2.0 ** (x / 2 ** 16 + 13) + 0.5).all()


def test_exponential_falls_and_ends_at_zero():
    assert FORMAT.exponential([0, 1, FORMAT.highest]).tolist() == [1 << 30] * 3
    assert FORMAT.exponential([-(30 << 16), -(31 << 16), -(31 << 16) - 512, -(32 << 16),
                               FORMAT.masked]).tolist() == [1, 1, 0, 0, 0]
    assert (np.diff(FORMAT.exponential(-np.arange(1 << 18))) <= 0).all()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("immediate", [0, 1, 65535, 65536])
@pytest.mark.parametrize("shift", [0, 5, 31, 63])
def test_divide(format, immediate, shift):
    xs, ys = map(list, pairs(format))
    limit = (1 << 24) - 1
    quotients = format.divide(xs, ys, immediate, shift).tolist()
    for x, y, value in zip(xs, ys, quotients, strict=True):
        if y <= 0 or x == format.masked:
            assert value == 0
        else:
            divisor = min(y << shift, (1 << 48) - 1)
            exact = half_up(Fraction(x * immediate, divisor))
            assert value == clip(exact, -limit, limit)


def test_gelu_table_is_not_near_a_tie():
    for place, entry in enumerate(GELU_TABLE):
        x = place / 16 - 8
        assert abs(4096 * x * (1 + math.erf(x / math.sqrt(2))) / 2 - entry) < 0.499


def test_gelu_is_accurate():
    x = np.arange(-(9 << 12), 9 << 12)
    exact = np.array([value * math.erfc(-value / 4096 / math.sqrt(2)) / 2 for value in x.tolist()])
    assert np.abs(FORMAT.gelu(x) - exact).max() < 2.2  # units of 2**-12


def test_gelu_outside_the_table():
    edge = 8 << 12
    assert FORMAT.gelu([edge, edge + 1, FORMAT.highest]).tolist() == [edge, edge + 1,
                                                                      FORMAT.highest]
    assert FORMAT.gelu([-edge, -edge - 1, FORMAT.masked]).tolist() == [0, 0, 0]


def test_apply_reaches_every_operation():
    x, y = [[5, -9, FORMAT.masked]], 3
    results = {op: FORMAT.apply(op, x, y, immediate=2, shift=1, bits=3) for op in VectorOp}
    assert {op: (value.tolist(), overflow) for op, (value, overflow) in results.items()} == {
        VectorOp.ADD: ([[8, -6, FORMAT.masked]], False),
        VectorOp.SUBTRACT: ([[2, -12, FORMAT.masked]], False),
        VectorOp.MULTIPLY: ([[3, -4, FORMAT.masked]], False),
        VectorOp.MAXIMUM: ([[5, 3, 3]], False),
        VectorOp.MASK: ([[5, -9, FORMAT.masked]], False),
        VectorOp.ROW_MAXIMUM: ([5], False),
        VectorOp.ROW_SUM: ([-(1 << 32) - 2], False),
        VectorOp.EXPONENTIAL: ([[1 << 30, 1073639892, 0]], False),
        VectorOp.DIVIDE: ([[2, -3, 0]], False),
        VectorOp.GELU: ([[3, -4, 0]], False),
    }


def test_softmax_of_equal_scores_f076():
    scores = np.full((1, 5), -10)
    shifted, _ = FORMAT.subtract(scores, FORMAT.row_maximum(scores)[:, None])
    powers = FORMAT.exponential(FORMAT.multiply(shifted, 94548))
    total, overflow = FORMAT.row_sum(powers, 8)
    probabilities = FORMAT.divide(powers, total[:, None], 65535, 8)
    assert not overflow and probabilities.tolist() == [[13107] * 5]


@pytest.mark.parametrize("bits,error,message", [
    (33, ValueError, r"^element_bits must be from 34 to 49, not 33$"),
    (50, ValueError, r"^element_bits must be from 34 to 49, not 50$"),
    (True, TypeError, r"^element_bits must be an integer, not True$"),
])
def test_refused_width(bits, error, message):
    with pytest.raises(error, match=message):
        VectorFormat(bits)
