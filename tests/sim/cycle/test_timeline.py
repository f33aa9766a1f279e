"""The Chrome trace of a run: every interval of every unit, and the same cycles as the counters."""

import dataclasses
import io
import json
from collections import Counter

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.rtl.status import UNITS
from cubewave.sim import OptionError, simulate
from cubewave.sim.cycle import Durations, run_cycle_model, timeline, write_trace
from cubewave.workloads import Gemm, QProjection
from cubewave.workloads.attention import RandomAttention

TINY = Design.preset("tiny")
PIPELINED = dataclasses.replace(TINY, vector_schedule="pipelined", handoff="staged")


def traced(design, workload, timing="rtl"):
    run = run_cycle_model(workload.program(design, contents=False), Durations.of(design, timing))
    file = io.StringIO()
    omitted = write_trace(file, design, run)
    document = json.loads(file.getvalue())
    tracks = {event["tid"]: event["args"]["name"] for event in document["traceEvents"]
              if event["name"] == "thread_name"}
    events = [(tracks[event["tid"]], event) for event in document["traceEvents"]
              if event["ph"] == "X"]
    return run, omitted, document, events


def names(events, unit, status="busy"):
    """Names of a unit's intervals, each once where it is that of several in a row."""
    found = [event["name"] for track, event in events if track == unit and event["cat"] == status]
    return [name for name, before in zip(found, [None, *found]) if name != before]


@pytest.mark.parametrize("timing", ["rtl", "ideal"])
@pytest.mark.parametrize("design,workload", [
    (TINY, QProjection(9, 17, 12)),
    (Design(rows=3, cols=2, memory_bytes_per_cycle=1, weight_fifo_depth=1),
     QProjection(9, 17, 12)),
    (Design(rows=2, cols=3, dataflow="output_stationary", input_slots=1), QProjection(9, 17, 12)),
    (TINY, RandomAttention(8, 8, 4, causal=True)), (PIPELINED, RandomAttention(4, 8, 4, heads=2)),
    (PIPELINED, RandomAttention(8, 8, 4, block_keys=4))])
def test_intervals_add_up_to_the_counters(design, workload, timing):
    run, omitted, document, events = traced(design, workload, timing)
    assert omitted == 0
    assert document["otherData"] == {"clock_hz": design.clock_hz, "cycles":
                                     run.counters["cycles"]}
    cycles = Counter()
    latest = {}
    for unit, event in events:
        if unit in UNITS:
            cycles[f"{unit}.{event['cat']}"] += event["args"]["cycles"]
        assert event["args"]["cycle"] >= latest.get(unit, 0)      # in order, never overlapping
        latest[unit] = event["args"]["cycle"] + event["args"]["cycles"]
        assert event["ts"] == pytest.approx(event["args"]["cycle"] * 1e6 / design.clock_hz)
        assert event["dur"] == pytest.approx(event["args"]["cycles"] * 1e6 / design.clock_hz)
    expected = {name: value for name, value in run.counters.items()
                if "." in name and not name.endswith(".idle") and value}
    assert cycles == expected


@pytest.mark.parametrize("design", [TINY, PIPELINED])
def test_steps_of_attention_have_the_number_of_their_item(design):
    """The step of an item is named alike in every unit that it passes."""
    _run, _omitted, _document, events = traced(design, RandomAttention(8, 8, 4, rows_per_group=2))
    items = range(4)
    assert set(names(events, "array")) == {f"{step} {item}" for item in items
                                           for step in ("scores", "values")}
    assert set(names(events, "handoff")) == {f"{step} {item}" for item in items
                                             for step in ("scores", "probabilities")}
    softmax = [f"softmax {item}" for item in items]
    if design is TINY:
        assert names(events, "vector") == softmax
    else:
        assert names(events, "vector") == ["busy"]
        assert names(events, "vector ordinary") == names(events, "vector special") == softmax
    ends = {}
    for _track, event in events:
        if event["cat"] == "busy" and " " in event["name"]:
            end = event["args"]["cycle"] + event["args"]["cycles"]
            ends[_track, event["name"]] = max(end, ends.get((_track, event["name"]), 0))
    for item in items:
        times = [ends[track, f"{step} {item}"] for track, step in (
            ("array", "scores"), ("handoff", "scores"),
            ("vector" if design is TINY else "vector special", "softmax"),
            ("handoff", "probabilities"), ("array", "values"))]
        assert times == sorted(times)


def test_steps_of_streamed_attention():
    """Two groups of three blocks: the first output of a group is kept, the others are added."""
    _run, _omitted, _document, events = traced(
        TINY, RandomAttention(4, 12, 4, rows_per_group=2, block_keys=4))
    assert names(events, "handoff")[:2] == ["scores 0", "scores 1"]
    assert {f"output {item}" for item in range(6)} <= set(names(events, "handoff"))
    vector = names(events, "vector")
    for step, items in (("softmax", range(6)), ("rescale", (1, 2, 4, 5)), ("normalise", (2, 5))):
        assert [name for name in vector if name.startswith(step)] == [
            f"{step} {item}" for item in items]


def test_intervals_say_what_they_are():
    _run, _omitted, _document, events = traced(TINY, RandomAttention(8, 8, 4, rows_per_group=2))
    found = {unit: [event["args"] for track, event in events
                    if track == unit and event["cat"] == "busy"] for unit in UNITS}
    assert [args["tile"] for args in found["loader"] if args["destination"] == "weight"] == (
        [args["tile"] for args in found["array"]]) == list(range(16))
    assert [args["job"] for args in found["array"]] == list(range(16))
    assert {args["handoff_slot"] for args in found["array"]} == {0, 1}
    assert {args["bank"] for args in found["array"]} == {0, 1}
    assert found["handoff"][0].items() >= {
        "transfer": 0, "direction": "to_vector", "vector_slot": 0, "bank": 0, "bytes": 64}.items()
    assert {args["slot"] for args in found["handoff"]
            if args["direction"] == "to_matrix"} == {2, 3}
    assert [args["op"] for args in found["vector"]] == 4 * [
        "row_maximum", "subtract", "multiply", "exponential", "row_sum", "divide"]
    assert sum(args["bytes"] for args in found["store"]) == 8 * 4 * 4
    assert {"load", "store"} <= {name for args in found["memory"] for name in args}
    first = {args["load"]: args["cycle"] for args in found["memory"] if "load" in args}
    assert first == {args["load"]: args["cycle"] for args in found["loader"]}


def test_tiles_in_the_fifo_before_the_run_are_numbered_too():
    _run, _omitted, _document, events = traced(
        TINY, RandomAttention(8, 16, 4, rows_per_group=4, resident=True))
    tiles = [event["args"]["tile"] for track, event in events
             if track == "loader" and event["cat"] == "busy"]
    assert tiles == list(range(TINY.weight_fifo_depth, 16))


def test_product_through_the_vector_unit_names_no_steps():
    workload = Gemm(np.ones((3, 4)), np.ones((4, 4)), relu=True)
    _run, _omitted, _document, events = traced(TINY, workload)
    assert names(events, "array") == names(events, "vector") == ["busy"]
    assert [event["args"]["vector_slot"] for track, event in events
            if track == "store" and event["cat"] == "busy"] == [0]


def test_a_long_run_keeps_its_ends(monkeypatch):
    monkeypatch.setattr(timeline, "MAX_EVENTS", 8)
    _run, omitted, _document, events = traced(Design.preset("tiny"), QProjection(4, 32, 32))
    names = [event["name"] for unit, event in events if unit == "array"]
    assert len(names) == 9
    assert names[4].endswith("intervals left out")
    assert omitted > 0


def test_simulate_writes_it(tmp_path):
    path = tmp_path / "run.json"
    simulate(Design.preset("tiny"), QProjection(5, 9, 10), level="cycle", trace=path)
    assert json.loads(path.read_text())["traceEvents"]
    with pytest.raises(OptionError, match="^trace needs level cycle, not rtl$"):
        simulate(Design.preset("tiny"), QProjection(5, 9, 10), trace=path)
