"""A run as a Chrome trace, which Perfetto and chrome://tracing open."""

import json
from typing import Any, TextIO

import numpy as np

from ...rtl import Design
from .activity import Activity
from .intervals import Intervals

__all__ = ["MAX_EVENTS", "write_trace"]

#: Events kept of one unit: the first and the last half of them when there are more.
MAX_EVENTS = 1 << 16

# Colours of the Chrome trace format: busy green, named stalls warm, drain grey.
_COLOURS = {
    "busy": "thread_state_running", "drain": "grey", "fill": "thread_state_unknown",
    "weights": "terrible", "operands": "bad", "accumulator": "yellow", "output": "yellow",
    "weight_shift": "thread_state_iowait", "slot": "bad", "fifo": "yellow", "store": "olive",
    "port": "thread_state_iowait", "result": "yellow", "memory": "olive",
    "input": "bad", "pipeline": "thread_state_iowait", "scores": "bad", "probabilities": "bad",
}


def write_trace(file: TextIO, design: Design, run: Activity) -> int:
    """Write the trace as JSON; returns the number of intervals left out.

    One track for each unit; every interval has its first cycle and its cycles as arguments. Time
    is that of the design's clock. Of a unit with more than :data:`MAX_EVENTS` intervals the
    first and the last half of that number are kept, and one event says how many lie between.
    """
    cycle_us = 1e6 / design.clock_hz
    file.write('{"displayTimeUnit": "ns", "otherData": '
               + json.dumps({"clock_hz": design.clock_hz, "cycles": run.cycles})
               + ', "traceEvents": [\n'
               + json.dumps({"name": "process_name", "ph": "M", "pid": 1,
                             "args": {"name": f"cubewave {design.rows}x{design.cols}"}}))
    omitted = 0
    for track, (unit, intervals) in enumerate(run.units.items(), start=1):
        for name, args in (("thread_name", {"name": unit}),
                           ("thread_sort_index", {"sort_index": track})):
            file.write(",\n" + json.dumps({"name": name, "ph": "M", "pid": 1, "tid": track,
                                           "args": args}))
        events, left_out = _events(intervals)
        omitted += left_out
        for name, first, cycles in events:
            event: dict[str, Any] = {
                "name": name, "ph": "X", "pid": 1, "tid": track, "ts": first * cycle_us,
                "dur": cycles * cycle_us, "args": {"cycle": first, "cycles": cycles}}
            if name in _COLOURS:
                event["cname"] = _COLOURS[name]
            file.write(",\n" + json.dumps(event))
    file.write("\n]}\n")
    return omitted


def _events(intervals: dict[str, Intervals]) -> tuple[list[tuple[str, int, int]], int]:
    """Name, first cycle and cycles of a unit's intervals in time order, and how many are cut."""
    names = list(intervals)
    if not names:
        return [], 0
    kind = np.concatenate([np.full(len(part.first), number)
                           for number, part in enumerate(intervals.values())])
    first = np.concatenate([part.first for part in intervals.values()])
    cycles = np.concatenate([part.end for part in intervals.values()]) - first
    real = np.flatnonzero(cycles > 0)
    order = real[np.argsort(first[real], kind="stable")]
    half, between = MAX_EVENTS // 2, []
    left_out = max(0, len(order) - MAX_EVENTS)
    if left_out:
        gap = first[order[half - 1]] + cycles[order[half - 1]], first[order[-half]]
        between = [(f"{left_out} intervals left out", int(gap[0]), int(gap[1] - gap[0]))]

    def listed(places: np.ndarray) -> list[tuple[str, int, int]]:
        return [(names[kind[place]], int(first[place]), int(cycles[place])) for place in places]
    if not left_out:
        return listed(order), 0
    return listed(order[:half]) + between + listed(order[-half:]), left_out
