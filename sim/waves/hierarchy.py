"""Finds what a waveform of an elaborated design shows, and under which names."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from amaranth.hdl import Fragment, MemoryData, Signal, Value, signed
from amaranth.hdl._ast import SignalSet
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, WritePort

from ...rtl import Design
from ...rtl.delay import Delay
from ...rtl.exchange import Exchange
from ...rtl.handoff import HandoffUnit
from ...rtl.handoff_formats import ProbabilityFormat, ScoreFormat, ScoreShift
from ...rtl.mac import WeightStationaryCell
from ...rtl.matrix_unit import MatrixUnit
from ...rtl.memory_storage import MemoryStorage
from ...rtl.output_cell import OutputStationaryCell
from ...rtl.skew import Skew
from ...rtl.store import StoreUnit
from ...rtl.vector_engine import VectorEngine
from ...rtl.vector_fill import VectorFill
from ...rtl.vector_lanes import VectorLanes
from ...rtl.vector_unit import VectorUnit
from .fields import Field, fields

__all__ = ["Depth", "MemoryTrace", "Trace", "cell_traces", "component_of", "memories", "traces"]

Scope = tuple[str, ...]


class Depth(enum.IntEnum):
    """How much a waveform shows; each depth includes the ones before."""
    CONTROL = 0  # ports and registers of all units
    CELLS = 1    # and of cells and vector lanes, and registers that move in lock-step with them
    MEMORY = 2   # and the contents of all memories


#: Components that only a deeper waveform shows, with all that is in them.
_DEPTHS = {**dict.fromkeys((WeightStationaryCell, OutputStationaryCell, Skew, Delay, VectorLanes,
                            ScoreShift, ScoreFormat, ProbabilityFormat, Exchange),
                           Depth.CELLS),
           Memory: Depth.MEMORY}

#: A model whose registers, if it has any, depend on how it is simulated.
_PORTS_ONLY = (MemoryStorage,)

#: Likewise, patterns of the names of what a component passes on of the data of all lanes.
_LANES = {VectorUnit: ("handoff_data", "load_data", "handoff_read_data", "store_read_data"),
          VectorFill: ("load_data",), VectorEngine: ("line_*",), StoreUnit: ("vector_data",),
          HandoffUnit: ("data", "vector_data", "vector_read_data", "operand_data", "word",
                        "elements", "shifted_*")}


@dataclass(frozen=True)
class Trace:
    """A field of a signal, and where the waveform shows it.

    Attributes
    ----------
    scope : tuple of str
        Names of the modules around it, the outermost first.
    name : str
        Its name there; "__" separates levels, as in exported Verilog: `i__payload__base`.
    signal : Signal
    field : Field
    is_register : bool
        Holds its value from one clock edge to the next.
    """
    scope: Scope
    name: str
    signal: Signal
    field: Field
    is_register: bool = False


@dataclass(frozen=True)
class MemoryTrace:
    """A memory whose contents can be shown in this scope, and its write ports if it has any."""
    scope: Scope
    data: MemoryData
    write_ports: tuple[WritePort, ...] = ()


def traces(top: Fragment, design: Design, depth: Depth,
           scope: Scope = ("machine",)) -> Iterator[Trace]:
    """Every port and every named register, down to `depth`.

    Parameters
    ----------
    top : Fragment
        The elaborated :class:`Machine`, or a part of it, before :func:`flatten`.
    scope : tuple of str
        Its name.
    """
    for inner, fragment, component, least in _components(top, scope):
        if least <= depth and type(component) is not Memory:
            hidden = _LANES.get(type(component), ()) if depth < Depth.CELLS else ()
            yield from _traces(inner, fragment, component, design, hidden)


def cell_traces(cell: Fragment) -> Iterator[Trace]:
    """Every port and every register of an elaborated cell of the array, in scope ()."""
    yield from _traces((), cell, component_of(cell), None, ())


def memories(top: Fragment, scope: Scope = ("machine",)) -> Iterator[MemoryTrace]:
    """Every memory of an elaborated machine, or of a part of it with this name."""
    for inner, _fragment, component, _least in _components(top, scope):
        if isinstance(component, Memory):
            yield MemoryTrace(inner, component.data, tuple(component.write_ports))


def component_of(fragment: Any) -> Any:
    """The component that a fragment is the elaboration of, if it is one."""
    return next((origin for origin in fragment.origins or ()
                 if isinstance(origin, wiring.Component)), None)


def _components(fragment, scope, least=Depth.CONTROL):
    """Scope, fragment, component if it is one, and the least depth that shows it."""
    component = component_of(fragment)
    least = max(least, _DEPTHS.get(type(component), least))
    yield scope, fragment, component, least
    for subfragment, name, _src_loc in fragment.subfragments:
        yield from _components(subfragment, (*scope, name), least)


def _traces(scope, fragment, component, design, hidden):
    registers = SignalSet(signal for statement in fragment.statements.get("sync", ())
                          for signal in statement._lhs_signals())
    used, seen = set(), SignalSet()
    inner = () if isinstance(component, _PORTS_ONLY) else registers
    for name, signal in [*_ports(component), *((signal.name, signal) for signal in inner)]:
        if signal in seen or any(fnmatchcase(name, pattern) for pattern in (*hidden, "$*")):
            continue
        seen.add(signal)
        layout = _lanes(component, name, design)
        for field in fields(signal, layout):
            yield Trace(scope, _unique(name + field.suffix, used), signal, field,
                        signal in registers)


def _ports(component):
    if component is None:
        return
    for path, _member, value in component.signature.flatten(component):
        signal = Value.cast(value)
        if isinstance(signal, Signal):
            yield "__".join(str(part) for part in path), signal


def _lanes(component, name, design):
    """Layout of a port that is declared as plain bits and yet holds one number per lane."""
    if isinstance(component, MatrixUnit) and name == "activations":
        return data.ArrayLayout(signed(design.activation_bits), design.rows)
    return None


def _unique(name, used):
    number, candidate = 1, name
    while candidate in used:
        number += 1
        candidate = f"{name}_{number}"
    used.add(candidate)
    return candidate
