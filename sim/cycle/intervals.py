"""What every unit does when, from the start times of a schedule.

Counters are the lengths of these intervals, and a timeline shows them: one source for both.
"""

from array import array
from dataclasses import dataclass, field

import numpy as np

from ...rtl.commands import Destination
from ...workloads.program import Program
from .durations import Durations
from .schedule import Schedule

__all__ = ["Activity", "Intervals", "activity"]


@dataclass(frozen=True)
class Intervals:
    """Intervals [first, end) in order; those that end before they begin are empty."""
    first: np.ndarray
    end: np.ndarray

    @property
    def cycles(self) -> int:
        return int(np.maximum(self.end - self.first, 0).sum())


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
        Times in which channel, array or store work; in which data is under way in the memory.
    """
    cycles: int
    first_start: int
    units: dict[str, dict[str, Intervals]] = field(default_factory=dict)
    moving: list[Intervals] = field(default_factory=list)
    under_way: list[Intervals] = field(default_factory=list)


def _np(values: array) -> np.ndarray:
    return np.frombuffer(values, np.int64) if len(values) else np.zeros(0, np.int64)


def _one(first: int, end: int) -> Intervals:
    return Intervals(np.array([first]), np.array([end]))


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
    cycles = int(max(arrived.max(initial=0), written.max(initial=0), complete.max(initial=0)))
    starts = [int(times[0]) for times in (load_start, job_start) if len(times)]
    run = Activity(cycles, min(starts, default=cycles))
    run.units = {
        "memory": {"busy": Intervals(*_merged(Intervals(load_start, load_end), channel_store))},
        "loader": _loader(program, plan, durations, load_end, int(arrived.max(initial=0)),
                          channel_store),
        "array": _array(plan, durations, int(written.max(initial=0))),
        "store": _store(plan, durations, store_end, int(complete.max(initial=0))),
    }
    run.moving = [Intervals(load_start, load_end), Intervals(store_start, store_end),
                  Intervals(job_start, written)]
    run.under_way = [Intervals(load_start + 1, arrived), Intervals(store_start + 1, complete)]
    return run


def _merged(*parts: Intervals) -> tuple[np.ndarray, np.ndarray]:
    first = np.concatenate([part.first for part in parts])
    order = np.argsort(first, kind="stable")
    return first[order], np.concatenate([part.end for part in parts])[order]


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
    operand = np.fromiter((load.destination == Destination.OPERAND for load in program.loads),
                          bool, len(start))
    stored = asks + _covered(Intervals(asks, start), channel_store)
    return {
        "busy": Intervals(start, end),
        "drain": _one(int(end[-1]), arrived),
        "slot": Intervals(head[operand], asks[operand]),
        "fifo": Intervals(head[~operand], asks[~operand]),
        "store": Intervals(asks, stored),
        "port": Intervals(stored, start),
    }


def _covered(windows: Intervals, others: Intervals) -> np.ndarray:
    """Cycles of each window that other intervals, disjoint and in order, cover."""
    if not len(others.first):
        return np.zeros_like(windows.first)
    lengths = np.concatenate(([0], np.cumsum(others.end - others.first)))

    def before(time: np.ndarray) -> np.ndarray:
        index = np.searchsorted(others.first, time, "right")
        inside = np.where(index > 0, np.maximum(others.end[index - 1] - time, 0), 0)
        return lengths[index] - inside
    return before(np.maximum(windows.end, windows.first)) - before(windows.first)


def _array(plan: Schedule, durations: Durations, written: int) -> dict[str, Intervals]:
    """Before each job, in order: bank, results, slot, tile not whole, tile not in the cells."""
    start, end = _np(plan.job_start), _np(plan.job_end)
    if not len(start):
        return {}
    return {
        "busy": Intervals(start, end),
        "drain": _one(int(end[-1]), written),
        "fill": _one(durations.first_command, int(start[0])),
        **_in_turn(end[:-1], start[1:], [
            ("accumulator", _np(plan.job_bank)[1:]), ("output", _np(plan.job_output)[1:]),
            ("operands", _np(plan.job_slot)[1:]), ("weights", _np(plan.job_whole)[1:]),
            ("weight_shift", _np(plan.job_weights)[1:])]),
    }


def _store(plan: Schedule, durations: Durations, end: np.ndarray,
           complete: int) -> dict[str, Intervals]:
    """Before each store: its bank is not full, then the channel is taken."""
    start = _np(plan.store_start)
    if not len(start):
        return {}
    return {
        "busy": Intervals(start, end),
        "drain": _one(int(end[-1]), complete),
        **_in_turn(_heads(durations.first_command, end), start,
                   [("result", _np(plan.store_full)), ("memory", start)]),
    }
