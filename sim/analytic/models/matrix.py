"""Matrix units: tiles, padding, arrays, work on one row, split-K, sparsity."""

from ..model import Results, model
from ..parameters import integer, real
from .common import (
    BANDWIDTH,
    DEVICE,
    MATRIX_RATE,
    ceil_div,
    longest,
    product_bytes,
    shape,
)

__all__ = ["dual_path", "fill_drain", "gemv_path", "matrix_tile", "shape_efficiency",
           "sparsity", "split_k", "tile_padding", "weight_stationary"]


@model("matrix-tile", "4.2.1", "Work and reuse of one m x n x k step of a matrix unit", [
    integer("m", 16, "rows", "rows of the tile", high=1 << 20),
    integer("n", 16, "columns", "columns of the tile", high=1 << 20),
    integer("k", 16, "elements", "inner dimension of the tile", high=1 << 20),
], {
    "flops": ("FLOP", "2 m n k"),
    "macs": ("MACs", "m n k"),
    "a_elements": ("elements", "elements of the first operand, m k"),
    "b_elements": ("elements", "elements of the second operand, k n"),
    "a_uses": ("uses", "multiplies in which each element of the first operand takes part"),
    "b_uses": ("uses", "multiplies in which each element of the second operand takes part"),
})
def matrix_tile(m: int, n: int, k: int) -> Results:
    """An m x n x k step does m n k multiply-accumulates on m k + k n operand elements.

    Each element of A meets n columns, each of B m rows. Source: chapter 4.2.1.
    """
    return {"flops": 2 * m * n * k, "macs": m * n * k, "a_elements": m * k, "b_elements": k * n,
            "a_uses": n, "b_uses": m}


def shape_efficiency(size: int, tile: int) -> float:
    """Useful over executed along one dimension that is padded to whole tiles."""
    return size / (ceil_div(size, tile) * tile)


@model("tile-padding", "4.2.1", "Useful over executed work when dimensions fill whole tiles", [
    *shape(1, 4096, 4096),
    integer("tile_m", 16, "rows", "rows of a tile", high=1 << 20),
    integer("tile_k", 16, "elements", "inner dimension of a tile", high=1 << 20),
    integer("tile_n", 16, "columns", "columns of a tile", high=1 << 20),
], {
    "efficiency": ("ratio", "useful over executed multiply-accumulates"),
    "row_efficiency": ("ratio", "the part of it that m alone costs"),
    "useful_macs": ("MACs", "m k n"),
    "executed_macs": ("MACs", "with every dimension rounded up to whole tiles"),
    "tiles": ("tiles", "tile steps"),
})
def tile_padding(m: int, k: int, n: int, tile_m: int, tile_k: int, tile_n: int) -> Results:
    """m n k / (ceil(m/tm) tm * ceil(n/tn) tn * ceil(k/tk) tk). Source: chapter 4.2.1."""
    tiles = ceil_div(m, tile_m) * ceil_div(k, tile_k) * ceil_div(n, tile_n)
    executed = tiles * tile_m * tile_k * tile_n
    return {"efficiency": m * k * n / executed, "row_efficiency": shape_efficiency(m, tile_m),
            "useful_macs": m * k * n, "executed_macs": executed, "tiles": tiles}


@model("fill-drain", "4.7.1", "Cycles of a skewed array: fill, tiles, drain", [
    integer("rows", 256, "cells", "array size in the K direction", high=1 << 16),
    integer("cols", 256, "cells", "array size in the N direction", high=1 << 16),
    integer("m", 256, "rows", "activation rows of a tile", high=1 << 30),
    integer("tiles", 1, "tiles", "weight tiles one after another", high=1 << 30),
], {
    "tile_cycles": ("cycles", "first input in to last result out of one tile"),
    "run_cycles": ("cycles", "first weight row in to last result out of all tiles, weights "
                             "double-buffered"),
    "array_cycles": ("cycles", "cycles in which an activation row enters"),
    "utilization": ("ratio", "array cycles over run cycles"),
    "limited_by": ("text", "rows of a tile, or shifting the next tile's weights"),
})
def fill_drain(rows: int, cols: int, m: int, tiles: int) -> Results:
    """tile = m + rows + cols - 2; run = rows + (tiles - 1) max(m, rows) + tile.

    One register per cell, none beside. Source: chapter 4.7.1 for the cause; the formula is
    ours and the RTL is tested against it.
    """
    tile = m + rows + cols - 2
    run = rows + (tiles - 1) * max(m, rows) + tile
    return {"tile_cycles": tile, "run_cycles": run, "array_cycles": m * tiles,
            "utilization": m * tiles / run,
            "limited_by": longest({"activations": m, "weight shift": rows})}


@model("weight-stationary", "4.7.1", "Weight-stationary array: work per weight byte, FIFO", [
    integer("side", 256, "cells", "rows and columns of the array", high=1 << 16),
    integer("rows", 1, "rows", "activation rows that use a weight tile", high=1 << 30),
    integer("weight_bytes", 1, "byte", "bytes of a weight", high=16),
    integer("fifo_tiles", 4, "tiles", "weight tiles in the FIFO", high=1 << 20),
    real("weight_gb_per_s", 34, "GB/s", "bandwidth that fills the FIFO"),
    real("clock_mhz", 700, "MHz", "clock of the array"),
], {
    "mac_units": ("MACs", "multiply-accumulate units"),
    "tile_bytes": ("byte", "bytes of a weight tile"),
    "fifo_bytes": ("byte", "bytes of the FIFO"),
    "ops": ("ops", "operations of one tile, 2 for each multiply-accumulate"),
    "ops_per_weight_byte": ("op/byte", "operations for each weight byte"),
    "load_seconds": ("s", "time to load a tile"),
    "compute_seconds": ("s", "time in which the rows enter"),
    "balanced_rows": ("rows", "rows at which computing takes as long as loading"),
    "limited_by": ("text", "weights or array"),
})
def weight_stationary(side: int, rows: int, weight_bytes: int, fifo_tiles: int,
                      weight_gb_per_s: float, clock_mhz: float) -> Results:
    """ops = 2 rows side^2 per tile of side^2 weights: 2 rows for each weight.

    Source: chapter 4.7.1; bandwidth and clock of the TPU v1 from its paper.
    """
    tile = side * side * weight_bytes
    load, compute = tile / (weight_gb_per_s * 1e9), rows / (clock_mhz * 1e6)
    return {"mac_units": side * side, "tile_bytes": tile, "fifo_bytes": fifo_tiles * tile,
            "ops": 2 * rows * side * side, "ops_per_weight_byte": 2 * rows / weight_bytes,
            "load_seconds": load, "compute_seconds": compute,
            "balanced_rows": load * clock_mhz * 1e6,
            "limited_by": longest({"weights": load, "array": compute})}


@model("gemv-path", "4.8.3", "A path for few rows beside the tiled one: which is faster", [
    *shape(1, 4096, 4096),
    integer("tile_m", 16, "rows", "rows of a tile of the matrix path", high=1 << 20),
    MATRIX_RATE,
    real("vector_tflops_per_s", 82.6, "TFLOP/s", "rate of the path without tiles"),
    BANDWIDTH,
], {
    "matrix_seconds": ("s", "matrix path, rows padded to whole tiles"),
    "vector_seconds": ("s", "path without tiles"),
    "memory_seconds": ("s", "traffic, the same on both"),
    "choice": ("text", "the faster path; matrix if equal"),
    "limited_by": ("text", "what limits the chosen path"),
}, DEVICE)
def gemv_path(m: int, k: int, n: int, tile_m: int, matrix_tflops_per_s: float,
              vector_tflops_per_s: float, bandwidth_gb_per_s: float) -> Results:
    """matrix = 2 ceil(m/tm) tm k n / P; vector = 2 m k n / Pv; memory = bytes / R.

    A path takes the longer of its compute and the traffic. The vector rate of the default is
    the RTX 4090's (published FP32 rate). Source: chapter 4.2.1 and 4.8.3.
    """
    padded = ceil_div(m, tile_m) * tile_m
    matrix = 2 * padded * k * n / (matrix_tflops_per_s * 1e12)
    vector = 2 * m * k * n / (vector_tflops_per_s * 1e12)
    memory = product_bytes(m, k, n, 2) / (bandwidth_gb_per_s * 1e9)
    choice = "vector" if max(vector, memory) < max(matrix, memory) else "matrix"
    chosen = vector if choice == "vector" else matrix
    return {"matrix_seconds": matrix, "vector_seconds": vector, "memory_seconds": memory,
            "choice": choice, "limited_by": longest({"memory": memory, choice: chosen})}


@model("split-k", "4.8.3", "K cut over several blocks, partial results added by a second kernel", [
    *shape(256, 4096, 4096),
    integer("splits", 2, "parts", "parts of K", high=1 << 20),
    integer("tile_m", 128, "rows", "rows of an output block", high=1 << 20),
    integer("tile_n", 128, "columns", "columns of an output block", high=1 << 20),
    integer("units", 188, "units", "blocks that run at the same time", high=1 << 20),
    integer("partial_bytes", 4, "byte", "bytes of a partial sum", high=16),
    integer("element_bytes", 2, "byte", "bytes of an operand and of a result", high=16),
], {
    "kernels": ("kernels", "one, or two with a reduction"),
    "blocks": ("blocks", "blocks of the first kernel"),
    "waves": ("waves", "rounds in which the units take all blocks"),
    "unit_use": ("ratio", "share of the units' time that has a block"),
    "partial_traffic_bytes": ("byte", "partial sums written and read back"),
    "total_bytes": ("byte", "operands, partial sums and result, each once"),
    "traffic_ratio": ("ratio", "total over the traffic without a split"),
})
def split_k(m: int, k: int, n: int, splits: int, tile_m: int, tile_n: int, units: int,
            partial_bytes: int, element_bytes: int) -> Results:
    """blocks = ceil(m/tm) ceil(n/tn) splits; partial traffic = 2 splits m n p, if splits > 1.

    Source: chapter 4.8.3 (two kernels at 256 rows, one at one row); the counting is ours.
    """
    blocks = ceil_div(m, tile_m) * ceil_div(n, tile_n) * splits
    waves = ceil_div(blocks, units)
    partial = 2 * splits * m * n * partial_bytes if splits > 1 else 0
    whole = product_bytes(m, k, n, element_bytes)
    return {"kernels": 2 if splits > 1 else 1, "blocks": blocks, "waves": waves,
            "unit_use": blocks / (waves * units), "partial_traffic_bytes": partial,
            "total_bytes": whole + partial, "traffic_ratio": (whole + partial) / whole}


@model("sparsity", "4.6.1", "Structured sparsity: kept values of each group, sizes and rate", [
    integer("kept", 2, "elements", "nonzero values of a group", high=1 << 10),
    integer("group", 4, "elements", "values of a group", high=1 << 10),
    integer("values", 1 << 24, "elements", "weights before pruning"),
    real("value_bits", 16, "bit", "bits of a value"),
], {
    "density": ("ratio", "kept over all values"),
    "rate_ratio": ("ratio", "matrix rate over dense, if zeros are skipped"),
    "index_bits": ("bit", "bits that say where a kept value belongs"),
    "dense_bytes": ("byte", "bytes before pruning"),
    "sparse_bytes": ("byte", "bytes of kept values and their positions"),
    "size_ratio": ("ratio", "dense over sparse bytes"),
})
def sparsity(kept: int, group: int, values: int, value_bits: float) -> Results:
    """kept / group of the values, each with ceil(log2(group)) bits of position.

    Ranges: kept up to group; more counts as dense. Source: chapter 4.6.1 (2 of 4); positions
    as published for 2:4 sparsity.
    """
    kept = min(kept, group)
    density, index = kept / group, max(0, (group - 1).bit_length())
    dense = values * value_bits / 8
    sparse = values * density * (value_bits + index) / 8
    return {"density": density, "rate_ratio": 1 / density, "index_bits": index,
            "dense_bytes": dense, "sparse_bytes": sparse, "size_ratio": dense / sparse}


@model("dual-path", "4.6.1", "Ordinary and matrix units on the same traffic", [
    *shape(4096, 4096, 4096),
    MATRIX_RATE,
    real("vector_tflops_per_s", None, "TFLOP/s", "rate of the ordinary units",
         source="device.vector_tflops_per_s"),
    BANDWIDTH,
    integer("element_bytes", 2, "byte", "bytes of an element", high=16),
], {
    "flops": ("FLOP", "2 m k n"),
    "total_bytes": ("byte", "traffic, each matrix once"),
    "vector_seconds": ("s", "time of the ordinary units"),
    "matrix_seconds": ("s", "time of the matrix units"),
    "memory_seconds": ("s", "time of the traffic"),
    "vector_limited_by": ("text", "limit of the ordinary path"),
    "limited_by": ("text", "limit of the matrix path"),
    "matrix_gain": ("ratio", "what the matrix units gain once traffic counts"),
}, {"device": "devices:v100"})
def dual_path(m: int, k: int, n: int, matrix_tflops_per_s: float, vector_tflops_per_s: float,
              bandwidth_gb_per_s: float, element_bytes: int) -> Results:
    """Each path: max(2 m k n / P, bytes / R). Source: chapter 4.6.1."""
    flops, total = 2 * m * k * n, product_bytes(m, k, n, element_bytes)
    vector, matrix = flops / (vector_tflops_per_s * 1e12), flops / (matrix_tflops_per_s * 1e12)
    memory = total / (bandwidth_gb_per_s * 1e9)
    return {"flops": flops, "total_bytes": total, "vector_seconds": vector,
            "matrix_seconds": matrix, "memory_seconds": memory,
            "vector_limited_by": longest({"memory": memory, "vector": vector}),
            "limited_by": longest({"memory": memory, "matrix": matrix}),
            "matrix_gain": max(vector, memory) / max(matrix, memory)}
