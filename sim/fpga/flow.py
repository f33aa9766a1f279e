"""Builds a component for an FPGA: synthesis, then place and route."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...rtl import Design
from ..export import export_top
from .place import Placement, does_not_fit, place
from .synthesis import YOSYS, Netlist, synthesize, wrap
from .targets import Target
from .tools import ToolError

__all__ = ["Build", "build", "packages"]


@dataclass(frozen=True)
class Build:
    """A component on an FPGA.

    Attributes
    ----------
    design : Design
    target : Target
    top : str
        As it was asked for.
    netlist : Netlist
    placement : Placement or None
    unplaced : str
        Why there is no placement.
    """
    design: Design
    target: Target
    top: str
    netlist: Netlist
    placement: Placement | None
    unplaced: str


def packages(target: Target, is_placed: bool) -> list[str]:
    """The Python packages with the tools for a target."""
    return [YOSYS, *([target.package] if is_placed and target.package else [])]


def build(design: Design, top: str, target: Target, *, is_placed: bool = True,
          seconds: float = 1800, say: Callable[[str], None] = lambda line: None) -> Build:
    """Export a component and build it; the tools' files are removed.

    Parameters
    ----------
    design : Design
    top : str
        See :func:`cubewave.sim.export.export_top`.
    target : Target
    is_placed : bool
        Place and route, too.
    seconds : float
        After which a tool is stopped.
    say : callable
        Called with what happens next.

    Raises
    ------
    OptionError
        No component has this name.
    ToolError
        Synthesis failed or was stopped. That place and route did is in the result.
    """
    say("export")
    exported = export_top(design, top)
    # The tools see a folder of their own instead of /tmp, but their working folder is there.
    with tempfile.TemporaryDirectory(prefix="cubewave-fpga-") as name:
        folder = Path(os.path.realpath(name))
        say("synthesis")
        netlist = synthesize(target, exported, folder, seconds)
        placement, unplaced = None, ""
        if not target.package:
            unplaced = f"there is no free place and route for {target.title}"
        elif not is_placed:
            unplaced = "--no-place"
        else:
            unplaced = does_not_fit(target, netlist)
        if not unplaced:
            say("place and route")
            try:
                wrap(target, exported, folder, seconds)
                placement = place(target, netlist, folder, seconds)
            except ToolError as error:
                unplaced = str(error)
    return Build(design, target, top, netlist, placement, unplaced)
