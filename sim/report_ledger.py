"""Energy and roofline of runs, as a person reads them."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .ledger import RunLedger
from .report_format import number, percent, quantity, si
from .roofline import RunPoint

__all__ = ["print_ledgers", "print_points"]


def print_ledgers(console: Console, ledgers: Sequence[RunLedger]) -> None:
    """A table for each run; a run with the same amounts as one before is only named."""
    for index, ledger in enumerate(ledgers):
        same = next((before for before in ledgers[:index] if before.lines == ledger.lines), None)
        console.print()
        title = f"energy, level {ledger.level}, table {ledger.table}"
        if same is not None:
            console.print(Text.assemble((title, "bold"), f"  the same as at level {same.level}"))
            console.print(_average(ledger))
            continue
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold underline")
        for header in ("", "amount", "pJ each", "energy", "share"):
            table.add_column(header, justify="right" if header else "left", no_wrap=True)
        for line in ledger.lines:
            table.add_row(line.name, si(line.amount, "B" if line.unit == "bytes" else "MAC"),
                          number(line.picojoules), quantity(line.joules, "J"),
                          percent(line.joules, ledger.joules) if ledger.joules else "")
        table.add_row("total", "", "", quantity(ledger.joules, "J"), percent(1), style="bold")
        console.print(Text(title, style="bold"))
        console.print(table)
        console.print(_average(ledger))


def _average(ledger: RunLedger) -> str:
    per_mac = ledger.picojoules_per_mac
    most = " at most" if ledger.level == "analytic" else ""
    return (f"{quantity(ledger.average_watts, 'W')} on average{most}"
            + ("" if per_mac is None else f"; {number(per_mac)} pJ for each useful MAC"))


def print_points(console: Console, points: Sequence[RunPoint]) -> None:
    """A row for each run."""
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold underline")
    for header in ("roofline", "MAC/byte", "MAC/cycle", "of its roof", "roof", "shape eff."):
        table.add_column(header, justify="left" if header == "roofline" else "right",
                         no_wrap=True)
    for point in points:
        table.add_row(
            f"level {point.level}", "" if point.intensity is None else number(point.intensity),
            number(point.macs_per_cycle), percent(point.macs_per_cycle, point.roof),
            f"{number(point.roof)} ({point.limited_by})",
            "" if point.shape_efficiency is None else percent(point.shape_efficiency))
    console.print(table)
