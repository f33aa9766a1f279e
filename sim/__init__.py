"""Backends, models, results, waves and the command line.

What is named here is loaded when it is first used: the pytest plugin and the command line's help
live in this package and must not load a simulator.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import DeadlockError, OptionError
    from .network import simulate_network
    from .network_result import NetworkResult
    from .result import Result, UnitCounters
    from .simulation import VcdOptions, simulate

__all__ = ["DeadlockError", "NetworkResult", "OptionError", "Result", "UnitCounters",
           "VcdOptions", "simulate", "simulate_network"]

_MODULES = {"DeadlockError": "errors", "OptionError": "errors", "Result": "result",
            "UnitCounters": "result", "VcdOptions": "simulation", "simulate": "simulation",
            "NetworkResult": "network_result", "simulate_network": "network"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
