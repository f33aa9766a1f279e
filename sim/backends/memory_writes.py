"""Clocked writes of all memories in one process.

pysim has a process for every write port, which expands the enable bit by bit in every cycle.
Here a port that is not enabled costs a look at its enable.
"""

from amaranth.hdl._mem import MemoryInstance
from amaranth.sim._pyrtl import (
    PyRTLProcess,
    _PythonEmitter,
    _RHSValueCompiler,
    _ValueCompiler,
    edge_waker,
)

from .fragments import fragments

__all__ = ["compile_writes", "take_writes"]

MASKS_KEPT = 4096  # of a port


class _Masks(dict):
    """Bits of a memory row that enables stand for, each for `granularity` bits."""

    def __init__(self, granularity):
        super().__init__()
        self._granularity, self._ones = granularity, (1 << granularity) - 1

    def __missing__(self, enables):
        if len(self) >= MASKS_KEPT:
            self.clear()
        mask, place, rest = 0, 0, enables
        while rest:
            if rest & 1:
                mask |= self._ones << place
            rest >>= 1
            place += self._granularity
        self[enables] = mask
        return mask


def take_writes(top):
    """Remove the write ports that no read port of their memory looks through; a list of them."""
    taken = []
    for fragment in fragments(top):
        if isinstance(fragment, MemoryInstance) and not any(
                port._transparent_for for port in fragment._read_ports):
            taken.extend((fragment, port) for port in fragment._write_ports)
            fragment._write_ports.clear()
    return taken


def compile_writes(state, taken):
    """A process that executes the ports of `take_writes`, woken by their clocks."""
    emitter = _PythonEmitter()
    names = {"slots": state.slots, **_ValueCompiler.helpers}
    emitter.append("def run():")
    emitter._level += 1
    for number, (fragment, port) in enumerate(taken):
        names[f"masks_{number}"] = _Masks(port._granularity)
        value = _RHSValueCompiler(state, emitter, mode="curr")
        emitter.append(f"enables = {(1 << len(port._en)) - 1:#x} & {value(port._en)}")
        emitter.append("if enables:")
        with emitter.indent():
            address = f"{(1 << len(port._addr)) - 1:#x} & {value(port._addr)}"
            row = f"{(1 << len(port._data)) - 1:#x} & {value(port._data)}"
            emitter.append(f"slots[{state.get_memory(fragment._data)}].write("
                           f"{address}, {row}, masks_{number}[enables])")
    process = PyRTLProcess(is_comb=False)
    exec(compile(emitter.flush(), "<memory writes>", "exec"), names)
    process.run = names["run"]
    for domain in {id(fragment.domains[port._domain]): fragment.domains[port._domain]
                   for fragment, port in taken}.values():
        state.add_signal_waker(domain.clk, edge_waker(process, 1))
    return process
