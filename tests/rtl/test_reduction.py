# amaranth: UnusedElaboratable=no
"""Maximum and sum of rows: any lengths, back to back, at the exact cycle."""

from random import Random

import pytest
from harness import lockstep
from vector_values import random_elements

from cubewave.rtl.reduction import Reduction
from cubewave.rtl.vector_format import VectorFormat


def beats(row, lanes, **more):
    """The row's beats; what lies beyond its elements is not zero."""
    for start in range(0, len(row), lanes):
        part = row[start:start + lanes]
        yield {"valid": 1, "x": part + [12345] * (lanes - len(part)), "count": len(part),
               "first": int(start == 0), "last": int(start + lanes >= len(row)), **more}


def run(lanes, rows, bits=34, gaps=None):
    """`rows` is a list of (elements, maximum, shift). Checks every result in its cycle."""
    format, steps, expected = VectorFormat(bits), [], {}
    for number, (row, maximum, shift) in enumerate(rows):
        steps += beats(row, lanes, maximum=maximum, shift=shift)
        result = (format.row_maximum(row), False) if maximum else format.row_sum(row, shift)
        expected[len(steps) - 1 + Reduction.latency(lanes)] = result
        steps += [{}] * (gaps[number] if gaps else 0)
    steps += [{}] * (Reduction.latency(lanes) + 3)
    sampled = lockstep(Reduction(element_bits=bits, lanes=lanes), steps, ["row", "overflow"])
    row = 0
    for cycle, outputs in enumerate(sampled):
        row, overflow = expected.get(cycle, (row, False))
        assert outputs == {"row": row, "overflow": int(overflow)}, cycle


@pytest.mark.parametrize("bits", [34, 49])
@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 5, 8])
def test_random_rows(lanes, bits):
    random = Random(100 * bits + lanes)
    rows = [(random_elements(random, bits, random.choice([1, 2, lanes, lanes + 1,
                                                           random.randrange(1, 4 * lanes + 1)])),
             random.randrange(2), random.choice([0, 1, 8, 63, random.randrange(64)]))
            for _ in range(60)]
    run(lanes, rows, bits)
    run(lanes, rows, bits, gaps=[random.randrange(3) for _ in rows])


@pytest.mark.parametrize("lanes,latency", [(1, 3), (2, 4), (3, 5), (4, 5), (5, 6), (32, 8)])
def test_latency(lanes, latency):
    assert Reduction.latency(lanes) == latency
    sampled = lockstep(Reduction(element_bits=34, lanes=lanes),
                       [*beats([7], lanes), *[{}] * 10], ["row"])
    assert [outputs["row"] for outputs in sampled] == [0] * latency + [7] * (11 - latency)


def test_masked_rows_and_saturation():
    masked, highest = VectorFormat(34).masked, VectorFormat(34).highest
    run(4, [([masked] * 5, 1, 0), ([masked], 1, 0), ([highest, 1], 0, 0), ([masked, -1], 0, 0),
            ([highest] * 9, 0, 4), ([masked, 0], 0, 1), ([3], 0, 1), ([-3], 0, 1)])
    # What just fits, and what just does not.
    run(1, [([highest], 0, 0), ([masked + 1], 0, 0), ([highest, 1], 0, 0), ([masked], 0, 0)])


def test_a_long_row_of_the_greatest_elements():
    run(32, [([VectorFormat(49).highest] * 5000, 0, 13), ([VectorFormat(49).masked] * 5000, 0, 13)],
        bits=49)


@pytest.mark.parametrize("kwargs,error,message", [
    ({"lanes": 0}, ValueError, r"^lanes must be from 1 to 65536, not 0$"),
    ({"lanes": True}, TypeError, r"^lanes must be an integer, not True$"),
    ({"element_bits": 33}, ValueError, r"^element_bits must be from 34 to 49, not 33$"),
])
def test_refused_parameters(kwargs, error, message):
    with pytest.raises(error, match=message):
        Reduction(**{"element_bits": 34, "lanes": 4, **kwargs})
