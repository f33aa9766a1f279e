"""Whole models: memory, bytes and work of a decode step, prefill, token rates, measurements."""

from ..model import Results, model
from ..parameters import integer, real
from .common import BANDWIDTH, CAPACITY, DEVICE, MATRIX_RATE, WORKSPACE, longest
from .network import NETWORK, NETWORK_SHAPE, Network

__all__ = ["decode_step", "kv_capacity", "measured_decode", "model_memory", "prefill",
           "step_time"]

BATCH = integer("batch", 1, "requests", "requests of a step", high=1 << 30)
CONTEXT = integer("context", 8192, "positions", "positions of each request", high=1 << 30)
MIB, GIB = 1 << 20, 1 << 30


@model("model-memory", "4.3.1", "Memory of a model: weights, keys and values, workspace", [
    *NETWORK_SHAPE, BATCH, CONTEXT, WORKSPACE, CAPACITY,
], {
    "weight_bytes": ("byte", "resident weights"),
    "kv_bytes_per_token": ("byte", "keys and values of a position"),
    "request_kv_bytes": ("byte", "keys and values of a request"),
    "kv_bytes": ("byte", "keys and values of all requests"),
    "total_bytes": ("byte", "weights, keys and values, workspace"),
    "spare_bytes": ("byte", "capacity minus total; negative if it does not fit"),
    "fits": ("text", "whether it fits"),
}, {**NETWORK, **DEVICE})
def model_memory(batch: int, context: int, workspace_gib: float, capacity_gb: float,
                 **shape: int) -> Results:
    """W + B S kv + workspace, kv = 4 L kv_heads d bytes. Source: chapter 4.3.1, 4.8.2."""
    network = Network(**shape)
    kv = context * network.kv_bytes_per_token
    total = network.resident_bytes + batch * kv + workspace_gib * GIB
    spare = capacity_gb * 1e9 - total
    return {"weight_bytes": network.resident_bytes,
            "kv_bytes_per_token": network.kv_bytes_per_token, "request_kv_bytes": kv,
            "kv_bytes": batch * kv, "total_bytes": total, "spare_bytes": spare,
            "fits": "yes" if spare >= 0 else "no"}


@model("kv-capacity", "4.3.1", "Requests whose keys and values fit beside the weights", [
    CAPACITY,
    real("weight_gb", 16.38147072, "GB", "resident weights, 0 if elsewhere", above=False),
    WORKSPACE,
    real("kv_bytes_per_token", 147456, "byte", "keys and values of a position"),
    CONTEXT,
    integer("batch", 1, "requests", "requests to place", high=1 << 30),
    real("kv_ratio", 1, "ratio", "share of their size that keys and values take", high=1),
], {
    "free_bytes": ("byte", "capacity minus weights and workspace"),
    "request_kv_bytes": ("byte", "keys and values of a request"),
    "batch_kv_bytes": ("byte", "keys and values of these requests"),
    "margin_bytes": ("byte", "free minus theirs; negative if they do not fit"),
    "most_requests": ("requests", "whole requests that fit"),
    "limited_by": ("text", "what takes more of the memory: weights, or the requests that fit"),
}, DEVICE)
def kv_capacity(capacity_gb: float, weight_gb: float, workspace_gib: float,
                kv_bytes_per_token: float, context: int, batch: int, kv_ratio: float) -> Results:
    """floor((C - W - workspace) / (S kv)). Capacities are decimal, the workspace binary.

    Source: chapter 4.3.1.
    """
    free = capacity_gb * 1e9 - weight_gb * 1e9 - workspace_gib * GIB
    request = context * kv_bytes_per_token * kv_ratio
    most = max(0, int(free // request))
    return {"free_bytes": free, "request_kv_bytes": request, "batch_kv_bytes": batch * request,
            "margin_bytes": free - batch * request, "most_requests": most,
            "limited_by": longest({"weights": weight_gb * 1e9, "keys and values": most * request})}


@model("decode-step", "4.8.2", "Bytes, work and bounds of one decode step of a whole model", [
    *NETWORK_SHAPE, BATCH, CONTEXT,
    integer("experts_used", 0, "experts", "different experts of a layer; 0: those of one token",
            low=0, high=1 << 20),
    integer("embedding_rows", 1, "rows", "rows of the embedding read", low=0, high=1 << 30),
    integer("kv_writes", 0, "positions", "positions written for each request", low=0, high=1024),
    MATRIX_RATE, BANDWIDTH,
], {
    "weight_bytes": ("byte", "weights read"),
    "kv_bytes": ("byte", "keys and values read, and written if asked"),
    "total_bytes": ("byte", "both"),
    "linear_flops": ("FLOP", "linear layers, for each token"),
    "attention_flops": ("FLOP", "QK and PV, for each token"),
    "head_flops": ("FLOP", "output head, for each token"),
    "token_flops": ("FLOP", "all work for each token"),
    "memory_seconds": ("s", "bytes over bandwidth"),
    "compute_seconds": ("s", "work of all requests over rate"),
    "bound_seconds": ("s", "the longer of the two"),
    "tokens_per_s": ("token/s", "requests over bound"),
    "kv_equal_batch": ("requests", "requests whose keys and values equal the weights"),
    "limited_by": ("text", "memory or compute"),
    "larger_read": ("text", "weights, or keys and values"),
}, {**NETWORK, **DEVICE})
def decode_step(batch: int, context: int, experts_used: int, embedding_rows: int, kv_writes: int,
                matrix_tflops_per_s: float, bandwidth_gb_per_s: float, **shape: int) -> Results:
    """W + B (S + writes) kv bytes; B (2 L w + 4 L S h + 2 h V) FLOPs.

    The weights of a layer are read once for all requests; of experts those that any of them
    uses. The chapter counts keys and values written for the 235B model only. Source: chapter
    4.1.3, 4.3.3, 4.8.2.
    """
    network = Network(**shape)
    weights = network.step_weight_bytes(experts_used or network.experts_per_token,
                                        embedding_rows)
    kv = batch * (context + kv_writes) * network.kv_bytes_per_token
    attention = network.attention_flops(context)
    token = network.linear_flops + attention + network.head_flops
    times = {"memory": (weights + kv) / (bandwidth_gb_per_s * 1e9),
             "compute": batch * token / (matrix_tflops_per_s * 1e12)}
    return {"weight_bytes": weights, "kv_bytes": kv, "total_bytes": weights + kv,
            "linear_flops": network.linear_flops, "attention_flops": attention,
            "head_flops": network.head_flops, "token_flops": token,
            "memory_seconds": times["memory"], "compute_seconds": times["compute"],
            "bound_seconds": max(times.values()), "tokens_per_s": batch / max(times.values()),
            "kv_equal_batch": weights * batch / kv, "limited_by": longest(times),
            "larger_read": longest({"weights": weights, "keys and values": kv})}


@model("prefill", "4.8.2", "Work of a causal prefill, and its bound on the matrix units", [
    *NETWORK_SHAPE,
    integer("tokens", 4096, "tokens", "tokens of the prompt", high=1 << 24),
    MATRIX_RATE, BANDWIDTH,
], {
    "linear_flops": ("FLOP", "linear layers of all tokens"),
    "attention_flops": ("FLOP", "causal QK and PV"),
    "head_flops": ("FLOP", "output head of the last token"),
    "flops": ("FLOP", "all three"),
    "compute_seconds": ("s", "work over rate"),
    "weight_seconds": ("s", "reading the resident weights once"),
    "limited_by": ("text", "compute or memory"),
}, {**NETWORK, **DEVICE})
def prefill(tokens: int, matrix_tflops_per_s: float, bandwidth_gb_per_s: float, **shape: int
            ) -> Results:
    """n 2 L w + 2 L h n (n + 1) + 2 h V, h being heads times head dimension.

    Source: chapter 4.8.2.
    """
    network = Network(**shape)
    linear = tokens * network.linear_flops
    attention = (2 * network.layers * network.heads * network.head_dim * tokens * (tokens + 1))
    flops = linear + attention + network.head_flops
    times = {"compute": flops / (matrix_tflops_per_s * 1e12),
             "memory": network.resident_bytes / (bandwidth_gb_per_s * 1e9)}
    return {"linear_flops": linear, "attention_flops": attention,
            "head_flops": network.head_flops, "flops": flops,
            "compute_seconds": times["compute"], "weight_seconds": times["memory"],
            "limited_by": longest(times)}


@model("prefill-bound", "4.8.2", "Bound of known matrix work on a device", [
    real("tflop", 61.849981681664, "TFLOP", "matrix work"), MATRIX_RATE,
], {
    "compute_seconds": ("s", "work over rate"),
}, DEVICE)
def prefill_bound(tflop: float, matrix_tflops_per_s: float) -> Results:
    """work / P. Source: chapter 4.8.2, 4-4 prefill of Qwen3-8B."""
    return {"compute_seconds": tflop / matrix_tflops_per_s}


@model("step-time", "4.8.2", "Time and token rate of a step that must read so many bytes", [
    real("weight_gb", 15.1368192, "GB", "weights read", above=False),
    real("kv_gb", 1.207959552, "GB", "keys and values of each request", above=False),
    BATCH, BANDWIDTH,
], {
    "total_bytes": ("byte", "weights and all keys and values"),
    "read_seconds": ("s", "bytes over bandwidth"),
    "tokens_per_s": ("token/s", "requests over time; none without bytes"),
    "limited_by": ("text", "the larger read: weights, or keys and values"),
}, DEVICE)
def step_time(weight_gb: float, kv_gb: float, batch: int, bandwidth_gb_per_s: float) -> Results:
    """(W + B K) / R; B R / (W + B K). Source: chapter 4.3.3, 4.6.3, 4.8.2."""
    total = weight_gb + batch * kv_gb
    seconds = total / bandwidth_gb_per_s
    return {"total_bytes": total * 1e9, "read_seconds": seconds,
            "tokens_per_s": batch / seconds if seconds else None,
            "limited_by": longest({"weights": weight_gb, "keys and values": batch * kv_gb})}


@model("measured-decode", "4.8.3", "Measured decode steps against the bound by bandwidth", [
    real("round_1_ms", 26.43, "ms", "first measured round, time of a step"),
    real("round_2_ms", 16.18, "ms", "second round"),
    real("round_3_ms", 25.83, "ms", "third round"),
    real("weight_gb", 15.1368192, "GB", "weights read"),
    real("kv_bytes_per_token", 147456, "byte", "keys and values of a position"),
    BATCH, CONTEXT,
    integer("steps", 128, "steps", "steps of a run"),
    BANDWIDTH,
], {
    "median_seconds": ("s", "median of the rounds"),
    "spread": ("ratio", "first over third round, minus 1"),
    "total_bytes": ("byte", "bytes of a step"),
    "bound_seconds": ("s", "bytes over bandwidth"),
    "bound_ratio": ("ratio", "bound over median: the share of the bandwidth used"),
    "excess_seconds": ("s", "median minus bound"),
    "tokens_per_s": ("token/s", "requests over median"),
    "run_seconds": ("s", "all steps, measured"),
    "bound_run_seconds": ("s", "all steps, at the bound"),
    "effective_gb_per_s": ("GB/s", "bytes over median"),
}, {"device": "devices:pro6000"})
def measured_decode(round_1_ms: float, round_2_ms: float, round_3_ms: float, weight_gb: float,
                    kv_bytes_per_token: float, batch: int, context: int, steps: int,
                    bandwidth_gb_per_s: float) -> Results:
    """ratio = ((W + B S kv) / R) / t, with the median t of three rounds.

    Source: chapter 4.8.3; the times are its measurements.
    """
    median = sorted((round_1_ms, round_2_ms, round_3_ms))[1] * 1e-3
    total = weight_gb * 1e9 + batch * context * kv_bytes_per_token
    bound = total / (bandwidth_gb_per_s * 1e9)
    return {"median_seconds": median, "spread": round_1_ms / round_3_ms - 1,
            "total_bytes": total, "bound_seconds": bound, "bound_ratio": bound / median,
            "excess_seconds": median - bound, "tokens_per_s": batch / median,
            "run_seconds": steps * median, "bound_run_seconds": steps * bound,
            "effective_gb_per_s": total / median * 1e-9}


@model("context-saving", "4.8.3", "What a shorter context should save in a decode step", [
    integer("context_before", 8192, "positions", "positions before", low=0, high=1 << 30),
    integer("context_after", 2048, "positions", "positions after", low=0, high=1 << 30),
    real("kv_bytes_per_token", 147456, "byte", "keys and values of a position"),
    BANDWIDTH,
], {
    "saved_bytes": ("byte", "keys and values not read; negative if more are"),
    "saved_seconds": ("s", "time of these bytes"),
}, {"device": "devices:pro6000"})
def context_saving(context_before: int, context_after: int, kv_bytes_per_token: float,
                   bandwidth_gb_per_s: float) -> Results:
    """(S1 - S2) kv bytes, over R. Source: chapter 4.8.3."""
    saved = (context_before - context_after) * kv_bytes_per_token
    return {"saved_bytes": saved, "saved_seconds": saved / (bandwidth_gb_per_s * 1e9)}


@model("weight-copies", "4.8.3", "Copies of weights that rotate so that no cache holds them", [
    integer("copies", 16, "copies", "copies", high=1 << 20),
    real("copy_mib", 32, "MiB", "bytes of a copy"),
    real("cache_mib", 128, "MiB", "cache of the device"),
    real("rotate_us", 51.9, "us", "measured time with rotating copies"),
    real("reuse_us", 42.9, "us", "measured time with one copy"),
], {
    "footprint_bytes": ("byte", "all copies"),
    "least_copies": ("copies", "fewest copies that exceed the cache"),
    "slowdown": ("ratio", "rotating over reusing time, minus 1"),
})
def weight_copies(copies: int, copy_mib: float, cache_mib: float, rotate_us: float,
                  reuse_us: float) -> Results:
    """n V bytes; floor(cache / V) + 1 copies exceed the cache. Source: chapter 4.8.3."""
    return {"footprint_bytes": copies * copy_mib * MIB,
            "least_copies": int(cache_mib // copy_mib) + 1,
            "slowdown": rotate_us / reuse_us - 1}
