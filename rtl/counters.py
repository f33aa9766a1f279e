"""Counter bank: counts what the units report, readable on an FPGA too."""

from enum import Enum
from typing import NamedTuple

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .choice import chosen
from .status import UNITS

__all__ = ["COUNTER_BITS", "COUNTERS", "EVENTS", "CounterBank", "CounterNumber", "Event"]

COUNTER_BITS = 48  # 2**48 cycles are 78 hours at 1 GHz: no counter wraps in a run


class Event(NamedTuple):
    """One counted event: its unit, what it is, and what it adds."""
    unit: str
    description: str
    unit_of_count: str


#: Events beside the status of the units. All reset to 0 before a run.
EVENTS = {
    "cycles": Event("core", "cycle of the run, from the first command that can be accepted to "
                            "the last write", "cycles"),
    "span": Event("core", "cycle of the run from the first start of a descriptor or job on",
                  "cycles"),
    "activation_rows": Event("array", "activation row that enters the array", "rows"),
    "useful_macs": Event("array", "multiply-accumulates of real elements of an activation row "
                                  "that enters", "MACs"),
    "weight_rows": Event("array", "weight row that enters the array; weight stationary, the "
                                  "padding rows of a partial tile included", "rows"),
    "accumulator_rows": Event("array", "accumulator row updated", "rows"),
    "vector_commands": Event("vector", "vector command accepted", "commands"),
    "both_busy": Event("core", "cycle in which array and vector unit are both busy", "cycles"),
    "handoffs": Event("handoff", "transfer ended", "transfers"),
    "handoff_bytes": Event("handoff", "bytes that cross the interface between matrix and vector "
                                      "unit; both ways of a staged transfer", "bytes"),
    "exchange_bytes": Event("handoff", "bytes written to and read from the exchange memory",
                            "bytes"),
    "loads": Event("loader", "load descriptor started", "descriptors"),
    "stores": Event("store", "store descriptor started", "descriptors"),
    "bytes_read": Event("memory", "real bytes of load descriptors started; of convolution windows "
                                  "without what the line buffer holds", "bytes"),
    "bytes_written": Event("memory", "real bytes of store descriptors started", "bytes"),
    "window_bytes": Event("memory", "bytes of convolution windows formed while loading, overlap "
                                    "counted each time, padding never", "bytes"),
    "transactions": Event("memory", "bus transactions of descriptors started; adjoining rows "
                                    "share them", "transactions"),
    "exposed_requests": Event("memory", "start of a time in which nothing moves but memory "
                                        "latency: the requests that nothing overlaps",
                              "requests"),
}

#: Every counter: dotted name -> what one count means. `<unit>.<status>` counts cycles.
COUNTERS = {
    **{f"{unit}.{status.name.lower()}": f"cycle in which {unit} reports {status.name.lower()}"
       for unit, statuses in UNITS.items() for status in statuses},
    **{name: event.description for name, event in EVENTS.items()},
}

#: The number of each counter, by which it is read.
CounterNumber = Enum("CounterNumber", {  # type: ignore[misc]  # mypy wants to see the names
    name.replace(".", "_").upper(): number for number, name in enumerate(COUNTERS)})

#: What adds only in cycles in which one of these events happens, and how much in other cycles
#: means nothing: whether they happen is often known later than how much they add.
_WITH = {"bytes_read": ("loads",), "bytes_written": ("stores",),
         "transactions": ("loads", "stores")}

_WIDE = {"useful_macs": 21, "handoff_bytes": 17, "exchange_bytes": 17, "bytes_read": 40,
         "bytes_written": 40, "window_bytes": 40, "transactions": 40}


class CounterBank(wiring.Component):
    """Counts the status of every unit and the events of :data:`EVENTS`.

    A count shows in the cycle after its event. `clear` wins over counting.

    Members
    -------
    enable : In(1)
        Count; low outside a run.
    clear : In(1)
        All counters to 0.
    status_<unit> : In
        The unit's status.
    add_<event> : In
        What the event adds in this cycle; `bytes_read` counts with `loads` only,
        `bytes_written` with `stores`, `transactions` with either.
    <unit>_<status>, <event> : Out(COUNTER_BITS)
        The counters.
    select : In(CounterNumber)
        The counter to be read.
    selected : Out(COUNTER_BITS)
        What it showed in the cycle before.
    """

    def __init__(self):
        members = {"enable": In(1), "clear": In(1), "select": In(CounterNumber),
                   "selected": Out(COUNTER_BITS)}
        for unit, statuses in UNITS.items():
            members[f"status_{unit}"] = In(statuses)
        for event in EVENTS:
            if event != "cycles":
                members[f"add_{event}"] = In(_WIDE.get(event, 1))
        for name in COUNTERS:
            members[name.replace(".", "_")] = Out(COUNTER_BITS)
        super().__init__(members)

    def counter(self, name):
        """The signal of the counter with this dotted name."""
        return getattr(self, name.replace(".", "_"))

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.cycles.eq(self.cycles + 1)
            for unit, statuses in UNITS.items():
                with m.Switch(getattr(self, f"status_{unit}")):
                    for status in statuses:
                        counter = self.counter(f"{unit}.{status.name.lower()}")
                        with m.Case(status):
                            m.d.sync += counter.eq(counter + 1)
                    with m.Default():
                        pass
            for event in EVENTS:
                if event == "cycles":
                    continue
                add = getattr(self, f"add_{event}")
                happens = Cat(getattr(self, f"add_{name}") for name in _WITH.get(event, (event,)))
                with m.If(happens.any()):
                    m.d.sync += self.counter(event).eq(
                        self.counter(event) + (add if event in _WIDE else 1))
        m.d.sync += self.selected.eq(
            chosen(map(self.counter, COUNTERS), Value.cast(self.select)))
        with m.If(self.clear):
            m.d.sync += [self.counter(name).eq(0) for name in COUNTERS]
        return m
