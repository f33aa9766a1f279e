"""The Chrome trace of a run: every interval of every unit, and the same cycles as the counters."""

import io
import json
from collections import Counter

import pytest

from cubewave.rtl import Design
from cubewave.sim import OptionError, simulate
from cubewave.sim.cycle import Durations, run_cycle_model, timeline, write_trace
from cubewave.workloads import QProjection


def traced(design, workload):
    run = run_cycle_model(workload.program(design, contents=False), Durations.rtl(design))
    file = io.StringIO()
    omitted = write_trace(file, design, run.activity)
    document = json.loads(file.getvalue())
    tracks = {event["tid"]: event["args"]["name"] for event in document["traceEvents"]
              if event["name"] == "thread_name"}
    events = [(tracks[event["tid"]], event) for event in document["traceEvents"]
              if event["ph"] == "X"]
    return run, omitted, document, events


@pytest.mark.parametrize("design", [
    Design.preset("tiny"), Design(rows=3, cols=2, memory_bytes_per_cycle=1, weight_fifo_depth=1),
    Design(rows=2, cols=3, dataflow="output_stationary", input_slots=1)])
def test_intervals_add_up_to_the_counters(design):
    run, omitted, document, events = traced(design, QProjection(9, 17, 12))
    assert omitted == 0
    assert document["otherData"] == {"clock_hz": design.clock_hz, "cycles":
                                     run.counters["cycles"]}
    cycles = Counter()
    latest = {}
    for unit, event in events:
        cycles[f"{unit}.{event['name']}"] += event["args"]["cycles"]
        assert event["args"]["cycle"] >= latest.get(unit, 0)      # in order, never overlapping
        latest[unit] = event["args"]["cycle"] + event["args"]["cycles"]
        assert event["ts"] == pytest.approx(event["args"]["cycle"] * 1e6 / design.clock_hz)
        assert event["dur"] == pytest.approx(event["args"]["cycles"] * 1e6 / design.clock_hz)
    expected = {name: value for name, value in run.counters.items()
                if "." in name and not name.endswith(".idle") and value}
    assert cycles == expected


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
