"""The cycle model: the same programs under the same rules, command by command."""

from .durations import Durations
from .schedule import Schedule, ScheduleError, schedule

__all__ = ["Durations", "Schedule", "ScheduleError", "schedule"]
