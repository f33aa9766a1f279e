"""Work, traffic and bounds of tiled matrix products, from their shapes alone."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...rtl import Design
from ...rtl.matrix_unit import MatrixUnit
from ...rtl.memory_timing import MemoryTiming
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
        buffering the whole path of every tile), "memory" (occupancy of the channel),
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


def estimate(design: Design, jobs: Iterable[Gemm]) -> GemmEstimate:
    """The estimate of products that run one after another; times of a resource add up."""
    total = GemmEstimate()
    for job in jobs:
        _add(total, design, job, job.tiling(design))
    return total


def _sizes(tiles: Iterable[Tile]) -> Counter:
    """How many tiles there are of each size."""
    return Counter(tile.size for tile in tiles)


def _row_bytes(tiles: Iterable[Tile], bits: int) -> int:
    """Bytes of a matrix row, each tile in whole bytes."""
    return sum(count * (-(-size * bits // 8)) for size, count in _sizes(tiles).items())


def _add(total: GemmEstimate, design: Design, job: Gemm, tiling: Tiling) -> None:
    m, k, n = job.shape
    counts, resources = total.counts, total.resources
    k_tiles, n_tiles, blocks = tiling.k_tiles, tiling.n_tiles, tiling.m_blocks
    rows = m * len(k_tiles) * len(n_tiles)
    tiles = len(blocks) * len(k_tiles) * len(n_tiles)
    counts["useful_macs"] += m * k * n
    counts["activation_rows"] += rows
    counts["accumulator_rows"] += rows
    counts["weight_rows"] += tiles * design.rows
    resources["array"] += rows
    resources["weight_shift"] += tiles * design.rows
    if not design.weight_double_buffer:
        resources["weight_shift"] += rows + tiles * MatrixUnit.latency(design)

    traffic = _Traffic(total, MemoryTiming.of(design))
    if not job.a_resident:
        a_stride = _row_bytes(k_tiles, design.activation_bits)
        slices = _sizes(part for block in blocks for part in tiling.slices(block))
        for size, count in slices.items():
            for inner, inner_count in _sizes(k_tiles).items():
                traffic.add("operand_port", count * inner_count * tiling.a_reads, size,
                            -(-inner * design.activation_bits // 8), a_stride)
    b_stride = _row_bytes(n_tiles, design.weight_bits)
    for columns, count in _sizes(n_tiles).items():
        for inner, inner_count in _sizes(k_tiles).items():
            traffic.add("weight_port", count * inner_count * tiling.b_reads, inner,
                        -(-columns * design.weight_bits // 8), b_stride)
    if job.store_output:
        element = design.result_element_bytes
        for size, count in _sizes(blocks).items():
            for columns, columns_count in _sizes(n_tiles).items():
                traffic.add("store", count * columns_count, size, columns * element,
                            n * element)


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
