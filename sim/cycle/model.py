"""Runs programs on the cycle model."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...workloads.program import Program
from .counters import count
from .durations import Durations
from .activity import Activity, activity
from .schedule import schedule

__all__ = ["CycleRun", "run_cycle_model"]


@dataclass(frozen=True)
class CycleRun:
    """Counters, by their dotted names, and intervals of a run."""
    counters: Mapping[str, int]
    activity: Activity


def run_cycle_model(program: Program, durations: Durations) -> CycleRun:
    """Schedule a program and count.

    Raises
    ------
    ScheduleError
        The program cannot end.
    """
    run = activity(program, schedule(program, durations), durations)
    return CycleRun(count(program, run, durations), run)
