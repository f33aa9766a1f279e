"""`cubewave workloads`: the workloads and their parameters."""

import json
import sys
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...rtl.design_fields import unknown_name
from ...workloads import WorkloadError
from ...workloads.registry import WORKLOADS, WorkloadSpec
from .output import output_console

__all__ = ["command"]


@click.command("workloads", short_help="List the workloads and their parameters.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List the workloads, or the one of this NAME, with their parameters."""
    if name is not None and name not in WORKLOADS:
        raise WorkloadError(unknown_name("workload", name, WORKLOADS))
    chosen = [spec for spec in WORKLOADS.values() if name in (None, spec.name)]
    if as_json:
        document = {"schema": 1, "workloads": [_entry(spec) for spec in chosen]}
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
        return
    with output_console(least=72) as console:
        for number, spec in enumerate(chosen):
            if number:
                console.print()
            _print(console, spec)


def _entry(spec: WorkloadSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "parameters": {
        parameter.name: {"default": parameter.default, "rule": parameter.rule,
                         "unit": parameter.spec.unit, "range": parameter.spec.range,
                         "description": parameter.spec.description}
        for parameter in spec.parameters}}


def _print(console: Console, spec: WorkloadSpec) -> None:
    console.print(Text.assemble((spec.name, "bold cyan"), "  ", spec.description))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for header in ("-p", "default", "range"):
        table.add_column(header, no_wrap=True)
    table.add_column("meaning")
    for parameter in spec.parameters:
        default = Text(parameter.default_text,
                       style="italic dim" if parameter.default is None else "")
        table.add_row(Text(parameter.name, style="bold"), default,
                      f"{parameter.spec.range} {parameter.spec.unit}".strip(),
                      Text(parameter.spec.description, style="dim"))
    console.print(table)
