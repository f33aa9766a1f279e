"""Lets a recorder see a run in pysim."""

from amaranth.hdl import Fragment

from ...rtl.counters import COUNTERS
from ...rtl.machine import Machine
from ..waves import Recorder
from ..waves.hierarchy import Depth, memories, traces
from ..waves.probe import Probe
from .flatten import FlatDesign

__all__ = ["PysimRecording"]


class PysimRecording:
    """The signals that a recorder watches, and the test bench that shows it every cycle.

    Parameters
    ----------
    recorder : Recorder
    """

    def __init__(self, recorder: Recorder):
        self._recorder, self._started = recorder, False

    def attach(self, machine: Machine, flat: FlatDesign, elaborated: Fragment):
        """Watch what will be recorded.

        Parameters
        ----------
        machine : Machine
        flat : FlatDesign
            The design as it is simulated; not yet compiled.
        elaborated : Fragment
            The machine before it was flattened.

        Returns
        -------
        async test bench, to be added in the background
        """
        recorder, bank = self._recorder, machine.core.counters
        self._counters = {name: flat.signal(bank.counter(name)) for name in COUNTERS}
        self._early = [flat.signal(machine.core.count), flat.signal(bank.add_useful_macs)]
        self._probe = probe = Probe(flat)
        self._count = probe.add(machine.core.count)
        depth = recorder.depth
        recorder.declare(machine, probe, traces(elaborated, machine.core.design, depth),
                         memories(elaborated) if depth >= Depth.MEMORY else ())
        probe.build()
        return self._bench

    def start(self) -> None:
        """The run that counts begins."""
        self._started = True

    async def _bench(self, ctx):
        probe, recorder = self._probe, self._recorder
        while not self._started:
            await ctx.tick()
        if not await self._reach_window(ctx):
            return
        probe.look(ctx)
        recorder.begin(self._read_counters(ctx))
        cycle = recorder.first
        async for _hit in ctx.tick():
            probe.look(ctx)
            if not probe[self._count]:
                if cycle:
                    return
                recorder.begin(self._read_counters(ctx))
                continue
            recorder.record()
            if cycle == recorder.last:
                recorder.end(self._read_counters(ctx))
                return
            cycle += 1

    async def _reach_window(self, ctx) -> bool:
        """Wait for the clock edge that begins the window; False if the run ends before."""
        cycle, first = 0, self._recorder.first
        if not first:
            return True
        async for _clk, _rst, counts, macs in ctx.tick().sample(*self._early):
            if counts:
                cycle += 1
                self._recorder.skip(1, macs)
                if cycle == first:
                    return True
            elif cycle:
                break
        return False

    def _read_counters(self, ctx) -> dict[str, int]:
        return {name: ctx.get(signal) for name, signal in self._counters.items()}
