"""`cubewave designs`: the presets and their fields."""

import json
import sys
from fractions import Fraction
from typing import Any

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...rtl import Design
from ...rtl.design_fields import FIELDS, FieldSpec
from ...rtl.presets import PRESETS
from ..backends.host_time import is_small
from ..report_format import byte_size, count, number, si
from ..simulation import LEVELS
from .output import output_console

__all__ = ["command"]


@click.command("designs", short_help="List the presets of designs and their fields.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the presets, or every field of the one of this NAME with its source.

    A field is set with -s FIELD=VALUE, or in a TOML file: `preset = "NAME"` and lines such as
    `rows = 8`.
    """
    chosen = [name] if name is not None else list(PRESETS)
    designs = {preset: Design.preset(preset) for preset in chosen}
    if as_json:
        document = {"schema": 1, "designs": [_entry(*item) for item in designs.items()]}
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
        return
    with output_console(least=80) as console:
        if name is None:
            _print_list(console, designs)
        else:
            _print_design(console, name, designs[name])


def _rtl_backend(design: Design) -> str | None:
    """The backend that simulates the hardware of a design at a useful speed on this host."""
    if is_small(design):
        return "pysim"
    from ..backends.compiled import find_compiler
    return None if find_compiler() is None else "compiled"


def _levels(design: Design) -> list[str]:
    """Levels that serve a design in practice; every level takes every design."""
    return [level for level in LEVELS if level != "rtl" or _rtl_backend(design) is not None]


def _entry(name: str, design: Design) -> dict[str, Any]:
    values = design.to_dict()
    return {
        "name": name, "summary": PRESETS[name].summary, "levels": _levels(design),
        "rtl_backend": _rtl_backend(design),
        "macs_per_cycle": design.macs_per_cycle,
        "macs_per_second": design.macs_per_cycle * design.clock_hz,
        "fields": {field: {"value": values[field], "unit": spec.unit, "range": spec.range,
                           "description": spec.description,
                           "source": PRESETS[name].fields[field][1]}
                   for field, spec in FIELDS.items()}}


def _print_list(console: Console, designs: dict[str, Design]) -> None:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for header, justify in (("design\n", "left"), ("array\ncells", "left"),
                            ("bits\na/w/sum", "left"), ("slots\n", "left"),
                            ("FIFO\ntiles", "right"), ("sums\nrows", "left"),
                            ("memory\nB/cycle", "right"), ("peak\n", "right"),
                            ("rtl\n", "left")):
        table.add_column(header, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for name, design in designs.items():
        rate = design.memory_bandwidth
        table.add_row(
            Text(name, style="bold"), f"{design.rows}x{design.cols}",
            f"{design.activation_bits}/{design.weight_bits}/{design.accumulator_bits}",
            f"{design.input_slots}x{byte_size(design.slot_bytes)}",
            str(design.weight_fifo_depth),
            f"{design.accumulator_banks}x{design.accumulator_rows}",
            "unlimited" if rate is None else number(rate),
            si(design.macs_per_cycle * design.clock_hz, "MAC/s"),
            _rtl_backend(design) or "slow")
    console.print(table)
    console.print()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for name in designs:
        grid.add_row(name, Text(PRESETS[name].summary))
    console.print(grid)
    console.print()
    console.print("rtl: the backend that simulates the hardware itself at a useful speed on this "
                  "host. compiled needs a C++ compiler; slow: there is none, so use --level cycle. "
                  "`cubewave designs NAME` shows every field.", style="dim")


def _print_design(console: Console, name: str, design: Design) -> None:
    console.print(Text.assemble((name, "bold cyan"), "  ", PRESETS[name].summary))
    peak = design.macs_per_cycle * design.clock_hz
    console.print(f"peak {count(design.macs_per_cycle)} MAC/cycle, {si(peak, 'MAC/s')}; levels "
                  f"that serve it: {', '.join(_levels(design))}")
    for field, spec in FIELDS.items():
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=26, style="bold", no_wrap=True)
        grid.add_column(width=20, no_wrap=True)
        grid.add_column(style="cyan")
        grid.add_row(field, _value(getattr(design, field), spec), spec.range)
        console.print()
        console.print(grid)
        source = PRESETS[name].fields[field][1]
        console.print(Padding(Text(f"{spec.description}\nsource: {source}", style="dim"),
                              (0, 0, 0, 2)))


def _value(value: Any, spec: FieldSpec) -> str:
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, int):
        text = count(value)
    else:
        text = str(value) if isinstance(value, str | Fraction) else repr(value)
    return f"{text} {spec.unit}".strip()
