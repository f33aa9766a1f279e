"""The cost of descriptors in hardware against its Python, fractional bandwidths included."""

import random
from fractions import Fraction

import pytest
from harness import lockstep

from cubewave.rtl.memory_cost import COST_BITS, MemoryCost
from cubewave.rtl.memory_timing import MemoryTiming

BANDWIDTHS = [Fraction(1), Fraction(16), Fraction(7), Fraction(340, 7), Fraction(1, 3),
              Fraction(5, 4), Fraction(1 << 20), None]
WATCH = ["nbytes", "transactions", "occupancy", "beats"]


def expected(timing, rows, bytes_per_row, row_stride, vector=0):
    nbytes = rows * bytes_per_row
    return {"nbytes": nbytes, "occupancy": timing.occupancy(nbytes),
            "beats": rows if vector else -(-rows // timing.port_rows),
            "transactions": timing.transactions(rows, bytes_per_row, row_stride)}


@pytest.mark.parametrize("bandwidth", BANDWIDTHS, ids=str)
@pytest.mark.parametrize("latency,outstanding,transaction_bytes,port_rows", [
    (0, 1, 1, 1), (2, 16, 64, 2), (37, 3, 48, 3), (128, 7, 17, 16)])
def test_random_descriptors(bandwidth, latency, outstanding, transaction_bytes, port_rows):
    timing = MemoryTiming(bandwidth, latency, outstanding, transaction_bytes, port_rows)
    rng = random.Random(latency)
    steps = [{"rows": 255, "bytes_per_row": 4095, "row_stride": (1 << 40) - 1}]
    for number in range(60):
        nbytes = rng.choice([1, transaction_bytes, transaction_bytes + 1, rng.randint(1, 4095)])
        steps.append({"rows": rng.choice([1, 2, rng.randint(1, 255)]), "bytes_per_row": nbytes,
                      "row_stride": nbytes if number % 3 == 0 else rng.randrange(1 << 40),
                      "vector": rng.randrange(2)})
    cost = MemoryCost(timing=timing, row_bits=8, row_bytes_bits=12)
    assert cost.timing == timing
    assert lockstep(cost, steps, WATCH) == [expected(timing, **step) for step in steps]


def test_the_longest_occupancy_is_not_cut():
    """A slot of 2**26 bytes at the least bandwidth, every transaction paying the latency."""
    timing = MemoryTiming(Fraction(1, 4), 1000, 1, 4096, 1)
    step = {"rows": (1 << 20) - 1, "bytes_per_row": 64, "row_stride": 64}
    cost = MemoryCost(timing=timing, row_bits=20, row_bytes_bits=7)
    [got] = lockstep(cost, [step], WATCH)
    assert got == expected(timing, **step)
    assert got["occupancy"] > 1 << 28 and COST_BITS == 40
