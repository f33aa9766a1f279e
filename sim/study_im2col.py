"""The convolution study of the chapter (4.6.2): windows formed while loading, or in memory first.

A 3x3 convolution of a 56x56 image with 64 channels into 64, with ReLU: its im2col matrix is nine
times the image. Formed in the loader it is never in memory; the explicit way writes it and reads
it back.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..rtl import Design
from ..workloads.conv2d import RandomConv2d
from .analytic.figures import rows as figure_rows
from .backends.choice import Backend
from .backends.run import Progress
from .checks import check
from .ledger import RunLedger, run_ledger
from .result import SCHEMA, Check, Result
from .simulation import simulate

__all__ = ["DESIGNS", "Im2colCase", "Im2colRow", "cases", "run_case", "study_document"]

MIB = 1 << 20

#: Presets of the study, the first by default, with what it changes; and the image's side, its
#: channels, which are also those of the output. On tiny it is small enough for level rtl.
DESIGNS: Mapping[str, Mapping[str, Any]] = {
    "ascend-910": {}, "ascend-950": {}, "b200-sm": {"activation_bits": 16, "weight_bits": 16},
    "tiny": {"activation_bits": 16, "weight_bits": 16}}
SIZES = {"tiny": (7, 4)}
FULL_SIZE = (56, 64)

WAYS = (("loader, line buffer", "loader", True), ("loader, no line buffer", "loader", False),
        ("memory, line buffer", "memory", True), ("memory, no line buffer", "memory", False))


@dataclass(frozen=True)
class Im2colCase:
    """A row of the study: which way, on which machine."""
    name: str
    design: Design
    workload: RandomConv2d


@dataclass(frozen=True)
class Im2colRow:
    """What came out.

    Attributes
    ----------
    case : Im2colCase
    result : Result
    ideal : Result
        At level cycle with timing ideal: service times.
    ledger : RunLedger
        The energy at the chapter's picojoules.
    checks : list of dict
    """
    case: Im2colCase
    result: Result
    ideal: Result
    ledger: RunLedger
    checks: list[Check] = field(repr=False)

    @property
    def weight_bytes(self) -> int:
        """Read for every block of output pixels."""
        work, design = self.case.workload, self.case.design
        tiling = work.tiling(design)
        elements = work.shape.product[1] * work.shape.product[2] * tiling.b_reads
        return elements * design.weight_bits // 8

    @property
    def expanded_bytes(self) -> int:
        return self.case.workload.shape.expanded_elements * self.case.design.activation_bytes

    @property
    def stored_bytes(self) -> int:
        """The result."""
        size = self.case.design.result_element_bytes
        shape = self.case.workload.shape
        return shape.product[0] * shape.filters * size

    @property
    def matrix_read(self) -> int:
        """Bytes of the im2col matrix that are read: once for each time the program needs it."""
        if self.case.workload.im2col == "loader":
            return 0
        return self.expanded_bytes * self.case.workload.tiling(self.case.design).a_reads

    @property
    def matrix_written(self) -> int:
        """Bytes that are written beside the result, from the counters."""
        return self.result.bytes_written - self.stored_bytes

    @property
    def matrix_traffic(self) -> int:
        """Bytes written and read because the im2col matrix is in memory."""
        return self.matrix_written + self.matrix_read

    @property
    def image_bytes(self) -> int:
        """Bytes of the image that are read: what the counters have beyond weights and matrix."""
        return self.result.bytes_read - self.weight_bytes - self.matrix_read

    def to_dict(self) -> dict[str, Any]:
        """The entry of this row in the JSON's `rows`."""
        return {"name": self.case.name, "design": self.case.design.to_dict(),
                "image_bytes": self.image_bytes, "weight_bytes": self.weight_bytes,
                "matrix_traffic": self.matrix_traffic, "ideal_cycles": self.ideal.cycles,
                "result": self.result.to_dict(), "energy": self.ledger.to_dict()}


def cases(design_name: str = "ascend-910") -> Iterator[Im2colCase]:
    """The rows of the study on one of :data:`DESIGNS`."""
    design = replace(Design.preset(design_name), **DESIGNS[design_name])
    side, channels = SIZES.get(design_name, FULL_SIZE)
    for name, im2col, line_buffer in WAYS:
        yield Im2colCase(name, replace(design, im2col_line_buffer=line_buffer), RandomConv2d(
            side, side, channels, channels, 3, padding=1, relu=True, im2col=im2col))


def run_case(case: Im2colCase, level: str = "cycle", backend: Backend | None = None,
             progress: Progress | None = None) -> Im2colRow:
    """Run a row, and compare its counters with the sizes that the chapter computes.

    Parameters
    ----------
    case : Im2colCase
    level : str
        "cycle" or "rtl".
    backend : Backend
        Of level rtl.
    progress : callable
        See :func:`simulate`.
    """
    options: dict[str, Any] = {}
    if level == "rtl" and backend is not None:
        options = {"backend": backend.name, "mesh": backend.mesh, "rebuild": backend.rebuild}
    result = simulate(case.design, case.workload, level=level, progress=progress, **options)
    ideal = simulate(case.design, case.workload, level="cycle", timing="ideal", output=False)
    row = Im2colRow(case, result, ideal, run_ledger(result), [])
    row.checks.extend([*result.checks, *ideal.checks, *_identities(row)])
    for each in row.checks:
        each["name"] = f"{case.name}: {each['name']}"
    return row


def _identities(row: Im2colRow) -> Iterator[Check]:
    """The chapter's sizes, of this convolution, against counters of the run."""
    shape, design = row.case.workload.shape, row.case.design
    size, memory = design.activation_bytes, row.case.workload.im2col == "memory"
    image = shape.input_elements * size
    taps = shape.kernel[0] * shape.kernel[1]
    distinct = image if design.im2col_line_buffer else row.result.counters["window_bytes"]
    outputs = shape.product[0] * shape.filters
    yield check("image_bytes", distinct, row.image_bytes)
    yield check("expanded_ratio", taps * image, row.expanded_bytes)
    yield check("matrix_written", taps * image * memory, row.matrix_written)
    yield check("useful_macs", shape.useful_macs, row.result.useful_macs)
    yield check("array_cycles", -(-shape.useful_macs // design.macs_per_cycle),
                row.ideal.units["array"].busy)
    marks = _marks(row)
    yield check("relu_groups", -(-outputs // (design.lanes * design.vector_units)),
                row.ideal.units["vector"].busy - marks)


def _marks(row: Im2colRow) -> int:
    """Vector commands that do not belong to ReLU: one for each part of a matrix in memory."""
    work = row.case.workload
    tiling = work.tiling(row.case.design)
    return (row.result.counters["vector_commands"]
            - len(tiling.m_blocks) * len(tiling.n_tiles))


def printed() -> Mapping[str, float]:
    """The chapter's figures of this convolution, by their names."""
    return {row.id: row.value for row in figure_rows() if row.id.startswith("conv-")}


def study_document(design_name: str, rows: Iterable[Im2colRow]) -> dict[str, Any]:
    """The JSON document of the study."""
    rows = list(rows)
    return {"schema": SCHEMA, "study": "im2col", "design": design_name,
            "rows": [row.to_dict() for row in rows],
            "checks": [each for row in rows for each in row.checks]}


def summary(rows: Iterable[Im2colRow]) -> list[tuple[str, str, str]]:
    """Name, the run's and the chapter's value of every size, from the rows' counters."""
    rows = list(rows)
    loader, memory = rows[0], next(row for row in rows if row.case.workload.im2col == "memory")
    shape, figures = loader.case.workload.shape, printed()
    known = (shape.height, shape.channels) == FULL_SIZE

    def line(name: str, value: float, figure: str, form: Callable[[float], str]
             ) -> tuple[str, str, str]:
        return name, form(value), form(figures[figure]) if known and figure else ""

    def whole(value: float) -> str:
        return f"{value:,.0f}"

    def mib(value: float) -> str:
        return f"{value:.3f} MiB"

    tiling = loader.case.workload.tiling(loader.case.design)
    m = loader.result.counters["activation_rows"] // (len(tiling.k_tiles) * len(tiling.n_tiles))
    k = loader.result.useful_macs // (m * shape.filters)
    avoided = memory.matrix_traffic / MIB
    return [
        line("image, bytes read", loader.image_bytes, "conv-input-bytes", whole),
        line("im2col matrix, rows", m, "conv-unfold-rows", whole),
        line("im2col matrix, columns", k, "conv-unfold-cols", whole),
        line("im2col matrix, written", memory.matrix_written / MIB, "conv-unfold-mib", mib),
        line("times the image", memory.expanded_bytes / loader.image_bytes,
             "conv-unfold-ratio", whole),
        ("traffic avoided", mib(avoided), mib(2 * figures["conv-unfold-mib"]) if known else ""),
        line("work, MFLOP", 2 * loader.result.useful_macs / 1e6, "conv-mflops",
             lambda value: f"{value:,.4g}"),
        line("array, service cycles", loader.ideal.units["array"].busy, "conv-cube-cycles", whole),
        line("ReLU, groups", loader.ideal.units["vector"].busy
             * loader.case.design.vector_units, "conv-relu-groups", whole),
    ]
