"""Runs machines as compiled code: the netlist through CXXRTL, the mesh as loops over cells."""

from collections.abc import Callable

from ....rtl import Design
from ....rtl.commands import Destination
from ....workloads.program import Program
from ...waves import Recorder
from ...waves.hierarchy import Depth
from ..run import Progress, RawRun
from .build import build_key, build_library
from .cache import Cache, cache_folder
from .compiler import BuildError, find_compiler
from .model import CompiledMachine
from .shown import choose_variant
from .variant import Variant

__all__ = ["BuildError", "CompiledMachine", "Variant", "find_compiler", "is_built", "load_machine",
           "run_compiled"]


def is_built(design: Design, mesh: str = "kernel", depth: Depth | None = None) -> bool:
    """Whether the cache has a compiled machine of a design."""
    compiler = find_compiler()
    if compiler is None:
        return False
    variants = (Variant(mesh, vector, windows, depth, lanes) for vector in (False, True)
                for windows in (False, True) for lanes in ((False,) if depth is None else
                                                           (False, True)))
    cache = Cache(cache_folder())
    return any(cache.has(build_key(design, variant, compiler)) for variant in variants)


def load_machine(design: Design, variant: Variant | None = None, *, rebuild: bool = False,
                 say: Callable[[str], None] | None = None) -> CompiledMachine:
    """The compiled machine of a design, built unless the cache has it.

    Raises
    ------
    BuildError
        There is no C++ compiler, or it failed.
    """
    compiler, variant = find_compiler(), variant or Variant()
    if compiler is None:
        raise BuildError("backend compiled needs a C++ compiler: install g++ or clang++, or "
                         "the Python package ziglang")
    return CompiledMachine(design, build_library(design, variant, compiler, rebuild=rebuild,
                                                 say=say), variant)


def run_compiled(design: Design, program: Program, *, mesh: str = "kernel",
                 rebuild: bool = False, progress: Progress | None = None,
                 recorder: Recorder | None = None,
                 say: Callable[[str], None] | None = None) -> RawRun:
    """Run a program on a compiled machine, which has all parts if a waveform is recorded."""
    loads = (*program.preload, *program.loads)
    vector = bool(program.vectors or program.handoffs) or any(
        load.destination is Destination.VECTOR for load in loads)
    windows = any(load.window for load in loads)
    variant = Variant(mesh, vector, windows)
    if recorder is not None:
        variant = choose_variant(design, variant, recorder.depth, recorder.wants)
    machine = load_machine(design, variant, rebuild=rebuild, say=say)
    return machine.run(program, progress, recorder)
