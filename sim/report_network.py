"""The report of a network that a person reads; other workloads have `report.py`."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..workloads.attention import Attention
from ..workloads.conv2d import Conv2d
from ..workloads.gemm import Gemm
from ..workloads.reduction import Reduction
from ..workloads.residual import Residual
from ..workloads.rope import Rope
from .network_result import LayerResult, NetworkResult
from .report import SHAPE_EFFICIENCY, print_end, print_header, print_title
from .report import print_report as print_single
from .report_format import count, number, percent, seconds, si
from .result import Result

__all__ = ["print_report"]


def print_report(console: Console, design_name: str, results: Sequence[Result | NetworkResult],
                 settings: str = "", files: Mapping[str, str] | None = None) -> None:
    """Print what was run and what came out, a network or not; see `report.print_report`.

    Of a network: for each level a table with a row for each layer or group of layers, and totals.
    """
    networks = [result for result in results if isinstance(result, NetworkResult)]
    if not networks:
        singles = [result for result in results if isinstance(result, Result)]
        print_single(console, design_name, singles, settings, files)
        return
    print_header(console, design_name, settings, networks[0].workload, networks[0].design)
    for result in networks:
        print_title(console, result.level, result.backend, result.timing)
        _layers(console, result)
        console.print()
        _totals(console, result)
    if networks[0].notes:
        console.print()
    for note in networks[0].notes:
        console.print(Text(note, style="dim"))
    print_end(console, [check for result in networks for check in result.checks], files or {})


def _groups(layers: Sequence[LayerResult]) -> list[tuple[str, list[LayerResult]]]:
    """Layers that share a row, with the row's label."""
    rows: list[tuple[str, list[LayerResult]]] = []
    for layer in layers:
        group = layer.layer.group
        if group and rows and rows[-1][1][-1].layer.group == group:
            rows[-1][1].append(layer)
        else:
            rows.append((group or layer.layer.name, [layer]))
    return rows


def _product(layers: Sequence[LayerResult]) -> str:
    """What the layers of a row compute."""
    product = layers[0].layer.product
    if len(layers) > 1:
        return f"{len(layers)} shapes"
    if isinstance(product, Gemm):
        return "x".join(map(str, product.shape))
    if isinstance(product, Attention):
        of_head = product.shape
        return f"{of_head.heads} x {of_head.rows}x{of_head.head_dim}x{of_head.keys}"
    if isinstance(product, Conv2d):
        shape = product.shape
        return ("" if shape.products == 1 else f"{shape.products} x "
                ) + "x".join(map(str, shape.product))
    if isinstance(product, Rope):
        return f"{product.rows}x{product.heads * product.head_dim}"
    if isinstance(product, Residual):
        return f"{product.rows}x{product.columns}"
    if isinstance(product, Reduction):
        return f"{product.terms} terms {product.m}x{product.n}, formula"
    return f"{len(product.parts())} products"


def _layers(console: Console, result: NetworkResult) -> None:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold underline")
    table.add_column("layer", overflow="fold")
    table.add_column("MxKxN", overflow="fold")
    for header in ("runs", "MACs", "bytes", "cycles" if result.level != "analytic" else "bound",
                   "util.", "share"):
        table.add_column(header, justify="right", no_wrap=True)
    peak = result.design.macs_per_cycle
    for label, layers in _groups(result.layers):
        cycles = sum(layer.cycles for layer in layers)
        macs = sum(layer.useful_macs for layer in layers)
        table.add_row(
            Text(label, style="bold"), _product(layers),
            count(sum(layer.layer.count for layer in layers)), si(macs, ""),
            si(sum(layer.bytes_read + layer.bytes_written for layer in layers), "B"),
            count(cycles), percent(macs, peak * cycles), percent(cycles, result.cycles))
    for entry in result.omitted:
        table.add_row(Text(entry.name), Text(entry.what), count(entry.count), "-", "-",
                      "not simulated", "-", "-", style="dim")
    table.add_row("total", "", count(sum(layer.layer.count for layer in result.layers)),
                  si(result.useful_macs, ""), si(result.bytes_read + result.bytes_written, "B"),
                  count(result.cycles), percent(result.useful_macs, peak * result.cycles),
                  percent(1), style="bold")
    console.print(table)


def _totals(console: Console, result: NetworkResult) -> None:
    design, cycles = result.design, result.cycles
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column()
    time = seconds(Fraction(cycles, design.clock_hz))
    if result.level == "analytic":
        grid.add_row("bound", count(cycles), f"cycles at least, {time}")
    else:
        by_formula = result.formula_cycles
        grid.add_row("cycles", count(cycles), f"{time} at {si(design.clock_hz, 'Hz')}" + (
            f"; {count(by_formula)} of them by formula" if by_formula else ""))
    macs, peak = Fraction(result.useful_macs, cycles), design.macs_per_cycle
    grid.add_row("useful MACs", count(result.useful_macs),
                 f"{number(macs)} of {count(peak)} MAC/cycle")
    if result.masked_macs:
        grid.add_row("masked MACs", count(result.masked_macs),
                     "executed, then discarded by the causal mask")
    grid.add_row("utilization", percent(result.useful_macs, peak * cycles),
                 f"{si(macs * design.clock_hz, 'MAC/s')} of {si(peak * design.clock_hz, 'MAC/s')}"
                 + (", at most" if result.level == "analytic" else ""))
    if result.shape_efficiency is not None:
        grid.add_row("shape eff.", percent(result.shape_efficiency), SHAPE_EFFICIENCY)
    moved = Fraction(result.bytes_read + result.bytes_written, cycles)
    bandwidth = design.memory_bandwidth
    limit = "unlimited" if bandwidth is None else f"{number(bandwidth)} bytes/cycle"
    grid.add_row("bytes moved", count(result.bytes_read + result.bytes_written),
                 f"{count(result.bytes_read)} read, {count(result.bytes_written)} written; "
                 f"{number(moved)} of {limit}")
    grid.add_row("simulated", count(len(result.runs)),
                 f"different runs of {count(sum(layer.layer.count for layer in result.layers))}"
                 + (f", {seconds(result.simulate_seconds)} host time"
                    if result.simulate_seconds else ""))
    console.print(grid)
