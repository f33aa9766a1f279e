"""A run as a Chrome trace, which Perfetto and chrome://tracing open."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from ...rtl import Design
from .commands import Commands, Described
from .intervals import Intervals
from .model import CycleRun
from .plan import Schedule

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


@dataclass(frozen=True)
class _Track:
    """Intervals by status, and what the unit does in its busy intervals, by their number."""
    name: str
    intervals: dict[str, Intervals]
    describe: Callable[[int], Described]


def write_trace(file: TextIO, design: Design, run: CycleRun) -> int:
    """Write the trace as JSON; returns the number of intervals left out.

    One track for each unit; every interval has its status as category, its first cycle and its
    cycles as arguments, and while the unit is busy its command: job, weight tile, slots, bank,
    bytes. Time is that of the design's clock. A pipelined vector unit has a track for each of its
    engines, too, where a command lasts from its first to its last elements.

    Of a unit with more than :data:`MAX_EVENTS` intervals the first and the last half of that
    number are kept, and one event says how many lie between.
    """
    cycle_us = 1e6 / design.clock_hz
    file.write('{"displayTimeUnit": "ns", "otherData": '
               + json.dumps({"clock_hz": design.clock_hz, "cycles": run.activity.cycles})
               + ', "traceEvents": [\n'
               + json.dumps({"name": "process_name", "ph": "M", "pid": 1,
                             "args": {"name": f"cubewave {design.rows}x{design.cols}"}}))
    omitted = 0
    for number, track in enumerate(_tracks(design, run), start=1):
        for name, args in (("thread_name", {"name": track.name}),
                           ("thread_sort_index", {"sort_index": number})):
            file.write(",\n" + json.dumps({"name": name, "ph": "M", "pid": 1, "tid": number,
                                           "args": args}))
        events, left_out = _events(track.intervals)
        omitted += left_out
        for status, first, cycles, place in events:
            known, args = track.describe(place) if status == "busy" else (None, {})
            event: dict[str, Any] = {
                "name": known or status, "cat": status, "ph": "X", "pid": 1, "tid": number,
                "ts": first * cycle_us, "dur": cycles * cycle_us,
                "args": {"cycle": first, "cycles": cycles, **args}}
            if status in _COLOURS:
                event["cname"] = _COLOURS[status]
            file.write(",\n" + json.dumps(event))
    file.write("\n]}\n")
    return omitted


def _tracks(design: Design, run: CycleRun) -> Iterator[_Track]:
    """The units in their order."""
    commands, plan = Commands(run.program), run.plan
    describe: dict[str, Callable[[int], Described]] = {
        "memory": _descriptors(commands, plan), "loader": commands.load,
        "array": commands.job, "vector": commands.vector, "handoff": commands.handoff,
        "store": commands.store}
    for unit, intervals in run.activity.units.items():
        if unit != "vector" or not len(plan.vector_start):
            yield _Track(unit, intervals, describe[unit])
            continue
        start, end = np.array(plan.vector_start), np.array(plan.vector_end)
        if design.vector_schedule == "sequential":
            yield _Track(unit, {**intervals, "busy": Intervals(start, end)}, commands.vector)
            continue
        yield _Track(unit, intervals, lambda _place: (None, {}))
        special = np.array([command.op.special for command in run.program.vectors])
        for engine, members in (("ordinary", np.flatnonzero(~special)),
                                ("special", np.flatnonzero(special))):
            yield _Track(f"vector {engine}", {"busy": Intervals(start[members], end[members])},
                         _members(commands, members))


def _members(commands: Commands, members: np.ndarray) -> Callable[[int], Described]:
    """Some of the vector commands, by their place among these."""
    return lambda place: commands.vector(int(members[place]))


def _descriptors(commands: Commands, plan: Schedule) -> Callable[[int], Described]:
    """What occupies the channel: loads and stores in the order of their starts."""
    starts = np.concatenate((np.array(plan.load_start), np.array(plan.store_start)))
    order, loads = np.argsort(starts, kind="stable"), len(plan.load_start)

    def describe(place: int) -> Described:
        number = int(order[place])
        return commands.load(number) if number < loads else commands.store(number - loads)
    return describe


def _events(intervals: dict[str, Intervals]) -> tuple[list[tuple[str, int, int, int]], int]:
    """Status, first cycle, cycles and place among those of its status of a unit's intervals.

    In time order; and how many are cut.
    """
    names = list(intervals)
    if not names:
        return [], 0
    lengths = [len(part.first) for part in intervals.values()]
    kind = np.repeat(np.arange(len(names)), lengths)
    before = np.cumsum([0, *lengths])
    first = np.concatenate([part.first for part in intervals.values()])
    cycles = np.concatenate([part.end for part in intervals.values()]) - first
    real = np.flatnonzero(cycles > 0)
    order = real[np.argsort(first[real], kind="stable")]
    half, between = MAX_EVENTS // 2, []
    left_out = max(0, len(order) - MAX_EVENTS)
    if left_out:
        gap = first[order[half - 1]] + cycles[order[half - 1]], first[order[-half]]
        between = [(f"{left_out} intervals left out", int(gap[0]), int(gap[1] - gap[0]), 0)]

    def listed(places: np.ndarray) -> list[tuple[str, int, int, int]]:
        return [(names[kind[place]], int(first[place]), int(cycles[place]),
                 int(place - before[kind[place]])) for place in places]
    if not left_out:
        return listed(order), 0
    return listed(order[:half]) + between + listed(order[-half:]), left_out
