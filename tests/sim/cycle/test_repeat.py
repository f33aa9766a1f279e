"""Counters of equal parts from two short runs: the same as those of the whole schedule."""

from dataclasses import replace

import numpy as np
import pytest
from designs import attention_designs, small
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.commands import ArrayJob, Destination, Load
from cubewave.sim import simulate
from cubewave.sim.cycle import Durations, Repeats, repeated_counters, run_cycle_model
from cubewave.workloads import RandomAttention, WorkloadError
from cubewave.workloads.program import Program

TINY = Design.preset("tiny")


def both(design, workload, timing="rtl"):
    """Counters of the short runs, or None, and of the whole one."""
    durations = Durations.of(design, timing)
    found = workload.repeats(design)
    short = None if found is None else repeated_counters(Repeats(*found), durations)
    return short, run_cycle_model(workload.program(design, contents=False), durations).counters


@st.composite
def long_attentions(draw, design):
    """Attention of many groups or heads."""
    heads = draw(small(1, 1, 2, 24))
    kv_heads = draw(small(*(count for count in (1, 2, 12, 24) if heads % count == 0)))
    rows = draw(small(3, 8)) if heads > 2 else draw(small(60, 96, 97))
    keys = draw(small(1, 3, 7, 13))
    mask = draw(small(None, None, 0.5))
    choices = {
        "causal": draw(st.booleans()), "rows_per_group": draw(small(1, 2, None)),
        "block_keys": draw(small(None, None, *(size for size in (2, 5) if size <= keys))),
        "store_output": draw(st.booleans()),
        "mask": None if mask is None else np.random.default_rng(0).random((rows, keys)) < mask}
    while True:
        workload = RandomAttention(rows, keys, draw(small(1, 3, 5)), heads=heads,
                                   kv_heads=kv_heads, **choices)
        try:
            workload.check(design)
            return workload
        except WorkloadError as error:
            name = str(error).split()[0]
            if name not in choices:
                return None
            del choices[name]


@settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_the_same_as_the_whole_schedule(data):
    design = data.draw(attention_designs())
    workload = data.draw(long_attentions(design))
    if workload is None:
        return
    for timing in ("rtl", "ideal"):
        short, whole = both(design, workload, timing)
        assert short is None or short == whole, (design, workload.describe(), timing)


@pytest.mark.parametrize("options", [
    {}, {"rows_per_group": 1}, {"block_keys": 3}, {"heads": 2}, {"heads": 4, "kv_heads": 2},
    {"store_output": False}, {"mask": np.random.default_rng(1).random((640, 9)) < 0.5},
    {"block_keys": 2, "mask": np.random.default_rng(1).random((640, 9)) < 0.5}])
@pytest.mark.parametrize("fields", [
    {}, {"handoff_slots": 1}, {"handoff_slots": 3, "accumulator_banks": 3},
    {"accumulator_banks": 1}, {"weight_double_buffer": False}])
@pytest.mark.parametrize("timing", ["rtl", "ideal"])
def test_groups(fields, options, timing):
    design = replace(TINY, **fields)
    workload = RandomAttention(640, 9, 5, **{"rows_per_group": 4, **options})
    short, whole = both(design, workload, timing)
    assert short is not None and short == whole


@pytest.mark.parametrize("options", [{"causal": True}, {"causal": True, "block_keys": 3},
                                     {"rows_per_group": 3}])
@pytest.mark.parametrize("kv_heads", [1, 16, 64])
def test_heads(options, kv_heads):
    """Groups that are not alike: a part is a head."""
    workload = RandomAttention(8, 9, 5, heads=64, kv_heads=kv_heads, **options)
    parts, _reach, _program = workload.repeats(TINY)
    assert parts == 64
    short, whole = both(TINY, workload)
    assert short is not None and short == whole


def test_what_does_not_repeat_itself():
    assert RandomAttention(64, 9, 5, resident=True).repeats(TINY) is None
    one_head = RandomAttention(64, 9, 5, causal=True, rows_per_group=2)
    assert both(TINY, one_head)[0] is None         # a part: as long as the whole
    short = RandomAttention(12, 9, 5, rows_per_group=4)
    assert both(TINY, short)[0] is None            # shorter than two short runs


def test_a_run_that_never_becomes_periodic_is_scheduled_whole():
    """Products of ever more rows: every period is longer than the one before."""

    def program(parts):
        load = Load(Destination.WEIGHT, base=0, rows=4, bytes_per_row=4, row_stride=4)
        operands = Load(Destination.OPERAND, base=0, rows=4, bytes_per_row=4, row_stride=4,
                        slot=0, take=1, last=1)
        job = ArrayJob(rows=4, slot=0, row=0, bank=0, acc_row=0, inner=4, outer=4)
        return Program(preload=[operands], loads=[load] * parts,
                       jobs=[job._replace(rows=part + 1) for part in range(parts)])
    durations = Durations.rtl(TINY)
    assert repeated_counters(Repeats(200, 2, program), durations) is None


def test_the_result_without_output_is_that_with_it():
    """`simulate` takes the short way; a trace, the whole one."""
    workload = RandomAttention(4000, 9, 5)
    results = [simulate(TINY, workload, level="cycle", output=output) for output in (True, False)]
    assert results[0].counters == results[1].counters and results[0].units == results[1].units
    whole = run_cycle_model(workload.program(TINY, contents=False), Durations.rtl(TINY)).counters
    assert results[1].cycles == whole["cycles"]
    assert all(result.ok for result in results)
