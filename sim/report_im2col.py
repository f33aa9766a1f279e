"""The report of the convolution study that a person reads."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .report import print_end
from .report_format import count, percent, quantity
from .study_im2col import Im2colRow, summary

__all__ = ["print_im2col"]


def print_im2col(console: Console, design_name: str, rows: Sequence[Im2colRow],
                 files: dict[str, str]) -> None:
    """The ways side by side, then the chapter's sizes from the counters."""
    result, shape = rows[0].result, rows[0].case.workload.shape
    how = f" ({result.backend})" if result.backend else ""
    console.print(Text.assemble("study ", ("im2col", "bold cyan"),
                                f" on {design_name}, level {result.level}{how}"))
    console.print(
        f"{shape.kernel[0]}x{shape.kernel[1]} convolution of {shape.height}x{shape.width}"
        f"x{shape.channels} into {shape.filters} channels, {rows[0].case.design.activation_bits} "
        f"bits; energy at the chapter's pJ/byte", style="dim")
    console.print()
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold underline")
    table.add_column("")
    for row in rows:
        table.add_column(row.case.name.replace(", ", "\n"), justify="right", no_wrap=True)
    for name, values in _lines(rows):
        table.add_row(name, *values)
    console.print(table)
    console.print()
    sizes = Table(box=None, padding=(0, 2, 0, 0), header_style="bold underline")
    for header in ("from the counters", "run", "chapter"):
        sizes.add_column(header, justify="left" if header == "from the counters" else "right",
                         no_wrap=True)
    for line in summary(rows):
        sizes.add_row(*line)
    console.print(sizes)
    print_end(console, [check for row in rows for check in row.checks], files)


def _lines(rows: Sequence[Im2colRow]) -> list[tuple[str, list[str]]]:
    results = [row.result for row in rows]
    return [
        ("image, bytes read", [count(row.image_bytes) for row in rows]),
        ("weights, bytes read", [count(row.weight_bytes) for row in rows]),
        ("matrix, written + read", [count(row.matrix_traffic) for row in rows]),
        ("result, written", [count(row.stored_bytes) for row in rows]),
        ("all bytes", [count(result.bytes_read + result.bytes_written) for result in results]),
        ("window bytes formed", [count(result.counters["window_bytes"]) for result in results]),
        ("cycles", [count(result.cycles) for result in results]),
        ("cycles, ideal", [count(row.ideal.cycles) for row in rows]),
        ("utilization", [percent(result.utilization) for result in results]),
        ("limited by", [result.limited_by.replace("_", " ") for result in results]),
        ("off-chip energy", [quantity(_off_chip(row), "J") for row in rows]),
        ("energy", [quantity(row.ledger.joules, "J") for row in rows]),
    ]


def _off_chip(row: Im2colRow) -> float:
    return next(line.joules for line in row.ledger.lines if line.name == "off-chip memory")
