"""Topology files of SCALE-Sim: one layer a line, as a convolution or as a product.

Convolution layout, one header line (here in two) and one line a layer::

    Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter,
    Strides,

GEMM layout::

    Layer, M, N, K,

The header decides which one it is. Case and spaces of its names do not matter, nor does the order
of the columns. A comma at the end of a line may be there or not; empty lines, lines of commas
only, and everything from a cell that begins with "#" on are skipped.

A convolution becomes its im2col product: M = output height * output width, K = filter height *
filter width * channels, N = filters. The output has ceil((size - filter + stride) / stride)
elements in each direction, as in SCALE-Sim: there is no padding (the sizes in the file include
it), and a last window that reaches beyond the image counts. With im2col "matrix", as SCALE-Sim
has it, the product reads the im2col matrix from memory, each window in full. With "loader" or
"memory" the layer is a convolution of the image (:class:`Conv2d`), zeros beyond its edges.
As in SCALE-Sim a layer whose name holds "DP" is depthwise: one product for each channel.

Also understood: "Stride height" and "Stride width" instead of "Strides"; "Batch size", which must
be 1; "Sparsity", which must be dense, such as "1:1"; "Eh", "Ew" and "e2", the height, width and
elements of the output, which must be what the other columns give. Any other column is refused.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .errors import WorkloadError
from .gemm import RandomGemm
from .network import Layer, Network
from .resnet50 import IM2COL_LAYERS, convolution_layer

__all__ = ["EXAMPLE", "LAYOUTS", "parse_topology", "read_text", "read_topology"]

LARGEST = 1 << 20      # of a number in a file
LARGEST_FILE = 1 << 24  # bytes

#: A small topology in the convolution layout.
EXAMPLE = """\
Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv1, 10, 10, 3, 3, 3, 8, 2,
conv2, 6, 6, 3, 3, 8, 8, 1,
fc, 1, 1, 1, 1, 128, 10, 1,
"""

#: Columns that a file of each layout must have; "strides" may be two columns instead.
LAYOUTS = {
    "convolution": ("Layer name", "IFMAP Height", "IFMAP Width", "Filter Height", "Filter Width",
                    "Channels", "Num Filter", "Strides"),
    "GEMM": ("Layer", "M", "N", "K"),
}
STRIDES = ("Stride height", "Stride width")
OPTIONAL = {"convolution": (*STRIDES, "Batch size", "Sparsity", "Eh", "Ew", "e2"),
            "GEMM": ("Batch size", "Sparsity")}
ALIASES = {"layer": "layer name", "num filters": "num filter", "stride": "strides",
           "stride h": "stride height", "stride w": "stride width", "batch": "batch size",
           "sparsity ratio": "sparsity"}
INTEGER = re.compile(r"[0-9]{1,10}", re.ASCII)
RATIO = re.compile(r"([0-9]{1,4}) *: *([0-9]{1,4})", re.ASCII)


def _plain(name: str) -> str:
    """A column's name as it is compared."""
    name = " ".join(name.replace("_", " ").lower().split())
    return ALIASES.get(name, name)


@dataclass(frozen=True)
class _Row:
    """One line of the file by column."""
    line: int
    cells: Mapping[str, str]

    def refuse(self, column: str, problem: str) -> WorkloadError:
        return WorkloadError(f'line {self.line}, column "{column}": {problem}')

    def has(self, column: str) -> bool:
        return bool(self.cells.get(_plain(column)))

    def text(self, column: str, expected: str) -> str:
        if not self.has(column):
            raise self.refuse(column, f"missing; expected {expected}")
        return self.cells[_plain(column)]

    def number(self, column: str) -> int:
        expected = f"an integer from 1 to {LARGEST}"
        text = self.text(column, expected)
        if not INTEGER.fullmatch(text) or not 1 <= int(text) <= LARGEST:
            raise self.refuse(column, f'expected {expected}, not "{text[:40]}"')
        return int(text)

    def match(self, column: str, value: int, reason: str) -> None:
        """A column that repeats what others say."""
        if self.has(column) and self.number(column) != value:
            raise self.refuse(column, f"expected {value}, {reason}, not {self.number(column)}")


def read_topology(path: str, seed: int = 0, im2col: str = "matrix") -> Network:
    """The network in a file; see the module."""
    return parse_topology(read_text(path), seed, im2col)


def read_text(path: str) -> str:
    """The text of a topology file.

    Raises
    ------
    WorkloadError
        One line that says what was expected where, without the file's name.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise WorkloadError("not a file; expected a topology file (CSV)")
    try:
        if os.path.getsize(path) > LARGEST_FILE:
            raise WorkloadError(f"larger than {LARGEST_FILE} bytes; expected a topology file (CSV)")
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        raise WorkloadError(f"cannot be read: {error.strerror or error}; expected a topology "
                            f"file (CSV)") from None
    except UnicodeDecodeError:
        raise WorkloadError("not a text file; expected a topology file (CSV)") from None


def parse_topology(text: str, seed: int = 0, im2col: str = "matrix") -> Network:
    """The network that the text of a file describes; see the module."""
    if im2col not in IM2COL_LAYERS:
        raise WorkloadError(f"im2col must be one of {', '.join(IM2COL_LAYERS)}, not {im2col!r}")
    lines = _cells(text)
    number, header = next(lines, (1, []))
    layout, columns = _header(number, header)
    layers = []
    for number, cells in lines:
        row = _row(number, cells, columns)
        layers.append(_gemm(row, seed) if layout == "GEMM" else _convolution(row, seed, im2col))
    if not layers:
        raise WorkloadError(f"line {number + 1}: expected a layer ({', '.join(columns)}), but "
                            f"the file ends")
    notes = {"matrix": "a convolution is its im2col product, read in full from memory",
             "loader": "a convolution's windows are formed in the loader, from the image",
             "memory": "a convolution's im2col matrix is written to memory, and read from there"}
    if layout == "GEMM":
        return Network("topology", layers, {"layout": layout, "seed": seed})
    return Network("topology", layers, {"layout": layout, "im2col": im2col, "seed": seed},
                   [notes[im2col]])


def _cells(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every line that has any, without the empty ones at its end."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = []
        for cell in line.split(","):
            if cell.lstrip().startswith("#"):
                break
            cells.append(cell.strip())
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield number, cells


def _header(number: int, names: list[str]) -> tuple[str, list[str]]:
    """The layout, and the column names in the file's order, "" for one without a name."""
    plain = [_plain(name) for name in names]
    layout = "GEMM" if {"m", "n", "k"} & set(plain) else "convolution"
    expected = f"expected the columns {', '.join(LAYOUTS[layout])}"
    if not any(_plain(name) in plain for names in LAYOUTS.values() for name in names):
        raise WorkloadError(f"line {number}: no header; expected {', '.join(LAYOUTS['GEMM'])} or "
                            f"{', '.join(LAYOUTS['convolution'])}")
    known = [_plain(name) for name in (*LAYOUTS[layout], *OPTIONAL[layout])]
    for name, column in zip(names, plain):
        if name and column not in known:
            raise WorkloadError(f'line {number}, column "{name}": has no meaning here; {expected} '
                                f"(and perhaps {', '.join(OPTIONAL[layout])})")
        if name and plain.count(column) > 1:
            raise WorkloadError(f'line {number}, column "{name}": is there twice; {expected}')
    two = [name for name in STRIDES if _plain(name) in plain]
    if two and "strides" in plain:
        raise WorkloadError(f'line {number}, column "{two[0]}": expected either Strides or '
                            f"{' and '.join(STRIDES)}, not both")
    needed = LAYOUTS[layout][:-1] + STRIDES if two else LAYOUTS[layout]
    for name in needed:
        if _plain(name) not in plain:
            raise WorkloadError(f'line {number}, column "{name}": missing; {expected}')
    return layout, names


def _row(number: int, cells: list[str], columns: list[str]) -> _Row:
    """Cells by column; a value that no column has a name for is refused."""
    width = max(len(columns), len(cells))
    names = [*columns, *[""] * (width - len(columns))]
    values = [*cells, *[""] * (width - len(cells))]
    for place, (name, cell) in enumerate(zip(names, values), 1):
        if cell and not name:
            last = next(name for name in reversed(columns) if name)
            raise WorkloadError(
                f'line {number}, column {place} (after "{last}"): extra value "{cell[:40]}"; '
                f"expected {len([name for name in columns if name])} values: "
                f"{', '.join(filter(None, columns))}")
    return _Row(number, {_plain(name): cell for name, cell in zip(names, values) if name})


def _convolution(row: _Row, seed: int, im2col: str) -> Layer:
    name = _named(row, "Layer name")
    image = [row.number(f"IFMAP {side}") for side in ("Height", "Width")]
    window = [row.number(f"Filter {side}") for side in ("Height", "Width")]
    channels, filters = row.number("Channels"), row.number("Num Filter")
    directions = STRIDES if _plain(STRIDES[0]) in row.cells else ("Strides", "Strides")
    strides = [row.number(column) for column in directions]
    for side, size, part in zip(("Height", "Width"), image, window):
        if part > size:
            raise row.refuse(f"Filter {side}", f"expected at most IFMAP {side} = {size}, not "
                                               f"{part}")
    height, width = (-(-(size - part + stride) // stride)
                     for size, part, stride in zip(image, window, strides))
    for column, value in (("Eh", height), ("Ew", width), ("e2", height * width)):
        row.match(column, value, "which the sizes before give")
    groups = channels if "DP" in name else 1
    beyond = [(count - 1) * stride + part - size for count, stride, part, size in
              zip((height, width), strides, window, image)]
    shape = {"height": image[0], "width": image[1], "channels": channels,
             "filters": groups * filters, "kernel": tuple(window), "stride": tuple(strides),
             "padding": tuple((0, max(0, side)) for side in beyond), "groups": groups}
    if im2col == "matrix":
        inner = window[0] * window[1] * channels // groups
        return _layer(row, name, (height * width, inner, filters), seed, count=groups)
    try:
        return convolution_layer(name, shape, im2col=im2col, seed=seed)
    except WorkloadError as error:
        raise WorkloadError(f"line {row.line}: {error}") from None


def _gemm(row: _Row, seed: int) -> Layer:
    name = _named(row, "Layer")
    return _layer(row, name, (row.number("M"), row.number("K"), row.number("N")), seed)


def _named(row: _Row, column: str) -> str:
    row.match("Batch size", 1, "for a batch is not modelled")
    if row.has("Sparsity"):
        text = row.cells["sparsity"]
        ratio = RATIO.fullmatch(text)
        if ratio is None or ratio[1] != ratio[2]:
            raise row.refuse("Sparsity", f'expected dense weights, such as 1:1, for sparse ones '
                                         f'are not modelled, not "{text[:40]}"')
    return row.text(column, "the layer's name")


def _layer(row: _Row, name: str, shape: tuple[int, int, int], seed: int, count: int = 1) -> Layer:
    try:
        return Layer(name, RandomGemm(*shape, seed), count)
    except WorkloadError as error:
        raise WorkloadError(f"line {row.line}: {error}") from None
