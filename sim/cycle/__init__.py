"""The cycle model: the same programs under the same rules, command by command."""

from .durations import Durations
from .model import CycleRun, run_cycle_model
from .repeat import Repeats, repeated_counters
from .schedule import Schedule, ScheduleError, schedule
from .timeline import write_trace

__all__ = ["CycleRun", "Durations", "Repeats", "Schedule", "ScheduleError", "repeated_counters",
           "run_cycle_model", "schedule", "write_trace"]
