"""Counters of a long run of equal parts, from two short ones.

A schedule follows from the times before it by rules that do not know what time it is. So if every
command of some parts starts exactly one period after the same command of the part before, for as
many parts as a command can depend on, it goes on like this: another part adds a period (or
another two: buffers in turn can make even parts differ from odd ones). The two
short runs show both: up to some part they are the same, and what follows in the longer one is
what follows in the shorter one, a period later.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ...workloads.program import Program
from .activity import activity
from .buffers import BEFORE
from .counters import count
from .durations import Durations
from .plan import NAMES, Schedule
from .schedule import schedule

__all__ = ["Repeats", "repeated_counters"]

PERIODS = (1, 2, 3)  # parts
LENGTHS = ("load_occupancy", "load_hold", "store_occupancy", "store_hold")


class Repeats(NamedTuple):
    """A workload of `parts` equal parts.

    `program(n)` has the first n of them; `reach` is the number of parts before it that a command
    of a part can depend on, at most.
    """
    parts: int
    reach: int
    program: Callable[[int], Program]


class _Run(NamedTuple):
    plan: Schedule
    counters: Mapping[str, int]


def repeated_counters(repeats: Repeats, durations: Durations) -> Mapping[str, int] | None:
    """The counters of the whole workload; None unless it is seen to become periodic."""
    parts = repeats.reach + 3
    while 2 * parts < repeats.parts:
        for period in PERIODS:
            first = parts + (repeats.parts - parts) % period
            fewer, more = (_run(repeats.program(number), durations)
                           for number in (first, first + period))
            if _periodic(fewer, more, repeats.reach, period):
                rest = (repeats.parts - first) // period
                return {name: value + rest * (more.counters[name] - value)
                        for name, value in fewer.counters.items()}
        parts *= 2
    return None


def _run(program: Program, durations: Durations) -> _Run:
    plan = schedule(program, durations)
    return _Run(plan, count(program, activity(program, plan, durations), durations))


def _periodic(fewer: _Run, more: _Run, reach: int, period: int) -> bool:
    """Whether some parts are the same in both, and the same a period later in the longer one.

    `period`: parts that the longer one has more.
    """
    cycles = more.counters["cycles"] - fewer.counters["cycles"]
    first, last = 0, None   # parts between which the same holds for all commands
    for name in NAMES:
        one = np.asarray(getattr(fewer.plan, name))
        other = np.asarray(getattr(more.plan, name))
        size = len(other) - len(one)
        if size <= 0:
            if len(one) or len(other):
                return False
            continue
        changed = np.flatnonzero(one != other[:len(one)])
        same = int(changed[0]) if len(changed) else len(one)
        shift = 0 if name in LENGTHS else cycles
        late = other[size:] - one != np.where(one > BEFORE // 2, shift, 0)
        behind = np.flatnonzero(late)
        # In parts: `size` commands are `period` of them.
        begins = -(-(int(behind[-1]) + 1) * period // size) if len(behind) else 0
        ends = same * period // size
        first, last = max(first, begins), ends if last is None else min(last, ends)
    return last is not None and last - first >= max(reach, period)
