"""What the top level of a waveform shows beside the machine's own signals."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Value

from ...rtl.machine import Machine
from ...rtl.status import UNITS
from .fields import Field
from .hierarchy import Trace

__all__ = ["Gauges", "WINDOW", "group_trace", "status_comment", "status_traces"]

WINDOW = 16  # cycles over which `mac_rate_percent` is taken


@dataclass(frozen=True)
class _Busy(Field):
    """1 while the status is BUSY."""
    code: int = 0

    def of(self, value: int) -> int:
        return int(value == self.code)


@dataclass(frozen=True)
class _Stall(Field):
    """The status while it is neither IDLE nor BUSY, else 0."""
    none: tuple[int, ...] = ()

    def of(self, value: int) -> int:
        return 0 if value in self.none else value


@dataclass(frozen=True)
class _Group(Field):
    """The hand-off slot that a job takes or frees, else a number beyond them."""
    parts: tuple[Field, ...] = ()  # of the job: its slot, take, free
    none: int = 0

    def of(self, value: int) -> int:
        slot, take, free = (part.of(value) for part in self.parts)
        return slot if take or free else self.none


def group_trace(machine: Machine) -> Trace:
    """`array_group`: the hand-off slot that the job at the head of the array's queue is about."""
    payload: Any = machine.core.control.i.payload
    job: Any = Value.cast(payload)
    slots = machine.core.design.handoff_slots
    layout = payload.shape()
    parts = tuple(Field("", layout[name].offset, layout[name].width)
                  for name in ("group", "take_group", "free_group"))
    names = {**{slot: str(slot) for slot in range(slots)}, slots: "-"}
    return Trace(("machine",), "array_group", job,
                 _Group("", 0, slots.bit_length(), names, parts=parts, none=slots))


def status_traces(machine: Machine) -> Iterator[Trace]:
    """`<unit>_busy`, `<unit>_stall` and `<unit>_status` of every unit."""
    for unit, statuses in UNITS.items():
        signal = getattr(machine.core.counters, f"status_{unit}")
        names = {status.value: status.name for status in statuses}
        idle, busy = statuses["IDLE"].value, statuses["BUSY"].value
        stalls = {0: "-", **{code: name for code, name in names.items()
                             if code not in (idle, busy)}}
        width = len(signal.as_value() if hasattr(signal, "as_value") else signal)
        yield Trace(("machine",), f"{unit}_busy", signal, _Busy("", 0, 1, code=busy))
        yield Trace(("machine",), f"{unit}_stall", signal,
                    _Stall("", 0, width, stalls, none=(idle, busy)))
        yield Trace(("machine",), f"{unit}_status", signal, Field("", 0, width, names))


def status_comment() -> str:
    """Header lines that say what the numbers of each unit's status mean."""
    return "\n".join(
        f"status {unit} " + " ".join(f"{status.value}={status.name}" for status in statuses)
        for unit, statuses in UNITS.items())


class Gauges:
    """Percent of the array's peak, from the useful multiply-accumulates of every cycle.

    Parameters
    ----------
    peak : int
        Multiply-accumulates per cycle at the peak.
    """

    def __init__(self, peak: int) -> None:
        self._peak = peak
        self._total = self._cycles = self._recent = 0
        self._window: deque[int] = deque([0] * WINDOW, WINDOW)

    def add(self, macs: int, cycles: int = 1) -> None:
        """Count a cycle; or several, the last `WINDOW` of which are still to come."""
        self._cycles += cycles
        self._total += macs
        if cycles != 1:
            return
        self._recent += macs - self._window[0]
        self._window.append(macs)

    @property
    def utilization_percent(self) -> int:
        """Of the run so far, this cycle included; at its end the run's utilization."""
        return 100 * self._total // (self._peak * self._cycles)

    @property
    def mac_rate_percent(self) -> int:
        """Of the last `WINDOW` cycles, or of the run so far while it is shorter."""
        return 100 * self._recent // (self._peak * min(WINDOW, self._cycles))
