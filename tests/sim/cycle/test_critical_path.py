"""The critical path: no gap, no cycle without a name, and what it has beyond ideal timing."""

import dataclasses
from collections import Counter

import pytest
from designs import designs, small, workloads
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.sim.cycle import Durations, run_cycle_model, schedule
from cubewave.sim.cycle.critical_path import Step, critical_path
from cubewave.sim.cycle.path_items import OTHER_PATH, path_items
from cubewave.workloads import RandomAttention, WorkloadError
from cubewave.workloads.gemm import RandomGemm

random_runs = settings(backend="hypothesis-urandom", suppress_health_check=list(HealthCheck),
                       deadline=None)
LOADER = {"channel", "port", "request", "memory", "operand arrival", "weight arrival",
          "vector arrival"}
NAMES = {"loader": LOADER, "array": {"rows", "result", "weight shift", "output interval"},
         "handoff": {"transfer", "turnaround", "arrival"},
         "store": {"channel", "read", "write"},
         "vector": {"elements", "job", "acceptance", "next command", *(
             f"result {op}" for op in ("ADD", "SUBTRACT", "MULTIPLY", "MAXIMUM", "MASK",
                                       "ROW_MAXIMUM", "ROW_SUM", "EXPONENTIAL", "DIVIDE"))}}


def channel_order(plan):
    """Loads and stores as the memory serves them."""
    starts = [(start, "load", number) for number, start in enumerate(plan.load_start)]
    starts += [(start, "store", number) for number, start in enumerate(plan.store_start)]
    return [descriptor for _start, *descriptor in sorted(starts)]


def check_paths(design, program):
    """Both timings' paths are whole; the items explain the difference."""
    runs, paths = {}, {}
    for timing in ("rtl", "ideal"):
        durations = Durations.of(design, timing)
        run = run_cycle_model(program, durations)
        path = critical_path(program, run.plan, durations)
        assert sum(step.cycles for step in path) == run.counters["span"]
        assert all(step.cycles > 0 and step.name in NAMES[step.unit] for step in path)
        runs[timing], paths[timing] = run, path
    span = runs["ideal"].counters["span"]
    items = path_items(paths["rtl"], program, Durations.ideal(design), span)
    assert span + sum(item.total for item in items) == runs["rtl"].counters["span"]
    if channel_order(runs["rtl"].plan) == channel_order(runs["ideal"].plan):
        assert all(item.total < 0 for item in items if item.name == OTHER_PATH)
    return paths["rtl"]


@settings(random_runs, max_examples=60)
@given(st.data())
def test_paths_of_random_products_are_whole(data):
    design = data.draw(designs())
    check_paths(design, data.draw(workloads(design)).program(design, contents=False))


@st.composite
def attentions(draw):
    heads, kv_heads = draw(small((1, 1), (2, 1), (4, 2)))
    rows, keys = draw(small(1, 2, 3, 5, 8)), draw(small(1, 2, 5, 9, 13))
    return RandomAttention(
        rows, keys, draw(small(1, 2, 3, 5, 8)),
        heads=heads, kv_heads=kv_heads, causal=draw(st.booleans()),
        rows_per_group=draw(small(None, None, 1, 2, 3)),
        block_keys=draw(small(None, None, *(size for size in (1, 2, 5) if size <= keys))),
        resident=draw(small(False, False, True)), store_output=draw(small(True, True, False)))


@settings(random_runs, max_examples=60)
@given(designs(), attentions())
def test_paths_of_random_attentions_are_whole(design, attention):
    design = dataclasses.replace(design, dataflow="weight_stationary", slot_bytes=1024,
                                 accumulator_rows=64, input_slots=max(2, design.input_slots))
    try:
        program = attention.program(design, contents=False)
    except WorkloadError:
        assume(False)
    check_paths(design, program)


def test_the_path_of_one_tile():
    """Operands, weights, shift, job, result, store: every step, and its cycles."""
    design = dataclasses.replace(Design.preset("tiny"), memory_bytes_per_cycle=4)
    latency, rows = design.memory_latency_cycles, design.rows
    program = RandomGemm(4, 4, 4).program(design, contents=False)
    durations = Durations.rtl(design)
    path = critical_path(program, schedule(program, durations), durations)
    assert [load.destination.name for load in program.loads] == ["OPERAND", "WEIGHT"]
    assert path == [
        Step("loader", 0, "service", "channel", 4),
        Step("loader", 1, "service", "port", 4),
        Step("loader", 1, "latency", "memory", latency),
        Step("loader", 1, "latency", "weight arrival", durations.weight_arrival),
        Step("array", 0, "latency", "weight shift", rows),
        Step("array", 0, "service", "rows", 4),
        Step("array", 0, "latency", "result", MatrixUnit.latency(design)),
        Step("store", 0, "service", "read", 16),
        Step("store", 0, "latency", "write", latency)]
    ideal = Durations.ideal(design)
    path = critical_path(program, schedule(program, ideal), ideal)
    assert [step.name for step in path] == ["channel", "port", "memory", "rows", "read", "write"]


def test_jobs_behind_each_other_are_services_only():
    design = dataclasses.replace(Design.preset("tiny"), memory_bytes_per_cycle="unlimited")
    path = check_paths(design, RandomGemm(32, 4, 32, m_tile=16, store_output=False).program(
        design, contents=False))
    assert [step.name for step in path] == [
        "port", "memory", "operand arrival", *["rows"] * 16, "result"]


def test_a_pipelined_path_goes_from_row_to_row():
    """Divisions begin when the first row's sum is there: of the sums one row is on the path."""
    design = dataclasses.replace(Design.preset("tiny"), vector_schedule="pipelined", lanes=4,
                                 sfu_lanes=4)
    rows, beats = 8, 16 // 4
    path = check_paths(design, RandomAttention(rows, 16, 4, rows_per_group=rows).program(
        design, contents=False))
    vector = [step for step in path if step.unit == "vector"]
    elements = Counter()
    for step in vector:
        elements[step.number] += step.cycles * (step.name == "elements")
    # Maximum, difference and product share an engine; sums begin when the products are complete.
    assert elements == {0: rows * beats, 1: rows * beats, 2: rows * beats, 4: beats,
                        5: rows * beats}


def test_the_plan_of_another_timing_is_refused():
    design = Design.preset("tiny")
    program = RandomGemm(9, 9, 9).program(design, contents=False)
    plan = schedule(program, Durations.rtl(design))
    with pytest.raises(ValueError, match="^the path begins in cycle 0, the run in cycle 1$"):
        critical_path(program, plan, Durations.ideal(design))


def test_items_of_one_product():
    """Beyond ideal: arrival, shift and result, each once."""
    design = dataclasses.replace(Design.preset("tiny"), memory_bytes_per_cycle=4)
    program = RandomGemm(4, 4, 4).program(design, contents=False)
    real, ideal = Durations.rtl(design), Durations.ideal(design)
    span = run_cycle_model(program, ideal).counters["span"]
    items = path_items(critical_path(program, schedule(program, real), real), program, ideal, span)
    assert [(item.name, item.total) for item in items] == [
        ("weight arrival", real.weight_arrival), ("weight shift", design.rows),
        ("result", MatrixUnit.latency(design))]
