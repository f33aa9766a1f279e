"""The components of an elaborated design, with their ports and their names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Signal, Value
from amaranth.hdl._mem import MemoryInstance
from amaranth.lib import wiring

from .names import safe_name

__all__ = ["Part", "Port", "component_of", "parts", "ports", "snake_case"]


@dataclass(frozen=True)
class Port:
    """A port of a component that is a signal of one bit or more.

    Attributes
    ----------
    name : str
        In Verilog: "__" separates levels of the signature.
    is_input : bool
    signal : Signal
    shape : ShapeLike
        As declared, with fields.
    """
    name: str
    is_input: bool
    signal: Signal
    shape: Any


@dataclass(frozen=True)
class Part:
    """A component within a design.

    Attributes
    ----------
    path : tuple of str
        Names of the submodules down to it.
    component : Component
    fragment : Fragment
        The component, elaborated.
    """
    path: tuple[str, ...]
    component: wiring.Component
    fragment: Any


def component_of(fragment: Any) -> wiring.Component | None:
    """The component that was elaborated to a fragment; None for memories and plain modules."""
    if isinstance(fragment, MemoryInstance):
        return None
    return next((origin for origin in fragment.origins or ()
                 if isinstance(origin, wiring.Component)), None)


def ports(component: wiring.Component) -> list[Port]:
    """The ports, in the order of the signature. Constant ones, such as the ready of a stream
    that is always ready, and those of no bits are left out."""
    found = []
    for path, member, value in component.signature.flatten(component):
        signal = Value.cast(value)
        if isinstance(signal, Signal) and len(signal):
            found.append(Port(safe_name("__".join(str(step) for step in path)),
                              member.flow is wiring.In, signal, member.shape))
    return found


def parts(fragment: Any, path: tuple[str, ...] = ()) -> Iterator[Part]:
    """A fragment's component and all within it, the outer ones first."""
    component = component_of(fragment)
    if component is not None:
        yield Part(path, component, fragment)
    for place, (subfragment, name, _src_loc) in enumerate(fragment.subfragments):
        yield from parts(subfragment, (*path, name or f"part_{place}"))


def snake_case(name: str) -> str:
    """The name of a class as that of a module: MatrixUnit is matrix_unit."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
