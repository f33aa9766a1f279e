"""Cases from the field: cycles, stalls, bandwidth, GEMV, FIFO depth, MAC pipelines."""

import dataclasses
import itertools

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.rtl.memory_channel import MemoryChannel
from cubewave.rtl.queue import Queue
from cubewave.rtl.weight_fifo import WeightFifo
from cubewave.sim import simulate
from cubewave.workloads import Gemm, QProjection

TINY = Design.preset("tiny")
FREE = dataclasses.replace(TINY, memory_bytes_per_cycle="unlimited", memory_latency_cycles=0,
                           weight_fifo_depth=8)


def run(design, *shape, **choices):
    result = simulate(design, QProjection(*shape, **choices))
    assert result.ok, [check for check in result.checks if not check["ok"]]
    return result


def pattern(m, k, n):
    """The operands of the cases: small, signed, without symmetry."""
    i, j = np.indices((m, k))
    a = (7 * i + 3 * j) % 11 - 5
    i, j = np.indices((k, n))
    return a, (5 * i + 2 * j) % 9 - 4


def test_f003_tiles_follow_each_other_at_a_constant_interval():
    cycles = [run(FREE, 16, 4, 4 * tiles, store_output=False).cycles for tiles in (2, 3, 4, 5)]
    steps = {after - before for before, after in itertools.pairwise(cycles)}
    assert steps == {16}  # M = 16 rows; nothing beyond to be explained by a counter


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("rows,cols", [(4, 4), (3, 5), (2, 2), (5, 3)])
def test_tile_interval_is_max_of_m_and_rows(m, rows, cols):
    design = dataclasses.replace(FREE, rows=rows, cols=cols, weight_fifo_depth=8)
    cycles = [run(design, m, rows * 2, cols * n, a_resident=True, store_output=False).cycles
              for n in (3, 4)]
    assert cycles[1] - cycles[0] == 2 * max(m, rows)


@pytest.mark.parametrize("mac_latency", [1, 3])
@pytest.mark.parametrize("m,rows,cols,n_tiles", [(6, 4, 4, 5), (2, 4, 3, 6), (3, 3, 5, 4)])
def test_whole_product_formula_of_section_7(m, rows, cols, n_tiles, mac_latency):
    """First weight row in to last sums out, counted from outside: fill to drain."""
    design = dataclasses.replace(FREE, rows=rows, cols=cols, mac_latency=mac_latency,
                                 accumulator_banks=8)
    result = run(design, m, rows, cols * n_tiles, a_resident=True, store_output=False)
    array = result.units["array"]
    before_first_row = array.stalls["fill"]
    from_first_shift = result.cycles - array.idle - before_first_row + rows
    assert from_first_shift == (rows + (n_tiles - 1) * max(m, rows) + m + rows + cols - 2
                                + MatrixUnit.REGISTERS + mac_latency - 1)


@pytest.mark.parametrize("m,rows,cols", [(6, 4, 4), (1, 3, 5)])
def test_single_buffered_weights_pay_the_whole_path_for_every_tile(m, rows, cols):
    design = dataclasses.replace(FREE, rows=rows, cols=cols, weight_double_buffer=False)
    cycles = [run(design, m, rows, cols * n, a_resident=True, store_output=False).cycles
              for n in (3, 4)]
    assert cycles[1] - cycles[0] == rows + m + rows + cols - 2 + MatrixUnit.REGISTERS


def test_f006_a_matrix_vector_product_is_charged_honestly():
    design = dataclasses.replace(FREE, rows=8, cols=8)
    matrix, vector = run(design, 16, 48, 16), run(design, 1, 48, 16)
    assert matrix.counters["weight_rows"] == vector.counters["weight_rows"] == 12 * 8
    assert (matrix.useful_macs, vector.useful_macs) == (12288, 768)
    assert vector.cycles < matrix.cycles
    assert vector.utilization <= 0.125


def test_one_row_on_8x8_is_between_0_11_and_0_125():
    design = dataclasses.replace(TINY, rows=8, cols=8, memory_bytes_per_cycle="unlimited")
    assert 0.11 < run(design, 1, 768, 64).utilization <= 0.125


def test_f007_the_last_slice_of_k_counts_for_one_row():
    a = np.zeros((1, 9), int)
    a[0, 8] = 1
    b = np.full((9, 4), 99)
    b[8] = [7, -8, 9, -10]
    for slots in (1, 2):
        design = dataclasses.replace(TINY, input_slots=slots)
        assert simulate(design, Gemm(a, b)).output.tolist() == [[7, -8, 9, -10]]


def test_f010_utilization_is_exact_and_at_most_one():
    for m, k, n in itertools.product((1, 3, 4, 5, 16), (1, 3, 4, 5, 9), (1, 3, 4, 5, 9)):
        result = run(TINY, m, k, n)
        assert 0 < result.utilization <= 1
        assert result.useful_macs == m * k * n
        assert result.utilization == m * k * n / (16 * result.cycles)
    with pytest.raises(ValueError, match="utilization above 1: 33 useful MACs in 2 cycles"):
        dataclasses.replace(result, useful_macs=33, cycles=2)


def test_f012_a_tiny_job_says_what_its_cycles_are():
    result = run(TINY, 5, 2, 2)
    assert result.useful_macs == 20
    assert result.utilization == 20 / (16 * result.cycles)
    array = result.units["array"]
    assert array.busy == 5
    assert array.busy + array.idle + sum(array.stalls.values()) == result.cycles
    bound = simulate(TINY, QProjection(5, 2, 2), level="analytic").cycles
    assert bound + sum(result.items.values()) == result.cycles


def test_f016_unlimited_memory_has_no_memory_stalls():
    result = run(dataclasses.replace(TINY, memory_bytes_per_cycle="unlimited"), 16, 16, 16)
    assert result.units["memory"].stalls == {}
    stalls = result.units["array"].stalls
    assert stalls["operands"] == stalls["weights"] == 0


def test_f017_stalls_never_grow_with_bandwidth():
    results = [run(dataclasses.replace(TINY, memory_bytes_per_cycle=2 ** power), 16, 16, 16)
               for power in range(9)]
    for result in results:
        for unit in result.units.values():
            assert min(unit.busy, unit.idle, *unit.stalls.values(), 0) == 0
            assert unit.total == result.cycles
    for slower, faster in itertools.pairwise(results):
        assert faster.cycles <= slower.cycles
        assert sum(faster.units["array"].stalls.values()) \
            <= sum(slower.units["array"].stalls.values())


def test_f019_a_latency_is_charged_once_for_each_request_that_nothing_overlaps():
    results = [run(dataclasses.replace(TINY, memory_latency_cycles=latency), 4, 4, 4)
               for latency in range(9)]
    steps = {after.cycles - before.cycles
             for before, after in itertools.pairwise(results[4:])}
    # The two loads are under way together; the store waits alone.
    assert steps == {2}
    assert {result.counters["exposed_requests"] for result in results[4:]} == {2}


def test_f021_memory_time_is_in_the_total():
    design = Design(rows=8, cols=8, memory_transaction_bytes=64, slot_bytes=1024)
    cycles = {}
    for bandwidth in (8, 16, "unlimited"):
        result = run(dataclasses.replace(design, memory_bytes_per_cycle=bandwidth), 8, 8, 8)
        assert result.bytes_read + result.bytes_written == 384
        cycles[bandwidth] = result.cycles
    assert cycles[8] >= 48
    assert cycles["unlimited"] < cycles[16] < cycles[8]
    # Unlimited: the weight rows through their port, into the array, the activation rows behind
    # them, the sums out of it, and the result rows out of the accumulators.
    weights_start = Queue.LATENCY + 1  # after the operands
    weights_whole = (weights_start + 8 + design.memory_latency_cycles + MemoryChannel.LATENCY
                     + WeightFifo.ARRIVAL)
    last_row_enters = weights_whole + 8 + 8 - 1
    written = last_row_enters + MatrixUnit.latency(design)
    assert cycles["unlimited"] == written + 1 + 8 + design.memory_latency_cycles


def test_f023_unlimited_equals_a_huge_bandwidth():
    shape = (16, 9, 5)
    unlimited, huge = (run(dataclasses.replace(TINY, memory_bytes_per_cycle=bandwidth), *shape)
                       for bandwidth in ("unlimited", 1_000_000))
    assert unlimited.cycles == huge.cycles
    assert unlimited.units == huge.units
    assert unlimited.counters == huge.counters


def test_f052_a_deeper_weight_fifo_never_costs_cycles():
    a, b = pattern(5, 9, 10)
    cycles = []
    for depth in (1, 2, 3, 4, 8):
        result = simulate(dataclasses.replace(TINY, weight_fifo_depth=depth), Gemm(a, b))
        assert result.ok
        assert (result.output[0, 0], result.output.sum()) == (46, 43)
        cycles.append(result.cycles)
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[0] > cycles[-1]


def test_f057_counters_do_not_wrap_at_16_bits():
    """The analytic level; the same product on the core is `test_f057_on_the_core`."""
    design = Design(rows=1, cols=1, accumulator_rows=70000)
    result = simulate(design, QProjection(70000, 1, 1), level="analytic")
    assert result.useful_macs == 70000
    assert result.cycles >= 70000


@pytest.mark.long
def test_f057_on_the_core():
    design = Design(rows=1, cols=1, accumulator_rows=70000, slot_bytes=70000,
                    memory_bytes_per_cycle="unlimited", buffer_port_rows=16)
    result = run(design, 70000, 1, 1)
    assert result.useful_macs == result.counters["useful_macs"] == 70000
    assert result.units["array"].busy == 70000


def test_f116_one_element_and_none():
    result = run(TINY, 1, 1, 1)
    assert result.cycles >= 1
    assert result.useful_macs == 1
    assert result.utilization == 1 / (16 * result.cycles)
    with pytest.raises(ValueError, match="m must be an integer from 1"):
        QProjection(0, 4, 4)
    with pytest.raises(ValueError, match="a must have at least 1 row"):
        Gemm(np.zeros((0, 4), int), np.zeros((4, 4), int))


def test_f120_a_pipelined_multiplier_lengthens_the_fill_only():
    extra = {}
    for m in (16, 64):
        one, three = (run(dataclasses.replace(FREE, mac_latency=latency), m, 4, 4).cycles
                      for latency in (1, 3))
        extra[m] = three - one
    assert extra == {16: 2, 64: 2}
