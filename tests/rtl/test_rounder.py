# amaranth: UnusedElaboratable=no
"""The rounder against exact fractions: every shift and width, and values about every limit."""

import random

import pytest
from harness import lockstep

from cubewave.rtl.rounder import Rounder
from cubewave.rtl.vector_format import VectorFormat


def expected(format, value, shift, bits):
    """The result, and whether it was saturated."""
    exact = (value + (1 << shift >> 1)) >> shift
    half = 1 << (bits or format.element_bits) - 1
    result = min(max(exact, -half, format.lowest), half - 1)
    return result, int(result != exact)


@pytest.mark.parametrize("value_bits,element_bits", [(66, 34), (58, 34), (81, 49)])
def test_values_about_the_limits(value_bits, element_bits):
    rng, format = random.Random(value_bits), VectorFormat(element_bits)
    cases = []
    for _ in range(600):
        shift = rng.choice([0, 1, 63, rng.randrange(64)])
        bits = rng.choice([0, 1, element_bits, rng.randrange(element_bits + 1)])
        limit = (1 << (bits or element_bits) - 1) << shift
        value = rng.choice([1, -1]) * limit + rng.choice([0, 1, -1]) * (1 << shift >> 1)
        value += rng.choice([-1, 0, 1])
        value = rng.choice([value, rng.getrandbits(value_bits) - (1 << value_bits - 1)])
        most = 1 << value_bits - 1
        cases.append((min(max(value, -most), most - 1), shift, bits, rng.random() < 0.1))
        if rng.random() < 0.1:
            cases.append((cases[-1][0], 0, 0, False))
    steps = [{"scaled": 1, "shift": shift, "bits": bits} if shift or bits else
             {"scaled": 0, "shift": rng.randrange(64), "bits": rng.randrange(element_bits + 1)}
             for _value, shift, bits, _masked in cases] + [{}, {}]
    for (value, _shift, _bits, masked), step in zip(cases, steps[1:]):
        step |= {"valid": 1, "value": [value], "masked": int(masked)}
    dut = Rounder(value_bits=value_bits, element_bits=element_bits, lanes=1)
    got = lockstep(dut, steps, ["o", "outside"])[2:]
    for (value, shift, bits, masked), row in zip(cases, got, strict=True):
        result, outside = expected(format, value, shift, bits)
        assert row["o"] == [format.masked if masked else result], (value, shift, bits)
        if bits in (0, element_bits):
            assert row["outside"] == (outside and not masked), (value, shift)


def test_a_result_is_kept_and_others_change_nothing():
    steps = [{"scaled": 1, "shift": 1}, {"valid": 1, "value": [5, -3]},
             {"scaled": 1, "shift": 3}, {"value": [99, 99]}, {}]
    got = lockstep(Rounder(value_bits=66, element_bits=34, lanes=2), steps, ["o", "outside"])
    assert [row["o"] for row in got[2:]] == [[3, -1]] * 3


@pytest.mark.parametrize("kwargs,message", [
    ({"value_bits": 34}, r"^value_bits must be from 35 to 128, not 34$"),
    ({"lanes": 0}, r"^lanes must be from 1 to 65536, not 0$")])
def test_refused_parameters(kwargs, message):
    with pytest.raises(ValueError, match=message):
        Rounder(**{"value_bits": 66, "element_bits": 34, "lanes": 1, **kwargs})
