"""Work, traffic and bounds of workloads, from closed formulas."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...rtl import Design
from ...workloads.attention import Attention
from ...workloads.conv2d import Conv2d
from ...workloads.gemm import Gemm
from ...workloads.vector_workload import VectorWorkload
from .attention import add_attention
from .conv2d import add_conv2d
from .gemm import add_gemm
from .vector_work import add_vector_workload

__all__ = ["Estimate", "estimate"]

IDEAL = ("array", "memory", "vector", "handoff")  # resources that take time with timing ideal


@dataclass
class Estimate:
    """Exact work and traffic, and the cycles that each resource needs for it.

    Attributes
    ----------
    counts : dict of str to int
        Expected counters: useful_macs (chapter 4.1.1: M K N), bytes_read, bytes_written,
        transactions, activation_rows, weight_rows, accumulator_rows, loads, stores,
        vector_commands, handoffs, handoff_bytes, exchange_bytes, window_bytes.
    resources : dict of str to int
        Cycles for which each resource is needed, if nothing else ever delays it: "array" (one
        activation row per cycle), "weight_shift" (one weight row per cycle; without double
        buffering the whole path of every tile) or, output stationary, "results" (one result row
        per cycle; without double buffering every tile by itself), "memory" (occupancy),
        "operand_port", "weight_port" and "vector_port" (write ports of the buffers), "vector"
        (elements enter), "handoff" (the interface is held).
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


def estimate(design: Design, jobs: Iterable[Gemm | Attention | Conv2d | VectorWorkload],
             timing: str = "rtl") -> Estimate:
    """The estimate of jobs that run one after another; times of a resource add up.

    With timing "ideal" a job needs the array for ceil(MACs / (rows * cols)) cycles, vector unit
    and hand-off need what `workloads/ideal.py` says, and neither weight shift nor results nor
    write ports take time of their own.
    """
    total = Estimate()
    for job in jobs:
        if isinstance(job, Attention):
            add_attention(total.counts, total.resources, design, job, timing)
        elif isinstance(job, Conv2d):
            add_conv2d(total.counts, total.resources, design, job, timing)
        elif isinstance(job, VectorWorkload):
            add_vector_workload(total.counts, total.resources, design, job, timing)
        else:
            add_gemm(total.counts, total.resources, design, job, timing)
    if timing == "ideal":
        total.resources = Counter({name: total.resources[name] for name in IDEAL
                                   if name in total.resources})
    return total
