"""Input slots and the hand-off between matrix and vector unit: sizes, jobs and bounds.

The schedules themselves are the cycle level's, with timing ideal; nothing here repeats them.
"""

from ..model import Results, model
from ..parameters import integer, real
from .common import ceil_div, longest
from .vector import softmax_ticks

__all__ = ["cv_path", "handoff_bounds", "input_slot_bounds"]


@model("input-slot-bounds", "4.4.2", "Input slots: block size, lifetime, bounds of the schedule", [
    integer("m", 128, "rows", "rows of the block", high=1 << 20),
    integer("n", 128, "columns", "columns of the block", high=1 << 20),
    integer("k", 32, "elements", "inner dimension of a block", high=1 << 20),
    integer("k_total", 128, "elements", "inner dimension of all blocks", high=1 << 30),
    integer("element_bytes", 2, "byte", "bytes of an operand", high=64),
    integer("bytes_per_tick", 256, "byte/tick", "transfer rate", high=1 << 20),
    integer("wait_ticks", 128, "tick", "latency after the transfer", low=0, high=1 << 30),
    integer("flops_per_tick", 8192, "FLOP/cycle", "matrix rate", high=1 << 40),
    integer("slots", 2, "slots", "input slots", high=1 << 20),
    integer("block", 4, "block", "a block, counted from 1", high=1 << 20),
], {
    "block_bytes": ("byte", "operands of a block"),
    "blocks": ("blocks", "blocks along the inner dimension"),
    "block_flops": ("FLOP", "work of a block"),
    "buffer_bytes": ("byte", "all slots"),
    "transfer_ticks": ("tick", "channel time of a block"),
    "ready_ticks": ("tick", "issue to ready"),
    "compute_ticks": ("tick", "matrix time of a block"),
    "lifetime_ticks": ("tick", "issue to release of a slot"),
    "loads_in_flight": ("loads", "loads on their way if one is issued after the other"),
    "least_slots": ("slots", "fewest slots without a gap; none if the channel is slower"),
    "earliest_finish_ticks": ("tick", "first ready, then computing without a gap"),
    "one_slot_ticks": ("tick", "finish with one slot"),
    "needed_ticks": ("tick", "when `block` is needed for computing without a gap"),
    "limited_by": ("text", "channel, latency or matrix, with these slots"),
})
def input_slot_bounds(m: int, n: int, k: int, k_total: int, element_bytes: int,
                      bytes_per_tick: int, wait_ticks: int, flops_per_tick: int, slots: int,
                      block: int) -> Results:
    """lifetime = transfer + wait + compute; least slots = ceil(lifetime / compute).

    A slot is used again every lifetime, so the interval between blocks is at least
    lifetime / slots. Bounds only. Source: chapter 4.4.2.
    """
    nbytes, blocks = (m * k + n * k) * element_bytes, ceil_div(k_total, k)
    transfer = ceil_div(nbytes, bytes_per_tick)
    compute = ceil_div(2 * m * n * k, flops_per_tick)
    ready = transfer + wait_ticks
    life = ready + compute
    intervals = {"matrix": compute, "channel": transfer, "latency": life / slots}
    return {"block_bytes": nbytes, "blocks": blocks, "block_flops": 2 * m * n * k,
            "buffer_bytes": slots * nbytes, "transfer_ticks": transfer, "ready_ticks": ready,
            "compute_ticks": compute, "lifetime_ticks": life,
            "loads_in_flight": ready / transfer,
            "least_slots": ceil_div(life, compute) if transfer <= compute else None,
            "earliest_finish_ticks": ready + blocks * compute, "one_slot_ticks": blocks * life,
            "needed_ticks": ready + (block - 1) * compute, "limited_by": longest(intervals)}


@model("handoff-bounds", "4.4.3", "Row groups between matrix and vector unit: jobs and bounds", [
    integer("rows", 128, "rows", "query rows", high=1 << 20),
    integer("group", 32, "rows", "rows of a group", high=1 << 20),
    integer("keys", 128, "keys", "keys", high=1 << 20),
    integer("head_dim", 128, "elements", "head dimension", high=1 << 20),
    integer("passes", 2, "passes", "1 for the direct path, 2 for write then read", high=2),
    integer("flops_per_tick", 8192, "FLOP/cycle", "matrix rate", high=1 << 40),
    integer("bytes_per_tick", 128, "byte/tick", "hand-off interface", high=1 << 20),
    integer("lanes", 128, "op/cycle", "ordinary vector operations per tick", high=1 << 20),
    integer("sfu_lanes", 16, "op/cycle", "exponentials or divisions per tick", high=1 << 20),
    integer("score_bytes", 4, "byte", "bytes of a score", high=16),
    integer("probability_bytes", 2, "byte", "bytes of a probability", high=16),
    real("capacity_kib", 96, "KiB", "memory for slots"),
], {
    "groups": ("groups", "row groups"),
    "group_score_bytes": ("byte", "scores of a group"),
    "group_probability_bytes": ("byte", "probabilities of a group"),
    "slot_bytes": ("byte", "scores and probabilities of a group"),
    "slots_that_fit": ("slots", "slots in the memory"),
    "all_score_bytes": ("byte", "scores of all rows"),
    "interface_bytes": ("byte", "scores of all rows over the interface"),
    "matrix_ticks": ("tick", "QK of a group; PV takes as long"),
    "score_ticks": ("tick", "scores over the interface"),
    "softmax_ticks": ("tick", "softmax of a group"),
    "probability_ticks": ("tick", "probabilities over the interface"),
    "vector_start_ticks": ("tick", "QK and scores of the first group"),
    "one_slot_ticks": ("tick", "finish with one slot"),
    "vector_bound_ticks": ("tick", "finish if the vector unit never waits again"),
    "limited_by": ("text", "matrix, interface or vector, with slots enough"),
})
def handoff_bounds(rows: int, group: int, keys: int, head_dim: int, passes: int,
                   flops_per_tick: int, bytes_per_tick: int, lanes: int, sfu_lanes: int,
                   score_bytes: int, probability_bytes: int, capacity_kib: float) -> Results:
    """One slot: G (QK + S + softmax + P + PV); vector-bound: QK + S + G softmax + P + PV.

    Every duration is rounded up on its own. Bounds only. Source: chapter 4.4.3.
    """
    groups = ceil_div(rows, group)
    scores, probabilities = group * keys * score_bytes, group * keys * probability_bytes
    matrix = ceil_div(2 * group * keys * head_dim, flops_per_tick)
    out = passes * ceil_div(scores, bytes_per_tick)
    back = passes * ceil_div(probabilities, bytes_per_tick)
    vector = sum(softmax_ticks(group, keys, lanes, sfu_lanes).values())
    slot = scores + probabilities
    return {"groups": groups, "group_score_bytes": scores,
            "group_probability_bytes": probabilities, "slot_bytes": slot,
            "slots_that_fit": int(capacity_kib * 1024 // slot),
            "all_score_bytes": rows * keys * score_bytes,
            "interface_bytes": passes * rows * keys * score_bytes,
            "matrix_ticks": matrix, "score_ticks": out, "softmax_ticks": vector,
            "probability_ticks": back, "vector_start_ticks": matrix + out,
            "one_slot_ticks": groups * (2 * matrix + out + vector + back),
            "vector_bound_ticks": 2 * matrix + out + groups * vector + back,
            "limited_by": longest({"vector": vector, "matrix": 2 * matrix,
                                   "interface": out + back})}


@model("cv-path", "4.6.2", "Scores and probabilities over an outer interface or a direct path", [
    integer("m", 128, "rows", "queries of the block", high=1 << 20),
    integer("n", 128, "columns", "keys of the block", high=1 << 20),
    real("element_bytes", 4, "byte", "bytes of a score or probability", high=16),
    real("matrix_us", 1.024, "us", "matrix time of the block"),
    real("outer_gb_per_s", 94, "GB/s", "bandwidth of the outer interface"),
    real("direct_gb_per_s", 256, "GB/s", "bandwidth of the direct path"),
], {
    "tensor_bytes": ("byte", "scores, or probabilities"),
    "handoff_bytes": ("byte", "one hand-off over the outer interface: write and read"),
    "outer_bytes": ("byte", "both hand-offs over the outer interface"),
    "direct_bytes": ("byte", "both hand-offs over the direct path"),
    "outer_gb_per_s_needed": ("GB/s", "outer bandwidth within the matrix time"),
    "direct_gb_per_s_needed": ("GB/s", "direct bandwidth within the matrix time"),
    "outer_seconds": ("s", "time of the outer traffic"),
    "direct_seconds": ("s", "time of the direct traffic"),
    "limited_by": ("text", "matrix or outer interface"),
})
def cv_path(m: int, n: int, element_bytes: float, matrix_us: float, outer_gb_per_s: float,
            direct_gb_per_s: float) -> Results:
    """Direct: 2 m n b bytes; outer: 4 m n b, as each hand-off is written and read.

    Source: chapter 4.6.2.
    """
    tensor = m * n * element_bytes
    outer = 4 * tensor / (outer_gb_per_s * 1e9)
    return {"tensor_bytes": tensor, "handoff_bytes": 2 * tensor, "outer_bytes": 4 * tensor,
            "direct_bytes": 2 * tensor, "outer_gb_per_s_needed": 4 * tensor / (matrix_us * 1e3),
            "direct_gb_per_s_needed": 2 * tensor / (matrix_us * 1e3), "outer_seconds": outer,
            "direct_seconds": 2 * tensor / (direct_gb_per_s * 1e9),
            "limited_by": longest({"matrix": matrix_us * 1e-6, "outer interface": outer})}
