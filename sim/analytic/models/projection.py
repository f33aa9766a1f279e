"""Projections: work, traffic, intensity and rooflines."""

import math

from ..model import Results, model
from ..parameters import integer, real
from .common import BANDWIDTH, DEVICE, MATRIX_RATE, longest, product_bytes, shape

__all__ = ["projection", "ridge", "roofline", "rows_growth"]

ELEMENT = real("element_bytes", 2, "byte", "bytes of an element", high=64)


@model("projection", "4.1.1", "Work, off-chip traffic and intensity of Y[m, n] = X[m, k] W[k, n]", [
    *shape(), ELEMENT,
], {
    "flops": ("FLOP", "2 m k n"),
    "weight_bytes": ("byte", "bytes of the weights"),
    "input_output_bytes": ("byte", "bytes of input and output"),
    "row_bytes": ("byte", "bytes that one more row adds"),
    "total_bytes": ("byte", "weights, input and output, each once"),
    "intensity": ("FLOP/byte", "work over traffic"),
    "intensity_limit": ("FLOP/byte", "intensity for very many rows"),
    "weight_bytes_per_row": ("byte", "weight bytes charged to each row"),
})
def projection(m: int, k: int, n: int, element_bytes: float) -> Results:
    """flops = 2 m k n; bytes = b (m k + k n + m n); limit = 2 k n / (b (k + n)).

    Each matrix crosses the memory interface once. Source: chapter 4.1.1.
    """
    flops, total = 2 * m * k * n, product_bytes(m, k, n, element_bytes)
    return {"flops": flops, "weight_bytes": element_bytes * k * n,
            "input_output_bytes": element_bytes * m * (k + n),
            "row_bytes": element_bytes * (k + n), "total_bytes": total,
            "intensity": flops / total,
            "intensity_limit": 2 * k * n / (element_bytes * (k + n)),
            "weight_bytes_per_row": element_bytes * k * n / m}


@model("rows-growth", "4.1.1", "How work and traffic of a projection grow with its rows", [
    integer("m_before", 1, "rows", "rows before", high=1 << 30),
    integer("m_after", 256, "rows", "rows after", high=1 << 30),
    *shape()[1:], ELEMENT,
], {
    "work_ratio": ("ratio", "work after over before"),
    "traffic_ratio": ("ratio", "traffic after over before"),
    "traffic_growth": ("ratio", "traffic ratio minus 1"),
    "growth_inverse": ("ratio", "1 over the traffic growth; none without growth"),
})
def rows_growth(m_before: int, m_after: int, k: int, n: int, element_bytes: float) -> Results:
    """bytes(m) = b (m k + k n + m n), compared at two row counts. Source: chapter 4.1.1."""
    ratio = (product_bytes(m_after, k, n, element_bytes)
             / product_bytes(m_before, k, n, element_bytes))
    return {"work_ratio": m_after / m_before, "traffic_ratio": ratio,
            "traffic_growth": ratio - 1,
            "growth_inverse": None if ratio == 1 else 1 / (ratio - 1)}


@model("roofline", "4.8.1", "Least time of a projection on a device: compute or memory", [
    *shape(), ELEMENT, MATRIX_RATE, BANDWIDTH,
], {
    "flops": ("FLOP", "2 m k n"),
    "total_bytes": ("byte", "traffic, each matrix once"),
    "intensity": ("FLOP/byte", "work over traffic"),
    "ridge": ("FLOP/byte", "intensity at which compute and memory take equally long"),
    "compute_seconds": ("s", "work over rate"),
    "memory_seconds": ("s", "traffic over bandwidth"),
    "bound_seconds": ("s", "the longer of the two"),
    "attainable_tflops_per_s": ("TFLOP/s", "work over bound"),
    "limited_by": ("text", "compute or memory"),
}, DEVICE)
def roofline(m: int, k: int, n: int, element_bytes: float, matrix_tflops_per_s: float,
             bandwidth_gb_per_s: float) -> Results:
    """bound = max(2 m k n / P, bytes / R); ridge = P / R. Source: chapter 4.8.1."""
    flops, total = 2 * m * k * n, product_bytes(m, k, n, element_bytes)
    compute = flops / (matrix_tflops_per_s * 1e12)
    memory = total / (bandwidth_gb_per_s * 1e9)
    bound = max(compute, memory)
    return {"flops": flops, "total_bytes": total, "intensity": flops / total,
            "ridge": matrix_tflops_per_s * 1e3 / bandwidth_gb_per_s,
            "compute_seconds": compute, "memory_seconds": memory, "bound_seconds": bound,
            "attainable_tflops_per_s": flops / bound / 1e12,
            "limited_by": longest({"memory": memory, "compute": compute})}


@model("ridge", "4.8.1", "The row count at which a projection turns from memory to compute", [
    *shape()[1:], ELEMENT, MATRIX_RATE, BANDWIDTH,
], {
    "ridge": ("FLOP/byte", "intensity at which compute and memory take equally long"),
    "crossover_rows": ("rows", "row count at the ridge; none if never compute-bound"),
    "first_compute_rows": ("rows", "first whole row count that is compute-bound; none if never"),
    "intensity_limit": ("FLOP/byte", "intensity for very many rows"),
}, DEVICE)
def ridge(k: int, n: int, element_bytes: float, matrix_tflops_per_s: float,
          bandwidth_gb_per_s: float) -> Results:
    """2 m k n / (b (m (k + n) + k n)) = P / R, so m = I b k n / (2 k n - I b (k + n)).

    I = P / R is the ridge intensity. For k = n = d and b = 2 this is I d / (d - 2 I).
    Source: chapter 4.8.1.
    """
    intensity = matrix_tflops_per_s * 1e3 / bandwidth_gb_per_s
    rest = 2 * k * n - intensity * element_bytes * (k + n)
    rows = intensity * element_bytes * k * n / rest if rest > 0 else None
    return {"ridge": intensity, "crossover_rows": rows,
            "first_compute_rows": None if rows is None else math.floor(rows) + 1,
            "intensity_limit": 2 * k * n / (element_bytes * (k + n))}
