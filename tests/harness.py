"""The shared test harness: clock, watchdog, stream drivers, lock-step and whole machines.

Cycle `k` is the `k`-th active clock edge, the first one being 0: what a test bench sets before
its first `ctx.tick()` is the stimulus of cycle 0, and what it samples at that tick are the
outputs of cycle 0.
"""

import contextlib
from operator import attrgetter

from amaranth import Module, Signal, Value
from amaranth.lib import data
from amaranth.sim import Simulator

from cubewave.rtl.counters import COUNTERS
from cubewave.rtl.machine import QUEUES

__all__ = ["CLOCK_PERIOD", "CycleLimitError", "MachineBench", "drive", "lockstep", "plain",
           "simulate", "transfers"]

CLOCK_PERIOD = 1e-6  # seconds of simulated time; cycles are what counts


class CycleLimitError(AssertionError):
    """A simulation was still running after `max_cycles` cycles."""


def plain(value):
    """A sampled value as ints, lists and dicts; signed fields are signed."""
    if isinstance(value, data.Const):
        layout = value.shape()
        if isinstance(layout, data.ArrayLayout):
            return [plain(value[index]) for index in range(layout.length)]
        return {name: plain(value[name]) for name, _field in layout}
    return value


def simulate(dut, *benches, monitors=(), max_cycles=10_000, vcd=None):
    """Run `dut` from reset until every test bench in `benches` has returned.

    Parameters
    ----------
    dut : Elaboratable
    benches, monitors : async functions of one argument, the simulator context
        Monitors run in the background and do not keep the simulation going.
    max_cycles : int
        Raises :class:`CycleLimitError` when a bench is still running after so many cycles.
    vcd : str or path or None
        Waveform to write.
    """
    async def watchdog(ctx):
        for _ in range(max_cycles):  # `repeat` cannot be closed when the simulation ends
            await ctx.tick()
        raise CycleLimitError(f"still running after {max_cycles} cycles")

    m = Module()
    m.submodules.dut = dut
    cycle = Signal(64)
    m.d.sync += cycle.eq(cycle + 1)  # a clock domain for combinational designs too
    simulator = Simulator(m)
    simulator.add_clock(CLOCK_PERIOD)
    for bench in benches:
        simulator.add_testbench(bench)
    for monitor in (*monitors, watchdog):
        simulator.add_testbench(monitor, background=True)
    with contextlib.nullcontext() if vcd is None else simulator.write_vcd(str(vcd)):
        simulator.run()


async def drive(ctx, port, items, gaps=()):
    """Send `items` into the stream `port` (an input of the design), then leave it idle.

    Before item i the source waits `gaps[i]` cycles; no gap where `gaps` has ended.
    """
    gaps = iter(gaps)
    for item in items:
        for _ in range(next(gaps, 0)):
            await ctx.tick()
        ctx.set(port.payload, item)
        ctx.set(port.valid, 1)
        while not (await ctx.tick().sample(port.ready))[-1]:
            pass
        ctx.set(port.valid, 0)


def transfers(port, log):
    """A monitor that appends `(cycle, payload)` to `log` for every transfer on a stream."""
    async def monitor(ctx):
        cycle = 0
        sampled = ctx.tick().sample(port.valid, port.ready, port.payload)
        while True:
            _clk, _rst, valid, ready, payload = await sampled
            if valid and ready:
                log.append((cycle, plain(payload)))
            cycle += 1
    return monitor


def lockstep(dut, steps, watch, max_cycles=10_000):
    """Set inputs and sample outputs cycle by cycle.

    Parameters
    ----------
    dut : Component
    steps : list of dict
        The inputs of each cycle by their names, dots for members of an interface; an input that
        a cycle does not name, and others do, is zero in it.
    watch : list of str
        Outputs to sample.

    Returns
    -------
    list of dict
        The sampled outputs of each cycle, as :func:`plain` values.
    """
    names = list(dict.fromkeys(name for step in steps for name in step))
    ports = {name: attrgetter(name)(dut) for name in names}
    outputs = [attrgetter(name)(dut) for name in watch]
    sampled = []

    async def bench(ctx):
        before = dict.fromkeys(names)
        for step in steps:
            for name in names:
                value = step.get(name)
                if value != before[name]:
                    target = ports[name] if value is not None else Value.cast(ports[name])
                    ctx.set(target, value or 0 if isinstance(target, Value) else value)
                    before[name] = value
            values = (await ctx.tick().sample(*outputs))[2:]
            sampled.append({name: plain(value) for name, value in zip(watch, values)})

    simulate(dut, bench, max_cycles=max_cycles)
    return sampled


class MachineBench:
    """Runs programs on a :class:`Machine` and logs what its units do.

    Attributes
    ----------
    log : list of dict
        For each cycle of the counted run the signals named by `watch`.
    counters : dict of str to int
    memory : bytes
        Contents after the run.
    """

    def __init__(self, machine, watch=None):
        self.machine = machine
        self._watch = watch or {}
        self.log, self.counters, self.memory = [], {}, b""
        self.overflow = None

    def run(self, commands, contents=b"", preload=(), max_cycles=5_000):
        """Run `commands` (queue name to list of command tuples) after the loads of `preload`.

        `contents` are the first bytes of the memory.
        """
        async def bench(ctx):
            self._fill(ctx, contents)
            if preload:
                await self._phase(ctx, {"loader": preload}, [])
            self.log = []
            await self._phase(ctx, commands, self.log)
            core = self.machine.core
            self.counters = {name: ctx.get(core.counters.counter(name))
                             for name in COUNTERS}
            self.overflow = ctx.get(core.overflow)
            storage = self.machine.channel.storage
            depth = 2 * storage.halves[0].depth
            self.memory = b"".join(
                int(ctx.get(storage.halves[line & 1][line >> 1]))
                .to_bytes(storage.line_bytes, "little") for line in range(depth))
        simulate(self.machine, bench, max_cycles=max_cycles)
        return self

    def _fill(self, ctx, contents):
        storage = self.machine.channel.storage
        size = storage.line_bytes
        for line in range(-(-len(contents) // size)):
            word = int.from_bytes(contents[line * size:(line + 1) * size], "little")
            ctx.set(storage.halves[line & 1][line >> 1], word)

    async def _phase(self, ctx, commands, log):
        machine = self.machine
        for name in QUEUES:
            sequencer = machine.sequencers[name]
            program = commands.get(name, ())
            for place, command in enumerate(program):
                ctx.set(sequencer.program[place],
                        sequencer.program.shape.const(command._asdict()))
            ctx.set(getattr(machine, f"{name}_length"), len(program))
        ctx.set(machine.clear, 1)
        await ctx.tick()
        ctx.set(machine.clear, 0)
        ctx.set(machine.go, 1)
        signals = list(self._watch.values())
        done = False
        while not done:
            _clk, _rst, done, *values = await ctx.tick().sample(machine.done, *signals)
            if not done:
                log.append(dict(zip(self._watch, map(plain, values))))
        ctx.set(machine.go, 0)
        await ctx.tick()
