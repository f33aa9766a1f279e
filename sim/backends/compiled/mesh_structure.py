"""Finds out from an elaborated mesh how its cells are connected."""

import re
from dataclasses import dataclass

from amaranth.hdl import Fragment, Shape, Signal, Value
from amaranth.hdl._ast import Assign, Concat, Operator, SignalDict, SignalSet, Slice
from amaranth.lib import wiring

from ...waves.hierarchy import cell_traces
from .expressions import UntranslatableError
from .statements import Block, Register

__all__ = ["Input", "MeshStructure"]

_CELL = re.compile(r"cell_(\d+)_(\d+)")


@dataclass(frozen=True)
class Input:
    """Where a cell takes an input from.

    Attributes
    ----------
    signal : Signal
        The input of the cell.
    source : str
        "left" or "above": a register of the neighbour; "row" or "col": what enters the row or
        column from outside, in every cell of it.
    register : Register or None
        The neighbour's.
    edge : (int, Shape) or None
        For "left" and "above": first bit and shape of what enters at the edge instead, in the
        lane word; None is the signal's initial value. For "row" and "col": of the input.
    """
    signal: Signal
    source: str
    register: Register | None
    edge: tuple[int, Shape] | None


class MeshStructure:
    """The cell of a mesh and its connections, found in a mesh of 2x2.

    Attributes
    ----------
    block : Block
        The cell.
    inputs : list of Input
    traces : list of Trace
        Names of the cell's signals in a waveform, for a scope ().
    signals : list of Signal
        Those signals, each once.
    output : Register
        What leaves the cells of the bottom row.
    row_bits, col_bits, sum_bits : int
        Width of a lane word that enters a row and a column, and of what leaves a column.
    """

    def __init__(self, mesh):
        self.row_bits = len(Value.cast(mesh.i_rows)) // 2
        self.col_bits = len(Value.cast(mesh.i_cols)) // 2
        self.sum_bits = len(Value.cast(mesh.o)) // 2
        self._rows, self._cols = Value.cast(mesh.i_rows), Value.cast(mesh.i_cols)
        fragment = Fragment.get(mesh, None)
        self._ports = SignalDict()          # of every cell: signal -> (row, col, port)
        cells = {}
        for subfragment, name, _src_loc in fragment.subfragments:
            place = _CELL.fullmatch(name or "")
            if not place:
                raise UntranslatableError(f"submodule {name} of a mesh")
            component = next(origin for origin in subfragment.origins
                             if isinstance(origin, wiring.Component))
            where = int(place[1]), int(place[2])
            cells[where] = subfragment
            for path, _member, value in component.signature.flatten(component):
                self._ports[Value.cast(value)] = (*where, ".".join(map(str, path)))
        self.block = Block(cells[1, 1])
        self.traces = list(cell_traces(cells[1, 1]))
        self.signals = list(SignalSet(trace.signal for trace in self.traces))
        self._model = {port: signal for signal, (row, col, port) in self._ports.items()
                       if (row, col) == (1, 1)}
        self._drivers, bottom = self._read(fragment, Value.cast(mesh.o))
        self.output = self._output(bottom)
        self.inputs = [self._input(port, signal) for port, signal in self._model.items()
                       if self.block.is_input(signal)]

    def _read(self, fragment, output):
        drivers, bottom = {}, None
        if set(fragment.statements) - {"comb"}:
            raise UntranslatableError("registers of a mesh outside its cells")
        for statement in fragment.statements["comb"]:
            if not isinstance(statement, Assign) or not isinstance(statement.lhs, Signal):
                raise UntranslatableError(f"in a mesh: {statement!r}")
            if statement.lhs is output:
                bottom = statement.rhs
            else:
                drivers[self._ports[statement.lhs]] = statement.rhs
        return drivers, bottom

    def _output(self, bottom):
        assert isinstance(bottom, Concat)
        places = [self._ports[_stripped(part)] for part in bottom.parts]
        port = places[0][2]
        if places != [(1, col, port) for col in range(2)]:
            raise UntranslatableError("what leaves a mesh is not its bottom row")
        return self._register(port)

    def _register(self, port):
        register = self.block.register(self._model[port])
        if register is None:
            raise UntranslatableError(f"a cell's output {port} is not a register")
        return register

    def _source(self, row, col, port):
        """What drives an input of a cell: kind, and the neighbour's port or bits of the lane."""
        value = self._drivers.get((row, col, port))
        if value is None:
            return "init", None
        inner, shape = _stripped(value), value.shape()
        if isinstance(inner, Signal) and inner in self._ports:
            from_row, from_col, name = self._ports[inner]
            kind = {(0, 1): "left", (1, 0): "above"}.get((row - from_row, col - from_col))
            if kind:
                return kind, name
        start, inner = 0, value
        while isinstance(inner, Slice | Operator):
            if isinstance(inner, Slice):
                start, inner = start + inner.start, inner.value
            else:
                inner = inner.operands[0]
        for kind, signal, lane, width in (("row", self._rows, row, self.row_bits),
                                          ("col", self._cols, col, self.col_bits)):
            if inner is signal and start // width == lane:
                return kind, (start % width, shape)
        raise UntranslatableError(f"input {port} of a cell is {value!r}")

    def _input(self, port, signal):
        found = {(row, col): self._source(row, col, port)
                 for row in range(2) for col in range(2)}
        kind, what = found[1, 1]
        at_edge = {"left": [(0, 0), (1, 0)], "above": [(0, 0), (0, 1)]}.get(kind, [])
        inside = [found[place] for place in found if place not in at_edge]
        edges = [found[place] for place in at_edge]
        outside = {"left": "row", "above": "col"}.get(kind)
        if any(source != (kind, what) for source in inside) or any(
                edge != edges[0] or edge[0] not in (outside, "init") for edge in edges):
            raise UntranslatableError(f"input {port} differs from cell to cell")
        if kind in ("row", "col"):
            return Input(signal, kind, None, what)
        if kind == "init":
            return Input(signal, "init", None, None)
        return Input(signal, kind, self._register(what), edges[0][1])


def _stripped(value):
    while isinstance(value, Operator) and value.operator in ("u", "s"):
        value = value.operands[0]
    return value
