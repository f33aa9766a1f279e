"""Runs machines in Amaranth's own simulator."""

import functools
import sys
import time

import numpy as np
from amaranth.hdl import Fragment, ShapeCastable, Value
from amaranth.sim import Simulator

from ...rtl import Design
from ...rtl.counters import COUNTERS
from ...rtl.machine import QUEUES, Machine
from ...workloads.program import Program
from ...workloads.program_check import check_program
from ..errors import DeadlockError, OptionError
from .flatten import flatten
from .packing import pack_commands
from .pysim_recording import PysimRecording
from .run import Progress, RawRun, machine_size, settling_cycles, watchdog_cycles
from .settled import SettledEngine
from .watchdog import MOVES, describe_deadlock

__all__ = ["CLOCK_PERIOD", "PysimMachine", "run_pysim"]

CLOCK_PERIOD = 1e-8   # seconds of simulated time; has no meaning, cycles do
CHUNK = 256           # cycles between looks at the machine


class PysimMachine:
    """An elaborated machine that runs programs one after another, each from reset.

    Parameters
    ----------
    design : Design
    lines, commands : int
        See :class:`Machine`.
    recording : PysimRecording or None
        Or what has its `attach` and `start`: sees every cycle.
    """

    def __init__(self, design: Design, lines: int, commands: int, recording=None):
        self.design = design
        self.machine = machine = Machine(design=design, lines=lines, commands=commands)
        driven = [machine.go, machine.clear,
                  *(getattr(machine, f"{name}_length") for name in QUEUES)]
        elaborated = Fragment.get(machine, None)
        self.flat = flatten(elaborated, keep=driven)
        self._recording = recording
        record = recording and recording.attach(machine, self.flat, elaborated)
        self._simulator = _compile(self.flat.fragment)
        self._simulator.add_clock(CLOCK_PERIOD)
        self._simulator.add_testbench(self._testbench)
        if record is not None:
            self._simulator.add_testbench(record, background=True)
        self._job: tuple[Program, Progress | None] | None = None
        self._run: RawRun | None = None
        #: Cycles without progress after which a run is stopped.
        self.watchdog_cycles = watchdog_cycles(design)

    def run(self, program: Program, progress: Progress | None = None) -> RawRun:
        """Run one program from reset.

        Raises
        ------
        DeadlockError
            No progress for `watchdog_cycles` cycles.
        """
        if self._job is not None:
            self._simulator.reset()
        self._job, self._run = (program, progress), None
        self._simulator.run()
        assert self._run is not None
        return self._run

    # -- the test bench ------------------------------------------------------------------------

    def _get(self, ctx, signal):
        """The value of a signal or view, wherever flattening has put it."""
        value = ctx.get(self.flat.signal(Value.cast(signal)))
        shape = signal.shape()
        return shape.from_bits(value) if isinstance(shape, ShapeCastable) else value

    async def _testbench(self, ctx):
        assert self._job is not None
        program, progress = self._job
        self._write_memory(ctx, program)
        if program.preload:
            await self._phase(ctx, {"loader": program.preload}, None)
            await ctx.delay(settling_cycles(self.design) * CLOCK_PERIOD)
        if self._recording is not None:
            self._recording.start()
        commands = {name: program.queue(name) for name in QUEUES}
        rows = sum(job.rows for job in program.jobs)
        seconds = await self._phase(
            ctx, commands, progress and functools.partial(progress, rows=rows))
        self._run = RawRun(counters=self._counters(ctx, COUNTERS),
                           outputs=self._read_outputs(ctx, program),
                           overflow=bool(self._get(ctx, self.machine.core.overflow)),
                           seconds=seconds)

    async def _phase(self, ctx, commands, progress) -> float:
        """Run the queues' commands to their end; host seconds."""
        machine = self.machine
        for name in QUEUES:
            sequencer = machine.sequencers[name]
            words = pack_commands(sequencer.program.shape, commands.get(name, ()))
            for place, word in enumerate(words):
                ctx.set(Value.cast(sequencer.program[place]), word)
            ctx.set(getattr(machine, f"{name}_length"), len(words))
        ctx.set(machine.clear, 1)
        await ctx.tick()
        ctx.set(machine.clear, 0)
        ctx.set(machine.go, 1)
        started = time.perf_counter()
        moves, quiet = -1, 0
        while not self._get(ctx, machine.done):
            await ctx.delay(CHUNK * CLOCK_PERIOD)
            counters = self._counters(ctx, MOVES)
            before, moves = moves, sum(counters.values())
            quiet = quiet + CHUNK if moves == before else 0
            if quiet > self.watchdog_cycles:
                raise DeadlockError(describe_deadlock(
                    machine, lambda signal: self._get(ctx, signal), quiet))
            if progress is not None:
                cycles = self._counters(ctx, ["cycles"])["cycles"]
                progress(cycles, counters["activation_rows"])
        seconds = time.perf_counter() - started
        ctx.set(machine.go, 0)
        return seconds

    def _counters(self, ctx, names) -> dict[str, int]:
        bank = self.machine.core.counters
        return {name: self._get(ctx, bank.counter(name)) for name in names}

    def _write_memory(self, ctx, program):
        storage = self.machine.channel.storage
        size = storage.line_bytes
        contents = bytearray(-(-program.memory_bytes // size) * size)
        for image in program.images:
            contents[image.base:image.base + image.data.size] = image.data.tobytes()
        for line in range(len(contents) // size):
            word = int.from_bytes(contents[line * size:(line + 1) * size], "little")
            if word:
                ctx.set(storage.halves[line & 1][line >> 1], word)

    def _read_outputs(self, ctx, program) -> list[np.ndarray]:
        storage = self.machine.channel.storage
        size = storage.line_bytes
        outputs = []
        for output in program.outputs:
            first, last = output.base // size, (output.base + output.nbytes - 1) // size
            data = b"".join(
                int(ctx.get(storage.halves[line & 1][line >> 1])).to_bytes(size, "little")
                for line in range(first, last + 1))
            start = output.base - first * size
            outputs.append(output.decode(
                np.frombuffer(data[start:start + output.nbytes], np.uint8)))
        return outputs


def _compile(fragment: Fragment) -> Simulator:
    """A simulator, of values of many thousands of bits too.

    Raises
    ------
    OptionError
        The machine is still too wide for Python's compiler.
    """
    digits, depth = sys.get_int_max_str_digits(), sys.getrecursionlimit()
    sys.set_int_max_str_digits(0)
    sys.setrecursionlimit(max(depth, 5000))
    try:
        return Simulator(fragment, engine=SettledEngine)
    except RecursionError:
        raise OptionError("backend pysim cannot compile a machine with rows this wide; choose "
                          "backend compiled, fewer cols or buffer_port_rows, or level cycle"
                          ) from None
    finally:
        sys.set_int_max_str_digits(digits)
        sys.setrecursionlimit(depth)


@functools.lru_cache(maxsize=4)
def _machine(design: Design, lines: int, commands: int) -> PysimMachine:
    return PysimMachine(design, lines, commands)


def run_pysim(design: Design, program: Program, *, progress: Progress | None = None,
              recorder=None) -> RawRun:
    """Run a program; the elaborated machine is kept for the next program on the same design.

    Raises
    ------
    ProgramError
        A command is out of the design's ranges.
    DeadlockError
        See :meth:`PysimMachine.run`.
    """
    check_program(program, design)
    size = machine_size(design, program)
    if recorder is not None:
        return PysimMachine(design, *size, PysimRecording(recorder)).run(program, progress)
    return _machine(design, *size).run(program, progress)

