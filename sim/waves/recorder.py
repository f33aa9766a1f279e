"""Records a run of a machine as a waveform."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from amaranth.hdl import Fragment

from ...rtl import Design
from ...rtl.counters import COUNTERS
from ...rtl.machine import Machine
from ...rtl.status import ArrayStatus, HandoffStatus, StoreStatus
from ..result import Check, Result
from .contents import Contents
from .derived import Gauges, group_trace, status_comment, status_traces
from .fields import Field
from .hierarchy import Depth, Trace, memories, traces
from .name_filter import NameFilter
from .phases import Phases
from .probe import Probe
from .reader import HISTORY_COUNTERS, NEEDED, read_counters
from .save_file import gtkw_path, write_gtkw
from .writer import VcdFile

if TYPE_CHECKING:
    from ..simulation import VcdOptions

__all__ = ["Recorder"]

_CYCLE_BITS = 48

#: A variable of the file and how to compute its value from that of a sampled signal.
Sink = tuple[Any, Callable[[int], Any]]


class Recorder:
    """Writes the counted cycles of one run to a VCD file, and a .gtkw beside it.

    `attach` builds it into a simulation, `start` says that the next cycles that count are to be
    recorded, `close` ends the file; it may come at any time, and again.

    Parameters
    ----------
    design : Design
    options : VcdOptions

    Raises
    ------
    OptionError
        The file cannot be written.
    """

    def __init__(self, design: Design, options: "VcdOptions") -> None:
        self._design, self._options = design, options
        self._first = options.cycles[0] if options.cycles else 0
        self._last = options.cycles[1] if options.cycles else None
        gtkw_path(options.path)  # refuses one that it would overwrite
        self._filter = NameFilter(options.signals)
        self._file = VcdFile(
            options.path, clock_hz=design.clock_hz, first_cycle=self._first,
            comment=f"array {design.rows} x {design.cols}\nhandoff {design.handoff}\n"
                    f"{status_comment()}")
        self._sinks: dict[int, list[Sink]] = {}  # of each signal of the probe
        self._variables: dict[tuple, Any] = {}
        self._contents: list[Contents] = []
        self._gauges = Gauges(design.macs_per_cycle)
        self._phases = Phases()
        self._started = self._closed = False
        self._before: dict[str, int] = {}           # counters when the recorded cycles begin
        self._after: dict[str, int] | None = None   # and after the window's last one

    # -- before the run ------------------------------------------------------------------------

    def attach(self, machine: Machine, flat, elaborated: Fragment):
        """Declare everything that will be recorded.

        Parameters
        ----------
        machine : Machine
        flat : FlatDesign
            The design as it is simulated.
        elaborated : Fragment
            The machine before it was flattened.

        Returns
        -------
        async test bench, to be added in the background
        """
        bank = machine.core.counters
        self._counters = {name: flat.signal(bank.counter(name)) for name in COUNTERS}
        self._early = [flat.signal(machine.core.count), flat.signal(bank.add_useful_macs)]
        self._probe = probe = Probe(flat)
        self._count, self._macs = (probe.add(signal) for signal in self._early)
        self._array, self._store, self._handoff = (
            probe.add(status) for status in (bank.status_array, bank.status_store,
                                             bank.status_handoff))
        top = ("machine",)
        self._cycle = self._number(top, "cycle", _CYCLE_BITS)
        self._utilization = self._number(top, "utilization_percent", 7)
        self._mac_rate = self._number(top, "mac_rate_percent", 7)
        depth = Depth[self._options.depth.upper()]
        for trace in (*status_traces(machine), group_trace(machine),
                      *traces(elaborated, self._design, depth)):
            self._declare(trace)
        if depth >= Depth.MEMORY:
            self._contents = [Contents(trace, self._declare_row, probe)
                              for trace in memories(elaborated)]
        probe.build()
        return self._bench

    def start(self) -> None:
        """The run that counts begins."""
        self._started = True

    def _wanted(self, scope, name):
        full = ".".join((*scope, name))
        return full in NEEDED or self._filter.search(full)

    def _number(self, scope, name, width):
        return self._file.number(scope, name, width) if self._wanted(scope, name) else None

    def _declare(self, trace: Trace) -> None:
        """Declare a field; one that other units know too is the same variable under a new name."""
        texts = ("", "_text") if trace.field.names else ("",)
        wanted = [suffix for suffix in texts if self._wanted(trace.scope, trace.name + suffix)]
        if not wanted:
            return
        place = self._probe.add(trace.signal)
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
        if self._wanted(scope, name):
            sinks.append((self._file.number(scope, name, field.width, register=True), field.of))
        if field.names and self._wanted(scope, f"{name}_text"):
            sinks.append(_text_sink(self._file.text(scope, f"{name}_text"), field))
        return sinks

    # -- during the run ------------------------------------------------------------------------

    async def _bench(self, ctx):
        while not self._started:
            await ctx.tick()
        self._look(ctx)
        if self._first and not await self._reach_window(ctx):
            return
        cycle, probe = self._first, self._probe
        async for _hit in ctx.tick():
            probe.look(ctx)
            if not probe[self._count]:
                if cycle:
                    return
                self._look(ctx)
                continue
            self._file.write_cycle(cycle, self._changes(cycle))
            if cycle == self._last:
                self._after = self._read_counters(ctx)
                return
            for contents in self._contents:
                contents.read_written(ctx, probe)
            cycle += 1

    async def _reach_window(self, ctx) -> bool:
        """Wait for the clock edge that begins the window; False if the run ends before."""
        cycle = 0
        async for _clk, _rst, counts, macs in ctx.tick().sample(*self._early):
            if counts:
                cycle += 1
                self._gauges.add(macs)
                if cycle == self._first:
                    self._look(ctx)
                    return True
            elif cycle:
                return False
        return False

    def _look(self, ctx) -> None:
        """What counters and memories hold when a cycle begins that may be the first recorded."""
        self._before = self._read_counters(ctx)
        for contents in self._contents:
            contents.read_all(ctx)

    def _changes(self, cycle) -> Iterator[tuple[Any, Any]]:
        gauges, probe = self._gauges, self._probe
        gauges.add(probe[self._macs])
        self._phases.add(cycle, probe[self._array] == ArrayStatus.BUSY.value,
                         probe[self._store] == StoreStatus.BUSY.value,
                         probe[self._handoff] == HandoffStatus.BUSY.value)
        for variable, value in ((self._cycle, cycle),
                                (self._utilization, gauges.utilization_percent),
                                (self._mac_rate, gauges.mac_rate_percent)):
            if variable is not None:
                yield variable, value
        sinks = self._sinks
        for index, value in probe.changed():
            for variable, convert in sinks.get(index, ()):
                yield variable, convert(value)
        for contents in self._contents:
            yield from contents.changes()

    def _read_counters(self, ctx) -> dict[str, int]:
        return {name: ctx.get(signal) for name, signal in self._counters.items()}

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
