"""Chooses the simulator of a run at level rtl, and runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...rtl import Design
from ...rtl.design_fields import unknown_name
from ...workloads.program import Program
from ..errors import OptionError
from .host_time import rtl_seconds
from .run import Progress, RawRun

if TYPE_CHECKING:
    from ..waves import Recorder

__all__ = ["BACKENDS", "BUILD_WORTH_SECONDS", "MESHES", "Backend", "LOAD_WORTH_SECONDS"]

BACKENDS = ("auto", "pysim", "compiled")
MESHES = ("kernel", "netlist")

# A build takes some tens of seconds of CPU time with the mesh as a kernel; a library from the
# cache is loaded in a tenth of a second, but asking for it and the checks take a second.
BUILD_WORTH_SECONDS = 40.0
LOAD_WORTH_SECONDS = 4.0

PYSIM_WIDTH = 256   # elements of a row beyond which Python's compiler may refuse a machine


@dataclass(frozen=True)
class Backend:
    """How a run at level rtl is simulated.

    Attributes
    ----------
    name : str
        "auto", "pysim" or "compiled".
    mesh : str or None
        Of the compiled machine: "kernel" (None too) or "netlist".
    rebuild : bool
        Compile even if the cache has the machine.
    """
    name: str = "auto"
    mesh: str | None = None
    rebuild: bool = False

    def __post_init__(self) -> None:
        if self.name not in BACKENDS:
            raise OptionError(unknown_name("backend", self.name, BACKENDS))
        if self.mesh is not None and self.mesh not in MESHES:
            raise OptionError(unknown_name("mesh", self.mesh, MESHES))
        for option, given in (("mesh", self.mesh is not None), ("rebuild", self.rebuild)):
            if given and self.name != "compiled":
                raise OptionError(f"{option} needs backend compiled, not {self.name}")

    def choose(self, design: Design, cycles: int, depth: str | None) -> tuple["Backend", str]:
        """What "auto" means for a run, and a line about it when that needs one.

        Parameters
        ----------
        design : Design
        cycles : int
            Of the run, at least.
        depth : str or None
            Of the waveform, if there is one.
        """
        if self.name != "auto":
            return self, ""
        pysim = Backend("pysim")
        seconds = rtl_seconds(design, cycles)
        wide = max(design.rows, design.cols, design.lanes, design.sfu_lanes) > PYSIM_WIDTH
        if seconds < LOAD_WORTH_SECONDS and not wide:
            return pysim, ""
        from ..waves.hierarchy import Depth
        from .compiled import find_compiler, is_built
        if wide and find_compiler() is not None:
            return Backend("compiled"), "note: backend compiled, chosen for rows this wide"
        if find_compiler() is None:
            if seconds < BUILD_WORTH_SECONDS:
                return pysim, ""
            return pysim, ("note: backend pysim, for there is no C++ compiler; g++, clang++ or "
                           "the Python package ziglang makes backend compiled possible")
        if seconds < BUILD_WORTH_SECONDS and not is_built(
                design, depth=None if depth is None else Depth[depth.upper()]):
            return pysim, ""
        return Backend("compiled"), "note: backend compiled, chosen for a long run"

    def run(self, design: Design, program: Program, *, progress: Progress | None = None,
            recorder: "Recorder | None" = None, say: Callable[[str], None] | None = None
            ) -> RawRun:
        """Run a program on the chosen backend."""
        if self.name == "pysim":
            from .pysim import run_pysim
            return run_pysim(design, program, progress=progress, recorder=recorder)
        from .compiled import run_compiled
        return run_compiled(design, program, mesh=self.mesh or "kernel", rebuild=self.rebuild,
                            progress=progress, recorder=recorder, say=say)
