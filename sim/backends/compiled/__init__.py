"""Runs machines as compiled code: the netlist through CXXRTL, the mesh as loops over cells."""

import functools
from collections.abc import Callable

from ....rtl import Design
from ....workloads.program import Program
from ..run import Progress, RawRun
from .build import build_library
from .compiler import BuildError, find_compiler
from .model import CompiledMachine

__all__ = ["MESHES", "BuildError", "CompiledMachine", "find_compiler", "run_compiled"]

MESHES = ("kernel", "netlist")


@functools.lru_cache(maxsize=8)
def _machine(design: Design, mesh: str) -> CompiledMachine:
    return load_machine(design, mesh)


def load_machine(design: Design, mesh: str = "kernel", *, rebuild: bool = False,
                 say: Callable[[str], None] | None = None) -> CompiledMachine:
    """The compiled machine of a design, built unless the cache has it.

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
                                                 say=say))


def run_compiled(design: Design, program: Program, *, mesh: str = "kernel",
                 rebuild: bool = False, progress: Progress | None = None,
                 say: Callable[[str], None] | None = None) -> RawRun:
    """Run a program on a compiled machine."""
    return load_machine(design, mesh, rebuild=rebuild, say=say).run(program, progress)
