"""`cubewave run`: a workload on a design at one level or at all."""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from ...rtl import Design
from ...workloads.network import Network
from ...workloads.registry import WORKLOADS, build
from ..analytic import estimate
from ..backends.choice import Backend
from ..backends.host_time import advice
from ..errors import OptionError
from ..ledger import run_ledger
from ..network import run as simulate
from ..network_result import NetworkResult, document
from ..plot import need_matplotlib
from ..report import differing
from ..report_ledger import print_ledgers, print_points
from ..report_network import print_report
from ..result import Result
from ..roofline import draw_run_roofline, run_point
from ..simulation import BACKENDS, LEVELS, MESHES, TIMINGS, VcdOptions, Workload
from ..study import STUDIES
from .group import FAILED
from .interrupt import INTERRUPTED, drop_unused
from .options import (
    Choice,
    Number,
    check_outputs,
    energy_table,
    load_design,
    pairs,
    vcd_options,
)
from .output import output_console
from .progress import RunProgress
from .study import run_study

__all__ = ["command"]


@dataclass(frozen=True)
class _Request:
    """A checked command line."""
    workload: Workload | Network
    design: Design
    design_name: str
    settings: str
    levels: Sequence[str]
    backend: Backend
    timing: str
    vcd: VcdOptions | None
    trace: str | None
    output: bool
    json_path: str | None
    energies: str | None
    roofline: str | None


@click.command("run", short_help="Run a workload on a design.", help=f"""
Run WORKLOAD on a design and report where every cycle went.

WORKLOAD is {' or '.join(WORKLOADS)}; `cubewave workloads` lists their parameters and `cubewave
designs` the presets and their fields.

\b
  cubewave run gemm
  cubewave run gemm -p a=A.npy -p b=B.npy --design edge --vcd run.vcd
  cubewave run q-projection -p m=64 --design tpu-v1 --level cycle
""")
@click.argument("workload")
@click.option("--design", default="tiny", metavar="PRESET|FILE.toml", show_default=True,
              help="The machine.")
@click.option("-s", "settings", multiple=True, metavar="FIELD=VALUE",
              help="Set a field of the design; may be repeated.")
@click.option("-p", "parameters", multiple=True, metavar="PARAM=VALUE",
              help="Set a parameter of the workload; may be repeated.")
@click.option("--level", default="rtl", type=Choice([*LEVELS, "all"]),
              show_default=True, help="rtl: the hardware, cycle by cycle. cycle: a model with the "
              "same cycles, for any size. analytic: formulas. all: every level, compared.")
@click.option("--backend", default="auto", type=Choice(BACKENDS), show_default=True,
              help="Simulator of level rtl. compiled: as C++, by the compiler of this host. auto: "
              "compiled for long runs, if there is a compiler.")
@click.option("--mesh", type=Choice(MESHES), help="Of backend compiled: all cells in one loop "
              "derived from the cell (kernel, the default), or every cell a module.")
@click.option("--rebuild", is_flag=True, help="Of backend compiled: compile even if the cache has "
              "the core.")
@click.option("--timing", default="rtl", type=Choice(TIMINGS), show_default=True,
              help="rtl: fill, drain, weight shift and pipeline registers count. ideal, at level "
              "cycle: service times only.")
@click.option("--vcd", metavar="FILE", help="Write a waveform of level rtl, and a .gtkw beside it.")
@click.option("--vcd-depth", type=Choice(VcdOptions.DEPTHS),
              help="What it holds: control (default), also the inside of every cell, also the "
              "contents of all memories.")
@click.option("--vcd-signals", metavar="REGEX", help="Only signals whose full name it matches.")
@click.option("--vcd-cycles", metavar="FIRST:LAST", help="Only these cycles, both included.")
@click.option("--trace", metavar="FILE", help="Write the timeline of level cycle as a Chrome "
              "trace, which ui.perfetto.dev opens.")
@click.option("--energy", is_flag=True, help="Show the energy of the run, from its counters.")
@click.option("--energies", metavar="TABLE|FILE.toml", help="Table of energies for --energy; "
              "\"chapter\" unless given.")
@click.option("--roofline", metavar="FILE.svg", help="Draw the run on the roofline of its design.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write the results as JSON; - prints "
              "only the JSON.")
@click.option("--seed", type=Number(0, (1 << 31) - 1), metavar="N",
              help="Seed of random operands; 0 unless given.")
@click.option("--no-output", is_flag=True, help="Compute no result matrix; at levels cycle and "
              "analytic.")
@click.option("--study", type=Choice(list(STUDIES)), help="Run a study of the chapter instead: "
              "handoff (of attention) or slots (of gemm), ideal and at level rtl or cycle, every "
              "tick between named; im2col (of conv2d), windows formed while loading or in memory.")
@click.pass_context
def command(context: click.Context, /, **options: Any) -> int:
    if options["study"] is not None:
        return run_study(context, options, _backend(
            options["backend"], options["mesh"], options["rebuild"]))
    del options["study"]
    request = _check(**options)
    results, interrupted = _run(request)
    if interrupted:
        return INTERRUPTED
    _report(request, results)
    return _failed_checks(results)


def _check(workload: str, design: str, settings: Sequence[str], parameters: Sequence[str],
           level: str, backend: str, mesh: str | None, rebuild: bool, timing: str,
           vcd: str | None, vcd_depth: str | None, vcd_signals: str | None,
           vcd_cycles: str | None, trace: str | None, json_path: str | None, seed: int | None,
           no_output: bool, energy: bool, energies: str | None, roofline: str | None) -> _Request:
    """Check everything that can be checked before the run."""
    levels = LEVELS if level == "all" else (level,)
    needs = [("--vcd", vcd, None, "rtl"), ("--backend", backend, "auto", "rtl"),
             ("--trace", trace, None, "cycle")]
    for option, value, usual, needed in needs:
        if value != usual and needed not in levels:
            raise OptionError(f"{option} {value}: needs --level {needed} or all, not {level}")
    if timing != "rtl" and level != "cycle":
        raise OptionError(f"--timing {timing}: needs --level cycle, not {level}")
    if no_output and "rtl" in levels:
        raise OptionError(f"--no-output: needs --level cycle or analytic, not {level}; at level "
                          f"rtl the hardware computes its output")
    simulator = _backend(backend, mesh, rebuild)
    table = energy_table(energy, energies)
    if roofline is not None:
        need_matplotlib(f"--roofline {roofline}")
    waveform = vcd_options(vcd, vcd_depth, vcd_signals, vcd_cycles)
    machine = load_design(design, pairs("-s", "FIELD", settings))
    values = pairs("-p", "PARAM", parameters)
    problem = build(workload, values, seed)
    if roofline is not None and not any(part.useful_macs for part in problem.parts()):
        raise OptionError(f"--roofline {roofline}: needs a workload with MACs; {workload} has none")
    save_file = None if vcd is None else os.path.splitext(vcd)[0] + ".gtkw"
    check_outputs({"--vcd": vcd, "--vcd (the .gtkw beside it)": save_file, "--trace": trace,
                   "--json": json_path, "--roofline": roofline},
                  inputs=[path for path in (design, *values.values()) if os.path.isfile(path)])
    return _Request(problem, machine, design, "  ".join(settings), levels, simulator, timing,
                    waveform, trace, not no_output, json_path, table, roofline)


def _backend(name: str, mesh: str | None, rebuild: bool) -> Backend:
    """The simulator of level rtl, refused with the option's name when it cannot be."""
    for option, given in ((f"--mesh {mesh}", mesh is not None), ("--rebuild", rebuild)):
        if given and name != "compiled":
            raise OptionError(f"{option}: needs --backend compiled, not {name}")
    return Backend(name, mesh, rebuild)


def _run(request: _Request) -> tuple[list[Result | NetworkResult], bool]:
    """Results of the levels, and whether the user interrupted."""
    results: list[Result | NetworkResult] = []
    for level in request.levels:
        hardware = level == "rtl"
        progress = RunProgress(f"level {level}", "building the core" if hardware else "",
                               _advice(request) if hardware else None)
        try:
            with progress:
                results.append(simulate(
                    request.design, request.workload, level=level, timing=request.timing,
                    backend=request.backend.name, mesh=request.backend.mesh,
                    rebuild=request.backend.rebuild, vcd=request.vcd if level == "rtl" else None,
                    trace=request.trace if level == "cycle" else None,
                    output=request.output, progress=progress))
        except KeyboardInterrupt:
            drop_unused()
            line = f"interrupted at level {level} after {progress.cycles:,} cycles"
            if level == "rtl" and request.vcd is not None and progress.cycles:
                line += f"; the waveform up to there is {request.vcd.path}"
            click.echo(line, err=True)
            return results, True
    return results, False


def _advice(request: _Request) -> str | None:
    bound = estimate(request.design, request.workload.parts()).bound
    backend, _line = request.backend.choose(
        request.design, bound, None if request.vcd is None else request.vcd.depth)
    if backend.name == "compiled":
        return None
    return advice(request.design, bound, request.vcd is not None)


def _report(request: _Request, results: Sequence[Result | NetworkResult]) -> None:
    """Write the JSON, the report, or both."""
    files = {}
    if request.vcd is not None:
        files["waveform"] = (f"{request.vcd.path}  (open it: cubewave waves "
                             f"{shlex.quote(request.vcd.path)})")
    if request.trace is not None:
        files["trace"] = f"{request.trace}  (open it in ui.perfetto.dev)"
    energy = [] if request.energies is None else [run_ledger(result, request.energies)
                                                  for result in results]
    points = [] if request.roofline is None else [run_point(result) for result in results]
    if request.roofline is not None:
        title = f"{results[0].workload['name']} on {request.design_name}"
        draw_run_roofline(request.roofline, title, results)
        files["roofline"] = request.roofline
    if request.json_path is not None:
        more = {"energy": [ledger.to_dict() for ledger in energy],
                "roofline": [point.to_dict() for point in points]}
        text = json.dumps(document(list(results)) | {key: value for key, value in more.items()
                                                     if value},
                          indent=2, allow_nan=False) + "\n"
        if request.json_path == "-":
            sys.stdout.write(text)
            return
        try:
            with open(request.json_path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise OptionError(f"--json {request.json_path}: cannot be written: "
                              f"{error.strerror}") from None
        files["json"] = request.json_path
    with output_console() as console:
        print_report(console, request.design_name, results, request.settings, files)
        if energy:
            print_ledgers(console, energy)
        if points:
            print_points(console, points)


def _failed_checks(results: Sequence[Result | NetworkResult]) -> int:
    """Name each failed check on stderr; the exit status."""
    failed = [check for result in results for check in result.checks if not check["ok"]]
    for check in failed:
        expected, actual = differing(check)
        click.echo(f"check {check['name']} failed: expected {expected}, actual {actual}",
                   err=True)
    return FAILED if failed else 0
