"""The signals of a machine that its driver reads."""

from typing import Any

from amaranth.hdl import Signal, Value, ValueLike
from amaranth.hdl._ast import SignalDict

from ....rtl.counters import COUNTERS
from ....rtl.machine import Machine
from ..watchdog import MOVES, looked_at

__all__ = ["COUNTER_PLACES", "COUNT_PLACE", "MOVES", "OVERFLOW_PLACE", "Watched"]

#: Numbers of the counters, and of two flags: the same in every machine.
COUNTER_PLACES = {name: place for place, name in enumerate(
    (*MOVES, *(name for name in COUNTERS if name not in MOVES)))}
OVERFLOW_PLACE = len(COUNTER_PLACES)
COUNT_PLACE = OVERFLOW_PLACE + 1   # the cycle counts


class Watched:
    """Signals that become outputs of the compiled machine, each with its number.

    The first ones are the counters :data:`MOVES`, which the driver's watchdog looks at, then come
    the others, the overflow flag, `count`, what the message about a deadlock needs, and what is
    added.

    Parameters
    ----------
    machine : Machine
    """

    def __init__(self, machine: Machine):
        self._places = SignalDict()
        self.signals: list[Signal] = []
        core = machine.core
        for name in COUNTER_PLACES:
            self.add(core.counters.counter(name))
        for value in (core.overflow, core.count, *looked_at(core)):
            self.add(value)

    def add(self, value: ValueLike) -> None:
        """Give a signal a number, unless it has one."""
        signal: Any = Value.cast(value)
        if signal not in self._places:
            self._places[signal] = len(self.signals)
            self.signals.append(signal)

    def place(self, value) -> int:
        """The number of a signal."""
        return self._places[Value.cast(value)]
