"""Conversions of the hand-off against exact fractions, probabilities exhaustively."""

import random
from fractions import Fraction

import numpy as np
import pytest
from harness import simulate

from cubewave.rtl import Design
from cubewave.rtl.handoff_formats import (
    ProbabilityFormat,
    ScoreFormat,
    ScoreShift,
    convert_probability,
    convert_score,
)


def half_up(value):
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def outputs(component, values, **inputs):
    """What comes out for each value."""
    got = []

    async def bench(ctx):
        for name, value in inputs.items():
            ctx.set(getattr(component, name), value)
        for value in values:
            ctx.set(component.i, value)
            got.append(ctx.get(component.o))
    simulate(component, bench)
    return got


def scores(design, values, shift, narrow):
    shifted = outputs(ScoreShift(design=design), values, shift=shift)
    return outputs(ScoreFormat(design=design), shifted, narrow=narrow)


@pytest.mark.parametrize("code_bits,bits", [
    (16, 8), (8, 16), (16, 16), (8, 4), (12, 5), (9, 8), (8, 9)])
def test_every_probability(code_bits, bits):
    """With a bit more in an activation than in a code, half of the results need the last step."""
    design = Design(probability_bits=code_bits, activation_bits=bits)
    one, most = (1 << code_bits) - 1, (1 << bits) - 1
    exact = [half_up(Fraction(code * most, one)) for code in range(one + 1)]
    assert exact[0] == 0 and exact[-1] == most
    codes = range(one + 1)
    assert outputs(ProbabilityFormat(design=design), codes, narrow=1) == exact
    assert convert_probability(design, np.arange(one + 1), 1).tolist() == exact
    assert convert_probability(design, one // 3, 1) == exact[one // 3]


@pytest.mark.parametrize("code_bits,bits", [(16, 8), (8, 16), (12, 5)])
def test_low_bits_of_other_elements(code_bits, bits):
    design = Design(probability_bits=code_bits, activation_bits=bits)
    values = [-1, 0, 5, -(1 << bits - 1), (1 << bits - 1) - 1, -(1 << 33), (1 << 33) - 1, 1 << bits]
    component = ProbabilityFormat(design=design)
    low = (1 << max(bits, code_bits)) - 1
    assert outputs(component, [value & low for value in values]) == [
        value % (1 << bits) for value in values]
    assert convert_probability(design, np.array(values)).tolist() == [
        value % (1 << bits) for value in values]


@pytest.mark.parametrize("accumulator_bits,score_bits", [
    (16, 8), (32, 32), (32, 16), (48, 32), (18, 31), (32, 8)])
@pytest.mark.parametrize("narrow", [0, 1])
@pytest.mark.parametrize("shift", [0, 1, 2, 8, 15, 31, 47, 48, 63])
def test_scores(accumulator_bits, score_bits, narrow, shift):
    design = Design(accumulator_bits=accumulator_bits, score_bits=score_bits)
    half, rng = 1 << accumulator_bits - 1, random.Random(shift)
    values = [-half, half - 1, 0, -1, 1, 2, -2, 3, -3, 5, -5]
    for edge in (1 << shift, 1 << max(0, shift - 1), 1 << score_bits - 1,
                 (1 << score_bits - 1 + shift) - (1 << max(0, shift - 1))):
        values += [sign * edge + more for sign in (1, -1) for more in (-1, 0, 1)]
    values += [rng.randrange(-half, half) for _ in range(50)]
    values = [value for value in values if -half <= value < half]
    exact = [half_up(Fraction(value, 1 << shift)) for value in values]
    if narrow:
        most = (1 << score_bits - 1) - 1
        exact = [min(max(value, -most), most) for value in exact]
    assert scores(design, values, shift, narrow) == exact
    assert convert_score(design, np.array(values), shift, narrow).tolist() == exact
    assert [int(convert_score(design, value, shift, narrow)) for value in values] == exact


def test_shift_by_8_rounds_half_up_f072():
    design = Design()
    values = [120, 127, 128, -128, -129]
    assert scores(design, values, 8, 0) == [0, 0, 1, 0, -1]
    assert [convert_score(design, value, 8) for value in values] == [0, 0, 1, 0, -1]
