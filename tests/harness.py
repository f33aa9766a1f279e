"""The shared test harness: clock, watchdog, stream drivers, lock-step and whole machines.

Cycle `k` is the `k`-th active clock edge, the first one being 0: what a test bench sets before
its first `ctx.tick()` is the stimulus of cycle 0, and what it samples at that tick are the
outputs of cycle 0.
"""

import contextlib
from operator import attrgetter

import numpy as np
from amaranth import Module, Signal, Value
from amaranth.lib import data
from amaranth.sim import Simulator

from cubewave.rtl.commands import ArrayJob, Destination, Load, Store
from cubewave.rtl.counters import COUNTERS
from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.machine import QUEUES, Machine
from cubewave.rtl.memory_storage import line_bytes

__all__ = ["CLOCK_PERIOD", "CycleLimitError", "MachineBench", "TiledProduct", "drive", "lockstep",
           "plain", "simulate", "transfers"]

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
        For each cycle of the last phase the signals named by `watch`.
    logs, all_counters : list
        The logs and the counters of all phases.
    counters : dict of str to int
    overflow : int
    memory : bytes
        Contents after the run.
    """

    def __init__(self, machine, watch=None):
        self.machine = machine
        self._watch = watch or {}
        self.log, self.logs, self.all_counters = [], [], []
        self.counters, self.memory, self.overflow = {}, b"", None

    def run(self, *phases, contents=b"", max_cycles=5_000):
        """Run phases, each a dict of queue name to commands.

        `contents` are the first bytes of the memory, as are those under the key "memory" of a
        phase before it.
        """
        async def bench(ctx):
            self._fill(ctx, contents)
            for commands in phases:
                self._fill(ctx, commands.get("memory", b""))
                await self._phase(ctx, commands)
                self.logs.append(self.log)
                self.all_counters.append(self.counters)
        simulate(self.machine, bench, max_cycles=max_cycles)
        return self

    def _fill(self, ctx, contents):
        storage = self.machine.channel.storage
        size = storage.line_bytes
        for line in range(-(-len(contents) // size)):
            word = int.from_bytes(contents[line * size:(line + 1) * size], "little")
            ctx.set(storage.halves[line & 1][line >> 1], word)

    def _read(self, ctx):
        core, storage = self.machine.core, self.machine.channel.storage
        self.counters = {name: ctx.get(core.counters.counter(name)) for name in COUNTERS}
        self.overflow = ctx.get(core.overflow)
        self.memory = b"".join(
            int(ctx.get(storage.halves[line & 1][line >> 1])).to_bytes(storage.line_bytes, "little")
            for line in range(2 * storage.halves[0].depth))

    async def _phase(self, ctx, commands):
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
        self.log = []
        while True:
            _clk, _rst, done, *values = await ctx.tick().sample(machine.done,
                                                                *self._watch.values())
            if done:
                break
            self.log.append(dict(zip(self._watch, map(plain, values))))
        self._read(ctx)
        ctx.set(machine.go, 0)
        await ctx.tick()


class TiledProduct:
    """Commands and memory of the product of `a` [M, K] and `b` [K, N], written plainly.

    Output tiles one after another, their K tiles innermost; each job loads its slice of `a` into
    the next slot and its tile of `b`. An output tile, all of M by `cols` or (output stationary)
    `rows` by `cols`, fills a bank, the banks by turns, and is stored. It must fit the bank, and a
    slice of `a` a slot.

    Attributes
    ----------
    contents : bytes
    weights, operands : list of Load
        The loads of each job.
    jobs, stores : list
    exact : ndarray
        The product.
    """

    def __init__(self, design, a, b, *, unsigned=False, stores=True):
        self.design, self.a, self.b = design, np.asarray(a), np.asarray(b)
        self.exact = self.a.astype(object) @ self.b.astype(object)
        self.contents = b""
        self.weights, self.operands, self.jobs, self.stores = [], [], [], []
        self._transposed = design.dataflow == "output_stationary"
        (m_all, k_all), n_all = self.a.shape, self.b.shape[1]
        height = design.rows if self._transposed else m_all
        tiles = [(m, n) for m in range(0, m_all, height) for n in range(0, n_all, design.cols)]
        self.element = design.result_element_bytes
        for number, (m, n) in enumerate(tiles):
            for k in range(0, k_all, design.rows):
                self._add_job(slice(m, m + height), n, k, number % design.accumulator_banks,
                              unsigned, stores)
        self.output_base = len(self.contents) + 3  # not aligned to anything
        for number, (m, n) in enumerate(tiles if stores else ()):
            self.stores.append(Store(
                bank=number % design.accumulator_banks, acc_row=0, rows=min(height, m_all - m),
                base=self.output_base + (m * n_all + n) * self.element,
                bytes_per_row=min(design.cols, n_all - n) * self.element,
                row_stride=n_all * self.element))

    def _place(self, matrix, bits):
        """Put a tile into memory and return what its descriptor says of it."""
        packed = IntegerFormat.of(self.design).pack_rows(matrix, bits)
        base = len(self.contents)
        self.contents += packed.tobytes()
        return {"base": base, "rows": len(packed), "bytes_per_row": packed.shape[1],
                "row_stride": packed.shape[1]}

    def _add_job(self, m, n, k, bank, unsigned, stores):
        design, slot = self.design, len(self.jobs) % self.design.input_slots
        tile = self.b[k:k + design.rows, n:n + design.cols]
        part = self.a[m, k:k + design.rows]
        inner = part.shape[0] if self._transposed else part.shape[1]
        part = part.T if self._transposed else part
        first, final = k == 0, k + design.rows >= len(self.b)
        self.weights.append(Load(destination=Destination.WEIGHT,
                                 **self._place(tile, design.weight_bits)))
        self.operands.append(Load(destination=Destination.OPERAND, slot=slot, take=1, last=1,
                                  **self._place(part, design.activation_bits)))
        self.jobs.append(ArrayJob(
            rows=len(part), slot=slot, row=0, bank=bank, acc_row=0, inner=inner,
            outer=tile.shape[1], free_slot=1, unsigned=int(unsigned),
            accumulate=int(not first and not self._transposed), take_bank=int(first),
            finish_bank=int(final), store=int(stores)))

    @property
    def loads(self):
        """The loads in the order of their jobs, weights first."""
        return [load for pair in zip(self.weights, self.operands) for load in pair]

    @property
    def commands(self):
        return {"loader": self.loads, "array": self.jobs, "store": self.stores}

    def machine(self, *others):
        """A machine that holds the program and its memory, and those of `others`."""
        programs = [self, *others]
        need = max(each.output_base + each.exact.size * each.element for each in programs)
        lines = 1 << (-(-need // line_bytes(self.design)) - 1).bit_length()
        commands = max(len(queue) for each in programs for queue in each.commands.values())
        return Machine(design=self.design, lines=max(lines, 2), commands=commands)

    def stored(self, memory):
        """The result matrix in the memory after a run."""
        rows, cols = self.exact.shape
        values = [int.from_bytes(memory[at:at + self.element], "little", signed=True)
                  for at in range(self.output_base, self.output_base + rows * cols * self.element,
                                  self.element)]
        return np.array(values, dtype=object).reshape(rows, cols)
