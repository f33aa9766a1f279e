"""What a waveform shows of an array whose mesh is a kernel, and where in the kernel it is."""

from collections.abc import Callable, Iterator
from typing import Any

from amaranth.hdl import Fragment, Module, Signal, Value
from amaranth.hdl._ast import SignalDict
from amaranth.lib import wiring

from ....rtl import Design
from ....rtl.matrix_unit import MatrixUnit
from ....rtl.mesh import Mesh
from ....rtl.output_mesh import OutputMesh
from ...waves.hierarchy import Depth, Scope, Trace, component_of, traces
from .mesh_capture import CELL, COL, ROW, SUM
from .mesh_structure import MeshStructure

__all__ = ["ArrayShown", "Part"]

#: Bits of a signal: a request to the kernel (kind, a, b, c), and how many of its lowest bits.
Part = tuple[tuple[int, int, int, int], int]

SCOPE: Scope = ("machine", "core", "matrix")
_KINDS = {"row_skew": ROW, "col_skew": COL, "deskew": SUM}


class _WithoutCells:
    """A platform on which a mesh has no cells."""

    def get_stand_in(self, component: wiring.Component, _ports: dict[str, Value]) -> Module | None:
        return Module() if isinstance(component, Mesh | OutputMesh) else None


class ArrayShown:
    """The signals of mesh and triangles; of cells, those that a waveform wants.

    Parameters
    ----------
    unit : MatrixUnit
    design : Design
    depth : Depth
    wanted : callable
        (scope, name) -> whether the waveform shows it.

    Attributes
    ----------
    traces : list of Trace
    parts : SignalDict
        Of the signal of every trace: tuple of Part, the lowest bits first.
    """

    def __init__(self, unit: MatrixUnit, design: Design, depth: Depth,
                 wanted: Callable[[Scope, str], Any]):
        self._design = design
        self._fragment = _elaborate(unit)
        self.parts = SignalDict()
        self.traces = list(traces(self._fragment, design, depth, SCOPE))
        for name, kind in _KINDS.items():
            self._place_skew(name, kind)
        mesh = self._component("mesh")
        row_skew, col_skew, deskew = (self._component(name) for name in _KINDS)
        for ours, theirs in ((mesh.i_rows, row_skew.o), (mesh.i_cols, col_skew.o),
                             (mesh.o, deskew.i)):
            self.parts[Value.cast(ours)] = self.parts[Value.cast(theirs)]
        if depth >= Depth.CELLS:
            self.traces.extend(self._cells(unit.mesh(2, 2), wanted))

    def _component(self, name) -> Any:
        return component_of(self._fragment.find_subfragment(name))

    def _place_skew(self, name, kind):
        """Lane words of a triangle, by the cycles since they entered it."""
        skew = self._component(name)
        lanes = range(self._design.rows if kind == ROW else self._design.cols)
        width = len(Value.cast(skew.i)) // len(lanes)
        self.parts[Value.cast(skew.i)] = tuple(((kind, lane, 0, 0), width) for lane in lanes)
        self.parts[Value.cast(skew.o)] = tuple(
            ((kind, lane, skew.latency(lane), 0), width) for lane in lanes)
        for trace in self.traces:
            stage = trace.name.removeprefix("stage_")
            if trace.scope[-1] == name and stage.isdigit():
                self.parts[trace.signal] = tuple(
                    ((kind, lane, int(stage), 0), width) for lane in lanes
                    if skew.latency(lane) >= int(stage))

    def _cells(self, mesh, wanted) -> Iterator[Trace]:
        structure = MeshStructure(mesh)
        numbers = SignalDict((signal, number)
                             for number, signal in enumerate(structure.signals))
        inputs = SignalDict((entry.signal, entry) for entry in structure.inputs)
        signals: dict[tuple, Signal] = {}
        for row in range(self._design.rows):
            for col in range(self._design.cols):
                scope = (*SCOPE, "mesh", f"cell_{row}_{col}")
                for trace in structure.traces:
                    if not wanted(scope, trace.name):
                        continue
                    signal, r, c = trace.signal, row, col
                    entry = inputs.get(signal)
                    if entry is not None and (c if entry.source == "left" else
                                              r if entry.source == "above" else 0):
                        # it is the neighbour's register
                        signal = entry.register.signal
                        r, c = (r, c - 1) if entry.source == "left" else (r - 1, c)
                    request = CELL, r, c, numbers[signal]
                    if request not in signals:
                        signals[request] = Signal.like(signal)
                        self.parts[signals[request]] = (request, len(signal)),
                    yield Trace(scope, trace.name, signals[request], trace.field,
                                trace.is_register)


def _elaborate(unit) -> Fragment:
    """The array of a matrix unit alone, without cells."""
    m = Module()
    unit.elaborate_array(m, *(Signal(name=name) for name in ("entering", "unsigned")),
                         Signal(2, name="marks"), Signal(name="mark"))
    return Fragment.get(m, _WithoutCells())
