"""`cubewave model`: the analytic models."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...rtl.design_fields import unknown_name
from ..analytic.model import Model, ResultField, find, registry
from ..analytic.parameters import Value
from ..analytic.sweep import Point, Sweep, parse_sweep
from ..errors import OptionError
from ..plot import Line, draw_lines, need_matplotlib
from ..report_format import quantity
from .options import check_outputs, given_parameters
from .output import output_console

__all__ = ["command"]

MOST_LINES = 12  # of a diagram


@click.command("model", short_help="Estimate with one of the analytic models.")
@click.argument("name", required=False)
@click.argument("settings", nargs=-1, metavar="[PARAM=VALUE]...")
@click.option("--json", "as_json", is_flag=True,
              help="Print JSON: one flat object; with several values, lists in it.")
@click.option("--field", "fields", multiple=True, metavar="FIELD",
              help="Show only this result; may be repeated.")
@click.option("--plot", metavar="FILE.svg", help="Draw results over the parameter that has "
              "several values: those of --field, or the first that changes.")
def command(name: str | None, settings: Sequence[str], as_json: bool, fields: Sequence[str],
            plot: str | None) -> None:
    """List the analytic models, or evaluate the one of this NAME.

    Every parameter has a default. Several values, as in slots=1,2,3,4, print a table.

    \b
      cubewave model
      cubewave model roofline device=h100 m=256
      cubewave model roofline m=1,16,256 --field bound_seconds --plot x.svg
    """
    if name is None:
        for option, value in (("--field", " ".join(fields)), ("--plot", plot)):
            if value:
                raise OptionError(f"{option} {value}: needs the NAME of a model")
        _list(as_json)
        return
    model = find(name)
    sweep = parse_sweep(model, given_parameters(model, settings))
    chosen = _fields(model, fields)
    if plot is not None:
        if not sweep.swept:
            raise OptionError(f"--plot {plot}: needs a parameter with several values, such as "
                              f"{model.parameters[0].name}=1,2,3")
        need_matplotlib(f"--plot {plot}")
        check_outputs({"--plot": plot})
    points = list(sweep.points())
    if plot is not None:
        _plot(plot, sweep, points, chosen if fields else [])
    if as_json:
        _print_json(sweep, points, chosen)
        return
    with output_console(least=_width(sweep, points, chosen)) as console:
        if sweep.swept:
            _print_table(console, sweep, points, chosen)
        else:
            if not fields:
                _print_parameters(console, model, points[0])
            _print_results(console, points[0], chosen)
        if plot is not None:
            console.print(f"\nplot  {plot}")


def _fields(model: Model, names: Sequence[str]) -> list[ResultField]:
    valid = [field.name for field in model.results]
    for name in names:
        if name not in valid:
            raise OptionError(f"--field {name}: {unknown_name('result', name, valid)}; valid are "
                              f"{', '.join(valid)}")
    return [model.field(name) for name in dict.fromkeys(names)] if names else list(model.results)


def _list(as_json: bool) -> None:
    models = registry()
    if as_json:
        document = {"schema": 1, "models": [_entry(model) for model in models]}
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
        return
    width = max(len(model.name) for model in models)
    with output_console(least=100) as console:
        for model in models:
            console.print(Text.assemble((f"{model.name:<{width}}", "bold"), "  ",
                                        (f"{model.section:<6}", "cyan"), model.summary))


def _entry(model: Model) -> dict[str, Any]:
    defaults = model.values({})
    return {
        "name": model.name, "section": model.section, "summary": model.summary,
        "documentation": " ".join(model.documentation.split()),
        "tables": dict(model.picks),
        "parameters": {parameter.name: {
            "default": defaults[parameter.name], "unit": parameter.unit,
            "range": parameter.range, "description": parameter.description}
            for parameter in model.parameters},
        "results": {field.name: {"unit": field.unit, "description": field.description}
                    for field in model.results}}


def _print_json(sweep: Sweep, points: Sequence[Point], fields: Sequence[ResultField]) -> None:
    document: dict[str, Any] = {"model": sweep.model.name}
    swept = set(sweep.swept)
    for name in sweep.model.names:
        column = [point.values[name] for point in points]
        document[name] = column if name in swept else column[0]
    for field in fields:
        column = [point.results[field.name] for point in points]
        document[field.name] = column if swept else column[0]
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def _print_parameters(console: Console, model: Model, point: Point) -> None:
    console.print(Text.assemble((model.name, "bold cyan"), f"  {model.section}  {model.summary}"))
    for paragraph in model.documentation.split("\n\n"):
        console.print(Text(" ".join(paragraph.split()), style="dim"))
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for header in ("parameter", "value", "range"):
        table.add_column(header, no_wrap=True)
    table.add_column("meaning")
    for name, default in model.picks.items():
        kind, _, _ = default.partition(":")
        table.add_row(Text(name, style="bold"), str(point.values[name]), "",
                      Text(f"entry of the table of {kind}, or FILE.toml", style="dim"))
    for parameter in model.parameters:
        value = _plain(point.values[parameter.name])
        table.add_row(Text(parameter.name, style="bold"), f"{value} {parameter.unit}".strip(),
                      parameter.range, Text(parameter.description, style="dim"))
    console.print(table)
    console.print()


def _print_results(console: Console, point: Point, fields: Sequence[ResultField]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("result", no_wrap=True)
    table.add_column("value", no_wrap=True)
    table.add_column("meaning")
    for field in fields:
        table.add_row(Text(field.name, style="bold"),
                      quantity(point.results[field.name], field.unit),
                      Text(field.description, style="dim"))
    console.print(table)


def _plain(value: Value) -> str:
    """A value as it would be given on the command line."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _rows(sweep: Sweep, points: Sequence[Point], fields: Sequence[ResultField]
          ) -> list[list[str]]:
    header = [*sweep.swept, *(field.name for field in fields)]
    return [header, *([*(_plain(point.values[name]) for name in sweep.swept),
                       *(quantity(point.results[field.name], field.unit) for field in fields)]
                      for point in points)]


def _width(sweep: Sweep, points: Sequence[Point], fields: Sequence[ResultField]) -> int:
    """Columns that a table needs."""
    if not sweep.swept:
        return 80
    rows = _rows(sweep, points, fields)
    return sum(max(len(row[column]) for row in rows) + 2 for column in range(len(rows[0])))


def _print_table(console: Console, sweep: Sweep, points: Sequence[Point],
                 fields: Sequence[ResultField]) -> None:
    header, *rows = _rows(sweep, points, fields)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column, name in enumerate(header):
        is_text = column >= len(sweep.swept) and fields[column - len(sweep.swept)].unit == "text"
        table.add_column(name, no_wrap=True, justify="left" if is_text else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _plot(path: str, sweep: Sweep, points: Sequence[Point], chosen: Sequence[ResultField]
          ) -> None:
    """One line for each field and each combination of the other swept parameters."""
    numeric = [field for field in chosen or sweep.model.results if field.unit != "text"]
    if not chosen:
        varying = [field for field in numeric
                   if len({point.results[field.name] for point in points}) > 1]
        numeric = (varying or numeric)[:1]
    units = {field.unit for field in numeric}
    if len(units) != 1:
        raise OptionError(f"--plot {path}: the results must have one unit, not "
                          f"{', '.join(sorted(units)) or 'words'}; choose others with --field")
    axis, *others = sweep.swept
    groups: dict[str, list[Point]] = {}
    for point in points:
        label = ", ".join(f"{name}={_plain(point.values[name])}" for name in others)
        groups.setdefault(label, []).append(point)
    lines = [Line(" ".join(part for part in (field.name if len(numeric) > 1 else "", label)
                           if part),
                  [point.values[axis] for point in group],
                  [_number(point.results[field.name]) for point in group])
             for field in numeric for label, group in groups.items()]
    if len(lines) > MOST_LINES:
        raise OptionError(f"--plot {path}: {len(lines)} lines; at most {MOST_LINES}")
    x_unit = next((parameter.unit for parameter in sweep.model.parameters
                   if parameter.name == axis), "")
    draw_lines(path, f"{sweep.model.name}: {sweep.model.summary}",
               f"{axis}, {x_unit}" if x_unit else axis,
               f"{', '.join(field.name for field in numeric)}, {units.pop()}", lines)


def _number(value: Value) -> float | None:
    return value if isinstance(value, int | float) else None
