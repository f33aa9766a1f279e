"""Place and route with nextpnr: the clock that is reached, and what limits it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .harness import INSTANCE
from .synthesis import Netlist
from .targets import Target
from .tools import run

__all__ = ["PathStep", "Placement", "arguments", "does_not_fit", "place", "read_placement"]

SEED = 1
WANTED_MHZ = 150  # what nextpnr tries for
WORDS = {"ff": "register", "lut": "logic", "mux": "logic", "carry": "adder", "dsp": "multiplier",
         "block_ram": "memory", "lut_ram": "memory"}


@dataclass(frozen=True)
class PathStep:
    """Neighbouring cells of a path that are in one component and of one kind.

    Attributes
    ----------
    component : str
        Its path; "" for the top, "harness" for what is around it.
    kind : str
        "register", "logic", "adder", "multiplier" or "memory".
    signal : str
        The first signal with a name.
    logic_ns, routing_ns : float
        In the cells, and on the way to them.
    """
    component: str
    kind: str
    signal: str
    logic_ns: float
    routing_ns: float


@dataclass(frozen=True)
class Placement:
    """What place and route reached.

    Attributes
    ----------
    fmax_hz : float
    path : tuple of PathStep
        The slowest path from register to register.
    used : dict of str to tuple of int
        Cells used, and those in the device, harness included.
    """
    fmax_hz: float
    path: tuple[PathStep, ...]
    used: Mapping[str, tuple[int, int]]

    @property
    def path_ns(self) -> float:
        return sum(step.logic_ns + step.routing_ns for step in self.path)


def does_not_fit(target: Target, netlist: Netlist) -> str:
    """What the device has too few of, or an empty text."""
    types = netlist.types
    short = [f"{used} of {most} {name}" for name, most in target.capacity.items()
             if (used := sum(types[cell] for cell in name.split("+"))) > most]
    return f"it does not fit {target.device}: {', '.join(short)}" if short else ""


def arguments(target: Target, netlist: Netlist) -> tuple[str, ...]:
    """How a netlist of this size is placed and routed."""
    is_large = target.large > 0 and netlist.counts(target)["lut"] >= target.large
    return (*target.place, *target.place_large) if is_large else target.place


def place(target: Target, netlist: Netlist, folder: Path, seconds: float) -> Placement:
    """Place and route `placed.json`.

    Raises
    ------
    ToolError
    """
    run(target.package, [*arguments(target, netlist), "--report", "report.json",
                         "--freq", str(WANTED_MHZ), "--seed", str(SEED), "--timing-allow-fail",
                         "-q"], folder, seconds)
    with open(folder / "report.json", encoding="utf-8") as file:
        return read_placement(json.load(file), target, netlist)


def read_placement(document: Mapping[str, Any], target: Target, netlist: Netlist) -> Placement:
    """What nextpnr's report says."""
    clocked = [path for path in document["critical_paths"]
               if all(path[end].startswith(("posedge", "negedge")) for end in ("from", "to"))]
    slowest = max(clocked, key=lambda path: sum(step["delay"] for step in path["path"]))
    fmax = min(clock["achieved"] for clock in document["fmax"].values())
    used = {name: (cell["used"], cell["available"])
            for name, cell in document["utilization"].items() if cell["used"]}
    return Placement(fmax * 1e6, tuple(_steps(slowest["path"], target, netlist)), used)


def _steps(path: list[Mapping[str, Any]], target: Target, netlist: Netlist) -> list[PathStep]:
    steps: list[PathStep] = []
    for part in path:
        component, kind, signal = _place(part["to"]["cell"], target, netlist)
        routing = part["type"] == "routing"
        logic_ns, routing_ns = (0.0, part["delay"]) if routing else (part["delay"], 0.0)
        last = steps[-1] if steps else None
        if last is not None and (last.component, last.kind) == (component, kind):
            steps[-1] = PathStep(component, kind, last.signal or signal,
                                 last.logic_ns + logic_ns, last.routing_ns + routing_ns)
        else:
            steps.append(PathStep(component, kind, signal, logic_ns, routing_ns))
    return steps


def _place(cell: str, target: Target, netlist: Netlist) -> tuple[str, str, str]:
    """Component, kind and signal of a cell in the harness."""
    inner = cell.removeprefix(f"{INSTANCE}.")
    if inner == cell:
        return "harness", "register", cell
    # Place and route names the halves of a cell after it, with "$" or "_" and a word.
    while inner and inner not in netlist.cells:
        inner = inner[:max(inner.rfind("$"), inner.rfind("_"), 0)]
    if not inner:
        return "", "logic", ""
    found = netlist.cells[inner]
    return (found.place.component, WORDS.get(target.cells.get(found.type, ""), "logic"),
            found.place.signal)
