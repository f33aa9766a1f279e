"""Lets a simulator put code of its own in the place of a component's netlist."""

from typing import Any

from amaranth.hdl import Elaboratable, Value, ValueLike

__all__ = ["left_out", "stand_in"]


def stand_in(platform: Any, component: Any, **ports: ValueLike) -> Elaboratable | None:
    """What a platform puts in the place of (part of) a component; None without one.

    A platform that has any offers `get_stand_in(component, ports)`. What it returns drives and
    reads `ports` as the netlist would, in every cycle.

    Parameters
    ----------
    platform
        As passed to `elaborate`.
    component : Component
        Asks, in its `elaborate`.
    ports : ValueLike
        Inputs and outputs of what is replaced; all registers of it start at 0.
    """
    offer = getattr(platform, "get_stand_in", None)
    if offer is None:
        return None
    return offer(component, {name: Value.cast(value) for name, value in ports.items()})


def left_out(platform: Any, component: Any) -> bool:
    """Whether a platform leaves out a component, or all of a class; outputs keep reset values.

    A simulator may do so with what its program never asks for anything.
    """
    leaves_out = getattr(platform, "leaves_out", None)
    return leaves_out is not None and leaves_out(component)
