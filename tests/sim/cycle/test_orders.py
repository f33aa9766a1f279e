"""The order in which programs of attention are written never blocks, on any machine."""

from dataclasses import replace

import numpy as np
import pytest
from designs import attention_designs, attentions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.sim.cycle import Durations, schedule
from cubewave.workloads import RandomAttention

TINY = Design.preset("tiny")


def ends(design, workload):
    """Both timings reach the end; ScheduleError otherwise."""
    program = workload.program(design, contents=False)
    for durations in (Durations.rtl(design), Durations.ideal(design)):
        plan = schedule(program, durations)
        for queue, starts in ((program.loads, plan.load_start), (program.jobs, plan.job_start),
                              (program.vectors, plan.vector_start),
                              (program.handoffs, plan.handoff_start),
                              (program.stores, plan.store_start)):
            assert len(queue) == len(starts)


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_no_deadlock(data):
    design = data.draw(attention_designs())
    for _ in range(4):
        ends(design, data.draw(attentions(design)))


@pytest.mark.parametrize("slots", [2, 3, 4])
@pytest.mark.parametrize("depth", [1, 3, 6, 12])
def test_a_mask_is_not_loaded_before_the_one_in_its_place_is_used(slots, depth):
    """It would hold up weights whose products are added before that: a deadlock, once."""
    design = replace(TINY, rows=1, cols=1, accumulator_rows=1, handoff_slots=slots,
                     input_slots=2, weight_fifo_depth=depth)
    for rows, keys in ((1, 9), (3, 13)):
        mask = np.ones((rows, keys), bool)
        ends(design, RandomAttention(rows, keys, 1, mask=mask, block_keys=1))


@pytest.mark.parametrize("slots", [1, 2, 3, 5])
@pytest.mark.parametrize("banks,input_slots,depth", [(1, 2, 1), (1, 5, 2), (2, 2, 6), (3, 3, 1)])
@pytest.mark.parametrize("options", [
    {}, {"causal": True}, {"block_keys": 2}, {"heads": 2, "resident": True},
    {"block_keys": 4, "causal": True, "store_output": False}])
def test_few_buffers(slots, banks, input_slots, depth, options):
    design = replace(TINY, handoff_slots=slots, accumulator_banks=banks, input_slots=input_slots,
                     weight_fifo_depth=depth)
    ends(design, RandomAttention(9, 11, 6, rows_per_group=2, **options))
