"""Runs a workload on a design at one level of truth."""

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..rtl import Design
from ..rtl.design_fields import unknown_name
from ..rtl.status import UNITS
from ..workloads import Attention, Conv2d, Gemm
from ..workloads.program import Program
from ..workloads.program_check import check_program
from ..workloads.vector_workload import VectorWorkload
from .analytic import Estimate, estimate
from .backends.choice import BACKENDS, MESHES, Backend
from .backends.run import Progress
from .checks import model_checks, output_checks, run_checks
from .cycle import Durations, Repeats, repeated_counters, run_cycle_model, write_trace
from .errors import OptionError
from .items import itemise, units_of
from .result import Result
from .size import check_size

__all__ = ["BACKENDS", "LEVELS", "MESHES", "TIMINGS", "VcdOptions", "Workload", "check_kinds",
           "simulate"]

LEVELS = ("rtl", "cycle", "analytic")
TIMINGS = ("rtl", "ideal")


class Workload(Protocol):
    """What `simulate` needs of a workload."""

    @property
    def useful_macs(self) -> int: ...

    def parts(self) -> Sequence[Gemm | Attention | Conv2d | VectorWorkload]: ...

    def describe(self) -> dict[str, Any]: ...

    def seeded(self, seed: int) -> "Workload": ...

    def program(self, design: Design, contents: bool = True) -> Program: ...

    def reference(self, design: Design) -> tuple[np.ndarray | None, bool]: ...


@dataclass(frozen=True)
class VcdOptions:
    """What a waveform holds.

    Attributes
    ----------
    path : str
        The .vcd file; a .gtkw is written beside it.
    depth : str
        "control" (handshakes, states, counters, array edges), "cells" (and the inside of every
        cell) or "memory" (and the contents of all memories).
    signals : str or None
        Regular expression; only signals whose full name it matches (`re.search`). The ones
        from which counters are rebuilt are always there.
    cycles : (int, int) or None
        First and last cycle of the window, both included.
    """
    path: str
    depth: str = "control"
    signals: str | None = None
    cycles: tuple[int, int] | None = None

    DEPTHS = ("control", "cells", "memory")

    def __post_init__(self) -> None:
        if self.depth not in self.DEPTHS:
            raise OptionError(unknown_name("vcd depth", self.depth, self.DEPTHS))
        if self.signals is not None:
            try:
                re.compile(self.signals)
            except re.error as error:
                raise OptionError(f"vcd signals must be a regular expression: {error}") from None
        if self.cycles is not None:
            first, last = self.cycles
            if not 0 <= first <= last:
                raise OptionError(f"vcd cycles must be FIRST:LAST with 0 <= FIRST <= LAST, not "
                                  f"{first}:{last}")


def simulate(design: Design, workload: Workload, *, level: str = "rtl", timing: str = "rtl",
             backend: str = "auto", mesh: str | None = None, rebuild: bool = False,
             vcd: str | os.PathLike[str] | VcdOptions | None = None,
             trace: str | os.PathLike[str] | None = None, output: bool = True,
             seed: int | None = None, progress: Progress | None = None) -> Result:
    """Run a workload.

    Parameters
    ----------
    design : Design
    workload : Gemm, QProjection, Sequence, Conv2d, Attention, Rope, Residual
    level : str
        "rtl": the Amaranth core, cycle by cycle. "cycle": the schedule model, with the same
        cycles and counters. "analytic": closed formulas.
    timing : str
        "rtl": fill, drain, weight shift and pipeline registers count. "ideal", at level cycle:
        service times only.
    backend : str
        Of level rtl: "pysim"; "compiled", with a C++ compiler; "auto": this for long runs.
    mesh : str
        Of backend compiled: "kernel" (the default), the cells' step in loops over all cells, or
        "netlist", every cell a module.
    rebuild : bool
        Of backend compiled: compile even if the cache has the core.
    vcd : path or VcdOptions
        Write a waveform of level rtl, and check its counters.
    trace : path
        At level cycle: write the timeline as a Chrome trace, for Perfetto.
    output : bool
        False, at level cycle: compute no result matrix. Attention of many equal parts is then
        not scheduled to its end but until it repeats itself, with the same counters.
    seed : int
        Draw the random operands of the workload with this seed instead of its own. A workload
        with given operands draws nothing.
    progress : callable
        Called with cycles, activation rows so far, activation rows of the run. Its method `say`,
        if it has one, is called with lines about the backend.

    Raises
    ------
    TypeError, OptionError
        No design or no workload; an unknown level, timing or backend, or an option that the level
        does not have.
    WorkloadError
        The workload does not fit the design.
    DeadlockError
        The program cannot end; the message names each blocked unit.
    """
    chosen = Backend(backend, mesh, rebuild)
    _check_options(level, timing, vcd, trace, output)
    _check_workload(design, workload, level)
    if seed is not None:
        workload = workload.seeded(seed)
    if level == "analytic":
        return _analytic(design, workload)
    if level == "cycle":
        return _cycle(design, workload, timing, output, trace)
    if vcd is not None and not isinstance(vcd, VcdOptions):
        vcd = VcdOptions(os.fspath(vcd))
    return _rtl(design, workload, chosen, vcd, progress)


def check_kinds(design: Any, workload: Any) -> None:
    """Refuse what is no design or no workload, a preset's or a workload's name for example.

    Raises
    ------
    TypeError
    """
    if not isinstance(design, Design):
        hint = f"; Design.preset({design!r}) makes one" if design in Design.presets() else ""
        raise TypeError(f"design must be a Design, not {design!r}{hint}")
    if isinstance(workload, type) or not hasattr(workload, "describe"):
        raise TypeError(f"workload must be a workload such as QProjection(5, 9, 10), not "
                        f"{workload!r}")


def _check_workload(design: Design, workload: Workload, level: str) -> None:
    """Refuse networks, which have a function of their own, and what is too large."""
    check_kinds(design, workload)
    subject = f"workload {workload.describe()['name']}"
    if hasattr(workload, "layers"):
        raise OptionError(f"{subject} is a network of layers; run it with "
                          f"cubewave.sim.network.simulate_network")
    check_size(subject, design, workload.parts(), level)


def _check_options(level: str, timing: str, vcd: Any, trace: Any, output: bool) -> None:
    """Refuse what does not exist and what the level does not have."""
    for name, value, valid in (("level", level, LEVELS), ("timing", timing, TIMINGS)):
        if value not in valid:
            raise OptionError(unknown_name(name, value, valid))
    if vcd is not None and level != "rtl":
        raise OptionError(f"vcd needs level rtl, not {level}")
    if trace is not None and level != "cycle":
        raise OptionError(f"trace needs level cycle, not {level}")
    if trace is not None and not isinstance(trace, str | os.PathLike):
        raise OptionError(f"trace must be a path, not {trace!r}")
    if timing == "ideal" and level != "cycle":
        raise OptionError(f"timing ideal needs level cycle, not {level}")
    if not output and level == "rtl":
        raise OptionError("output False needs level cycle or analytic: the hardware of level rtl "
                          "computes its output")


def _analytic(design: Design, workload: Workload) -> Result:
    for part in workload.parts():
        part.check(design)
    bounds = estimate(design, workload.parts())
    return Result(
        design=design, workload=workload.describe(), level="analytic", backend="", timing="rtl",
        cycles=bounds.bound, span=bounds.bound, useful_macs=bounds.counts["useful_macs"],
        bytes_read=bounds.counts["bytes_read"], bytes_written=bounds.counts["bytes_written"],
        counters=dict(bounds.counts), limited_by=bounds.limited_by)


def _cycle(design: Design, workload: Workload, timing: str, output: bool,
           trace: str | os.PathLike[str] | None) -> Result:
    started = time.perf_counter()
    durations = Durations.of(design, timing)
    counters = _repeated(design, workload, durations) if trace is None else None
    if counters is None:
        run = run_cycle_model(workload.program(design, contents=False), durations)
        counters = run.counters
    seconds = time.perf_counter() - started
    bounds = estimate(design, workload.parts(), timing)
    result = _result(design, workload, "cycle", counters, bounds, timing=timing, seconds=seconds)
    if trace is not None:
        with open(trace, "w", encoding="utf-8") as file:
            write_trace(file, design, run)
    if output:
        values, overflow = workload.reference(design)
        result = replace(result, output=values, overflow=overflow,
                         **_accuracy(design, workload, values))
    result.checks.extend(run_checks(result, bounds))
    return result


def _repeated(design: Design, workload: Workload,
              durations: Durations) -> Mapping[str, int] | None:
    """The counters of a workload that repeats itself often enough; otherwise None."""
    repeats = getattr(workload, "repeats", None)
    found = repeats(design) if repeats is not None else None
    return None if found is None else repeated_counters(Repeats(*found), durations)


def _accuracy(design: Design, workload: Workload, output: np.ndarray | None) -> dict[str, Any]:
    """What a number of the output stands for, and how far it is from floating point.

    For workloads that stand for real numbers: errors in units of the greatest value, to six
    digits (products in floating point end differently where arrays lie differently in memory).
    """
    if not isinstance(workload, Attention) or output is None:
        return {}
    scale = workload.output_scale(design)
    exact = workload.float_reference(design)
    error = np.abs(output * scale - exact) / max(np.abs(exact).max(), np.finfo(float).tiny)
    return {"output_scale": scale,
            "accuracy": {"max_error": float(f"{error.max():.6g}"),
                         "rms_error": float(f"{np.sqrt(np.square(error).mean()):.6g}")}}


def _rtl(design: Design, workload: Workload, backend: Backend, vcd: VcdOptions | None,
         progress: Progress | None) -> Result:
    program = workload.program(design)
    check_program(program, design)  # before anything is written
    bounds = estimate(design, workload.parts())
    backend, line = backend.choose(design, bounds.bound, None if vcd is None else vcd.depth)
    say = getattr(progress, "say", None)
    if line and say is not None:
        say(line)
    recorder = None
    if vcd is not None:
        from .waves import Recorder
        recorder = Recorder(design, vcd)
    try:
        run = backend.run(design, program, progress=progress, recorder=recorder, say=say)
    finally:
        if recorder is not None:
            recorder.close()
    result = _result(design, workload, "rtl", run.counters, bounds, backend=backend.name,
                     seconds=run.seconds)
    values = run.outputs[-1] if run.outputs else None
    result = replace(result, output=values, overflow=run.overflow,
                     vcd=None if vcd is None else vcd.path,
                     **_accuracy(design, workload, values))
    durations = Durations.rtl(design)
    result.checks.extend([
        *output_checks(result, *workload.reference(design)),
        *run_checks(result, bounds),
        *model_checks(run.counters, run_cycle_model(program, durations).counters)])
    if recorder is not None:
        result.checks.extend(recorder.checks(result))
    return result


def _result(design: Design, workload: Workload, level: str, counters: Mapping[str, int],
            bounds: Estimate, *, backend: str = "", timing: str = "rtl",
            seconds: float = 0.0) -> Result:
    """A result from the counters of a run."""
    units = units_of(counters, UNITS)
    cycles = counters["cycles"]
    return Result(
        design=design, workload=workload.describe(), level=level, backend=backend, timing=timing,
        cycles=cycles, span=counters["span"], useful_macs=counters["useful_macs"],
        bytes_read=counters["bytes_read"], bytes_written=counters["bytes_written"],
        exchange_bytes=counters["exchange_bytes"], units=units,
        counters={name: value for name, value in counters.items() if "." not in name},
        items=itemise(bounds, cycles, units["array"]), limited_by=bounds.limited_by,
        simulate_seconds=seconds)
