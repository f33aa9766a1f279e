"""Softmax in fixed point against float64."""

import re
from fractions import Fraction

import numpy as np
import pytest

from cubewave.rtl.vector_format import VectorFormat
from cubewave.workloads import WorkloadError
from cubewave.workloads.softmax import exponent_scale, exponentials, softmax_codes

FORMAT = VectorFormat(34)
LOG2_E = 1.4426950408889634
LENGTHS = (1, 2, 3, 5, 7, 16, 33, 128, 777, 4096)
TOLERANCE = {8: 2.0 ** -7, 16: 2.0 ** -12}


def exact_softmax(scores, scale):
    logits = (scores - scores.max(axis=-1, keepdims=True)).astype(np.float64) * scale
    weights = np.exp(logits)
    return weights / weights.sum(axis=-1, keepdims=True)


def codes_of(scores, scale, bits, masked=None):
    return softmax_codes(FORMAT, np.asarray(scores), masked, *exponent_scale(scale), bits)


def score_rows(rng, bits, length):
    """Uniform, normal and exponentially falling scores over the whole range of `bits` bits."""
    limit, count = 2 ** (bits - 1) - 1, max(1, min(20, 8000 // length))
    falling = rng.standard_exponential((count, length)) * limit / rng.integers(1, 200, (count, 1))
    parts = [rng.integers(-limit, limit, (count, length), endpoint=True),
             rng.standard_normal((count, length)) * limit / 4, -falling]
    return np.clip(np.concatenate(parts).astype(np.int64), -limit, limit)


# -- the multiplier -------------------------------------------------------------------------------

@pytest.mark.parametrize("score_shift", [0, 1, 7, 30])
def test_multiplier_has_16_bits(score_shift):
    rng = np.random.default_rng(score_shift)
    for scale in 2.0 ** rng.uniform(-60, 0, 300) / 2 ** score_shift:
        multiplier, shift = exponent_scale(scale, score_shift)
        exact = Fraction(scale) * Fraction(LOG2_E) * 2 ** (16 + score_shift)
        assert abs(multiplier - exact * 2 ** shift) <= Fraction(1, 2)
        assert 0 <= shift <= 63
        assert 2 ** 15 <= multiplier < 2 ** 16 or shift == 0


def test_multiplier_at_the_ends_of_its_range():
    one = 1 / LOG2_E / 2 ** 16             # multiplier / 2**shift = 1
    assert exponent_scale(one) == (2 ** 15, 15)
    assert exponent_scale(one * (1 - 2.0 ** -18)) == (2 ** 15, 15)      # rounded up to the next
    assert exponent_scale(one * 2 ** 15) == (2 ** 15, 0)
    assert exponent_scale(one * 65535.4) == (65535, 0)
    assert exponent_scale(one * 65536) == (65536, 0)
    assert exponent_scale(one * (2 ** 31 - 1)) == (2 ** 31 - 1, 0)
    assert exponent_scale(one * 2.0 ** -48) == (2 ** 15, 63)
    assert exponent_scale(one * 2.0 ** -60) == (8, 63)
    assert exponent_scale(5e-324) == (0, 63)
    assert exponent_scale(1) == (94548, 0)
    assert exponent_scale(np.float32(0.25)) == exponent_scale(0.25) == (47274, 1)


@pytest.mark.parametrize("scale", [0, 0.0, -1.0, float("inf"), float("nan"), True, "1", None,
                                   22714, 1e300])
def test_scale_refused(scale):
    message = (f"scale must be a number above 0 and at most 22713 for scores shifted by 0, not "
               f"{scale!r}")
    with pytest.raises(WorkloadError, match=f"^{re.escape(message)}$"):
        exponent_scale(scale)


def test_scale_range_follows_the_score_shift():
    exponent_scale(22.18, 10)
    with pytest.raises(WorkloadError, match="at most 22.1807 for scores shifted by 10, not 22.2$"):
        exponent_scale(22.2, 10)


# -- accuracy -------------------------------------------------------------------------------------

@pytest.mark.parametrize("score_bits", [8, 12, 16, 24, 32])
@pytest.mark.parametrize("range_bits", [-40, -10, -3, 0, 1, 2, 3, 4, 5, 6, 8, 14, 20])
def test_error_over_the_whole_range(score_bits, range_bits):
    """The range of scores spans 2**range_bits logits."""
    rng = np.random.default_rng(100 * score_bits + range_bits)
    for length in LENGTHS:
        scale = 2.0 ** range_bits * rng.uniform(0.5, 1) / 2 ** score_bits
        scores = score_rows(rng, score_bits, length)
        exact = exact_softmax(scores, scale)
        for bits, tolerance in TOLERANCE.items():
            codes, ones = codes_of(scores, scale, bits), 2 ** bits - 1
            assert codes.min() >= 0 and codes.max() <= ones
            assert np.abs(codes / ones - exact).max() <= tolerance
            assert np.abs(codes.sum(axis=-1) - ones).max() <= length / 2


def adversarial_rows(length):
    """Equal, two values, one hot, geometric: the exponent is the score / 2**16."""
    place = np.arange(length)
    unit = 1 << 16
    rows = [0 * place, np.where(place == length // 2, 0, -40 * unit), -place * unit,
            -place * unit // 7, -(place * unit // max(1, length))]
    for gap in (1, unit // 3, unit, 5 * unit + 1, 15 * unit, 16 * unit + 1, 17 * unit):
        rows += [np.where(place < length // 2, 0, -gap), np.where(place == 0, 0, -gap)]
    return np.array(rows)


@pytest.mark.parametrize("bits", [8, 12, 16])
def test_sum_of_codes(bits):
    ones = 2 ** bits - 1
    for length in (*range(1, 40), 127, 128, 170, 255, 510, 1000, 1024, 2185, 4095, 4096):
        codes = softmax_codes(FORMAT, adversarial_rows(length), None, 1, 0, bits)
        assert np.abs(codes.sum(axis=1) - ones).max() <= length / 2, length


@pytest.mark.parametrize("bits", [8, 16])
def test_sum_of_codes_of_short_rows(bits):
    """Where n / 2 is least."""
    rng = np.random.default_rng(bits)
    for length in range(1, 7):
        scores = -rng.integers(0, 300_000, (20_000, length))
        codes = softmax_codes(FORMAT, scores, None, 1, 0, bits)
        assert np.abs(codes.sum(axis=1) - (2 ** bits - 1)).max() <= length / 2


def test_equal_scores_of_every_length():
    for length in range(1, 4097):
        code = int(codes_of(np.full(length, -7), 1.0, 16)[0])
        assert code == (2 * 65535 + length) // (2 * length)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_greater_score_never_has_the_smaller_code(bits):
    rng = np.random.default_rng(bits)
    for length in (2, 9, 128, 4096):
        for scale in 2.0 ** rng.uniform(-20, 4, 20):
            scores = np.sort(score_rows(rng, 16, length), axis=1)
            assert (np.diff(codes_of(scores, scale, bits), axis=1) >= 0).all()
    near = np.arange(-(1 << 18), 1)          # every exponent, in steps of its unit
    assert (np.diff(softmax_codes(FORMAT, near[-4096:], None, 1, 0, bits)) >= 0).all()
    e = exponentials(FORMAT, near, np.int64(0), 1, 0)
    assert (np.diff(e) >= 0).all() and e[-1] == 1 << 30


# -- masks ----------------------------------------------------------------------------------------

def test_masked_elements():
    rng = np.random.default_rng(7)
    for length in (1, 2, 5, 64):
        scores = rng.integers(-2 ** 31 + 1, 2 ** 31, (50, length))
        masked = rng.random((50, length)) < 0.5
        masked[0], masked[1] = True, False
        codes = codes_of(scores, 1e-9, 16, masked)
        assert not codes[masked].any() and not codes[0].any()
        for row in range(1, 50):
            seen = ~masked[row]
            if seen.any():       # only the shift of the sum knows how long the row is
                alone = codes_of(scores[row, seen], 1e-9, 16)
                assert np.abs(codes[row, seen] - alone).max() <= 1


def test_a_mask_broadcasts_over_heads():
    rng = np.random.default_rng(8)
    scores, masked = rng.integers(-99, 99, (3, 4, 6)), rng.random((4, 6)) < 0.4
    codes = codes_of(scores, 0.1, 8, masked)
    for head in range(3):
        assert (codes[head] == codes_of(scores[head], 0.1, 8, masked)).all()


def test_five_equal_scores():
    """F076: padding has no part in the sum."""
    codes = codes_of([-10] * 5, 1.0, 16)
    assert codes.tolist() == [13107] * 5 and codes.sum() == 65535
    masked = np.arange(8) >= 5
    assert codes_of([-10] * 8, 1.0, 16, masked).tolist() == [13107] * 5 + [0] * 3


def test_widest_differences():
    """From the least to the greatest score of 32 bits with the longest multiplier."""
    scores = np.array([-2 ** 31 + 1, 2 ** 31 - 1, 0])
    for element_bits in (34, 49):
        codes = softmax_codes(VectorFormat(element_bits), scores, None, 2 ** 31 - 1, 0, 16)
        assert codes.tolist() == [0, 65535, 0]
