"""Products with bias, ReLU and requantisation: RTL, cycle model, numpy and the analytic level."""

from dataclasses import replace

import numpy as np
import pytest
from designs import designs, small
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.formats import IntegerFormat
from cubewave.sim import simulate
from cubewave.sim.analytic import estimate
from cubewave.workloads import Gemm, Sequence, WorkloadError
from cubewave.workloads.gemm import RandomGemm

TINY = Design.preset("tiny")
PER_DESIGN = 4  # workloads on one elaborated core


def failures(result):
    return [check for check in result.checks if not check["ok"]]


def run(design, workload):
    """The result of level rtl, which is that of level cycle and numpy's."""
    rtl = simulate(design, workload)
    cycle = simulate(design, workload, level="cycle")
    ideal = simulate(design, workload, level="cycle", timing="ideal", output=False)
    for result in (rtl, cycle, ideal):
        assert not failures(result), (design, workload.describe())
        needed = estimate(design, workload.parts(), result.timing).resources
        for name in {"vector", "handoff"} & set(needed):
            assert result.units[name].busy == needed[name]
    assert (rtl.output == cycle.output).all()
    assert rtl.overflow == cycle.overflow
    assert (rtl.counters, rtl.units) == (cycle.counters, cycle.units)
    return rtl


def matrices(rng, design, m, k, n):
    """Operands of the full range."""
    format = IntegerFormat.of(design)
    return (rng.integers(*format.activation_range(False), size=(m, k), endpoint=True),
            rng.integers(*format.weight_range(), size=(k, n), endpoint=True))


@st.composite
def products(draw, design):
    """A product with some epilogue, or such a one added to another product's sums."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, k = draw(small(1, 2, 5, 9)), draw(small(1, 3, 7))
    n = draw(small(1, design.cols, design.cols + 1, 2 * design.cols))
    tiling = {"order": draw(small("mn", "nm")),
              **draw(small({}, {}, {"m_tile": 1}, {"tile_rows": design.rows}))}
    choices = {"relu": draw(st.booleans())}
    if draw(st.booleans()):
        choices["requantize"] = (draw(small(1, 3, 77, 1 << 20, (1 << 31) - 1)),
                                 draw(small(0, 1, 7, 20, 40, 63)),
                                 draw(st.integers(2, design.accumulator_bits)))
    if draw(st.booleans()):
        narrow = draw(small(0, 0, 8))  # most biases saturate now and then
        choices["bias"] = rng.integers(*IntegerFormat.of(design).accumulator_range(), size=n,
                                       endpoint=True) >> narrow
    accumulate = draw(small(False, False, True))
    product = Gemm(*matrices(rng, design, m, k, n), accumulate=accumulate, **tiling, **choices)
    if not accumulate:
        return product
    before = Gemm(*matrices(rng, design, m, 3, n), store_output=draw(st.booleans()), **tiling)
    return Sequence([before, product])


# Without shrinking, which would take minutes; the message names design and product.
@settings(max_examples=5, suppress_health_check=list(HealthCheck), deadline=None,
          phases=[Phase.generate])
@given(st.data())
def test_random_products(data):
    design = data.draw(designs())
    for _ in range(PER_DESIGN):
        workload = data.draw(products(design))
        try:
            workload.program(design, contents=False)
        except WorkloadError as error:  # too many or too large tiles for the accumulators
            assert str(error).startswith(("accumulate needs", "tile_rows must")), error
            continue
        run(design, workload)


@pytest.mark.parametrize("fields", [
    {"handoff_slots": 1},
    {"handoff_slots": 1, "accumulator_banks": 1, "input_slots": 1, "weight_fifo_depth": 1},
    {"vector_units": 2, "handoff": "staged", "handoff_bytes_per_cycle": 3},
    {"vector_schedule": "pipelined", "lanes": 1},
    {"dataflow": "output_stationary", "vector_units": 2, "lanes": 3, "handoff_slots": 3},
    {"cols": 6, "lanes": 4, "memory_bytes_per_cycle": "7/3", "memory_latency_cycles": 40},
    {"weight_bits": 16, "accumulator_bits": 48, "memory_bytes_per_cycle": "unlimited"},
])
def test_all_parts_on_different_machines(fields):
    run(replace(TINY, **fields), RandomGemm(7, 9, 13, bias="random", relu=True,
                                            requantize=(77, 13, 8)))


def test_bias_of_accumulated_sums():
    """Two products in the same accumulators; the second one's result gets the bias."""
    first = RandomGemm(3, 5, 6, seed=1, store_output=False)
    second = RandomGemm(3, 4, 6, seed=2, accumulate=True, bias=np.arange(6) - 3)
    result = run(TINY, Sequence([first, second]))
    products = [a @ b for a, b in (job.operands(TINY) for job in (first, second))]
    assert (result.output == products[0] + products[1] + np.arange(6) - 3).all()


def test_a_product_without_epilogue_between_others():
    jobs = [RandomGemm(3, 5, 9, seed=1, relu=True), RandomGemm(2, 3, 4, seed=2),
            RandomGemm(4, 3, 5, seed=3, bias="random")]
    run(TINY, Sequence(jobs))


def test_sum_that_an_element_cannot_hold_is_an_overflow():
    """The least accumulator of 48 bits, of 2**33 products, plus the least bias."""
    design = replace(TINY, accumulator_bits=34, activation_bits=16, weight_bits=16)
    least = -(1 << 33)
    a, b = np.full((1, 8), -32768), np.full((8, 1), 32767)
    rest = least + 8 * 32768 * 32767
    a = np.concatenate([a, [[rest // 8, 0]]], axis=1)
    b = np.concatenate([b, [[8], [0]]])
    for bias, overflow in ((least, True), (least + 1, False)):
        result = run(design, Gemm(a, b, bias=[bias]))
        assert (result.output.tolist(), result.overflow) == ([[least]], overflow)


def test_counts_of_the_vector_unit():
    design = replace(TINY, handoff="staged")
    result = run(design, RandomGemm(5, 9, 10, bias="random", relu=True, requantize=(1, 8, 8)))
    counters = result.counters
    assert (counters["vector_commands"], counters["handoffs"]) == (9, 3)
    assert counters["handoff_bytes"] == counters["exchange_bytes"] == 2 * 5 * 10 * 4
    assert result.bytes_written == 5 * 10
    analytic = simulate(design, RandomGemm(5, 9, 10, bias="random", relu=True,
                                           requantize=(1, 8, 8)), level="analytic")
    assert analytic.cycles + sum(result.items.values()) == result.cycles
