"""Follows the contents of a memory."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from amaranth.hdl import MemoryData, Signal, Value

from .fields import Field, fields
from .hierarchy import MemoryTrace

if TYPE_CHECKING:
    from .recorder import Source

__all__ = ["Contents", "row_names"]


def row_names(data: MemoryData) -> Iterator[str]:
    """The names of everything in the rows of a memory."""
    layout = _layout(data)
    return (_name(row, field) for row in range(data.depth) for field in layout)


def _layout(data):
    return fields(Value.cast(Signal(data.shape)))


def _name(row, field):
    return f"row_{row}{field.suffix}"


class Contents:
    """The rows of one memory, which only its write ports change.

    Parameters
    ----------
    trace : MemoryTrace
    declare : callable
        Called with scope, name and field of everything in a row; returns the variables, none
        if the waveform leaves it out.
    source : Source
        Shows what is written, and the rows.
    """

    def __init__(self, trace: MemoryTrace,
                 declare: Callable[[tuple[str, ...], str, Field], list[Any]],
                 source: "Source") -> None:
        self._source, self._trace = source, trace
        layout = _layout(trace.data)
        self._rows: dict[int, list[Any]] = {}
        for row in range(trace.data.depth):
            sinks = [sink for field in layout
                     for sink in declare(trace.scope, _name(row, field), field)]
            if sinks:
                self._rows[row] = sinks
        if self._rows:
            source.watch(trace)
        self._changed: list[int] = []
        self._values: dict[int, int] = {}

    def read_all(self) -> None:
        """All rows are new in the cycle that begins."""
        self._read(list(self._rows))

    def read_written(self) -> None:
        """Find what the cycle that has just ended wrote."""
        if self._rows:
            self._read(sorted(self._source.written(self._trace) & self._rows.keys()))

    def _read(self, rows: list[int]) -> None:
        self._changed = rows
        for row in rows:
            self._values[row] = self._source.row(self._trace, row)

    def changes(self):
        """(variable, value) of the rows that are new in this cycle."""
        for row in self._changed:
            value = self._values[row]
            for variable, convert in self._rows[row]:
                yield variable, convert(value)
