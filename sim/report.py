"""The report of a run that a person reads."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ..rtl import Design
from .report_format import (
    bar,
    byte_size,
    count,
    integer_format,
    number,
    percent,
    rate,
    seconds,
    si,
)
from .result import Check, Result, UnitCounters

__all__ = ["SHAPE_EFFICIENCY", "differing", "print_end", "print_header", "print_report",
           "print_title"]

#: What an item of the difference to the bound means.
ITEMS = {
    "fill": "before the first activation row enters the array",
    "drain": "no command left, last rows still in the array",
    "idle": "no array command: start of the run, last store",
    "accumulator": "the job's accumulator bank is not free",
    "operands": "the job's operand slot is not ready",
    "weight_shift": "the job's weight tile is being shifted in",
    "weights": "the job's weight tile is not loaded yet",
    "output": "the results before it are still in the cells",
}
SHAPE_EFFICIENCY = "of the MACs executed in whole tiles are useful"
BAR_WIDTH = 28
MOST_CHECKS = 20  # shown when they fail; all are in the JSON


def print_report(console: Console, design_name: str, results: Sequence[Result],
                 settings: str = "", files: Mapping[str, str] | None = None) -> None:
    """Print what was run and what came out, one section for each level.

    Parameters
    ----------
    console : Console
        Decides on colours and width.
    design_name : str
        How the user called the design.
    results : sequence of Result
        Of one workload on one design.
    settings : str
        What the user changed in the design.
    files : dict of str to str
        Files that were written, by a short label.
    """
    print_header(console, design_name, settings, results[0].workload, results[0].design)
    for result in results:
        print_title(console, result.level, result.backend, result.timing)
        if result.overflow:
            _overflow(console, result)
        same = _same(result, results)
        if same is not None:
            _same_figures(console, result, same)
            continue
        _figures(console, result)
        if result.units:
            console.print()
            _units(console, result)
            console.print()
            _difference(console, result)
    print_end(console, [check for result in results for check in result.checks], files or {})


def print_end(console: Console, checks: Sequence[Check], files: Mapping[str, str]) -> None:
    """The checks, and the files that were written."""
    console.print()
    _checks(console, checks)
    for label, path in files.items():
        console.print(Text.assemble((f"{label:<10}", "bold"), path), soft_wrap=True)


def _unicode(console: Console) -> bool:
    return console.encoding.lower().startswith("utf")


def _same(result: Result, results: Sequence[Result]) -> Result | None:
    """The first result with the same cycles and counters, of a level before this one."""
    for before in results:
        if before is result:
            return None
        if before.units and (before.cycles, before.units, before.counters, before.items) == (
                result.cycles, result.units, result.counters, result.items):
            return before
    return None


def print_title(console: Console, level: str, backend: str, timing: str) -> None:
    """The line above the section of a level."""
    how = f" ({backend})" if backend else ""
    if timing != "rtl":
        how += f", timing {timing}"
    console.print()
    console.print(Rule(Text.assemble("level ", (level, "bold cyan"), how), align="left",
                       style="dim", characters="─" if _unicode(console) else "-"))


def print_header(console: Console, design_name: str, settings: str,
                 workload: Mapping[str, Any], design: Design) -> None:
    """What was run, on which machine."""
    workload = dict(workload)
    name = workload.pop("name")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    grid.add_row(name, _parameters(workload))
    lines = _design_lines(design)
    if settings:
        lines.insert(0, f"with {settings}")
    for label, line in zip([design_name] + [""] * (len(lines) - 1), lines):
        grid.add_row(label, line)
    console.print(grid)


def _parameters(workload: Mapping[str, Any]) -> str:
    """Shape and seed, and whatever is not at its usual value."""
    usual = {"unsigned": False, "a_resident": False, "store_output": True, "accumulate": False,
             "order": "mn", "causal": False, "masked": False, "resident": False,
             "kv_heads": workload.get("heads")}
    shown = {key: value for key, value in workload.items()
             if key not in usual or value != usual[key]}
    return "  ".join(f"{key}={str(value).lower()}" for key, value in shown.items())


def _design_lines(design: Design) -> list[str]:
    formats = integer_format(design.activation_bits, design.weight_bits,
                             design.accumulator_bits)
    bandwidth = design.memory_bandwidth
    memory = rate(bandwidth, "bytes/cycle")
    units = "2 x " if design.vector_units == 2 else ""
    if bandwidth is not None:
        memory += f" ({si(bandwidth * design.clock_hz, 'B/s')})"
    return [
        f"{design.rows}x{design.cols} cells, {formats}, {design.dataflow.replace('_', ' ')}, "
        f"{si(design.clock_hz, 'Hz')}",
        f"memory {memory}, latency {count(design.memory_latency_cycles)} cycles",
        f"slots {design.input_slots} x {byte_size(design.slot_bytes)}, weight FIFO "
        f"{design.weight_fifo_depth} tiles, accumulators {design.accumulator_banks} x "
        f"{count(design.accumulator_rows)} rows",
        f"vector {units}{design.lanes} + {design.sfu_lanes} lanes, {design.vector_schedule}; "
        f"hand-off {design.handoff}, {count(design.handoff_bytes_per_cycle)} bytes/cycle, "
        f"{design.handoff_slots} slots",
    ]


def _overflow(console: Console, result: Result) -> None:
    what = {"wrap": "the output holds wrapped sums",
            "saturate": "the output holds saturated sums"}[result.design.accumulator_overflow]
    console.print(Text(f"OVERFLOW: a sum left the {result.design.accumulator_bits}-bit "
                       f"accumulators; {what}", style="bold red"))


def _grid() -> Table:
    """Label, number, and what else there is to say about it."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True, min_width=12)
    grid.add_column(justify="right", no_wrap=True, min_width=10)
    grid.add_column()
    return grid


def _same_figures(console: Console, result: Result, same: Result) -> None:
    grid = _grid()
    grid.add_row("cycles", count(result.cycles),
                 f"the same, and every counter too, as at level {same.level}")
    _host_time(grid, result)
    console.print(grid)


def _host_time(grid: Table, result: Result) -> None:
    if result.simulate_seconds:
        speed = result.cycles / result.simulate_seconds
        grid.add_row("host time", seconds(result.simulate_seconds),
                     f"{count(round(speed))} cycles/s simulated")


def _figures(console: Console, result: Result) -> None:
    design, cycles = result.design, result.cycles
    grid = _grid()
    time = seconds(Fraction(cycles, design.clock_hz))
    if result.units:
        grid.add_row("cycles", count(cycles), f"{time} at {si(design.clock_hz, 'Hz')}")
    else:
        grid.add_row("bound", count(cycles), f"cycles at least, {time}; limited by "
                                             f"{result.limited_by}")
    macs, peak = Fraction(result.useful_macs, cycles), design.macs_per_cycle
    grid.add_row("useful MACs", count(result.useful_macs),
                 f"{number(macs)} of {count(peak)} MAC/cycle")
    grid.add_row("utilization", percent(result.useful_macs, peak * cycles),
                 f"{si(macs * design.clock_hz, 'MAC/s')} of {si(peak * design.clock_hz, 'MAC/s')}"
                 + ("" if result.units else ", at most"))
    if result.shape_efficiency is not None:
        grid.add_row("shape eff.", percent(result.shape_efficiency), SHAPE_EFFICIENCY)
    _traffic(grid, result)
    _vector(grid, result)
    if result.overflow is None and result.units:
        grid.add_row("overflow", "", "not computed, as the output")
    _host_time(grid, result)
    console.print(grid)


def _traffic(grid: Table, result: Result) -> None:
    design, total = result.design, result.bytes_read + result.bytes_written
    moved = Fraction(total, result.cycles)
    bandwidth = design.memory_bandwidth
    used = f"{rate(moved, 'bytes/cycle')} of an unlimited channel"
    speed = f"; {si(moved * design.clock_hz, 'B/s')}"
    if bandwidth is not None:
        used = (f"{number(moved)} of {rate(bandwidth, 'bytes/cycle')} "
                f"({percent(moved, bandwidth)})")
        speed += f" of {si(bandwidth * design.clock_hz, 'B/s')}"
    grid.add_row("bytes moved", count(total), used)
    grid.add_row("", "", f"{count(result.bytes_read)} read, {count(result.bytes_written)} written"
                         f"{speed}")
    if result.counters.get("window_bytes"):
        grid.add_row("window bytes", count(result.counters["window_bytes"]),
                     "of convolution windows, formed while loading")
    if total:
        balance = "" if bandwidth is None else (
            f"; the machine is balanced at {number(design.macs_per_cycle / bandwidth)}")
        grid.add_row("intensity", number(Fraction(result.useful_macs, total)),
                     f"MAC/byte{balance}")
    if "transactions" in result.counters:
        exposed = result.counters.get("exposed_requests")
        grid.add_row("transactions", count(result.counters["transactions"]),
                     "" if exposed is None else
                     f"{count(exposed)} exposed requests, which nothing overlaps")


def _vector(grid: Table, result: Result) -> None:
    """What crosses the hand-off, what overlaps, and how exact the result is; if it was used."""
    moved, cycles = result.counters.get("handoff_bytes", 0), result.cycles
    if moved:
        path = result.design.handoff
        way = f"{path}, both ways through the exchange memory" if path == "staged" else path
        peak = result.design.handoff_bytes_per_cycle
        grid.add_row("hand-off", count(moved),
                     f"bytes, {number(Fraction(moved, cycles))} of {count(peak)} bytes/cycle "
                     f"({percent(Fraction(moved, cycles), peak)}); {way}")
    both = result.counters.get("both_busy")
    if both:
        grid.add_row("both busy", count(both),
                     f"cycles of array and vector unit ({percent(both, cycles)})")
    if result.accuracy:
        grid.add_row("error", percent(result.accuracy["max_error"]),
                     f"of the greatest value, against floating point; root mean square "
                     f"{percent(result.accuracy['rms_error'])}")


def _table(*columns: tuple[str, str]) -> Table:
    """A table of numbers, which are never cut; a column without a header may wrap."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold underline")
    for header, justify in columns:
        table.add_column(header, justify=justify, no_wrap=bool(header))  # type: ignore[arg-type]
    return table


def _units(console: Console, result: Result) -> None:
    table = _table(("unit", "left"), ("state", "left"), ("cycles", "right"), ("share", "right"),
                   ("", "left"))
    width = max(0, min(BAR_WIDTH, console.width - 44))
    for name, unit in result.units.items():
        for row, (state, cycles, style) in enumerate(_states(unit)):
            share = cycles / result.cycles
            table.add_row(Text("" if row else name, style="bold"), Text(state, style=style),
                          count(cycles), percent(cycles, result.cycles),
                          Text(bar(share, width, _unicode(console)), style=style))
    console.print(table)


def _states(unit: UnitCounters) -> list[tuple[str, int, str]]:
    """State, cycles and style; stalls that never happened are left out."""
    return [("busy", unit.busy, "green"), ("idle", unit.idle, "dim"),
            *((cause, cycles, "yellow") for cause, cycles in unit.stalls.items() if cycles)]


def _difference(console: Console, result: Result) -> None:
    table = _table(("beyond the bound", "left"), ("cycles", "right"), ("", "left"))
    bound = result.cycles - sum(result.items.values())
    table.add_row("bound", count(bound), f"limited by {result.limited_by}")
    for name, cycles in sorted(result.items.items(), key=lambda item: -item[1]):
        table.add_row(Text(f"+ {name}", style="yellow"), count(cycles),
                      Text(ITEMS.get(name, ""), style="dim"))
    table.add_row(Text("= cycles", style="bold"), Text(count(result.cycles), style="bold"), "")
    console.print(table)


def differing(check: Check) -> tuple[str, str]:
    """Expected and actual of a failed check as text; of many numbers those that differ."""
    expected, actual = check["expected"], check["actual"]
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        names = [name for name in dict.fromkeys([*expected, *actual])
                 if expected.get(name) != actual.get(name)]
        return tuple(", ".join(f"{name}={side.get(name)}" for name in names)  # type: ignore
                     for side in (expected, actual))
    return str(expected), str(actual)


def _checks(console: Console, checks: Sequence[Check]) -> None:
    failed = [check for check in checks if not check["ok"]]
    if not failed:
        if checks:
            console.print(Text(f"{len(checks)} checks ok", style="bold green"))
        return
    console.print(Text(f"{len(failed)} of {len(checks)} checks FAILED", style="bold red"))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold underline")
    for header in ("check", "expected", "actual"):
        table.add_column(header, overflow="fold")
    for check in failed[:MOST_CHECKS]:
        table.add_row(check["name"], *differing(check))
    console.print(table)
    if len(failed) > MOST_CHECKS:
        console.print(f"and {len(failed) - MOST_CHECKS} more")
