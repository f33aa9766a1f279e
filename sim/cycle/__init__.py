"""The cycle model: the same programs under the same rules, command by command."""

from .counters import count
from .durations import Durations
from .schedule import Schedule, ScheduleError, schedule

__all__ = ["Durations", "Schedule", "ScheduleError", "count", "schedule"]
