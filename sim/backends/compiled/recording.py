"""Lets a recorder see a run of a compiled machine."""

import ctypes
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from amaranth.hdl import Fragment, Shape, Value

from ....rtl import Design
from ....rtl.machine import QUEUES, Machine
from ....rtl.memory_storage import line_bytes
from ....workloads.program import Program
from ...waves import Recorder
from ...waves.derived import WINDOW
from ...waves.hierarchy import Depth, MemoryTrace, Scope, component_of, traces
from ..packing import pack_commands
from ..run import machine_size
from .array_shown import ArrayShown
from .shown import STORAGE, all_memories, read_places
from .stand_ins import StandIns
from .variant import Variant

__all__ = ["CompiledSource", "record"]


class CompiledSource:
    """What a compiled machine shows a recorder; see :class:`Source`.

    Parameters
    ----------
    library : ctypes.CDLL
    handle : int
        The machine.
    folder : Path
        Of the library.
    design : Design
    variant : Variant
    program : Program
        It sizes the memories, as in pysim.
    memory : ndarray
        Contents of the modelled memory.
    """

    def __init__(self, library: ctypes.CDLL, handle: int, folder: Path, design: Design,
                 variant: Variant, program: Program, memory):
        self._library, self._handle = library, handle
        self._design, self._variant, self._program = design, variant, program
        self._memory = memory
        lines, commands = machine_size(design, program)
        self.machine = Machine(design=design, lines=lines, commands=commands)
        self._top = Fragment.get(self.machine, StandIns(self.machine, variant))
        self._places, self._memories = read_places(folder, self._top, self.machine, variant)
        self._array: ArrayShown | None = None
        self._numbers: dict[tuple, int] = {}              # of signals, by where they are
        self._parts: list[tuple[tuple[Any, int], ...]] = []   # of each: place or request, bits
        self._watched: dict[Scope, set[int]] = {}         # rows that the cycle wrote
        self._programs = {name: self._words(name) for name in QUEUES}
        self._raw = b""
        self._changed: list[int] = []

    def _words(self, name):
        """Contents of a program memory during the run that counts."""
        shape = self.machine.sequencers[name].program.shape
        run = pack_commands(shape, self._program.queue(name))
        before = pack_commands(shape, self._program.preload) if name == "loader" else []
        return [*run, *before[len(run):]]

    def declare(self, recorder: Recorder) -> None:
        """Declare everything that the recorder wants."""
        design, depth = self._design, recorder.depth
        shown = list(traces(self._top, design, depth))
        if self._variant.mesh == "kernel":
            self._array = ArrayShown(self._matrix_unit(), design, depth, recorder.wants)
            shown += self._array.traces
        recorder.declare(self.machine, self, shown, all_memories(self._top, self.machine)
                         if depth >= Depth.MEMORY else ())

    def _matrix_unit(self):
        inside: Any = self._top.find_subfragment("core")
        return component_of(inside.find_subfragment("matrix"))

    # -- what a recorder asks ------------------------------------------------------------------

    def add(self, signal) -> int:
        signal = Value.cast(signal)
        parts = (self._array.parts[signal]
                 if self._array is not None and signal in self._array.parts
                 else ((self._places[signal], len(signal)),))
        if parts not in self._numbers:
            self._numbers[parts] = len(self._parts)
            self._parts.append(parts)
        return self._numbers[parts]

    def watch(self, memory: MemoryTrace) -> None:
        self._watched[memory.scope] = set()

    def written(self, memory: MemoryTrace) -> set[int]:
        return self._watched[memory.scope]

    def row(self, memory: MemoryTrace, place: int) -> int:
        scope, name = memory.scope, ".".join(memory.scope)
        if name in self._memories:
            size = -(-Shape.cast(memory.data.shape).width // 32) * 4
            to = ctypes.create_string_buffer(size)
            self._library.cubewave_row(self._handle, self._memories[name], place, to)
            return int.from_bytes(to.raw, "little")
        if scope[-2] == "storage":
            size = line_bytes(self._design)
            line = 2 * place + (scope[-1] == "odd")
            return int.from_bytes(self._memory[line * size:(line + 1) * size], "little")
        if scope[1].endswith("_program"):
            words = self._programs[scope[1].removesuffix("_program")]
            return words[place] if place < len(words) else 0
        data: Any = memory.data
        return int(data._init._raw[place])   # nothing writes it

    def __getitem__(self, index: int) -> int:
        value = offset = 0
        for entry, bits in self._spans[index]:
            start, end = self._ranges[entry]
            word = int.from_bytes(self._raw[start:end], "little") & (1 << bits) - 1
            value |= word << offset
            offset += bits
        return value

    def changed(self) -> Iterator[tuple[int, int]]:
        for number in dict.fromkeys(number for entry in self._changed
                                    for number in self._users[entry]):
            yield number, self[number]

    # -- the run -------------------------------------------------------------------------------

    def start(self) -> None:
        """From now on the machine compares what has been added from cycle to cycle."""
        sources = list(dict.fromkeys(source for parts in self._parts for source, _bits in parts))
        places = [source for source in sources if not isinstance(source, tuple)]
        requests = [source for source in sources if isinstance(source, tuple)]
        order = {source: entry for entry, source in enumerate((*places, *requests))}
        self._spans = [[(order[source], bits) for source, bits in parts] for parts in self._parts]
        self._users: list[list[int]] = [[] for _ in order]
        for number, spans in enumerate(self._spans):
            for entry, _bits in spans:
                self._users[entry].append(number)
        self._library.cubewave_record(
            self._handle, (ctypes.c_uint32 * len(places))(*places), len(places),
            (ctypes.c_uint32 * (4 * len(requests)))(*(word for each in requests for word in each)),
            len(requests))
        chunks = [self._library.cubewave_chunks(self._handle, entry)
                  for entry in range(len(order))]
        self._ranges, end = [], 0
        for count in chunks:
            self._ranges.append((end, end + 4 * count))
            end += 4 * count

    def look(self) -> None:
        """Take the values of the cycle that has just ended."""
        changed, values = ctypes.POINTER(ctypes.c_uint32)(), ctypes.c_void_p()
        count = self._library.cubewave_changes(self._handle, ctypes.byref(changed),
                                               ctypes.byref(values))
        self._changed = changed[:count]
        self._raw = ctypes.string_at(values, self._ranges[-1][1])
        if self._watched:
            self._look_written()

    def _look_written(self):
        for rows in self._watched.values():
            rows.clear()
        names = {number: name for name, number in self._memories.items()}
        written = ctypes.POINTER(ctypes.c_uint64)()
        count = self._library.cubewave_written(self._handle, ctypes.byref(written))
        for entry in written[:count]:
            memory, row = entry >> 32, entry & 0xffff_ffff
            scope = (("machine", "channel", "storage", ("even", "odd")[row & 1])
                     if memory == STORAGE else tuple(names[memory].split(".")))
            if scope in self._watched:
                self._watched[scope].add(row >> 1 if memory == STORAGE else row)

    def stop(self) -> None:
        """The window is over."""
        self._library.cubewave_record(self._handle, None, 0, None, 0)


def record(recorder: Recorder, source: CompiledSource, advance: Callable[[int], bool],
           counters: Callable[[], Mapping[str, int]]) -> bool:
    """Run through the window of a recorder; whether the run has ended.

    Parameters
    ----------
    recorder : Recorder
    source : CompiledSource
        Declared to the recorder.
    advance : callable
        Runs until so many cycles have counted; True if the run has ended.
    counters : callable
        What the counters hold as the next cycle begins.
    """
    first, last = recorder.first, recorder.last
    macs = 0
    for cycle in [*([first - WINDOW] if first > WINDOW else []),
                  *range(max(1, first - WINDOW + 1), first + 1)]:
        if advance(cycle):
            return True
        before, macs = macs, counters()["useful_macs"]
        recorder.skip(cycle if cycle == first - WINDOW else 1, macs - before)
    recorder.begin(counters())
    source.start()
    cycle = first
    while not advance(cycle + 1):
        source.look()
        recorder.record()
        if cycle == last:
            source.stop()
            recorder.end(counters())
            return False
        cycle += 1
    return True
