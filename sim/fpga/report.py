"""Tables and JSON of an FPGA build."""

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from .flow import Build
from .place import Placement
from .targets import KINDS

__all__ = ["Speed", "document", "print_build"]

HEADERS = {"lut": "LUT", "carry": "carry", "mux": "mux", "ff": "flip-flop", "dsp": "DSP",
           "block_ram": "block RAM", "lut_ram": "LUT RAM"}

WHOLE = ("core", "axi_core")        # tops that run a workload by themselves
IGNORED = {"GND", "VCC", "GSR"}     # cells that are no resource


@dataclass(frozen=True)
class Speed:
    """A run at the clock that was reached.

    Attributes
    ----------
    workload : str
    cycles, useful_macs : int
    """
    workload: str
    cycles: int
    useful_macs: int

    def seconds(self, hz: float) -> float:
        return self.cycles / hz

    def gmacs(self, hz: float) -> float:
        """Useful multiply-accumulates, 10**9 per second."""
        return self.useful_macs / self.cycles * hz / 1e9


def document(result: Build, speed: Speed) -> dict[str, Any]:
    """What `--json` writes."""
    target, placed = result.target, result.placement
    found: dict[str, Any] = {
        "schema": 1, "design": result.design.to_dict(), "top": result.top,
        "target": target.name, "device": target.device,
        "resources": result.netlist.counts(target),
        "cells": dict(sorted(result.netlist.types.items())),
        "parts": result.netlist.share(target),
        "workload": asdict(speed), "note": target.note or None, "place_and_route": None,
        "reason": result.unplaced or None}
    if placed is not None:
        found["place_and_route"] = {
            "fmax_hz": placed.fmax_hz,
            "used": {name: {"used": used, "available": most}
                     for name, (used, most) in placed.used.items()},
            "critical_path": [asdict(step) for step in placed.path],
            "seconds": speed.seconds(placed.fmax_hz), "gmacs_per_s": speed.gmacs(placed.fmax_hz),
            "peak_gmacs_per_s": result.design.macs_per_cycle * placed.fmax_hz / 1e9}
    return found


def print_build(console: Console, result: Build, speed: Speed, name: str) -> None:
    """Print resources, clock, critical path and speed."""
    design, target = result.design, result.target
    console.print(f"{result.top} of {name}, {design.rows}x{design.cols}, on {target.title} "
                  f"({target.device})")
    console.print()
    _print_resources(console, result)
    console.print()
    placed = result.placement
    if placed is None:
        console.print(f"no place and route: {result.unplaced}")
        return
    note = f"; {target.note}" if target.note and result.netlist.counts(target)["dsp"] else ""
    console.print(f"Fmax       {placed.fmax_hz / 1e6:.1f} MHz, after place and route{note}")
    peak = design.macs_per_cycle * placed.fmax_hz / 1e9
    whole = "" if result.top in WHOLE else ", if all of the core had this clock"
    console.print(f"speed      {speed.gmacs(placed.fmax_hz):.2f} of {peak:.2f} GMAC/s: "
                  f"{speed.workload} in {speed.seconds(placed.fmax_hz) * 1e6:,.1f} us, "
                  f"{speed.cycles:,} cycles{whole}")
    console.print()
    _print_path(console, placed)


def _print_resources(console: Console, result: Build) -> None:
    target = result.target
    shares = result.netlist.share(target)
    kinds = [kind for kind in KINDS if any(share[kind] for share in shares.values())]
    table = _table(("", *(HEADERS[kind] for kind in kinds)))
    total = result.netlist.counts(target)
    table.add_row("all", *(f"{total[kind]:,}" for kind in kinds))
    for part, share in shares.items():
        table.add_row(f"  {part or '(itself)'}", *(f"{share[kind]:,}" for kind in kinds))
    console.print(table)
    other = sorted(set(result.netlist.types) - set(target.cells) - IGNORED)
    if other:
        console.print(f"not counted: {', '.join(other)}")


def _print_path(console: Console, placed: Placement) -> None:
    table = _table(("ns", "cells", "way", "what", "where"), left=("what", "where"))
    passed = 0.0
    for step in placed.path:
        passed += step.logic_ns + step.routing_ns
        where = ".".join(filter(None, (step.component, step.signal)))
        table.add_row(f"{passed:.1f}", f"{step.logic_ns:.1f}", f"{step.routing_ns:.1f}",
                      step.kind, where)
    console.print(f"slowest path, {placed.path_ns:.1f} ns:")
    console.print(table)


def _table(headers: tuple[str, ...], left: tuple[str, ...] = ("",)) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for header in headers:
        table.add_column(header, justify="left" if header in left else "right", no_wrap=True)
    return table

