"""Runs machines as compiled code: the netlist through CXXRTL, the mesh as loops over cells."""

from collections.abc import Callable

from ....rtl import Design
from ....rtl.commands import Destination
from ....workloads.program import Program
from ..run import Progress, RawRun
from .build import build_key, build_library
from .cache import Cache, cache_folder
from .compiler import BuildError, find_compiler
from .model import CompiledMachine

__all__ = ["BuildError", "CompiledMachine", "find_compiler", "is_built", "load_machine",
           "run_compiled"]


def is_built(design: Design, mesh: str = "kernel") -> bool:
    """Whether the cache has the compiled machine of a design."""
    compiler = find_compiler()
    return compiler is not None and any(
        Cache(cache_folder()).has(build_key(design, mesh, compiler, vector=vector,
                                            windows=windows))
        for vector in (False, True) for windows in (False, True))


def load_machine(design: Design, mesh: str = "kernel", *, rebuild: bool = False,
                 vector: bool = True, windows: bool = True,
                 say: Callable[[str], None] | None = None) -> CompiledMachine:
    """The compiled machine of a design, built unless the cache has it.

    Without `vector` it runs programs without commands for vector unit and hand-off only, without
    `windows` those without loads of convolution windows.

    Raises
    ------
    BuildError
        There is no C++ compiler, or it failed.
    """
    compiler = find_compiler()
    if compiler is None:
        raise BuildError("backend compiled needs a C++ compiler: install g++ or clang++, or "
                         "the Python package ziglang")
    return CompiledMachine(design, build_library(design, mesh, compiler, rebuild=rebuild,
                                                 vector=vector, windows=windows, say=say))


def run_compiled(design: Design, program: Program, *, mesh: str = "kernel",
                 rebuild: bool = False, progress: Progress | None = None,
                 say: Callable[[str], None] | None = None) -> RawRun:
    """Run a program on a compiled machine."""
    loads = (*program.preload, *program.loads)
    vector = bool(program.vectors or program.handoffs) or any(
        load.destination is Destination.VECTOR for load in loads)
    windows = any(load.window for load in loads)
    machine = load_machine(design, mesh, rebuild=rebuild, vector=vector, windows=windows, say=say)
    return machine.run(program, progress)
