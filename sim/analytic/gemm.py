"""Work, traffic and bounds of tiled matrix products, from their shapes alone."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ...rtl import Design
from ...rtl.commands import Destination, Load
from ...rtl.handoff import duration
from ...rtl.matrix_unit import MatrixUnit
from ...rtl.memory_timing import MemoryTiming
from ...rtl.output_control import sum_interval
from ...rtl.vector_unit import beats
from ...workloads.epilogue import Epilogue
from ...workloads.gemm import Gemm
from ...workloads.ideal import handoff_cycles, vector_job_cycles
from ...workloads.tiling import Tile, Tiling

__all__ = ["Traffic", "add_gemm", "add_operand_rows", "add_product", "add_result"]


def add_gemm(counts: Counter, resources: Counter, design: Design, job: Gemm,
             timing: str = "rtl") -> None:
    """Add a product to expected counters and resource times; see :class:`Estimate`."""
    tiling = job.tiling(design)
    traffic = Traffic(counts, resources, MemoryTiming.of(design))
    add_product(traffic, design, tiling, timing)
    if not job.a_resident:
        add_operand_rows(traffic, design, tiling)
    if job.store_output:
        add_result(traffic, design, tiling, job.epilogue, timing)


def add_product(traffic: "Traffic", design: Design, tiling: Tiling, timing: str) -> None:
    """Work and weights of a product."""
    counts, resources = traffic.counts, traffic.resources
    counts["useful_macs"] += tiling.m * tiling.k * tiling.n
    counts.update(vector_commands=0, handoffs=0, handoff_bytes=0, exchange_bytes=0,
                  window_bytes=0)
    (_add_output_stationary if tiling.output_stationary else _add_weight_stationary)(
        counts, resources, design, tiling)
    if timing == "ideal":
        rows = tiling.k if tiling.output_stationary else tiling.executed_rows
        tiles = (len(tiling.m_blocks) if tiling.output_stationary
                 else len(tiling.k_tiles)) * len(tiling.n_tiles)
        resources["array"] += _textbook_cycles(design, tiling) - rows * tiles
    stride = _row_bytes(tiling.n_tiles, design.weight_bits)
    for elements, count in _sizes(tiling.n_tiles).items():
        for inner, inner_count in _sizes(tiling.k_tiles).items():
            traffic.add("weight_port", count * inner_count * tiling.b_reads, inner,
                        -(-elements * design.weight_bits // 8), stride)


def add_operand_rows(traffic: "Traffic", design: Design, tiling: Tiling) -> None:
    """Loads of the rows of A that lie in memory."""
    stride = _row_bytes(tiling.operand_columns, design.activation_bits)
    for rows, count in _slice_rows(tiling).items():
        for elements, columns_count in _sizes(tiling.operand_columns).items():
            traffic.add("operand_port", count * columns_count * tiling.a_reads, rows,
                        -(-elements * design.activation_bits // 8), stride)


def add_result(traffic: "Traffic", design: Design, tiling: Tiling, epilogue: Epilogue | None,
               timing: str, row_elements: int | None = None) -> None:
    """Stores of the result, whose rows have `row_elements` elements, all of N unless given."""
    element = design.result_element_bytes
    if epilogue is not None:
        element = epilogue.element_bytes(design)
        _add_epilogue(design, epilogue, tiling, traffic, timing)
    for size, count in _sizes(tiling.m_blocks).items():
        for elements, columns_count in _sizes(tiling.n_tiles).items():
            traffic.add("store", count * columns_count, size, elements * element,
                        (row_elements or tiling.n) * element)


def _textbook_cycles(design: Design, tiling: Tiling) -> int:
    """Cycles of all jobs, each ceil(MACs / (rows * cols))."""
    k_sizes, n_sizes = _sizes(tiling.k_tiles), _sizes(tiling.n_tiles)
    if tiling.output_stationary:
        m_sizes = _sizes(tiling.m_blocks)
    else:
        m_sizes = _slice_rows(tiling)
    return sum(m_count * k_count * n_count * (-(-m * k * n // design.macs_per_cycle))
               for m, m_count in m_sizes.items() for k, k_count in k_sizes.items()
               for n, n_count in n_sizes.items())


def _sizes(tiles: Iterable[Tile]) -> Counter:
    """How many tiles there are of each size."""
    return Counter(tile.size for tile in tiles)


def _slice_rows(tiling: Tiling) -> Counter:
    """How many slices of each number of rows lie over each other in a column of the operand."""
    if tiling.output_stationary:
        return _sizes(tiling.k_tiles)
    counts: Counter = Counter()
    for size, blocks in _sizes(tiling.m_blocks).items():
        counts[tiling.slice_rows] += blocks * (size // tiling.slice_rows)
        counts[size % tiling.slice_rows] += blocks
    del counts[0]
    return counts


def _row_bytes(tiles: Iterable[Tile], bits: int) -> int:
    """Bytes of a matrix row, each tile in whole bytes."""
    return sum(count * (-(-size * bits // 8)) for size, count in _sizes(tiles).items())


def _add_weight_stationary(counts: Counter, resources: Counter, design: Design,
                           tiling: Tiling) -> None:
    """Every row of M enters once for every weight tile; every block shifts every tile."""
    tiles = len(tiling.k_tiles) * len(tiling.n_tiles)
    rows, shifted = tiling.executed_rows * tiles, len(tiling.m_blocks) * tiles * design.rows
    counts.update(activation_rows=rows, accumulator_rows=rows, weight_rows=shifted)
    if not design.weight_double_buffer:
        shifted += rows + len(tiling.m_blocks) * tiles * MatrixUnit.latency(design)
    resources.update(array=rows, weight_shift=shifted)


def _add_output_stationary(counts: Counter, resources: Counter, design: Design,
                           tiling: Tiling) -> None:
    """All of K enters for every output tile, whose results then take `rows` cycles to leave."""
    tiles = len(tiling.m_blocks) * len(tiling.n_tiles)
    pairs, results = tiling.k * tiles, tiles * design.rows
    counts.update(activation_rows=pairs, weight_rows=pairs,
                        accumulator_rows=tiling.m * len(tiling.n_tiles))
    if not design.weight_double_buffer:
        results = max(results, pairs + tiles * (sum_interval(design) - 1))
    resources.update(array=pairs, results=results)


def _add_epilogue(design: Design, epilogue: Epilogue, tiling: Tiling, traffic: "Traffic",
                  timing: str) -> None:
    """Every tile of the result goes over the hand-off and through the vector unit."""
    counts = traffic.counts
    for rows, blocks in _sizes(tiling.m_blocks).items():
        for columns, tiles in _sizes(tiling.n_tiles).items():
            count = blocks * tiles
            handoff = epilogue.handoff(design, 0, 0, 0, rows, columns)
            commands = epilogue.commands(design, 0, rows, columns)
            nbytes = count * rows * columns * handoff.element_bytes
            if design.handoff == "staged":
                nbytes *= 2
                counts["exchange_bytes"] += nbytes
            counts.update(handoffs=count, handoff_bytes=nbytes,
                          vector_commands=count * len(commands))
            if timing == "ideal":
                moves = handoff_cycles(design, handoff)
                cycles = vector_job_cycles(design, commands)
            else:
                moves = duration(design, handoff)
                cycles = sum(beats(design, command) for command in commands)
            traffic.resources.update(handoff=count * moves, vector=count * cycles)
            if epilogue.biased:
                load = epilogue.bias_load(design, 0, 0, columns)
                traffic.add("bias", count, load.rows, load.bytes_per_row, load.row_stride)


@dataclass
class Traffic:
    """Adds `count` equal descriptors to an estimate."""
    counts: Counter
    resources: Counter
    timing: MemoryTiming

    def add(self, kind: str, count: int, rows: int, bytes_per_row: int, row_stride: int) -> None:
        nbytes = rows * bytes_per_row
        self._add(kind, count, nbytes, self.timing.beats(rows),
                  self.timing.transactions(rows, bytes_per_row, row_stride))

    def add_load(self, kind: str, load: Load) -> None:
        """A load of windows, or one that sets their geometry."""
        vector = load.destination is Destination.VECTOR
        beats = self.timing.beats(load.rows, vector, load.segments)
        self._add(kind, 1, load.nbytes, beats, self.timing.load_transactions(load))

    def _add(self, kind: str, count: int, nbytes: int, beats: int, transactions: int) -> None:
        counts, resources = self.counts, self.resources
        occupancy = self.timing.occupancy(nbytes)
        counts["transactions"] += count * transactions
        resources["memory"] += count * occupancy
        if kind == "store":
            counts["stores"] += count
            counts["bytes_written"] += count * nbytes
        else:
            counts["loads"] += count
            counts["bytes_read"] += count * nbytes
            if kind != "bias":  # the vector slots' port is never the limit
                resources[kind] += count * max(occupancy, beats)
