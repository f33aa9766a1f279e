"""The signals of a machine that its driver reads."""

from amaranth.hdl import Signal, Value
from amaranth.hdl._ast import SignalDict

from ....rtl.counters import COUNTERS
from ....rtl.machine import Machine
from ..watchdog import MOVES, looked_at

__all__ = ["COUNTER_PLACES", "MOVES", "OVERFLOW_PLACE", "Watched"]

#: Numbers of the counters, and of the overflow flag: the same in every machine.
COUNTER_PLACES = {name: place for place, name in enumerate(
    (*MOVES, *(name for name in COUNTERS if name not in MOVES)))}
OVERFLOW_PLACE = len(COUNTER_PLACES)


class Watched:
    """Signals that become outputs of the compiled machine, each with its number.

    The first ones are the counters :data:`MOVES`, which the driver's watchdog looks at, then come
    the others, the overflow flag, what the message about a deadlock needs, and `more`.

    Parameters
    ----------
    machine : Machine
    more : list of Signal
    """

    def __init__(self, machine: Machine, more=()):
        self._places = SignalDict()
        self.signals: list[Signal] = []
        core = machine.core
        for name in COUNTER_PLACES:
            self._add(core.counters.counter(name))
        self._add(core.overflow)
        for value in (*looked_at(core), *more):
            self._add(value)

    def _add(self, value):
        signal = Value.cast(value)
        if signal not in self._places:
            self._places[signal] = len(self.signals)
            self.signals.append(signal)

    def place(self, value) -> int:
        """The number of a signal."""
        return self._places[Value.cast(value)]
