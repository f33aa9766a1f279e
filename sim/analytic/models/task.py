"""Whole tasks: speeding a part up, sharing a unit, phases, double buffers, busy time."""

from collections.abc import Sequence

from ..model import Results, model
from ..parameters import fraction, integer, real
from .common import longest

__all__ = ["amdahl", "busy_time", "double_buffer", "double_buffered_time", "phase_times",
           "phases", "resource_sharing"]


@model("amdahl", "4.0", "Speedup of a task of which only a part gets faster", [
    real("accelerated_us", 60, "us", "time of the part that gets faster, before", above=False),
    real("other_us", 40, "us", "time of everything else", above=False),
    real("speedup", 2, "ratio", "how much faster the part gets"),
], {
    "total_us": ("us", "time of the whole task"),
    "overall_speedup": ("ratio", "old total over new total"),
    "saved_us": ("us", "time saved against a speedup of 1"),
    "next_doubling_saves_us": ("us", "time that doubling the speedup once more would save"),
    "limit": ("ratio", "overall speedup when the part takes no time"),
    "limited_by": ("text", "the part that takes longer"),
})
def amdahl(accelerated_us: float, other_us: float, speedup: float) -> Results:
    """total = accelerated / speedup + other; limit = (accelerated + other) / other.

    Ranges: times of 0 or more; a task without any time has no speedup. Source: chapter 4.0
    and 4.1.3.
    """
    before, part = accelerated_us + other_us, accelerated_us / speedup
    after = part + other_us
    return {"total_us": after, "overall_speedup": before / after if after else None,
            "saved_us": before - after, "next_doubling_saves_us": part / 2,
            "limit": before / other_us if other_us else None,
            "limited_by": longest({"other": other_us, "accelerated": part})}


@model("resource-sharing", "4.8.1", "Two kinds of work on one unit: their times add up", [
    real("first_tflop", 1, "TFLOP", "first kind of work", above=False),
    real("first_tflops_per_s", 100, "TFLOP/s", "rate of the first kind"),
    real("second_tflop", 1, "TFLOP", "second kind of work", above=False),
    real("second_tflops_per_s", 200, "TFLOP/s", "rate of the second kind"),
], {
    "first_seconds": ("s", "time of the first kind"),
    "second_seconds": ("s", "time of the second kind"),
    "total_seconds": ("s", "time of the unit"),
    "limited_by": ("text", "the kind that takes longer"),
})
def resource_sharing(first_tflop: float, first_tflops_per_s: float, second_tflop: float,
                     second_tflops_per_s: float) -> Results:
    """total = work1 / rate1 + work2 / rate2. Source: chapter 4.8.1."""
    first, second = first_tflop / first_tflops_per_s, second_tflop / second_tflops_per_s
    return {"first_seconds": first, "second_seconds": second, "total_seconds": first + second,
            "limited_by": longest({"first": first, "second": second})}


def phase_times(phases: Sequence[Sequence[float]]) -> list[float]:
    """When each phase ends: within a phase units overlap, the next waits for the slowest."""
    ends, now = [], 0.0
    for times in phases:
        now += max(times)
        ends.append(now)
    return ends


@model("phases", "4.8.1", "Two dependent phases on two units that overlap within a phase", [
    real("compute_1_us", 10, "us", "first phase, matrix unit", above=False),
    real("memory_1_us", 1, "us", "first phase, memory", above=False),
    real("compute_2_us", 1, "us", "second phase, matrix unit", above=False),
    real("memory_2_us", 10, "us", "second phase, memory", above=False),
], {
    "total_us": ("us", "end of the second phase"),
    "compute_us": ("us", "time of the matrix unit in both phases"),
    "memory_us": ("us", "time of the memory in both phases"),
    "bound_us": ("us", "the busier unit's time: the bound without dependency"),
    "gap_us": ("us", "time lost to the dependency"),
    "limited_by": ("text", "the busier unit"),
})
def phases(compute_1_us: float, memory_1_us: float, compute_2_us: float, memory_2_us: float
           ) -> Results:
    """total = max(c1, m1) + max(c2, m2); bound = max(c1 + c2, m1 + m2); gap = total - bound.

    Source: chapter 4.8.1.
    """
    total = phase_times([(compute_1_us, memory_1_us), (compute_2_us, memory_2_us)])[-1]
    units = {"compute": compute_1_us + compute_2_us, "memory": memory_1_us + memory_2_us}
    bound = max(units.values())
    return {"total_us": total, "compute_us": units["compute"], "memory_us": units["memory"],
            "bound_us": bound, "gap_us": total - bound, "limited_by": longest(units)}


def double_buffered_time(blocks: int, load: float, compute: float, buffers: int) -> float:
    """End of the last block, by events.

    One loader and one compute unit, both in block order; a buffer is held from the start of the
    block's load to the end of its compute.
    """
    ends: list[float] = []
    loaded = computed = 0.0
    for block in range(blocks):
        free = ends[block - buffers] if block >= buffers else 0.0
        loaded = max(loaded, free) + load
        computed = max(loaded, computed) + compute
        ends.append(computed)
    return ends[-1]


@model("double-buffer", "4.4.2", "Loading and computing blocks through two or more buffers", [
    integer("blocks", 8, "blocks", "blocks to load and compute", high=100_000),
    real("load_us", 2, "us", "time to load a block", above=False),
    real("compute_us", 1, "us", "time to compute a block", above=False),
    integer("buffers", 2, "buffers", "blocks that can be held at once", high=100_000),
], {
    "serial_us": ("us", "without overlap: one buffer"),
    "two_buffer_us": ("us", "the closed form for two or more buffers"),
    "total_us": ("us", "end of the last block with these buffers, by events"),
    "saved_us": ("us", "serial time minus total"),
    "limited_by": ("text", "the slower of loading and computing"),
})
def double_buffer(blocks: int, load_us: float, compute_us: float, buffers: int) -> Results:
    """serial = n (l + c); overlapped = l + c + (n - 1) max(l, c).

    The event rule is in :py:func:`double_buffered_time`; with equal blocks it gives the serial
    form at one buffer and the overlapped one at two or more. Source: chapter 4.4.2.
    """
    serial = blocks * (load_us + compute_us)
    total = double_buffered_time(blocks, load_us, compute_us, buffers)
    return {"serial_us": serial, "total_us": total, "saved_us": serial - total,
            "two_buffer_us": load_us + compute_us + (blocks - 1) * max(load_us, compute_us),
            "limited_by": longest({"load": load_us, "compute": compute_us})}


@model("busy-time", "4.8.3", "Where a resource's time went: its rate at work, and its waiting", [
    real("service_us", 40, "us", "least time for the work, at peak rate", above=False),
    real("active_us", 80, "us", "time in which the resource was at work"),
    real("total_us", 100, "us", "time of the task"),
], {
    "overall_ratio": ("ratio", "share of the peak over the whole task"),
    "active_ratio": ("ratio", "share of the peak while at work"),
    "active_share": ("ratio", "share of the time at work"),
    "waiting_us": ("us", "time not at work"),
    "limited_by": ("text", "what costs more: the rate at work, or waiting"),
})
def busy_time(service_us: float, active_us: float, total_us: float) -> Results:
    """S / T = (S / A) (A / T), with service time S, active time A and total T.

    Ranges: S <= A <= T makes sense; more is shown as a ratio above 1. Source: chapter 4.8.3.
    """
    slow, waiting = active_us - service_us, total_us - active_us
    return {"overall_ratio": service_us / total_us, "active_ratio": service_us / active_us,
            "active_share": active_us / total_us, "waiting_us": waiting,
            "limited_by": longest({"rate": slow, "waiting": waiting})}


@model("exposed-overhead", "4.8.3", "A fixed cost for each step beside a bound by bandwidth", [
    real("bound_ms", 9.12, "ms", "bound of a step"),
    real("overhead_ms", 16.7, "ms", "fixed cost of a step that nothing overlaps", above=False),
    fraction("overlapped", 0, "share of the fixed cost that is hidden", above=False),
], {
    "step_ms": ("ms", "time of a step"),
    "bound_ratio": ("ratio", "bound over step"),
    "tokens_per_s": ("token/s", "steps in a second"),
    "limited_by": ("text", "the larger part"),
})
def exposed_overhead(bound_ms: float, overhead_ms: float, overlapped: float) -> Results:
    """step = bound + overhead (1 - overlapped). Source: chapter 4.8.3."""
    exposed = overhead_ms * (1 - overlapped)
    step = bound_ms + exposed
    return {"step_ms": step, "bound_ratio": bound_ms / step, "tokens_per_s": 1e3 / step,
            "limited_by": longest({"bandwidth": bound_ms, "overhead": exposed})}
