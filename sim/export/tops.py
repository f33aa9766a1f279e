"""The components of a design that can be the top of an export, by name."""

from collections.abc import Iterable

from amaranth.hdl import Fragment

from ...rtl import Design
from ...rtl.axi_core import AxiCore
from ...rtl.core import Core
from ...rtl.design_fields import unknown_name
from ...rtl.machine import Machine
from ..errors import OptionError
from .export import Export, export_component, export_fragment
from .parts import Part, parts, snake_case

__all__ = ["AXI_CORE", "export_top", "find_part"]

AXI_CORE = "axi_core"

#: Units that have another name on the command line than their class.
ALIASES = {"array": "matrix_unit", "vector": "vector_unit", "handoff": "handoff_unit",
           "memory": "memory_channel", "store": "store_unit", "cell": "weight_stationary_cell"}


def export_top(design: Design, name: str = "core", *, lines: int = 1 << 10,
               commands: int = 1 << 8) -> Export:
    """Export a component of a design.

    Parameters
    ----------
    design : Design
    name : str
        "core"; "axi_core", the core with AXI4-Stream-like ports; "machine", the core with a
        model of its memory; or any component of them, by its class, its instance or its path.
    lines, commands : int
        Size of the machine's memory model and programs.

    Raises
    ------
    OptionError
        No component has this name; the message has the nearest that one has.
    """
    if name == AXI_CORE:
        return export_component(AxiCore(design=design), design, name)
    if name == "core":
        return export_component(Core(design=design), design, name)
    machine = Machine(design=design, lines=lines, commands=commands)
    part = find_part(Fragment.get(machine, None), name)
    return export_fragment(part.fragment, design, part.path[-1] if part.path else name)


def find_part(machine: Fragment, name: str) -> Part:
    """The first component of an elaborated machine that has a name."""
    named = _named(parts(machine))
    if name not in named:
        raise OptionError(unknown_name("component", name, [*named, AXI_CORE]))
    return named[name]


def _named(found: Iterable[Part]) -> dict[str, Part]:
    """Components by the names that they go by; an outer one comes first.

    A path wins over the name of a class, and that over the name of an instance.
    """
    found = list(found)
    named: dict[str, Part] = {}
    for part in found:
        named.setdefault(".".join(part.path) or "machine", part)
    for part in found:
        named.setdefault(snake_case(type(part.component).__name__), part)
    for part in found:
        if part.path:
            named.setdefault(part.path[-1], part)
    for alias, name in ALIASES.items():
        if name in named:
            named[alias] = named[name]
    return named
