"""Follows the contents of a memory."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Signal, Value

from .fields import Field, fields
from .hierarchy import MemoryTrace
from .probe import Probe

__all__ = ["Contents"]


class Contents:
    """The rows of one memory, which only its write ports change.

    Parameters
    ----------
    trace : MemoryTrace
    declare : callable
        Called with scope, name and field of everything in a row; returns the variables, none
        if the waveform leaves it out.
    probe : Probe
        Watches the write ports.
    """

    def __init__(self, trace: MemoryTrace,
                 declare: Callable[[tuple[str, ...], str, Field], list[Any]],
                 probe: Probe) -> None:
        memory = trace.memory
        layout = fields(Value.cast(Signal(memory.shape)))
        self._rows: dict[int, tuple[Value, list[Any]]] = {}
        for row in range(memory.depth):
            sinks = [sink for field in layout
                     for sink in declare(trace.scope, f"row_{row}{field.suffix}", field)]
            if sinks:
                self._rows[row] = Value.cast(memory.data[row]), sinks
        self._ports = [(probe.add(port.en), probe.add(port.addr))
                       for port in memory.write_ports] if self._rows else []
        self._changed: list[int] = []
        self._values: dict[int, int] = {}

    def read_all(self, ctx) -> None:
        """All rows are new in the cycle that begins."""
        self._changed = list(self._rows)
        self._values = {row: ctx.get(value) for row, (value, _sinks) in self._rows.items()}

    def read_written(self, ctx, probe: Probe) -> None:
        """Find what the cycle that has just ended wrote."""
        self._changed = sorted({probe[address] for enable, address in self._ports
                                if probe[enable]} & self._rows.keys())
        for row in self._changed:
            self._values[row] = ctx.get(self._rows[row][0])

    def changes(self):
        """(variable, value) of the rows that are new in this cycle."""
        for row in self._changed:
            value = self._values[row]
            for variable, convert in self._rows[row][1]:
                yield variable, convert(value)
