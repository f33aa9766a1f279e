"""Split-K: partial results on the machine, their sum by formula or in the accumulators."""

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.rtl.memory_timing import MemoryTiming
from cubewave.sim import simulate
from cubewave.sim.network import simulate_network
from cubewave.workloads import QProjection, WorkloadError
from cubewave.workloads.split_k import SplitK

TINY = Design.preset("tiny")


def test_kernels_of_the_chapter():
    """meas-q-kernels-m256 of chapter 4.8.3: two at 256 rows (GEMM, reduction), one at one row."""
    assert SplitK(256, 4096, 4096).kernels == 2
    assert SplitK(1, 4096, 4096).kernels == 1
    assert SplitK(256, 4096, 4096, reduction="accumulators").kernels == 1


@pytest.mark.parametrize("splits", [1, 2, 3, 7])
def test_partial_results_add_up_to_the_product(splits):
    network = SplitK(5, 23, 6, splits, seed=4)
    result = simulate_network(TINY, network, level="rtl")
    assert result.ok
    partial = result.runs[0].output
    assert partial.shape == (5 * splits, 6)
    product = np.matmul(*network.whole.operands(TINY))
    assert np.array_equal(partial.reshape(splits, 5, 6).sum(axis=0), product)
    other = simulate_network(TINY, network, level="rtl", seed=9).runs[0].output
    assert np.array_equal(other.reshape(splits, 5, 6).sum(axis=0),
                          np.matmul(*network.seeded(9).whole.operands(TINY)))


def test_parts_that_add_up_in_the_accumulators():
    network = SplitK(5, 23, 6, 3, "accumulators")
    result = simulate_network(TINY, network, level="rtl")
    assert result.ok and result.formula_cycles == 0
    assert np.array_equal(result.runs[0].output, np.matmul(*network.whole.operands(TINY)))
    assert result.bytes_written == 5 * 6 * 4


def test_traffic_of_the_second_kernel():
    """Each partial result is written and read again, 4 bytes an element; the sum is written."""
    network, whole = SplitK(8, 64, 16, 4), QProjection(8, 64, 16)
    alone = simulate(TINY, whole, level="cycle")
    for level in ("rtl", "cycle", "analytic"):
        result = simulate_network(TINY, network, level=level)
        products, reduction = result.layers
        matrix = 8 * 16 * 4
        assert products.bytes_written == reduction.bytes_read == 4 * matrix
        assert products.bytes_read == alone.bytes_read
        assert reduction.bytes_written == matrix == alone.bytes_written
        occupancy = 5 * MemoryTiming.of(TINY).occupancy(matrix)
        latency = 0 if level == "analytic" else 2 * TINY.memory_latency_cycles
        assert reduction.cycles == occupancy + latency
        assert result.formula_cycles == (reduction.cycles if latency else 0)
        assert reduction.to_dict()["level"] == "analytic"
        assert reduction.to_dict()["shape_efficiency"] is None
        assert result.useful_macs == 8 * 64 * 16


def test_width_of_partial_results_is_that_of_the_accumulators():
    narrow = Design(accumulator_bits=24)
    assert simulate_network(narrow, SplitK(8, 64, 16, 4)).layers[1].bytes_written == 8 * 16 * 3


def test_full_q_projection_in_the_model():
    result = simulate_network(Design.preset("b200-sm"), SplitK(256, 4096, 4096, 4))
    assert result.ok and result.useful_macs == 256 * 4096 * 4096
    assert result.layers[1].bytes_read == 4 * 256 * 4096 * 4


@pytest.mark.parametrize("values, message", [
    ({"splits": 65}, "splits must be an integer from 1 to 64, not 65"),
    ({"reduction": "disk"}, "reduction must be one of memory, accumulators, not 'disk'"),
    ({"m": 0}, "m must be an integer from 1 to 2147483647, not 0"),
])
def test_refusals(values, message):
    with pytest.raises(WorkloadError) as error:
        SplitK(**values)
    assert str(error.value) == message


def test_a_result_too_large_for_the_accumulators_is_refused():
    with pytest.raises(WorkloadError, match="^layer products: accumulate needs the whole result"):
        simulate_network(TINY, SplitK(600, 8, 8, 2, "accumulators"))
