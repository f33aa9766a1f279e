"""Attention: RTL, cycle model, numpy, the analytic level and floating point."""

from dataclasses import replace

import numpy as np
import pytest
from designs import attention_designs, attentions
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.sim.analytic import estimate
from cubewave.workloads import Attention, RandomAttention

TINY = Design.preset("tiny")
WIDE = replace(TINY, activation_bits=16, weight_bits=16, accumulator_bits=48)
SMALLEST = Design(
    rows=1, cols=1, weight_fifo_depth=1, input_slots=2, slot_bytes=64, accumulator_banks=1,
    accumulator_rows=16, lanes=1, sfu_lanes=1, handoff_slots=1, memory_outstanding=1)

# Without shrinking, which would take minutes; the message names design and workload.
random_runs = settings(backend="hypothesis-urandom", suppress_health_check=list(HealthCheck),
                       deadline=None, phases=[Phase.generate])


def failures(result):
    return [check for check in result.checks if not check["ok"]]


def run(design, workload):
    """The result of level rtl, which is that of level cycle and numpy's."""
    rtl = simulate(design, workload)
    cycle, ideal = (simulate(design, workload, level="cycle", timing=timing)
                    for timing in ("rtl", "ideal"))
    analytic = simulate(design, workload, level="analytic")
    for result in (rtl, cycle, ideal):
        assert not failures(result), (design, workload.describe(), failures(result))
        check_busy(design, workload, result)
    same = (rtl.output is cycle.output if rtl.output is None
            else (rtl.output == cycle.output).all() and (rtl.output == ideal.output).all())
    assert same, (design, workload.describe())
    for name in ("cycles", "span", "counters", "units", "items", "overflow", "accuracy",
                 "output_scale"):
        assert getattr(rtl, name) == getattr(cycle, name), (name, design, workload.describe())
    assert {name: rtl.counters[name] for name in analytic.counters} == analytic.counters
    assert analytic.cycles + sum(rtl.items.values()) == rtl.cycles
    return rtl


def check_busy(design, workload, result):
    """Times that the analytic level knows exactly are those of the units."""
    needed = estimate(design, workload.parts(), result.timing).resources
    busy = {name: result.units[name].busy for name in ("array", "memory", "handoff", "vector")}
    exact = [name for name in busy if name != "vector" or design.vector_schedule == "sequential"
             or result.timing == "ideal"]
    assert {name: busy[name] for name in exact} == {name: needed[name] for name in exact}
    assert busy["vector"] >= needed["vector"]


@settings(random_runs, max_examples=3)
@given(st.data())
def test_random_attention(data):
    design = data.draw(attention_designs())
    for _ in range(2):  # on one elaborated core
        run(design, data.draw(attentions(design)))


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
@settings(random_runs, max_examples=40)
@given(st.data())
def test_thousands_of_random_attentions(part, data):
    design = data.draw(attention_designs())
    for _ in range(8):
        run(design, data.draw(attentions(design)))


@pytest.mark.parametrize("design,options", [
    (SMALLEST, {"head_dim": 2}),
    (SMALLEST, {"head_dim": 1, "block_keys": 1}),
    (replace(TINY, handoff="staged", handoff_slots=4, vector_units=2), {"heads": 2}),
    (replace(TINY, vector_schedule="pipelined", lanes=8, sfu_lanes=3), {"causal": True}),
    (replace(TINY, vector_schedule="pipelined", handoff_slots=1), {"block_keys": 4}),
    (replace(TINY, accumulator_banks=1, weight_fifo_depth=1, input_slots=2),
     {"block_keys": 3, "causal": True, "rows_per_group": 2}),
    (replace(TINY, buffer_port_rows=3, handoff_bytes_per_cycle=1),
     {"heads": 4, "kv_heads": 2, "head_dim": 3, "rows_per_group": 2}),
    (replace(TINY, weight_double_buffer=False, mac_latency=3), {"resident": True}),
    (replace(TINY, memory_bytes_per_cycle="7/3", memory_latency_cycles=30),
     {"store_output": False, "block_keys": 5}),
], ids=lambda value: "" if isinstance(value, Design) else "-".join(value))
def test_different_machines(design, options):
    options = {"rows": 5, "keys": 9, "head_dim": 5, **options}
    run(design, RandomAttention(**options))


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 7, 3), (6, 1, 3), (3, 6, 1)])
@pytest.mark.parametrize("block_keys", [None, 2])
def test_least_sizes(shape, block_keys):
    run(TINY, RandomAttention(*shape, block_keys=min(block_keys or shape[1], shape[1])))


def test_mask_and_heads():
    mask = np.random.default_rng(1).random((6, 9)) < 0.5
    mask[4] = False
    for block_keys in (None, 4):
        result = run(replace(TINY, handoff_slots=3), RandomAttention(
            6, 9, 3, heads=2, kv_heads=1, mask=mask, causal=True, block_keys=block_keys))
        assert (result.output[4] == 0).all()


def test_overflow_is_reported():
    """Scores beyond the accumulators wrap or saturate, at all levels alike."""
    most = np.full((3, 4), 32767)
    for behaviour in ("wrap", "saturate"):
        design = replace(WIDE, accumulator_bits=24, accumulator_overflow=behaviour)
        assert run(design, Attention(most, most, most, scale=1e-6)).overflow
    assert not run(WIDE, Attention(most, most, most, scale=1e-6)).overflow


# Accuracy


@pytest.mark.parametrize("shape", [(8, 24, 8), (3, 64, 16)])
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"heads": 2}])
def test_error_with_16_bits_is_small(shape, options):
    """Whole rows and blocks, against floating point, over the greatest result."""
    for block_keys in (None, 8):
        result = simulate(WIDE, RandomAttention(*shape, block_keys=block_keys, **options),
                          level="cycle")
        assert not failures(result)
        assert result.accuracy["rms_error"] <= result.accuracy["max_error"] < 4e-3


def test_error_does_not_depend_on_the_last_bits_of_a_product(monkeypatch):
    """Two levels once reported errors that differed by one unit in the last place."""
    workload = RandomAttention(5, 2, 1)
    one = simulate(TINY, workload, level="cycle").accuracy
    exact = workload.float_reference(TINY)
    monkeypatch.setattr(RandomAttention, "float_reference",
                        lambda *_: np.nextafter(exact, np.inf).T.copy().T)
    assert simulate(TINY, workload, level="cycle").accuracy == one


def test_error_with_8_bits_is_reported():
    result = simulate(TINY, RandomAttention(8, 24, 8), level="cycle")
    assert 0 < result.accuracy["rms_error"] < result.accuracy["max_error"] < 0.1


@pytest.mark.parametrize("design", [TINY, WIDE, replace(TINY, probability_bits=8)])
@pytest.mark.parametrize("keys,block_keys", [(8, 3), (24, 5), (24, 12)])
@pytest.mark.parametrize("causal", [False, True])
def test_streaming_is_whole_rows_within_the_stated_bounds(design, keys, block_keys, causal):
    """The bounds of `workloads/attention_reference.py`, for rows of at most `keys` keys."""
    whole, streamed = (RandomAttention(6, keys, 4, seed=3, causal=causal, block_keys=block)
                       for block in (None, block_keys))
    outputs = [workload.reference(design)[0] * workload.output_scale(design)
               for workload in (whole, streamed)]
    values = whole.operands(design)
    greatest = np.abs(values.v).max() * values.v_scale
    a, p = ((1 << bits) - 1 for bits in (design.activation_bits, design.probability_bits))
    e, blocks = min(a, p), -(-keys // block_keys)
    d = 1 / 2 + e / 2**15
    bound = keys * (1 / (2 * a) + 1 / (2 * p) + 2**-14)
    bound += 2 * (keys + blocks) * d / (e - (keys + blocks) * d) + blocks / 2**15
    unit = streamed.output_scale(design) / 2
    assert np.abs(outputs[0] - outputs[1]).max() <= bound * greatest + unit


def test_floats_against_their_own_attention():
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((rows, 8)) for rows in (5, 12, 12))
    logits = q @ k.T / np.sqrt(8)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    exact = weights / weights.sum(axis=1, keepdims=True) @ v
    result = run(WIDE, Attention(q, k, v))
    error = np.abs(result.output * result.output_scale - exact).max() / np.abs(exact).max()
    assert result.accuracy["max_error"] == pytest.approx(error)
    assert error < 1e-3


def test_output_may_stay_on_the_chip():
    result = run(TINY, RandomAttention(4, 6, 4, store_output=False))
    assert result.output is None and result.accuracy == {} and result.bytes_written == 0


def test_a_staged_hand_off_takes_twice_the_traffic():
    direct, staged = (simulate(replace(TINY, handoff=path), RandomAttention(6, 8, 4),
                               level="cycle") for path in ("direct", "staged"))
    moved = 6 * 8 * (4 + 2)
    assert (direct.counters["handoff_bytes"], direct.exchange_bytes) == (moved, 0)
    assert staged.counters["handoff_bytes"] == staged.exchange_bytes == 2 * moved
    assert staged.cycles > direct.cycles
