# amaranth: UnusedElaboratable=no
"""What a waveform of a compiled machine shows, and which outputs of the library hold it."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from amaranth.hdl import Fragment, Signal
from amaranth.hdl._ast import SignalDict

from ....rtl import Design
from ....rtl.machine import QUEUES, Machine
from ...waves.contents import row_names
from ...waves.hierarchy import Depth, MemoryTrace, Scope, memories, traces
from ..flatten import find_aliases
from .stand_ins import StandIns
from .variant import Variant
from .watch import Watched

__all__ = ["NAMES", "STORAGE", "all_memories", "choose_variant", "compiled_machine", "read_places",
           "shown_signals", "write_places"]

NAMES = "names.json"   # in the folder of a library
COMMANDS = 1 << 20     # that a program can have: only the width of its length depends on it
LINES = 1 << 10        # of the storage's netlist, which is not used
STORAGE = 0xffff_ffff  # number of the modelled memory among the memories


def compiled_machine(design: Design) -> Machine:
    """The machine whose netlist is compiled; nothing is elaborated yet."""
    return Machine(design=design, lines=LINES, commands=COMMANDS)


def shown_signals(top: Fragment, machine: Machine, variant: Variant) -> Mapping[str, Signal]:
    """The signals of the elaborated machine by the names that a waveform has for them.

    Signals that are always equal are the same one, as in `flatten`.
    """
    if variant.depth is None:
        return {}
    aliases = find_aliases(top)
    return {_full(trace): aliases.get(trace.signal, trace.signal)
            for trace in traces(top, machine.core.design, variant.depth)}


def choose_variant(design: Design, variant: Variant, depth: Depth,
                   wanted: Callable[[Scope, str], bool]) -> Variant:
    """The smallest variant that has all that a waveform shows.

    Parameters
    ----------
    design : Design
    variant : Variant
        What the program needs.
    depth : Depth
    wanted : callable
        (scope, name) -> whether the waveform shows it.
    """
    small = replace(variant, depth=depth)
    whole = replace(small, vector=True, windows=True)
    everything = replace(whole, lanes=depth >= Depth.CELLS)
    names = [name for name in _names(design, everything) if wanted(*name)]
    for candidate in (small, whole):
        if set(names) <= set(_names(design, candidate)):
            return candidate
    return everything


def _names(design, variant) -> Iterator[tuple[Scope, str]]:
    machine = compiled_machine(design)
    top = Fragment.get(machine, StandIns(machine, variant))
    for trace in traces(top, design, variant.depth):
        yield trace.scope, trace.name
        if trace.field.names:
            yield trace.scope, trace.name + "_text"
    if variant.shows_memories:
        for memory in memories(top):
            for name in row_names(memory.data):
                yield memory.scope, name


def _full(trace) -> str:
    return ".".join((*trace.scope, trace.name))


def write_places(folder: Path, shown: Mapping[str, Signal], watched: Watched,
                 boxes: Mapping[str, int]) -> None:
    """Write down where a recorder finds signals and memories.

    Parameters
    ----------
    folder : Path
    shown : dict of str to Signal
    watched : Watched
    boxes : dict of str to int
        Numbers of the memories in boxes, by their names.
    """
    (folder / NAMES).write_text(json.dumps({
        "signals": {name: watched.place(signal) for name, signal in shown.items()},
        "memories": boxes}), encoding="utf-8")


def read_places(folder: Path, top: Fragment, machine: Machine,
                variant: Variant) -> tuple[SignalDict, dict[str, int]]:
    """Places of all signals of a machine that was elaborated anew, and its memories' numbers."""
    assert variant.depth is not None
    written: dict[str, Any] = json.loads((folder / NAMES).read_text(encoding="utf-8"))
    places = SignalDict()
    for trace in traces(top, machine.core.design, variant.depth):
        places[trace.signal] = written["signals"][_full(trace)]
    return places, written["memories"]


def all_memories(top: Fragment, machine: Machine) -> Iterator[MemoryTrace]:
    """The memories of a machine, those that are host memory too."""
    yield from memories(top)
    for name in QUEUES:
        yield MemoryTrace(("machine", f"{name}_program", "memory"),
                          machine.sequencers[name].program)
    for name, data in zip(("even", "odd"), machine.channel.storage.halves):
        yield MemoryTrace(("machine", "channel", "storage", name), data)
