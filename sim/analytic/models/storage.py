"""On-chip storage: tile budgets, occupancy, accumulators, areas, reuse of requests."""

from ..model import Results, model
from ..parameters import integer, real
from .common import ceil_div

__all__ = ["accumulator_memory", "block_requests", "buffer_area", "l2_reuse", "occupancy",
           "tile_budget"]

TILE = [integer("m", 128, "rows", "rows of the tile", high=1 << 20),
        integer("n", 128, "columns", "columns of the tile", high=1 << 20),
        integer("k", 64, "elements", "inner dimension of a block", high=1 << 20)]
BYTES = [real("element_bytes", 2, "byte", "bytes of an operand", high=64),
         real("accumulator_bytes", 4, "byte", "bytes of a sum", high=64)]


@model("tile-budget", "4.3.2", "On-chip memory of a tile: operand pairs and accumulator", [
    *TILE,
    integer("pairs", 1, "pairs", "operand pairs held at once, 2 for double buffering",
            high=1 << 10),
    *BYTES,
    real("capacity_kib", 96, "KiB", "on-chip memory"),
], {
    "operand_bytes": ("byte", "block of the first operand"),
    "pair_bytes": ("byte", "blocks of both operands"),
    "sum_bytes": ("byte", "accumulators of the tile"),
    "total_bytes": ("byte", "pairs and accumulators"),
    "fits": ("text", "whether that is at most the capacity"),
    "pairs_beside_sums": ("pairs", "pairs that fit beside the accumulators"),
    "pairs_alone": ("pairs", "pairs that fit if the accumulators are elsewhere"),
})
def tile_budget(m: int, n: int, k: int, pairs: int, element_bytes: float,
                accumulator_bytes: float, capacity_kib: float) -> Results:
    """pairs (m k + k n) b + m n a bytes. Source: chapter 4.3.2."""
    pair, sums = (m * k + k * n) * element_bytes, m * n * accumulator_bytes
    capacity = capacity_kib * 1024
    total = pairs * pair + sums
    return {"operand_bytes": m * k * element_bytes, "pair_bytes": pair, "sum_bytes": sums,
            "total_bytes": total, "fits": "yes" if total <= capacity else "no",
            "pairs_beside_sums": max(0, int((capacity - sums) // pair)),
            "pairs_alone": int(capacity // pair)}


@model("occupancy", "4.3.2", "Groups resident on a unit at the same time", [
    real("capacity_kib", 100, "KiB", "on-chip memory of the unit"),
    real("group_kib", 32, "KiB", "memory of a group"),
    integer("most_groups", 32, "groups", "limit for other reasons", high=1 << 16),
], {
    "resident_groups": ("groups", "whole groups that fit"),
    "unused_bytes": ("byte", "memory left over"),
    "limited_by": ("text", "memory, or the other limit"),
})
def occupancy(capacity_kib: float, group_kib: float, most_groups: int) -> Results:
    """min(floor(capacity / group), limit). Source: chapter 4.3.2."""
    fitting = int(capacity_kib // group_kib)
    groups = min(fitting, most_groups)
    return {"resident_groups": groups, "unused_bytes": (capacity_kib - groups * group_kib) * 1024,
            "limited_by": "memory" if fitting <= most_groups else "group limit"}


@model("accumulator-memory", "4.6.1", "Accumulators in a memory of their own", [
    *TILE,
    integer("pairs", 3, "pairs", "operand pairs held at once", high=1 << 10),
    *BYTES,
], {
    "total_bytes": ("byte", "pairs and accumulators"),
    "moved_bytes": ("byte", "the accumulators, which leave the shared memory"),
    "shared_bytes": ("byte", "what stays there"),
    "shared_ratio": ("ratio", "stays over total"),
})
def accumulator_memory(m: int, n: int, k: int, pairs: int, element_bytes: float,
                       accumulator_bytes: float) -> Results:
    """pairs (m k + k n) b stay, m n a move. Source: chapter 4.6.1 (TMEM), 4.3.2."""
    operands, sums = pairs * (m * k + k * n) * element_bytes, m * n * accumulator_bytes
    return {"total_bytes": operands + sums, "moved_bytes": sums, "shared_bytes": operands,
            "shared_ratio": operands / (operands + sums)}


@model("buffer-area", "4.1.3", "Die shares of buffer, compute and control, and their densities", [
    real("buffer_percent", 37, "percent", "die share of the data buffer", high=100),
    real("compute_percent", 30, "percent", "die share of compute units", high=100),
    real("control_percent", 2, "percent", "die share of control", high=100),
    real("buffer_mib", 24, "MiB", "capacity of the data buffer"),
    integer("mac_units", 65536, "MACs", "multiply-accumulate units"),
], {
    "other_percent": ("percent", "the rest of the die"),
    "bytes_per_percent": ("byte", "buffer for each percent of the die"),
    "macs_per_percent": ("MACs", "units for each percent of the die"),
    "bytes_per_mac": ("byte", "buffer for each unit"),
})
def buffer_area(buffer_percent: float, compute_percent: float, control_percent: float,
                buffer_mib: float, mac_units: int) -> Results:
    """Shares and capacities divided by each other. Source: chapter 4.1.3, TPU v1."""
    nbytes = buffer_mib * (1 << 20)
    return {"other_percent": 100 - buffer_percent - compute_percent - control_percent,
            "bytes_per_percent": nbytes / buffer_percent,
            "macs_per_percent": mac_units / compute_percent, "bytes_per_mac": nbytes / mac_units}


@model("l2-reuse", "4.3.2", "Requests of several readers of the same bytes, and off-chip traffic", [
    real("block_kib", 32, "KiB", "bytes that every reader needs"),
    integer("readers", 4, "readers", "blocks that read them", high=1 << 20),
    real("hit_ratio", 1, "ratio", "share of repeated reads that stay in the cache", high=1,
         above=False),
], {
    "requested_bytes": ("byte", "bytes that the readers ask for"),
    "off_chip_bytes": ("byte", "the first read, and repeated ones that miss"),
    "reuse": ("ratio", "requested over off-chip"),
})
def l2_reuse(block_kib: float, readers: int, hit_ratio: float) -> Results:
    """requests = r V; off chip = V + (r - 1) V (1 - h). Source: chapter 4.3.2."""
    block = block_kib * 1024
    off_chip = block * (1 + (readers - 1) * (1 - hit_ratio))
    return {"requested_bytes": readers * block, "off_chip_bytes": off_chip,
            "reuse": readers * block / off_chip}


@model("block-requests", "4.4.1", "Each output block re-reads its input: requests of a product", [
    integer("m", 32, "rows", "rows of the input", high=1 << 30),
    integer("k", 4096, "elements", "inner dimension", high=1 << 30),
    integer("n", 2048, "columns", "columns of the weights", high=1 << 30),
    integer("block_m", 32, "rows", "rows of an output block", high=1 << 30),
    integer("block_n", 128, "columns", "columns of an output block", high=1 << 30),
    real("element_bytes", 1, "byte", "bytes of an element", high=64),
], {
    "blocks": ("blocks", "output blocks"),
    "input_bytes": ("byte", "bytes of the input"),
    "input_request_bytes": ("byte", "input bytes that all blocks ask for"),
    "weight_bytes": ("byte", "bytes of the weights"),
    "weight_request_bytes": ("byte", "weight bytes that all blocks ask for"),
    "request_ratio": ("ratio", "requested over distinct bytes"),
})
def block_requests(m: int, k: int, n: int, block_m: int, block_n: int, element_bytes: float
                   ) -> Results:
    """Input requests = ceil(n/bn) m k b; weight requests = ceil(m/bm) k n b.

    Source: chapter 4.4.1.
    """
    row_blocks, column_blocks = ceil_div(m, block_m), ceil_div(n, block_n)
    inputs, weights = m * k * element_bytes, k * n * element_bytes
    requested = column_blocks * inputs + row_blocks * weights
    return {"blocks": row_blocks * column_blocks, "input_bytes": inputs,
            "input_request_bytes": column_blocks * inputs, "weight_bytes": weights,
            "weight_request_bytes": row_blocks * weights,
            "request_ratio": requested / (inputs + weights)}
