"""Backends, models, results, waves and the command line."""

from .backends.run import DeadlockError
from .errors import OptionError
from .result import Result, UnitCounters
from .simulate import VcdOptions, simulate

__all__ = ["DeadlockError", "OptionError", "Result", "UnitCounters", "VcdOptions", "simulate"]
