"""Work, traffic and bounds of tiled matrix products, from their shapes alone."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...rtl import Design
from ...rtl.matrix_unit import MatrixUnit
from ...rtl.memory_timing import MemoryTiming
from ...rtl.output_control import sum_interval
from ...workloads.gemm import Gemm
from ...workloads.tiling import Tile, Tiling

__all__ = ["GemmEstimate", "estimate"]


@dataclass
class GemmEstimate:
    """Exact work and traffic, and the cycles that each resource needs for it.

    Attributes
    ----------
    counts : dict of str to int
        Expected counters: useful_macs (chapter 4.1.1: M K N), bytes_read, bytes_written,
        transactions, activation_rows, weight_rows, accumulator_rows, loads, stores.
    resources : dict of str to int
        Cycles for which each resource is needed, if nothing else ever delays it: "array" (one
        activation row per cycle), "weight_shift" (one weight row per cycle; without double
        buffering the whole path of every tile) or, output stationary, "results" (one result row
        per cycle; without double buffering every tile by itself), "memory" (occupancy),
        "operand_port" and "weight_port" (write ports of the buffers).
    """
    counts: Counter = field(default_factory=Counter)
    resources: Counter = field(default_factory=Counter)

    @property
    def bound(self) -> int:
        """Cycles below which no run can be: the longest resource time, at least 1."""
        return max(1, *self.resources.values())

    @property
    def limited_by(self) -> str:
        """The resource that sets the bound; the first listed of equals."""
        return max(self.resources, key=lambda name: self.resources[name])


def estimate(design: Design, jobs: Iterable[Gemm], timing: str = "rtl") -> GemmEstimate:
    """The estimate of products that run one after another; times of a resource add up.

    With timing "ideal" a job needs the array for ceil(MACs / (rows * cols)) cycles, and neither
    weight shift nor results nor write ports take time of their own.
    """
    total = GemmEstimate()
    for job in jobs:
        tiling = job.tiling(design)
        _add(total, design, job, tiling)
        if timing == "ideal":
            total.resources["array"] += _textbook_cycles(design, tiling)
    if timing == "ideal":
        total.resources["array"] -= total.counts["activation_rows"]
        total.resources = Counter({name: total.resources[name] for name in ("array", "memory")})
    return total


def _textbook_cycles(design: Design, tiling: Tiling) -> int:
    """Cycles of all jobs, each ceil(MACs / (rows * cols))."""
    k_sizes, n_sizes = _sizes(tiling.k_tiles), _sizes(tiling.n_tiles)
    if tiling.output_stationary:
        m_sizes = _sizes(tiling.m_blocks)
    else:
        m_sizes = Counter(part.rows.size for block in range(len(tiling.m_blocks))
                          for part in tiling.slices(block, 0))
    return sum(m_count * k_count * n_count * (-(-m * k * n // design.macs_per_cycle))
               for m, m_count in m_sizes.items() for k, k_count in k_sizes.items()
               for n, n_count in n_sizes.items())


def _sizes(tiles: Iterable[Tile]) -> Counter:
    """How many tiles there are of each size."""
    return Counter(tile.size for tile in tiles)


def _row_bytes(tiles: Iterable[Tile], bits: int) -> int:
    """Bytes of a matrix row, each tile in whole bytes."""
    return sum(count * (-(-size * bits // 8)) for size, count in _sizes(tiles).items())


def _add(total: GemmEstimate, design: Design, job: Gemm, tiling: Tiling) -> None:
    m, k, n = job.shape
    total.counts["useful_macs"] += m * k * n
    (_add_output_stationary if tiling.output_stationary else _add_weight_stationary)(
        total, design, tiling)
    traffic = _Traffic(total, MemoryTiming.of(design))
    if not job.a_resident:
        columns = tiling.operand_columns
        stride = _row_bytes(columns, design.activation_bits)
        slices = Counter((part.rows.size, columns[part.column].size)
                         for block in range(len(tiling.m_blocks))
                         for k_index in range(len(tiling.k_tiles))
                         for part in tiling.slices(block, k_index))
        for (rows, elements), count in slices.items():
            traffic.add("operand_port", count * tiling.a_reads, rows,
                        -(-elements * design.activation_bits // 8), stride)
    stride = _row_bytes(tiling.n_tiles, design.weight_bits)
    for elements, count in _sizes(tiling.n_tiles).items():
        for inner, inner_count in _sizes(tiling.k_tiles).items():
            traffic.add("weight_port", count * inner_count * tiling.b_reads, inner,
                        -(-elements * design.weight_bits // 8), stride)
    if job.store_output:
        element = design.result_element_bytes
        for size, count in _sizes(tiling.m_blocks).items():
            for elements, columns_count in _sizes(tiling.n_tiles).items():
                traffic.add("store", count * columns_count, size, elements * element,
                            n * element)


def _add_weight_stationary(total: GemmEstimate, design: Design, tiling: Tiling) -> None:
    """Every row of M enters once for every weight tile; every block shifts every tile."""
    tiles = len(tiling.k_tiles) * len(tiling.n_tiles)
    rows, shifted = tiling.executed_rows * tiles, len(tiling.m_blocks) * tiles * design.rows
    total.counts.update(activation_rows=rows, accumulator_rows=rows, weight_rows=shifted)
    if not design.weight_double_buffer:
        shifted += rows + len(tiling.m_blocks) * tiles * MatrixUnit.latency(design)
    total.resources.update(array=rows, weight_shift=shifted)


def _add_output_stationary(total: GemmEstimate, design: Design, tiling: Tiling) -> None:
    """All of K enters for every output tile, whose results then take `rows` cycles to leave."""
    tiles = len(tiling.m_blocks) * len(tiling.n_tiles)
    pairs, results = tiling.k * tiles, tiles * design.rows
    total.counts.update(activation_rows=pairs, weight_rows=pairs,
                        accumulator_rows=tiling.m * len(tiling.n_tiles))
    if not design.weight_double_buffer:
        results = max(results, pairs + tiles * (sum_interval(design) - 1))
    total.resources.update(array=pairs, results=results)


@dataclass
class _Traffic:
    """Adds `count` equal descriptors to an estimate."""
    total: GemmEstimate
    timing: MemoryTiming

    def add(self, kind: str, count: int, rows: int, bytes_per_row: int, row_stride: int) -> None:
        counts, resources = self.total.counts, self.total.resources
        nbytes = rows * bytes_per_row
        counts["transactions"] += count * self.timing.transactions(rows, bytes_per_row,
                                                                   row_stride)
        resources["memory"] += count * self.timing.occupancy(nbytes)
        if kind == "store":
            counts["stores"] += count
            counts["bytes_written"] += count * nbytes
        else:
            counts["loads"] += count
            counts["bytes_read"] += count * nbytes
            resources[kind] += count * self.timing.hold(nbytes, rows)
