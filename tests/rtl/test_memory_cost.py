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


def expected(timing, rows, bytes_per_row, row_stride, vector=0, window=0, configure=0,
             segments=1, **of_windows):
    nbytes = rows * bytes_per_row
    beats = rows if vector else -(-rows // timing.port_rows)
    transactions = timing.transactions(rows, bytes_per_row, row_stride)
    if window:
        nbytes = of_windows["bytes"]
    if configure:
        nbytes = 0
    if window or configure:
        transactions = -(-nbytes // timing.transaction_bytes)
    return {"nbytes": nbytes, "occupancy": timing.occupancy(nbytes),
            "beats": 1 if configure else beats * segments, "transactions": transactions}


@pytest.mark.parametrize("bandwidth", BANDWIDTHS, ids=str)
@pytest.mark.parametrize("latency,outstanding,transaction_bytes,port_rows", [
    (0, 1, 1, 1), (2, 16, 64, 2), (37, 3, 48, 3), (128, 7, 17, 16)])
def test_random_descriptors(bandwidth, latency, outstanding, transaction_bytes, port_rows):
    timing = MemoryTiming(bandwidth, latency, outstanding, transaction_bytes, port_rows)
    rng = random.Random(latency)
    steps = [{"rows": 255, "bytes_per_row": 4095, "row_stride": (1 << 40) - 1, "segments": 1},
             {"segments": 1, "configure": 1, "rows": 0, "bytes_per_row": 0, "row_stride": 0}]
    for number in range(60):
        nbytes = rng.choice([1, transaction_bytes, transaction_bytes + 1, rng.randint(1, 4095)])
        steps.append({"rows": rng.choice([1, 2, rng.randint(1, 255)]), "bytes_per_row": nbytes,
                      "row_stride": nbytes if number % 3 == 0 else rng.randrange(1 << 40),
                      "vector": rng.randrange(2), "segments": 1})
        if number % 4 == 1:
            steps[-1].update(window=1, segments=rng.randint(1, 15),
                             bytes=rng.choice([0, 1, rng.randrange(1 << 20)]))
    cost = MemoryCost(timing=timing, row_bits=8, row_bytes_bits=12, segment_bits=4)
    assert cost.timing == timing
    assert lockstep(cost, steps, WATCH) == [expected(timing, **step) for step in steps]


def test_the_longest_occupancy_is_not_cut():
    """A slot of 2**26 bytes at the least bandwidth, every transaction paying the latency."""
    timing = MemoryTiming(Fraction(1, 4), 1000, 1, 4096, 1)
    step = {"rows": (1 << 20) - 1, "bytes_per_row": 64, "row_stride": 64, "segments": 1}
    cost = MemoryCost(timing=timing, row_bits=20, row_bytes_bits=7, segment_bits=1)
    [got] = lockstep(cost, [step], WATCH)
    assert got == expected(timing, **step)
    assert got["occupancy"] > 1 << 28 and COST_BITS == 40
