"""Records the ports of a component during whole runs of a machine."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from amaranth.hdl import Fragment, Shape
from amaranth.lib.wiring import In

from ...rtl import Design
from ...rtl.axi_core import axi_ports
from ...rtl.core import Core
from ...rtl.machine import Machine
from ...workloads.program import Program
from ..backends.pysim import PysimMachine
from ..backends.run import Progress, machine_size
from ..errors import OptionError
from .parts import Port, ports
from .tops import AXI_CORE, find_part

__all__ = ["Column", "Recording", "record"]


@dataclass(frozen=True)
class Column:
    """A port of the recorded component."""
    name: str
    bits: int
    is_input: bool


@dataclass
class Recording:
    """The values of all ports in every cycle from reset on.

    Attributes
    ----------
    columns : list of Column
    cycles : list of tuple of int
        For each cycle the value of each column, as an unsigned number.
    """
    columns: list[Column]
    cycles: list[tuple[int, ...]] = field(default_factory=list)


def record(design: Design, programs: Sequence[Program], top: str = "core",
           progress: Progress | None = None) -> Recording:
    """Run programs one after another, without a reset between, and record a component's ports.

    Raises
    ------
    OptionError
        No component of the core has the name.
    DeadlockError
        A program cannot end.
    """
    lines, commands = (max(sizes) for sizes in zip(
        *(machine_size(design, program) for program in programs)))
    recorder = _PortRecorder("core" if top == AXI_CORE else top)
    machine = _Machine(design, lines, commands, recorder)
    machine.programs = programs
    machine.run(programs[0], progress)
    return (_as_axi(machine.machine.core, recorder.recording) if top == AXI_CORE
            else recorder.recording)


class _Machine(PysimMachine):
    """Runs several programs from one reset."""

    programs: Sequence[Program] = ()

    async def _testbench(self, ctx):
        assert self._job is not None
        _program, progress = self._job
        for program in self.programs:
            self._job = program, progress
            await super()._testbench(ctx)


class _PortRecorder:
    """What :class:`PysimMachine` calls to record a run."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._signals: list = []

    def attach(self, machine: Machine, flat, elaborated: Fragment):
        """The test bench that records."""
        part = find_part(elaborated, self._top)
        if part.path[:1] != ("core",):
            raise OptionError(f"{self._top} has memories whose contents are not among its inputs; "
                              f"a test bench needs the core or a part of it")
        found: list[Port] = ports(part.component)
        self.recording = Recording([
            Column(port.name, len(port.signal), port.is_input) for port in found])
        self._signals = [flat.signal(port.signal) for port in found]
        return self._bench

    def start(self) -> None:
        """All cycles are recorded, those before the counted ones too."""

    async def _bench(self, ctx):
        masks = [(1 << column.bits) - 1 for column in self.recording.columns]
        keep = self.recording.cycles.append
        async for _clk, _rst, *values in ctx.tick().sample(*self._signals):
            keep(tuple(int(value) & mask for value, mask in zip(values, masks)))


def _as_axi(core: Core, recording: Recording) -> Recording:
    """The recording of the AXI core around the recorded core."""
    places = {column.name: place for place, column in enumerate(recording.columns)}
    columns, sources = [], []
    for name, (flow, shape, path) in axi_ports(core).items():
        columns.append(Column(name, Shape.cast(shape).width, flow is In))
        sources.append(None if path is None else places["__".join(path)])
    return Recording(columns, [
        tuple(1 if source is None else values[source] for source in sources)
        for values in recording.cycles])
