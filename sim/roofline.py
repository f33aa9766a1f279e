"""A run on the roofline of its design."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .network_result import NetworkResult
from .plot import draw_roofline
from .report_format import number, percent
from .result import Result

__all__ = ["RunPoint", "draw_run_roofline", "run_point"]


@dataclass(frozen=True)
class RunPoint:
    """Where a run is on the roofline of its design, in MACs, bytes and cycles.

    Attributes
    ----------
    level, timing : str
        Of the run.
    peak, bandwidth : float
        MAC/cycle; bytes/cycle, None if unlimited.
    intensity : float or None
        Useful MACs for each byte of the memory channel; None if nothing moved.
    macs_per_cycle : float
        Useful MACs for each cycle: measured, or at level analytic the bound.
    shape_efficiency : float or None
        Useful MACs over those of whole tiles.
    """
    level: str
    timing: str
    peak: int
    bandwidth: float | None
    intensity: float | None
    macs_per_cycle: float
    shape_efficiency: float | None

    @property
    def roof(self) -> float:
        """MAC/cycle that the roofline allows at this intensity."""
        if self.bandwidth is None or self.intensity is None:
            return self.peak
        return min(self.peak, self.bandwidth * self.intensity)

    @property
    def limited_by(self) -> str:
        """Side of the ridge: memory or array."""
        return "memory" if self.roof < self.peak else "array"

    def to_dict(self) -> dict[str, Any]:
        """The point's entry in the JSON's `roofline`."""
        return {"level": self.level, "timing": self.timing, "peak_macs_per_cycle": self.peak,
                "memory_bytes_per_cycle": self.bandwidth, "macs_per_byte": self.intensity,
                "macs_per_cycle": self.macs_per_cycle, "roof_macs_per_cycle": self.roof,
                "shape_efficiency": self.shape_efficiency, "limited_by": self.limited_by}


def run_point(result: Result | NetworkResult) -> RunPoint:
    """The point of a run at any level."""
    design, moved = result.design, result.bytes_read + result.bytes_written
    bandwidth = design.memory_bandwidth
    return RunPoint(result.level, result.timing, design.macs_per_cycle,
                    None if bandwidth is None else float(bandwidth),
                    result.useful_macs / moved if moved else None,
                    result.useful_macs / result.cycles, result.shape_efficiency)


def draw_run_roofline(path: str, title: str, results: Sequence[Result | NetworkResult]) -> None:
    """Draw the roofline of the design, lowered by shape efficiency, and a point for each level."""
    points = [run_point(result) for result in results]
    first = points[0]
    roofs = {}
    if first.shape_efficiency is not None:
        roofs[f"whole tiles: {percent(first.shape_efficiency)} useful"] = (
            first.shape_efficiency * first.peak)
    marks = {f"level {point.level}: {number(point.macs_per_cycle)} MAC/cycle, "
             f"{percent(point.macs_per_cycle, point.roof)} of its roof":
             (point.intensity, point.macs_per_cycle)
             for point in points if point.intensity}
    draw_roofline(path, title, first.peak, first.bandwidth, roofs, marks)
