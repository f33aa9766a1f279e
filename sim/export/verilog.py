"""Turns the netlist of modules into Verilog that people and tools read."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..backends.compiled.compiler import run_yosys
from .modules import ExportedModule
from .netlist import CLOCKING
from .parts import ports

__all__ = ["verilog_modules"]

# A full proc leaves no process: `always @*` would wait for a change of its inputs, which
# constants never have, and which initial values are not in SystemVerilog. Without parallel cases
# the cases of a choice do not overlap.
_SCRIPT = """\
read_rtlil design.il
hierarchy -check -top {top}
proc
memory_collect
opt_clean -purge
write_verilog -noattr -noparallelcase design.v
"""

_MODULE = re.compile(r"^module (\w+)\([^;]*\);\n(.*?)^endmodule\n", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"^  (input|output) (?:\[[^\]]+\] )?(\w+);\n", re.MULTILINE)
_VARIABLE = re.compile(r"^  (wire|reg) (\[[^\]]+\] )?(\w+)(?: = ([^;]+))?;\n", re.MULTILINE)
_MEMORY_ROWS = re.compile(r"^  initial begin\n((?:    (\w+)\[\d+\] = [^;]+;\n)+)  end\n",
                          re.MULTILINE)
_FUNCTION = re.compile(r"^  function .*?^  endfunction\n", re.MULTILINE | re.DOTALL)
_ARGUMENTS = {"a": "value_of_none", "b": "values_to_choose", "s": "one_hot"}
_ARGUMENT = re.compile(r"\b[abs]\b")
_MEMORY_ROW = re.compile(r"    (\w+)\[(\d+)\] = ([^;]+);\n")


def verilog_modules(modules: Sequence[ExportedModule]) -> dict[str, str]:
    """The text of each module, in the order of `modules`, whose last one is the top."""
    with tempfile.TemporaryDirectory(prefix="cubewave-export-") as name:
        folder = Path(name)
        (folder / "design.il").write_text("".join(module.rtlil for module in modules),
                                          encoding="utf-8")
        run_yosys(_SCRIPT.format(top=modules[-1].name), folder)
        text = (folder / "design.v").read_text(encoding="utf-8")
    bodies = {match[1]: match[2] for match in _MODULE.finditer(text)}
    return {module.name: _module(module, bodies[module.name]) for module in modules}


def _module(module: ExportedModule, body: str) -> str:
    """A module with its ports declared in its head, and initial values apart."""
    directions = {match[2]: match[1] for match in _PORT.finditer(body)}
    body = _PORT.sub("", body)
    heads, initials = {}, []

    def declare(match: re.Match[str]) -> str:
        kind, size, name, value = match[1], match[2] or "", match[3], match[4]
        initial = f"  initial {name} = {value};\n" if value else ""
        if name not in directions:
            return f"  {kind} {size}{name};\n{initial}"
        kind = " reg" if kind == "reg" else ""
        heads[name] = f"  {directions[name]}{kind} {size}{name}"
        initials.append(initial)
        return ""

    body = _VARIABLE.sub(declare, body)
    order = [*CLOCKING, *(port.name for port in ports(module.component))]
    head = ",\n".join(heads[name] for name in order if name in heads)
    body = _MEMORY_ROWS.sub(_memory_loops, body)
    body = _FUNCTION.sub(_choice, body)
    return f"module {module.name} (\n{head}\n);\n{''.join(initials)}{body}endmodule\n"


def _choice(match: re.Match[str]) -> str:
    """A function that chooses one of several values; its arguments hide no signal."""
    return _ARGUMENT.sub(lambda argument: _ARGUMENTS[argument[0]], match[0])


def _memory_loops(match: re.Match[str]) -> str:
    """Initial contents of a memory, runs of equal rows as loops."""
    memory = match[2]
    index = f"{memory}_row"
    lines = [f"  integer {index};\n", "  initial begin\n"]
    for first, last, value in _runs(_MEMORY_ROW.finditer(match[1])):
        if first == last:
            lines.append(f"    {memory}[{first}] = {value};\n")
        else:
            lines.append(f"    for ({index} = {first}; {index} <= {last}; {index} = {index} + 1)\n"
                         f"      {memory}[{index}] = {value};\n")
    return "".join([*lines, "  end\n"] if len(lines) > 2 else [])


def _runs(rows: Iterator[re.Match[str]]) -> Iterator[tuple[int, int, str]]:
    """(first row, last row, value) of runs of equal rows."""
    run: tuple[int, int, str] | None = None
    for row in rows:
        place, value = int(row[2]), row[3]
        if run is not None and run[1] + 1 == place and run[2] == value:
            run = run[0], place, value
        else:
            if run is not None:
                yield run
            run = place, place, value
    if run is not None:
        yield run
