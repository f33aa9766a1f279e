"""RTL against numpy, the analytic level and the cycle model: named products on many machines.

Random designs and workloads are in `cycle/test_random_pairs.py`.
"""

import itertools

import pytest
from designs import designs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.workloads import QProjection, Sequence, WorkloadError

ARRAYS = [(1, 1), (2, 5), (3, 2), (5, 7), (8, 8), (16, 16)]
BANDWIDTHS = [1, "7/3", 16, "unlimited"]


def failures(result):
    return [check for check in result.checks if not check["ok"]]


def accumulate_on_chip(data):
    """Two products into the same accumulators: the sum, with overflow K tile by K tile."""
    design = data.draw(designs())
    m, n = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 7)))
    jobs = [QProjection(m, k, n, seed=k, accumulate=accumulate, store_output=accumulate)
            for k, accumulate in ((3, False), (6, True))]
    try:
        result = simulate(design, Sequence(jobs))
    except WorkloadError as error:
        assert "accumulate needs the whole result in the accumulators" in str(error)
        return
    assert not failures(result)


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_accumulation_on_chip(data):
    accumulate_on_chip(data)


@pytest.mark.long
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_much_random_accumulation_on_chip(data):
    accumulate_on_chip(data)


@pytest.mark.parametrize("rows,cols", ARRAYS)
def test_the_named_product_on_every_array(rows, cols):
    """M=5, K=9, N=10 with every depth, latency, bandwidth and number of banks somewhere."""
    combinations = itertools.islice(zip(
        itertools.cycle((1, 2, 3, 4)), itertools.cycle((4, 3, 2, 1)),
        itertools.cycle((0, 20, 1, 7, 3)), itertools.cycle(BANDWIDTHS),
        itertools.cycle((1, 2))), 5 if rows * cols < 60 else 2)
    for depth, slots, latency, bandwidth, banks in combinations:
        design = Design(rows=rows, cols=cols, weight_fifo_depth=depth, input_slots=slots,
                        memory_latency_cycles=latency, memory_bytes_per_cycle=bandwidth,
                        accumulator_banks=banks)
        result = simulate(design, QProjection(5, 9, 10))
        assert not failures(result), design
        assert result.useful_macs == 450
