"""pysim with all combinational logic in one process, in the order of its dependences.

pysim runs a process for the combinational logic of every module whenever one of its inputs has
changed, so a chain through several modules runs each of them several times in a clock cycle.
Here every statement runs once for each change of registers or inputs, after the statements that
it depends on. Values, in every cycle, are the same.
"""

import heapq

from amaranth.hdl._ast import SignalDict, SignalSet
from amaranth.hdl._mem import MemoryInstance
from amaranth.hdl._xfrm import LHSMaskCollector  # type: ignore[attr-defined]  # not in the stubs
from amaranth.sim._pyrtl import (
    PyRTLProcess,
    _LHSValueCompiler,
    _PythonEmitter,
    _RHSValueCompiler,
    _StatementCompiler,
    _ValueCompiler,
    comb_waker,
)
from amaranth.sim.pysim import PySimEngine

from .fragments import fragments
from .memory_writes import compile_writes, take_writes

__all__ = ["SettledEngine"]


class SettledEngine(PySimEngine):
    """An engine for `Simulator(..., engine=SettledEngine)`.

    Memories must have clocked read ports only, and no combinational loop may go through the
    statements, as holds for everything in this project.
    """

    def __init__(self, design):
        statements = []
        for fragment in fragments(design.fragment):
            if isinstance(fragment, MemoryInstance) and any(
                    port._domain == "comb" for port in fragment._read_ports):
                raise ValueError("a memory with a combinational read port cannot be settled")
            statements.extend(fragment.statements.pop("comb", ()))
        writes = take_writes(design.fragment)
        super().__init__(design)
        if writes:
            self._processes.add(compile_writes(self._state, writes))
        if statements:
            self._processes.add(_compile(self._state, _ordered(statements)))


class _Group:
    """Statements that share driven signals, in their order in the source."""

    def __init__(self):
        self.statements = []
        self.driven = SignalSet()
        self.read = SignalSet()


def _grouped(statements):
    """Groups of statements such that each signal is driven in one of them."""
    owner = SignalDict()
    groups = []
    for order, statement in enumerate(statements):
        driven = statement._lhs_signals()
        found = []
        for signal in driven:
            group = owner.get(signal)
            if group is not None and not any(group is other for other in found):
                found.append(group)
        group = found[0] if found else _Group()
        for other in found[1:]:
            group.statements.extend(other.statements)
            group.driven.update(other.driven)
            group.read.update(other.read)
            groups.remove(other)
        if not found:
            groups.append(group)
        group.statements.append((order, statement))
        group.driven.update(driven)
        group.read.update(statement._rhs_signals())
        for signal in group.driven:
            owner[signal] = group
    for group in groups:
        group.statements.sort(key=lambda item: item[0])
    return groups, owner


def _ordered(statements):
    """The groups, each after those that drive what it reads."""
    groups, owner = _grouped(statements)
    places = {id(group): place for place, group in enumerate(groups)}
    waiting, readers = [0] * len(groups), [[] for _ in groups]
    for place, group in enumerate(groups):
        sources = {places[id(owner[signal])] for signal in group.read if signal in owner}
        for source in sources - {place}:
            readers[source].append(place)
            waiting[place] += 1
    ready = [place for place, count in enumerate(waiting) if count == 0]
    heapq.heapify(ready)
    ordered = []
    while ready:
        place = heapq.heappop(ready)
        ordered.append(groups[place])
        for reader in readers[place]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heapq.heappush(ready, reader)
    if len(ordered) != len(groups):
        looping = sorted(signal.name for place, group in enumerate(groups) if waiting[place]
                         for signal in group.driven)
        raise ValueError(f"combinational loop through {', '.join(looping)}")
    return ordered


class _SettledValues(_RHSValueCompiler):
    """Reads signals that an earlier statement has computed as they will be."""

    def __init__(self, state, emitter, *, inputs):
        super().__init__(state, emitter, mode="curr", inputs=inputs)
        self.computed = SignalSet()

    def on_Signal(self, value):
        if value in self.computed:
            return f"next_{self.state.get_signal(value)}"
        return super().on_Signal(value)


def _compile(state, groups):
    """One process for all groups."""
    emitter, inputs = _PythonEmitter(), SignalSet()
    values = _SettledValues(state, emitter, inputs=inputs)
    compiler = _StatementCompiler(state, emitter)
    compiler.rhs = values
    compiler.lhs = _LHSValueCompiler(state, emitter, rhs=values)
    emitter.append("def run():")
    emitter._level += 1
    driven = {}
    for group in groups:
        statements = [statement for _order, statement in group.statements]
        masks = LHSMaskCollector()
        masks.visit_stmt(statements)
        for signal, mask in masks.masks():
            index = state.get_signal(signal)
            state.slots[index].is_comb = True
            if mask == (1 << len(signal)) - 1:
                emitter.append(f"next_{index} = {signal.init:#x}")
            else:  # its other bits are registers
                inputs.add(signal)
                emitter.append(f"next_{index} = slots[{index}].curr & {~mask:#x} "
                               f"| {signal.init & mask:#x}")
            if signal.shape().signed and mask & 1 << (len(signal) - 1):
                mask |= -1 << len(signal)
            driven[index] = mask
        for statement in statements:
            compiler(statement)
        values.computed.update(group.driven)
    for index, mask in driven.items():
        emitter.append(f"if slots[{index}].next != next_{index}: "
                       f"slots[{index}].update(next_{index}, {mask:#x})")

    process = PyRTLProcess(is_comb=True)
    names = {"slots": state.slots, **_ValueCompiler.helpers, **_StatementCompiler.helpers}
    exec(compile(emitter.flush(), "<settled>", "exec"), names)
    process.run = names["run"]
    for signal in inputs:
        state.add_signal_waker(signal, comb_waker(process))
    return process
