"""Records a run of a machine as a waveform."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from amaranth.hdl import ValueLike

from ...rtl import Design
from ...rtl.counters import COUNTERS
from ...rtl.machine import Machine
from ...rtl.status import ArrayStatus, HandoffStatus, StoreStatus
from ..result import Check, Result
from .contents import Contents
from .derived import Gauges, group_trace, status_comment, status_traces
from .fields import Field
from .hierarchy import Depth, MemoryTrace, Scope, Trace
from .name_filter import NameFilter
from .phases import Phases
from .reader import HISTORY_COUNTERS, NEEDED, read_counters
from .save_file import gtkw_path, write_gtkw
from .writer import VcdFile

if TYPE_CHECKING:
    from ..simulation import VcdOptions

__all__ = ["Recorder", "Source"]

_CYCLE_BITS = 48

#: A variable of the file and how to compute its value from that of a sampled signal.
Sink = tuple[Any, Callable[[int], Any]]


class Source(Protocol):
    """What a simulation shows a recorder of the cycle that has just ended."""

    def add(self, signal: ValueLike) -> int:
        """Watch a signal, before the run; returns its number, always the same for one signal."""

    def __getitem__(self, index: int) -> int:
        """The bits of the signal with this number."""

    def changed(self) -> Iterable[tuple[int, int]]:
        """(number, bits) of all signals that have changed since the last call; at first of all."""

    def watch(self, memory: MemoryTrace) -> None:
        """Watch a memory, before the run."""

    def written(self, memory: MemoryTrace) -> set[int]:
        """Rows that the cycle wrote."""

    def row(self, memory: MemoryTrace, place: int) -> int:
        """The bits of a row, as the next cycle finds it."""


class Recorder:
    """Writes the counted cycles of one run to a VCD file, and a .gtkw beside it.

    A simulation calls `declare` before the run, `skip` in every counted cycle before the first
    one to be recorded, `begin` before that one, `record` in each that is, `end` after the last
    one of a window. `close` ends the file; it may come at any time, and again.

    Parameters
    ----------
    design : Design
    options : VcdOptions

    Attributes
    ----------
    first : int
        The first cycle to be recorded.
    last : int or None
        The last one; None: that of the run.
    depth : Depth

    Raises
    ------
    OptionError
        The file cannot be written.
    """

    def __init__(self, design: Design, options: "VcdOptions") -> None:
        self._design, self._options = design, options
        self.first = options.cycles[0] if options.cycles else 0
        self.last = options.cycles[1] if options.cycles else None
        self.depth = Depth[options.depth.upper()]
        gtkw_path(options.path)  # refuses one that it would overwrite
        self._filter = NameFilter(options.signals)
        self._file = VcdFile(
            options.path, clock_hz=design.clock_hz, first_cycle=self.first,
            comment=f"array {design.rows} x {design.cols}\nhandoff {design.handoff}\n"
                    f"{status_comment()}")
        self._sinks: dict[int, list[Sink]] = {}  # of each signal of the source
        self._variables: dict[tuple, Any] = {}
        self._contents: list[Contents] = []
        self._gauges = Gauges(design.macs_per_cycle)
        self._phases = Phases()
        self._next, self._closed = self.first, False
        self._before: Mapping[str, int] = {}           # counters when the recorded cycles begin
        self._after: Mapping[str, int] | None = None   # and after the window's last one

    # -- before the run ------------------------------------------------------------------------

    def declare(self, machine: Machine, source: Source, shown: Iterable[Trace],
                contents: Iterable[MemoryTrace]) -> None:
        """Declare everything that will be recorded.

        Parameters
        ----------
        machine : Machine
        source : Source
        shown : iterable of Trace
            Signals down to `depth`.
        contents : iterable of MemoryTrace
            Memories, with Depth.MEMORY.
        """
        bank = machine.core.counters
        self._source = source
        self._macs, self._array, self._store, self._handoff = (
            source.add(signal) for signal in (bank.add_useful_macs, bank.status_array,
                                              bank.status_store, bank.status_handoff))
        top = ("machine",)
        self._cycle = self._number(top, "cycle", _CYCLE_BITS)
        self._utilization = self._number(top, "utilization_percent", 7)
        self._mac_rate = self._number(top, "mac_rate_percent", 7)
        for trace in (*status_traces(machine), group_trace(machine), *shown):
            self._declare(trace)
        self._contents = [Contents(trace, self._declare_row, source) for trace in contents]

    def wants(self, scope: Scope, name: str) -> bool:
        """Whether the waveform shows a signal of this name."""
        full = ".".join((*scope, name))
        return full in NEEDED or self._filter.search(full)

    def _number(self, scope, name, width):
        return self._file.number(scope, name, width) if self.wants(scope, name) else None

    def _declare(self, trace: Trace) -> None:
        """Declare a field; one that other units know too is the same variable under a new name."""
        texts = ("", "_text") if trace.field.names else ("",)
        wanted = [suffix for suffix in texts if self.wants(trace.scope, trace.name + suffix)]
        if not wanted:
            return
        place = self._source.add(trace.signal)
        sinks = self._sinks.setdefault(place, [])
        for suffix in wanted:
            key = place, type(trace.field), trace.field.offset, trace.field.width, suffix
            name = trace.name + suffix
            if key in self._variables:
                self._file.alias(trace.scope, name, self._variables[key])
            elif suffix:
                sink = _text_sink(self._file.text(trace.scope, name), trace.field)
                self._variables[key] = sink[0]
                sinks.append(sink)
            else:
                variable = self._file.number(trace.scope, name, trace.field.width,
                                             register=trace.is_register)
                self._variables[key] = variable
                sinks.append((variable, trace.field.of))

    def _declare_row(self, scope, name, field: Field) -> list[Sink]:
        sinks: list[Sink] = []
        if self.wants(scope, name):
            sinks.append((self._file.number(scope, name, field.width, register=True), field.of))
        if field.names and self.wants(scope, f"{name}_text"):
            sinks.append(_text_sink(self._file.text(scope, f"{name}_text"), field))
        return sinks

    # -- during the run ------------------------------------------------------------------------

    def skip(self, cycles: int, macs: int) -> None:
        """Counted cycles before the first one that is recorded, with their useful MACs."""
        self._gauges.add(macs, cycles)

    def begin(self, counters: Mapping[str, int]) -> None:
        """The next cycle that counts is the first one; what the counters hold."""
        self._before = counters
        for contents in self._contents:
            contents.read_all()

    def record(self) -> None:
        """Write the cycle that the source shows."""
        self._file.write_cycle(self._next, self._changes(self._next))
        for contents in self._contents:
            contents.read_written()
        self._next += 1

    def end(self, counters: Mapping[str, int]) -> None:
        """The window is over; what the counters hold after its last cycle."""
        self._after = counters

    def _changes(self, cycle) -> Iterator[tuple[Any, Any]]:
        gauges, source = self._gauges, self._source
        gauges.add(source[self._macs])
        self._phases.add(cycle, source[self._array] == ArrayStatus.BUSY.value,
                         source[self._store] == StoreStatus.BUSY.value,
                         source[self._handoff] == HandoffStatus.BUSY.value)
        for variable, value in ((self._cycle, cycle),
                                (self._utilization, gauges.utilization_percent),
                                (self._mac_rate, gauges.mac_rate_percent)):
            if variable is not None:
                yield variable, value
        sinks = self._sinks
        for index, value in source.changed():
            for variable, convert in sinks.get(index, ()):
                yield variable, convert(value)
        for contents in self._contents:
            yield from contents.changes()

    # -- after the run -------------------------------------------------------------------------

    def close(self) -> None:
        """End the file after its last whole cycle and write the .gtkw."""
        if not self._closed:
            self._closed = True
            self._file.close()
            write_gtkw(self._options.path, self._phases)

    def checks(self, result: Result) -> list[Check]:
        """Compare the counters with those that the VCD file alone yields.

        With a window of cycles, what the window adds to the counters is compared, without
        `span` and `exposed_requests`, which depend on cycles before it. No check when no cycle
        of the run lies in the window.
        """
        self.close()
        if not self._file.has_cycles:
            return []
        after = self._after
        if after is None:
            after = {**result.counters, "useful_macs": result.useful_macs}
            for unit, counts in result.units.items():
                after |= {f"{unit}.busy": counts.busy, f"{unit}.idle": counts.idle,
                          **{f"{unit}.{name}": count for name, count in counts.stalls.items()}}
        expected = {name: after[name] - self._before[name] for name in COUNTERS
                    if self._options.cycles is None or name not in HISTORY_COUNTERS}
        counted = read_counters(self._options.path)
        actual = {name: counted[name] for name in expected}
        return [{"name": "vcd_counters", "expected": expected, "actual": actual,
                 "ok": expected == actual}]


def _text_sink(variable, field: Field) -> Sink:
    names, of = field.names or {}, field.of
    return variable, lambda value: names.get(of(value), "?")
