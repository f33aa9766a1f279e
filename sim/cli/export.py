"""`cubewave export`: a component as Verilog, with a test bench of whole runs."""

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import Any

import click

from ...rtl import Design
from ...workloads.network import Network
from ...workloads.registry import build
from ..errors import OptionError
from ..size import check_size
from .options import check_outputs, load_design, pairs
from .output import output_console
from .progress import RunProgress

__all__ = ["command"]


@click.command("export", short_help="Write a design, or a part of it, as Verilog.", help="""
Write the hardware of a design as one Verilog file, and a test bench that checks it.

The test bench applies the inputs that the component had in a simulation of the WORKLOADs, which
run one after another, and compares every output of every cycle. Its stimulus is in a file beside
it, TB.hex. A workload's parameters follow its name, as in "gemm m=3 k=8".

\b
  cubewave export -o core.v
  cubewave export --top axi_core -s rows=8 -s cols=8 -o core.v
  cubewave export -o core.v --testbench core_tb.v gemm "attention keys=8"
""")
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@click.option("--design", default="tiny", metavar="PRESET|FILE.toml", show_default=True,
              help="The machine.")
@click.option("-s", "settings", multiple=True, metavar="FIELD=VALUE",
              help="Set a field of the design; may be repeated.")
@click.option("--top", default="core", metavar="NAME", show_default=True,
              help="What to export: core, axi_core, array, machine (the core and a model of its "
              "memory), or any component by its name.")
@click.option("-o", "--output", required=True, metavar="OUT.v", help="The Verilog file.")
@click.option("--testbench", metavar="TB.v", help="The test bench; needs a WORKLOAD.")
def command(workloads: Sequence[str], design: str, settings: Sequence[str], top: str,
            output: str, testbench: str | None) -> None:
    machine = load_design(design, pairs("-s", "FIELD", settings))
    if testbench is None and workloads:
        raise OptionError(f"{workloads[0]}: a workload needs --testbench TB.v")
    if testbench is not None and not workloads:
        raise OptionError(f"--testbench {testbench}: needs a workload, such as gemm")
    built = [_workload(text, machine) for text in workloads]
    stimulus = None if testbench is None else os.path.splitext(testbench)[0] + ".hex"
    check_outputs({"-o": output, "--testbench": testbench,
                   "--testbench (the .hex beside it)": stimulus},
                  inputs=[design] if os.path.isfile(design) else [])
    files, report = _export(machine, top, output, built, workloads, testbench, stimulus)
    _write(files)
    with output_console(least=80) as console:
        for name, value in report.items():
            console.print(f"{name:<9} {value}")
        for path in files:
            console.print(f"file      {path}", soft_wrap=True)


def _workload(text: str, design: Design) -> Any:
    """A workload of the command line, which must be one that level rtl runs."""
    name, *options = text.split() or [""]
    workload = build(name, pairs(f"workload {text}:", "PARAM", options), None)
    if isinstance(workload, Network):
        raise OptionError(f"{text}: a network has no single run to record; valid are gemm, "
                          f"q-projection, conv2d, attention, rope, residual and attention-head")
    check_size(f"workload {text}", design, workload.parts(), "rtl")
    return workload


def _export(design: Design, top: str, output: str, workloads: Sequence[Any],
            names: Sequence[str], testbench: str | None, stimulus: str | None
            ) -> tuple[dict[str, Iterable[str]], dict[str, str]]:
    """The contents of each file, and what the command prints about them."""
    from ..backends.run import machine_size
    from ..export import (
        CLOCKING,
        bench_text,
        export_top,
        has_port,
        record,
        stimulus_text,
    )
    programs = [workload.program(design) for workload in workloads]
    sizes = [machine_size(design, program) for program in programs]
    lines, commands = (max(size) for size in zip(*sizes)) if sizes else (1 << 10, 1 << 8)
    try:
        with RunProgress("export", "building the netlist", None) as progress:
            recording = record(design, programs, top, progress) if programs else None
            exported = export_top(design, top, lines=lines, commands=commands)
    except OptionError as error:
        raise OptionError(f"--top {top}: {error}") from None
    files: dict[str, Iterable[str]] = {output: [exported.text]}
    report = {"top": exported.top, "modules": f"{len(exported.modules)}",
              "lines": f"{exported.text.count(chr(10)):,}"}
    if recording is not None and testbench is not None and stimulus is not None:
        clocking = [name for name in CLOCKING if has_port(exported.modules[-1].rtlil, name)]
        files[testbench] = [bench_text(
            recording, exported.top, clocking, os.path.basename(stimulus),
            f"Run: {', '.join(names)}.")]
        files[stimulus] = stimulus_text(recording)
        report["cycles"] = f"{len(recording.cycles):,} recorded"
    return files, report


def _write(files: dict[str, Iterable[str]]) -> None:
    """Write all files; an interrupt before the end leaves those that were there."""
    written: list[tuple[str, str]] = []
    try:
        for path, lines in files.items():
            path = os.path.realpath(path)
            is_device = os.path.exists(path) and not os.path.isfile(path)
            temporary = path if is_device else f"{path}.{os.getpid()}.tmp"
            if not is_device:
                written.append((temporary, path))
            with open(temporary, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)
        while written:
            os.replace(*written[0])
            del written[0]
    finally:
        for temporary, _path in written:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
