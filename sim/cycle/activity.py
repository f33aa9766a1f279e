"""What every unit does when, from the start times of a schedule.

Counters are the lengths of these intervals, and a timeline shows them: one source for both.
"""

from array import array
from dataclasses import dataclass, field

import numpy as np

from ...rtl.commands import Destination
from ...rtl.vector_commands import Direction
from ...workloads.program import Program
from .durations import Durations
from .intervals import NEVER, Intervals, covered, merged, union, without
from .plan import Schedule

__all__ = ["Activity", "activity"]


@dataclass
class Activity:
    """A run as intervals.

    Attributes
    ----------
    cycles : int
        Length of the run.
    first_start : int
        First start of a descriptor or job; `cycles` if there is none.
    units : dict of str to (dict of str to Intervals)
        For each unit, the intervals of every status but idle.
    moving, under_way : list of Intervals
        Times in which channel, array, vector unit, hand-off or store work; in which data is
        under way in the memory.
    """
    cycles: int
    first_start: int
    units: dict[str, dict[str, Intervals]] = field(default_factory=dict)
    moving: list[Intervals] = field(default_factory=list)
    under_way: list[Intervals] = field(default_factory=list)


def _np(values: array) -> np.ndarray:
    return np.frombuffer(values, np.int64) if len(values) else np.zeros(0, np.int64)


def activity(program: Program, plan: Schedule, durations: Durations) -> Activity:
    """The intervals of a scheduled run."""
    load_start, job_start = _np(plan.load_start), _np(plan.job_start)
    store_start = _np(plan.store_start)
    load_end = load_start + _np(plan.load_occupancy)
    store_end = store_start + _np(plan.store_hold)
    channel_store = Intervals(store_start, store_start + _np(plan.store_occupancy))
    # Loads are under way until their last rows have been delivered.
    arrived = (load_start + _np(plan.load_hold) + durations.design.memory_latency_cycles
               + durations.operand_arrival)
    written, complete = _np(plan.job_written), _np(plan.store_complete)
    moved = _np(plan.handoff_end) + durations.handoff_latency
    computed = _np(plan.vector_complete)
    cycles = int(max(times.max(initial=0)
                     for times in (arrived, written, computed, moved, complete)))
    starts = [int(times[0]) for times in (
        load_start, job_start, _np(plan.vector_from), _np(plan.handoff_start)) if len(times)]
    run = Activity(cycles, min(starts, default=cycles))
    run.units = {
        "memory": {"busy": merged(Intervals(load_start, load_end), channel_store)},
        "loader": _loader(program, plan, durations, load_end, int(arrived.max(initial=0)),
                          channel_store),
        "array": _array(plan, durations, int(written.max(initial=0))),
        "vector": _vector(plan, durations, int(computed.max(initial=0))),
        "handoff": _handoff(program, plan, durations),
        "store": _store(plan, durations, store_end, int(complete.max(initial=0))),
    }
    run.moving = [Intervals(load_start, load_end), Intervals(store_start, store_end),
                  Intervals(job_start, written),
                  *(part for name, part in run.units["vector"].items() if name != "input"),
                  *(run.units["handoff"].get(name, NEVER) for name in ("busy", "drain"))]
    run.under_way = [Intervals(load_start + 1, arrived), Intervals(store_start + 1, complete)]
    return run


def _in_turn(head: np.ndarray, start: np.ndarray,
             causes: list[tuple[str, np.ndarray]]) -> dict[str, Intervals]:
    """Split the waits [head, start) among causes, each of which holds until its time."""
    split = {}
    for name, until in causes:
        reached = np.clip(until, head, start)
        split[name] = Intervals(head, reached)
        head = reached
    return split


def _heads(first_command: int, ends: np.ndarray) -> np.ndarray:
    """From when each command is at the head of its queue: the end of the one before."""
    return np.concatenate(([first_command], ends[:-1]))


def _loader(program: Program, plan: Schedule, durations: Durations, end: np.ndarray,
            arrived: int, channel_store: Intervals) -> dict[str, Intervals]:
    """Between two loads: slot or FIFO, then the store that holds the channel, else the port."""
    start = _np(plan.load_start)
    if not len(start):
        return {}
    head = _heads(durations.first_command, end)
    asks = np.clip(_np(plan.load_room), head, start)
    weight = np.fromiter((load.destination is Destination.WEIGHT for load in program.loads),
                         bool, len(start))
    stored = asks + covered(Intervals(asks, start), channel_store)
    return {
        "busy": Intervals(start, end),
        "drain": Intervals.one(int(end[-1]), arrived),
        "slot": Intervals(head[~weight], asks[~weight]),
        "fifo": Intervals(head[weight], asks[weight]),
        "store": Intervals(asks, stored),
        "port": Intervals(stored, start),
    }


def _array(plan: Schedule, durations: Durations, written: int) -> dict[str, Intervals]:
    """Before each job, in order: bank, results, slot, tile not whole, tile not in the cells."""
    start, end = _np(plan.job_start), _np(plan.job_end)
    if not len(start):
        return {}
    return {
        "busy": Intervals(start, end),
        "drain": Intervals.one(int(end[-1]), written),
        "fill": Intervals.one(durations.first_command, int(start[0])),
        **_in_turn(end[:-1], start[1:], [
            ("accumulator", _np(plan.job_bank)[1:]), ("output", _np(plan.job_output)[1:]),
            ("operands", _np(plan.job_slot)[1:]), ("weights", _np(plan.job_whole)[1:]),
            ("weight_shift", _np(plan.job_weights)[1:])]),
    }


def _vector(plan: Schedule, durations: Durations, complete: int) -> dict[str, Intervals]:
    """While no elements enter: the head waits for its slot, or for results before it."""
    if not len(plan.vector_head):
        return {}
    busy = Intervals(_np(plan.vector_from), _np(plan.vector_until))
    if durations.design.vector_schedule == "pipelined":  # of two engines
        busy = union(busy)
    end = int(_np(plan.vector_end).max())
    waits = Intervals(_np(plan.vector_head), _np(plan.vector_filled))
    return {
        "busy": busy,
        "drain": Intervals.one(end, complete),
        "input": without(waits, busy),
        "pipeline": without(without(Intervals.one(durations.first_command, end), busy), waits),
    }


def _handoff(program: Program, plan: Schedule, durations: Durations) -> dict[str, Intervals]:
    """Before each transfer: its source, then its destination."""
    start, end = _np(plan.handoff_start), _np(plan.handoff_end)
    if not len(start):
        return {}
    to_vector = np.fromiter((command.direction is Direction.TO_VECTOR
                             for command in program.handoffs), bool, len(start))
    waits = _in_turn(_heads(durations.first_command, end), start,
                     [("source", _np(plan.handoff_source)), ("room", start)])
    found = {"busy": Intervals(start, end),
             "drain": Intervals.one(int(end[-1]), int(end[-1]) + durations.handoff_latency)}
    for which, names in ((to_vector, ("scores", "slot")),
                         (~to_vector, ("probabilities", "operands"))):
        for name, part in zip(names, waits.values()):
            found[name] = Intervals(part.first[which], part.end[which])
    return found


def _store(plan: Schedule, durations: Durations, end: np.ndarray,
           complete: int) -> dict[str, Intervals]:
    """Before each store: its bank is not full, then the channel is taken."""
    start = _np(plan.store_start)
    if not len(start):
        return {}
    return {
        "busy": Intervals(start, end),
        "drain": Intervals.one(int(end[-1]), complete),
        **_in_turn(_heads(durations.first_command, end), start,
                   [("result", _np(plan.store_full)), ("memory", start)]),
    }
