"""Runs programs on a compiled machine."""

import ctypes
import functools
import time
from pathlib import Path

import numpy as np
from amaranth.hdl import Fragment, ShapeCastable, Value

from ....rtl import Design
from ....rtl.commands import array_layout, load_layout, store_layout
from ....rtl.counters import COUNTER_BITS, COUNTERS
from ....rtl.machine import QUEUES
from ....rtl.memory_storage import line_bytes
from ....rtl.vector_commands import handoff_layout, vector_layout
from ....workloads.program import Program
from ....workloads.program_check import check_program
from ...errors import DeadlockError
from ...waves import Recorder
from ..packing import pack_commands
from ..run import Progress, RawRun, settling_cycles, watchdog_cycles
from ..watchdog import describe_deadlock
from .recording import CompiledSource, record
from .shown import compiled_machine
from .stand_ins import StandIns
from .variant import Variant
from .watch import COUNTER_PLACES, OVERFLOW_PLACE, Watched

__all__ = ["CompiledMachine"]

SECONDS = 0.1          # between returns from the library
_DONE, _QUIET, _REACHED = 1, 2, 3   # what `cubewave_run` returns
_END = 2 ** 64 - 1     # no cycle at which to return
_LAYOUTS = {"loader": load_layout, "array": array_layout, "vector": vector_layout,
            "handoff": handoff_layout, "store": store_layout}
_QUEUE_NUMBERS = {name: number for number, name in enumerate(QUEUES)}


def _load(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    handle, pointer = ctypes.c_void_p, ctypes.c_void_p
    for name, result, arguments in (
            ("create", handle, []), ("destroy", None, [handle]),
            ("set_memory", None, [handle, pointer, ctypes.c_uint64]),
            ("set_program", None, [handle, ctypes.c_int, pointer, ctypes.c_uint64]),
            ("clear", None, [handle]),
            ("run", ctypes.c_int, [handle, ctypes.c_double, ctypes.c_uint64, ctypes.c_uint64]),
            ("settle", None, [handle]),
            ("record", None, [handle, pointer, ctypes.c_uint32, pointer, ctypes.c_uint32]),
            ("chunks", ctypes.c_uint32, [handle, ctypes.c_uint32]),
            ("changes", ctypes.c_uint32, [handle, pointer, pointer]),
            ("written", ctypes.c_uint64, [handle, pointer]),
            ("row", None, [handle, ctypes.c_uint32, ctypes.c_uint64, pointer]),
            ("quiet", ctypes.c_uint64, [handle]), ("done", ctypes.c_int, [handle]),
            ("begin_cycle", None, [handle]), ("end_cycle", None, [handle]),
            ("read", None, [handle, ctypes.c_int, pointer, ctypes.c_int]),
            ("array", pointer, [handle])):
        function = getattr(library, f"cubewave_{name}")
        function.restype, function.argtypes = result, arguments
    return library


class CompiledMachine:
    """A machine in a shared library that runs programs, each from reset.

    Parameters
    ----------
    design : Design
    path : Path
        The library.
    variant : Variant
        What is in it.
    """

    def __init__(self, design: Design, path: Path, variant: Variant):
        self.design, self.variant = design, variant
        self._folder = path.parent
        self._library = _load(path)
        self._layouts = {name: layout(design) for name, layout in _LAYOUTS.items()}
        self._handle: int | None = None
        self._held: list[np.ndarray] = []     # what the library points to
        #: Cycles without progress after which a run is stopped.
        self.watchdog_cycles = watchdog_cycles(design)

    def run(self, program: Program, progress: Progress | None = None,
            recorder: Recorder | None = None) -> RawRun:
        """Run one program from reset, with a waveform of at most the variant's depth.

        Raises
        ------
        ProgramError
            A command is out of the design's ranges.
        DeadlockError
            No progress for `watchdog_cycles` cycles.
        """
        check_program(program, self.design)
        self._handle = self._library.cubewave_create()
        try:
            memory = self._write_memory(program)
            if program.preload:
                self._phase({"loader": program.preload}, None, 0)
                for _ in range(settling_cycles(self.design)):
                    self._library.cubewave_begin_cycle(self._handle)
                    self._library.cubewave_end_cycle(self._handle)
            commands = {name: program.queue(name) for name in QUEUES}
            record_run = None
            if recorder is not None:
                source = CompiledSource(self._library, self._handle, self._folder, self.design,
                                        self.variant, program, memory)
                source.declare(recorder)
                record_run = functools.partial(record, recorder, source)
            seconds = self._phase(commands, progress, sum(job.rows for job in program.jobs),
                                  record_run)
            return RawRun(counters=self._counters(),
                          outputs=[output.decode(memory[output.base:output.base + output.nbytes])
                                   for output in program.outputs],
                          overflow=bool(self._read(OVERFLOW_PLACE, 1)),
                          seconds=seconds)
        finally:
            self._library.cubewave_destroy(self._handle)
            self._handle, self._held = None, []

    def _phase(self, commands, progress, rows, record_run=None) -> float:
        """Run the queues' commands to their end; host seconds."""
        library, handle = self._library, self._handle
        for name, number in _QUEUE_NUMBERS.items():
            words = self._words(name, commands.get(name, ()))
            library.cubewave_set_program(handle, number, words.ctypes.data, len(words))
        library.cubewave_clear(handle)
        self._seconds, shown = 0.0, time.perf_counter()

        def advance(until: int) -> bool:
            """Run until so many cycles have counted; whether the run has ended."""
            nonlocal shown
            while True:
                started = time.perf_counter()
                status = library.cubewave_run(handle, SECONDS, self.watchdog_cycles, until)
                ended = time.perf_counter()
                self._seconds += ended - started
                if status == _QUIET:
                    raise DeadlockError(self._describe_deadlock())
                if progress is not None and (status == _DONE or ended - shown >= SECONDS):
                    shown = ended
                    progress(self._counter("cycles"), self._counter("activation_rows"), rows)
                if status in (_DONE, _REACHED):
                    return bool(status == _DONE)

        if record_run is None or not record_run(advance, self._settled_counters):
            advance(_END)
        return self._seconds

    def _words(self, name, commands) -> np.ndarray:
        """Commands as the library reads them: 32-bit chunks, the lowest first."""
        layout = self._layouts[name]
        size = -(-layout.size // 32) * 4
        packed = b"".join(word.to_bytes(size, "little")
                          for word in pack_commands(layout, commands))
        words = np.frombuffer(packed, np.uint32).reshape(-1, size // 4)
        self._held.append(words)
        return words

    def _write_memory(self, program) -> np.ndarray:
        size = max(program.memory_bytes, line_bytes(self.design), 1 << 12)
        memory = np.zeros(1 << (size - 1).bit_length(), np.uint8)
        for image in program.images:
            memory[image.base:image.base + image.data.size] = image.data
        self._held.append(memory)
        self._library.cubewave_set_memory(self._handle, memory.ctypes.data, memory.size)
        return memory

    def _describe_deadlock(self) -> str:
        """Needs the signals of the machine, which a run that ends never elaborates."""
        machine = compiled_machine(self.design)
        Fragment.get(machine, StandIns(machine, Variant()))
        watched = Watched(machine)

        def get(value):
            signal = Value.cast(value)
            bits = self._read(watched.place(signal), len(signal))
            shape = value.shape()
            return shape.from_bits(bits) if isinstance(shape, ShapeCastable) else bits

        return describe_deadlock(machine, get, self._library.cubewave_quiet(self._handle))

    def _read(self, place: int, bits: int) -> int:
        """The bits of a watched signal."""
        chunks = max(1, -(-bits // 32))
        buffer = (ctypes.c_uint32 * chunks)()
        self._library.cubewave_read(self._handle, place, buffer, chunks)
        return int.from_bytes(bytes(buffer), "little")

    def _counter(self, name: str) -> int:
        return self._read(COUNTER_PLACES[name], COUNTER_BITS)

    def _settled_counters(self) -> dict[str, int]:
        """What the counters hold as the next cycle begins."""
        self._library.cubewave_settle(self._handle)
        return self._counters()

    def _counters(self) -> dict[str, int]:
        return {name: self._counter(name) for name in COUNTERS}
