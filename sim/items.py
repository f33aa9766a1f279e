"""Where the cycles beyond the analytic bound went."""

from collections.abc import Mapping

from .analytic import Estimate
from .result import UnitCounters

__all__ = ["itemise"]

# What the limiting resource keeps the array waiting with, most direct first. The first tile is
# shifted before the first row enters, the results of the last one leave after the last pair.
_EXPLAINED = {
    "array": (),
    "weight_shift": ("weight_shift", "weights", "fill"),
    "results": ("output", "drain"),
    "memory": ("weights", "operands", "fill"),
    "operand_port": ("operands", "weights", "fill"),
    "weight_port": ("weights", "weight_shift", "fill"),
    "vector_port": ("operands", "accumulator", "fill"),
    "vector": ("operands", "accumulator", "idle", "drain", "fill"),
    "handoff": ("operands", "accumulator", "idle", "drain", "fill"),
}


def itemise(estimate: Estimate, cycles: int, array: UnitCounters) -> dict[str, int]:
    """Named cycles beyond the bound; bound + sum of the items = cycles.

    Every cycle in which no activation row enters has one cause: fill, drain, idle (before the
    first and after the last command of the array: first command, last store) or a stall. When
    the array sets the bound these are the items. When another resource does, the array cannot
    but wait for it in part of them; that part lies within the bound and is taken out of the
    causes, first of those through which the resource acts, then of the rest in order of size.
    """
    losses = {**array.stalls, "idle": array.idle}
    within = estimate.bound - (cycles - sum(losses.values()))
    direct = _explained(estimate)
    rest = sorted((name for name in losses if name not in direct),
                  key=lambda name: -losses[name])
    for name in (*direct, *rest):
        taken = max(0, min(within, losses[name]))
        losses[name] -= taken
        within -= taken
    return {name: lost for name, lost in losses.items() if lost}


def _explained(estimate: Estimate) -> tuple[str, ...]:
    limit = estimate.limited_by
    if limit == "weight_shift" and estimate.resources[limit] > estimate.counts["weight_rows"]:
        # Without double buffering: the whole path of every tile, that of the last one too.
        return ("weight_shift", "weights", "drain", "fill")
    return _EXPLAINED[limit]


def units_of(counters: Mapping[str, int], units: Mapping[str, type]) -> dict[str, UnitCounters]:
    """Counters of each unit, from the dotted names of the counter bank."""
    result = {}
    for unit, statuses in units.items():
        counts = {status.name.lower(): counters[f"{unit}.{status.name.lower()}"]
                  for status in statuses}  # type: ignore[attr-defined]
        busy, idle = counts.pop("busy"), counts.pop("idle")
        result[unit] = UnitCounters(busy, idle, counts)
    return result
