"""Vector side: softmax, exponentials, RoPE, lanes, the attention block."""

from ..model import Results, model
from ..parameters import choice, integer, real
from .common import ceil_div, longest

__all__ = ["attention_block", "cube_vector_attention", "cube_vector_convolution",
           "exponential_rate", "rate_multipliers", "rope", "softmax", "softmax_ticks",
           "vector_core"]


def softmax_ticks(rows: int, scores: int, lanes: int, sfu_lanes: int) -> dict[str, int]:
    """Ticks of the four terms of a softmax, each rounded up on its own."""
    return {"general": ceil_div(rows * (3 * scores - 1), lanes),
            "compare": ceil_div(rows * (scores - 1), lanes),
            "exponential": ceil_div(rows * scores, sfu_lanes),
            "division": ceil_div(rows * scores, sfu_lanes)}


@model("softmax", "4.2.2", "Operations and ticks of the softmax of a row group", [
    integer("rows", 1, "rows", "rows of the group", high=1 << 20),
    integer("scores", 128, "elements", "scores of a row", high=1 << 24),
    integer("lanes", 128, "op/cycle", "ordinary operations per tick", high=1 << 20),
    integer("sfu_lanes", 16, "op/cycle", "exponentials or divisions per tick", high=1 << 20),
], {
    "exponentials": ("ops", "one for each score"),
    "tree_rounds": ("rounds", "rounds of a binary reduction tree"),
    "general_ticks": ("tick", "scale, subtract and sum: 3 n - 1 operations a row"),
    "compare_ticks": ("tick", "maximum: n - 1 compares a row"),
    "exponential_ticks": ("tick", "exponentials"),
    "division_ticks": ("tick", "divisions"),
    "total_ticks": ("tick", "all four, one after another"),
    "limited_by": ("text", "lanes or sfu lanes"),
})
def softmax(rows: int, scores: int, lanes: int, sfu_lanes: int) -> Results:
    """ceil(g(3n-1)/lanes) + ceil(g(n-1)/lanes) + 2 ceil(g n/sfu_lanes); rounds = log2 n.

    Ranges: any n; the rounds are rounded up. Source: chapter 4.2.2, 4.4.3.
    """
    ticks = softmax_ticks(rows, scores, lanes, sfu_lanes)
    ordinary = ticks["general"] + ticks["compare"]
    special = ticks["exponential"] + ticks["division"]
    return {"exponentials": rows * scores, "tree_rounds": (scores - 1).bit_length(),
            **{f"{name}_ticks": value for name, value in ticks.items()},
            "total_ticks": ordinary + special,
            "limited_by": longest({"sfu_lanes": special, "lanes": ordinary})}


@model("exponential-rate", "4.6.1", "Time of the exponentials of a block of scores", [
    integer("m", 128, "rows", "rows of the block", high=1 << 20),
    integer("n", 128, "columns", "scores of a row", high=1 << 24),
    real("rate", 16, "op/cycle", "exponentials per cycle"),
    real("multiplier", 1, "ratio", "rate of a later generation over this one"),
], {
    "exponentials": ("ops", "m n"),
    "rate_per_cycle": ("op/cycle", "rate with the multiplier"),
    "cycles": ("cycle", "exponentials over rate"),
})
def exponential_rate(m: int, n: int, rate: float, multiplier: float) -> Results:
    """cycles = m n / (rate multiplier).

    Source: chapter 4.2.3, 4.6.1 (16 per cycle; later twice that in FP32, four times in 16 bits).
    """
    return {"exponentials": m * n, "rate_per_cycle": rate * multiplier,
            "cycles": m * n / (rate * multiplier)}


@model("rope", "4.2.2", "Rotary position embedding: pairs, work, coefficient table", [
    integer("heads", 32, "heads", "query heads", high=1 << 16),
    integer("kv_heads", 8, "heads", "key heads", high=1 << 16),
    integer("head_dim", 128, "elements", "dimension of a head", high=1 << 16),
    integer("positions", 1024, "positions", "positions in the table", high=1 << 30),
    integer("entry_bytes", 2, "byte", "bytes of a coefficient", high=16),
    integer("flops_per_pair", 6, "FLOP", "4 multiplies and 2 additions", high=1 << 10),
], {
    "pairs": ("pairs", "rotated pairs for each token and layer"),
    "flops": ("FLOP", "work for each token and layer"),
    "entries_per_position": ("entries", "cosines and sines of one position"),
    "table_bytes": ("byte", "bytes of the table"),
})
def rope(heads: int, kv_heads: int, head_dim: int, positions: int, entry_bytes: int,
         flops_per_pair: int) -> Results:
    """pairs = (heads + kv_heads) head_dim / 2; one cosine and one sine for each pair of a head.

    Source: chapter 4.2.2.
    """
    pairs, entries = (heads + kv_heads) * head_dim // 2, 2 * (head_dim // 2)
    return {"pairs": pairs, "flops": pairs * flops_per_pair, "entries_per_position": entries,
            "table_bytes": positions * entries * entry_bytes}


@model("vector-core", "4.6.2", "Lanes of vector cores, and groups of elements", [
    integer("vector_bytes", 256, "byte", "width of a vector", high=1 << 20),
    integer("element_bytes", 2, "byte", "bytes of an element", high=16),
    integer("elements", 200704, "elements", "elements to process"),
    integer("cubes", 24, "cores", "matrix cores of a die", high=1 << 16),
    integer("vectors_per_cube", 2, "cores", "vector cores beside each", high=1 << 10),
], {
    "lanes": ("elements", "elements of a vector"),
    "groups": ("groups", "vectors for all elements"),
    "vector_cores": ("cores", "vector cores of a die"),
    "groups_per_vector_core": ("groups", "vectors of each of one cube's cores"),
})
def vector_core(vector_bytes: int, element_bytes: int, elements: int, cubes: int,
                vectors_per_cube: int) -> Results:
    """lanes = vector bytes / element bytes; groups = ceil(elements / lanes).

    Ranges: a vector holds at least one element. Source: chapter 4.2.2, 4.6.2.
    """
    lanes = max(1, vector_bytes // element_bytes)
    groups = ceil_div(elements, lanes)
    return {"lanes": lanes, "groups": groups, "vector_cores": cubes * vectors_per_cube,
            "groups_per_vector_core": ceil_div(groups, vectors_per_cube)}


@model("attention-block", "4.2.3", "Attention block on matrix unit, shared memory, exponentials", [
    integer("m", 128, "rows", "queries of the block", high=1 << 20),
    integer("n", 128, "columns", "keys of the block", high=1 << 20),
    integer("d", 128, "elements", "head dimension", high=1 << 20),
    real("element_bytes", 2, "byte", "bytes of an operand", high=16),
    real("matrix_rate", 8192, "FLOP/cycle", "rate of the matrix unit"),
    real("memory_rate", 128, "byte/cycle", "read bandwidth of the shared memory"),
    real("exponential_rate", 16, "op/cycle", "exponentials per cycle"),
    choice("reads", ("once", "per_block"), "each operand read once, or again for each sub-block"),
    integer("sub_block", 128, "rows", "side of a sub-block", high=1 << 20),
], {
    "flops": ("FLOP", "QK and PV"),
    "exponentials": ("ops", "m n"),
    "read_bytes": ("byte", "Q, K and V from shared memory"),
    "matrix_cycles": ("cycle", "service time of the matrix unit"),
    "memory_cycles": ("cycle", "service time of the shared memory"),
    "exponential_cycles": ("cycle", "service time of the exponentials"),
    "interval_cycles": ("cycle", "the longest: a block completes every so many cycles"),
    "limited_by": ("text", "the resource that takes longest"),
})
def attention_block(m: int, n: int, d: int, element_bytes: float, matrix_rate: float,
                    memory_rate: float, exponential_rate: float, reads: str, sub_block: int
                    ) -> Results:
    """4 m n d / P, bytes / R, m n / E; the three overlap, so the interval is the longest.

    Q, K and V are read once (m d + 2 n d elements), or, with reads=per_block, 3 s d for each
    sub-block of s rows and columns; probabilities are not counted. Source: chapter 4.2.3.
    """
    elements = m * d + 2 * n * d
    if reads == "per_block":
        elements = ceil_div(m, sub_block) * ceil_div(n, sub_block) * 3 * sub_block * d
    cycles = {"matrix": 4 * m * n * d / matrix_rate,
              "exponential": m * n / exponential_rate,
              "memory": elements * element_bytes / memory_rate}
    return {"flops": 4 * m * n * d, "exponentials": m * n,
            "read_bytes": elements * element_bytes,
            **{f"{name}_cycles": value for name, value in cycles.items()},
            "interval_cycles": max(cycles.values()), "limited_by": longest(cycles)}


@model("cube-vector-convolution", "4.6.2", "Convolution and ReLU on matrix and vector units", [
    integer("height", 56, "rows", "output height", high=1 << 16),
    integer("width", 56, "columns", "output width", high=1 << 16),
    integer("channels", 64, "channels", "input channels", high=1 << 16),
    integer("kernel", 3, "elements", "side of the kernel", high=1 << 10),
    integer("filters", 64, "channels", "output channels", high=1 << 16),
    real("matrix_rate", 8192, "FLOP/cycle", "rate of the matrix unit"),
    integer("vector_lanes", 128, "op/cycle", "elements of a vector", high=1 << 20),
    real("group_cycles", 1, "cycle", "cycles of a vector"),
], {
    "flops": ("FLOP", "2 H W k k C O"),
    "matrix_cycles": ("cycle", "service time of the matrix unit"),
    "relu_elements": ("elements", "H W O"),
    "relu_groups": ("groups", "vectors of elements"),
    "vector_cycles": ("cycle", "service time of the vector unit"),
    "limited_by": ("text", "matrix or vector"),
})
def cube_vector_convolution(height: int, width: int, channels: int, kernel: int, filters: int,
                            matrix_rate: float, vector_lanes: int, group_cycles: float
                            ) -> Results:
    """matrix = 2 H W k^2 C O / P; vector = ceil(H W O / lanes) cycles. Source: chapter 4.6.2."""
    elements = height * width * filters
    flops = 2 * elements * kernel * kernel * channels
    groups = ceil_div(elements, vector_lanes)
    cycles = {"matrix": flops / matrix_rate, "vector": groups * group_cycles}
    return {"flops": flops, "matrix_cycles": cycles["matrix"], "relu_elements": elements,
            "relu_groups": groups, "vector_cycles": cycles["vector"],
            "limited_by": longest(cycles)}


@model("cube-vector-attention", "4.6.2", "Attention block: exponentials within the matrix time", [
    integer("m", 128, "rows", "queries of the block", high=1 << 20),
    integer("n", 128, "columns", "keys of the block", high=1 << 20),
    integer("d", 128, "elements", "head dimension", high=1 << 20),
    real("matrix_rate", 8192, "FLOP/cycle", "rate of the matrix unit"),
    integer("vector_lanes", 64, "elements", "elements of a vector", high=1 << 20),
    real("group_cycles", 4, "cycle", "cycles of a vector of exponentials"),
], {
    "flops": ("FLOP", "QK and PV"),
    "matrix_cycles": ("cycle", "service time of the matrix unit"),
    "exponentials": ("ops", "m n"),
    "exponential_groups": ("groups", "vectors of exponentials"),
    "group_interval_cycles": ("cycle", "cycles for each vector within the matrix time"),
    "exponentials_per_cycle": ("op/cycle", "rate needed within the matrix time"),
    "vector_cycles": ("cycle", "service time of the vector unit"),
    "limited_by": ("text", "matrix or vector"),
})
def cube_vector_attention(m: int, n: int, d: int, matrix_rate: float, vector_lanes: int,
                          group_cycles: float) -> Results:
    """matrix = 4 m n d / P; needed: m n / matrix exponentials per cycle. Source: chapter 4.6.2."""
    matrix, groups = 4 * m * n * d / matrix_rate, ceil_div(m * n, vector_lanes)
    return {"flops": 4 * m * n * d, "matrix_cycles": matrix, "exponentials": m * n,
            "exponential_groups": groups, "group_interval_cycles": matrix / groups,
            "exponentials_per_cycle": m * n / matrix, "vector_cycles": groups * group_cycles,
            "limited_by": longest({"matrix": matrix, "vector": groups * group_cycles})}


@model("rate-multipliers", "4.6.2", "What faster matrix and vector units leave unbalanced", [
    real("matrix_cycles", 1024, "cycle", "matrix time before"),
    real("vector_cycles", 1024, "cycle", "vector time before"),
    real("matrix_multiplier", 2, "ratio", "matrix rate over before, 2 for FP8, 4 for MXFP4"),
    real("vector_multiplier", 2, "ratio", "vector rate over before"),
    real("handoff_bytes", 131072, "byte", "bytes handed over"),
    real("format_ratio", 1, "ratio", "bytes of an element over before"),
], {
    "matrix_cycles_after": ("cycle", "matrix time after"),
    "vector_cycles_after": ("cycle", "vector time after"),
    "vector_over_matrix": ("ratio", "vector time over matrix time after"),
    "handoff_bytes_after": ("byte", "bytes handed over after: rates do not change them"),
    "handoff_bytes_per_cycle": ("byte/cycle", "bandwidth the hand-off needs"),
    "limited_by": ("text", "matrix or vector"),
})
def rate_multipliers(matrix_cycles: float, vector_cycles: float, matrix_multiplier: float,
                     vector_multiplier: float, handoff_bytes: float, format_ratio: float
                     ) -> Results:
    """Times divide by their multiplier; bytes only change with the format.

    Source: chapter 4.6.2, Ascend 950.
    """
    after = {"matrix": matrix_cycles / matrix_multiplier,
             "vector": vector_cycles / vector_multiplier}
    nbytes = handoff_bytes * format_ratio
    return {"matrix_cycles_after": after["matrix"], "vector_cycles_after": after["vector"],
            "vector_over_matrix": after["vector"] / after["matrix"],
            "handoff_bytes_after": nbytes,
            "handoff_bytes_per_cycle": nbytes / max(after.values()),
            "limited_by": longest(after)}
