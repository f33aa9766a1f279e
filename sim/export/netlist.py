"""Turns one component of a design, without those within it, into RTLIL."""

import re
from typing import Any

from amaranth.back import rtlil  # type: ignore[attr-defined]  # not in the stubs
from amaranth.hdl import ClockSignal, Fragment, Instance, ResetSignal
from amaranth.hdl._ast import SignalDict
from amaranth.hdl._ir import PortDirection, build_netlist
from amaranth.hdl._nir import Netlist

from .names import tidy_names
from .parts import Port, component_of, ports

__all__ = ["CLOCKING", "has_port", "instance", "module_text"]

#: The ports that a component with registers has beside those of its signature.
CLOCKING = {"clk": ClockSignal, "rst": ResetSignal}

_READ_INIT = re.compile(r"(parameter \\INIT_VALUE \d+')(x+)$", re.MULTILINE)


def module_text(fragment: Fragment, name: str) -> str:
    """The RTLIL of a fragment in which the components within are instances already."""
    component = component_of(fragment)
    assert component is not None
    found: dict[str, Any] = {}
    for port in ports(component):
        port.signal.name = port.name
        found[port.name] = (port.signal, PortDirection.Input if port.is_input
                            else PortDirection.Output)
    netlist = _build_netlist(fragment, found, name)
    checker = rtlil.EmptyModuleChecker(netlist)
    checker.empty.discard(0)  # nothing but wires is a module, too
    builder, names = rtlil.Design(emit_src=False), SignalDict()
    for place, module in enumerate(netlist.modules):
        if not checker.is_empty(place):
            rtlil.ModuleEmitter(builder.module(".".join(module.name), src_loc=module.src_loc),
                                netlist, module, names, empty_checker=checker).emit()
    # pysim's read ports show zeros before their first read.
    text = _READ_INIT.sub(lambda match: match[1] + "0" * len(match[2]), str(builder))
    return _in_order(tidy_names(text), [*CLOCKING, *found])


def instance(fragment: Fragment, name: str, module: str, text: str) -> Instance:
    """What stands for a component in the one around it.

    Its port signals get the name of the instance in front, for there they are internal.

    Parameters
    ----------
    fragment : Fragment
    name : str
        Of the instance.
    module, text : str
        Name and RTLIL of its module.
    """
    component = component_of(fragment)
    assert component is not None
    connections: list[tuple[str, str, Any]] = [
        ("i", port, kind()) for port, kind in CLOCKING.items() if has_port(text, port)]
    for port in ports(component):
        connections.append(("i" if port.is_input else "o", port.name, port.signal))
        _name_in_parent(port, name)
    return Instance(module, *connections)


def has_port(text: str, name: str) -> bool:
    """Whether the module of this RTLIL has such a port."""
    return re.search(rf"^  wire .*(?:input|output) \d+ .*\\{name}$", text, re.MULTILINE) is not None


def _name_in_parent(port: Port, instance_name: str) -> None:
    port.signal.name = f"{instance_name}_{port.name}"
    # Yosys otherwise leaves out the connection of an output that nobody reads.
    port.signal.attrs["keep"] = 1


def _in_order(text: str, names: list[str]) -> str:
    """Number the ports in this order."""
    places = {name: place for place, name in enumerate(names)}

    def number(match: re.Match[str]) -> str:
        return f"{match[1]} {places[match[3]]} {match[2]}\\{match[3]}"
    return re.sub(r"^(  wire .*(?:input|output)) \d+ (.*)\\(\S+)$", number, text,
                  flags=re.MULTILINE)


def _build_netlist(fragment: Fragment, ports_of_it: dict[str, Any], name: str) -> Any:
    """The netlist, without Amaranth's search for combinational loops, whose time grows with the
    square of the widths; pysim, which simulates the same design, refuses any."""
    netlist: Any = Netlist
    check, netlist.check_comb_cycles = netlist.check_comb_cycles, lambda self: None
    try:
        return build_netlist(fragment, ports=ports_of_it, name=name)
    finally:
        netlist.check_comb_cycles = check
