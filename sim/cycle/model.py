"""Runs programs on the cycle model."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...workloads.program import Program
from ...workloads.program_check import check_program
from .activity import Activity, activity
from .counters import count
from .durations import Durations
from .plan import Schedule
from .schedule import schedule

__all__ = ["CycleRun", "run_cycle_model"]


@dataclass(frozen=True)
class CycleRun:
    """Counters, by their dotted names, and intervals of a run; what ran, and its start times."""
    counters: Mapping[str, int]
    activity: Activity
    program: Program
    plan: Schedule


def run_cycle_model(program: Program, durations: Durations) -> CycleRun:
    """Schedule a program and count.

    Raises
    ------
    ProgramError
        A command is out of the design's ranges.
    ScheduleError
        The program cannot end.
    """
    check_program(program, durations.design)
    plan = schedule(program, durations)
    run = activity(program, plan, durations)
    return CycleRun(count(program, run, durations), run, program, plan)
