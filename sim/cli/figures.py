"""`cubewave figures`: the chapter's figures, recomputed by the analytic models."""

import csv
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...rtl.design_fields import unknown_name
from ..analytic.figures import Comparison, compare_all, rows, sections
from ..errors import OptionError
from .group import FAILED
from .options import check_outputs
from .output import output_console

__all__ = ["command"]

COLUMNS = ("id", "section", "quantity", "kind", "model", "field", "parameters", "unit",
           "computed", "value", "printed", "rel_tol", "status", "note")
STYLES = {"ok": "green", "known": "yellow", "differs": "bold red", "missing": "red"}


@click.command("figures", short_help="Recompute the chapter's figures with the models.")
@click.option("--section", metavar="SECTION", help="Only this section, such as 4.4.2, or all "
              "that begin with it.")
@click.option("--csv", "csv_path", metavar="FILE|-", help="Write the comparison as CSV; - prints "
              "only that.")
@click.option("--all", "show_all", is_flag=True, help="Show the rows that agree, too.")
def command(section: str | None, csv_path: str | None, show_all: bool) -> int:
    """Recompute every row of the built-in table by calling the models, and compare.

    A row agrees if it equals the table's value and the printed number within its tolerance.
    Exit status 0 if all rows agree but the four whose printed number is known to disagree, and
    1 if a row differs or cannot be computed.
    """
    chosen = [row for row in rows() if section is None or row.section == section
              or row.section.startswith(f"{section}.")]
    if not chosen:
        raise OptionError(f"--section {section}: {unknown_name('section', section, sections())}; "
                          f"valid are {', '.join(sections())}")
    check_outputs({"--csv": csv_path})
    comparisons = compare_all(chosen)
    if csv_path == "-":
        _write_csv(sys.stdout, comparisons)
    else:
        if csv_path is not None:
            with open(csv_path, "w", encoding="utf-8", newline="") as file:
                _write_csv(file, comparisons)
        with output_console(least=100) as console:
            _print(console, comparisons, show_all or section is not None)
            if csv_path is not None:
                console.print(f"csv  {csv_path}")
    bad = any(comparison.status in ("differs", "missing") for comparison in comparisons)
    return FAILED if bad else 0


def _write_csv(file: TextIO, comparisons: Sequence[Comparison]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in comparisons:
        row, recipe = item.row, item.recipe
        parameters = () if recipe is None else recipe.parameters
        writer.writerow([
            row.id, row.section, row.quantity, row.kind, recipe.source if recipe else "",
            recipe.field if recipe else "",
            " ".join(f"{name}={text}" for name, text in parameters), row.unit,
            "" if item.computed is None else repr(float(item.computed)), repr(row.value),
            "" if row.printed is None else repr(row.printed), repr(row.tolerance), item.status,
            item.note])


def _print(console: Console, comparisons: Sequence[Comparison], show_all: bool) -> None:
    for section in dict.fromkeys(item.row.section for item in comparisons):
        inside = [item for item in comparisons if item.row.section == section]
        console.print(Text.assemble((section, "bold cyan"), f"  {_summary(inside)}"))
        shown = [item for item in inside if show_all or item.status != "ok"]
        waiting = Counter(item.note for item in shown if item.status == "missing")
        if not show_all:
            shown = [item for item in shown if item.status != "missing"]
        if shown:
            console.print(_table(shown))
        for reason, number in waiting.items():
            console.print(Text(f"  {number} rows: {reason}", style="red"))
    console.print()
    computed = [item for item in comparisons if item.row.is_computed]
    measured = [item for item in comparisons if not item.row.is_computed]
    if measured:
        console.print(f"inputs     {_summary(measured)}")
    if computed:
        console.print(f"computed   {_summary(computed)}")
        printed = [item for item in computed if item.row.printed is not None]
        console.print(f"  printed  {_summary(printed)}")


def _summary(comparisons: Sequence[Comparison]) -> str:
    """How many rows have which status."""
    words = {"ok": "agree", "known": "known disagreements", "differs": "differ",
             "missing": "not computed"}
    counts = Counter(item.status for item in comparisons)
    parts = [f"{counts[status]} {word}" for status, word in words.items() if counts[status]]
    return f"{len(comparisons)} rows: {', '.join(parts)}"


def _table(comparisons: Sequence[Comparison]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=True)
    table.add_column("  row", overflow="fold")
    for header in ("computed", "printed"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("", overflow="fold")
    for item in comparisons:
        row = item.row
        computed = "" if item.computed is None else f"{item.computed:.8g}"
        printed = "" if row.printed is None else f"{row.printed:.8g}"
        source = f"{item.recipe.source if item.recipe else ''} {item.note}".strip()
        table.add_row(f"  {row.id}", computed, printed, row.unit,
                      Text.assemble((item.status, STYLES[item.status]), f"  {source}"))
    return table
