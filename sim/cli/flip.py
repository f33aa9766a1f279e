"""`cubewave flip`: where the limiting resource of a model changes."""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..analytic.flip import Flip, find_flips
from ..analytic.model import LIMITED_BY, Model, find
from ..errors import OptionError
from ..report_format import quantity
from .options import given_parameters
from .output import output_console

__all__ = ["command"]

RANGE = re.compile(r"([^:]+):([^:]+)")


@click.command("flip", short_help="Find where the limiting resource of a model changes.")
@click.argument("name", metavar="MODEL")
@click.argument("parameter", metavar="PARAM[=LOW:HIGH]", required=False)
@click.argument("settings", nargs=-1, metavar="[PARAM=VALUE]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str, parameter: str | None, settings: Sequence[str], as_json: bool) -> None:
    """Find where the limiting resource of MODEL changes along PARAM, and show both sides.

    \b
      cubewave flip roofline m device=h100
      cubewave flip decode-step batch=1:256 context=2048
    """
    model = find(name)
    if parameter is None:
        raise OptionError(f"flip {name}: the parameter to vary is missing; valid are "
                          f"{', '.join(item.name for item in model.parameters)}")
    varying, _, limits = parameter.partition("=")
    given = {key: model.parse(key, text)
             for key, text in given_parameters(model, settings).items()}
    low, high = _limits(model, varying, limits) if limits else (None, None)
    flips = find_flips(model, varying, given, low, high)
    if as_json:
        document = {"model": model.name, "parameter": varying,
                    "flips": [_entry(flip) for flip in flips]}
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
        return
    with output_console(least=80) as console:
        _print(console, model, varying, given, flips, (low, high))


def _limits(model: Model, name: str, text: str) -> tuple[float, float]:
    match = RANGE.fullmatch(text)
    if match is None:
        raise OptionError(f"{name}={text}: must be {name} or {name}=LOW:HIGH")
    low, high = (model.parameter(name).parse(part.strip()) for part in match.groups())
    assert not isinstance(low, str) and not isinstance(high, str)
    return low, high


def _entry(flip: Flip) -> dict[str, Any]:
    return {"before": flip.before, "after": flip.after,
            "resource_before": flip.resources[0], "resource_after": flip.resources[1],
            "results_before": dict(flip.results_before),
            "results_after": dict(flip.results_after)}


def _print(console: Console, model: Model, name: str, given: dict[str, Any],
           flips: Sequence[Flip], limits: tuple[float | None, float | None]) -> None:
    parameter = model.parameter(name)
    console.print(Text.assemble((model.name, "bold cyan"), f"  {model.summary}"))
    if not flips:
        values = model.values({**given, name: parameter.low if limits[0] is None else limits[0]}
                              if not parameter.above or limits[0] is not None else given)
        always = model.evaluate(values)[LIMITED_BY]
        part = parameter.range if limits[0] is None else f"{limits[0]:.12g} to {limits[1]:.12g}"
        console.print(f"{name} from {part}: always limited by {always}")
        return
    for flip in flips:
        console.print()
        before, after = flip.resources
        up_to, starting = ("up to", "from") if parameter.whole else ("below", "above")
        console.print(Text.assemble(
            "limited by ", (str(before), "bold"), f" {up_to} {name} = {_value(flip.before)}, by ",
            (str(after), "bold"), f" {starting} {name} = {_value(flip.after)} {parameter.unit}"))
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("result", no_wrap=True)
        for value in (flip.before, flip.after):
            table.add_column(f"{name} = {_value(value)}", justify="right", no_wrap=True)
        for field in model.results:
            table.add_row(field.name, quantity(flip.results_before[field.name], field.unit),
                          quantity(flip.results_after[field.name], field.unit))
        console.print(table)


def _value(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else f"{value:,}"
