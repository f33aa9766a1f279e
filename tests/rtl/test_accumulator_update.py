"""The arithmetic of an accumulator update against its numpy model."""

import random

import numpy as np
import pytest
from harness import lockstep

from cubewave.rtl.accumulator_update import AccumulatorUpdate
from cubewave.rtl.formats import IntegerFormat


@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
@pytest.mark.parametrize("bits", [16, 17, 18, 31, 48])
@pytest.mark.parametrize("operand_bits,terms", [(4, 1), (8, 4), (16, 1024)])
def test_equals_the_model(overflow, bits, operand_bits, terms):
    """Sums narrower and wider than the accumulator; the flag of each column by itself."""
    fmt, rng = IntegerFormat(operand_bits, operand_bits, bits, terms), random.Random(bits)
    low, high = fmt.accumulator_range()
    half = 1 << fmt.sum_shape.width - 1
    olds = [low, low + 1, -1, 0, 1, high - 1, high]
    sums = [-half, -1, 0, 1, half - 1]
    steps = []
    for _ in range(80):
        steps.append({
            "old": [rng.choice([*olds, rng.randint(low, high)]) for _ in range(3)],
            "sums": [rng.choice([*sums, rng.randrange(-half, half)]) for _ in range(3)],
            "accumulate": rng.randrange(2)})
    unit = AccumulatorUpdate(format=fmt, cols=3, overflow=overflow)
    for step, got in zip(steps, lockstep(unit, steps, ["new", "overflows"]), strict=True):
        old = np.array(step["old"]) * step["accumulate"]
        columns = [fmt.accumulate(old[col:col + 1], np.array(step["sums"][col:col + 1]), overflow)
                   for col in range(3)]
        assert got["new"] == [int(words[0]) for words, _outside in columns]
        assert got["overflows"] == sum(outside << col
                                       for col, (_words, outside) in enumerate(columns))
