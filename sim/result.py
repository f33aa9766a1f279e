"""What a run yields, the same for every level."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..rtl import Design
from .analytic import executed_macs

__all__ = ["Check", "Result", "SCHEMA", "UnitCounters"]

SCHEMA = 1  # of the JSON

#: A comparison: "name", "expected", "actual" and "ok".
Check = dict[str, Any]


@dataclass(frozen=True)
class UnitCounters:
    """Cycles of one unit; busy + idle + all stalls = cycles of the run.

    Attributes
    ----------
    busy, idle : int
    stalls : dict of str to int
        Every named reason for not being busy; `rtl/status.py` defines them.
    """
    busy: int
    idle: int
    stalls: Mapping[str, int]

    @property
    def total(self) -> int:
        return self.busy + self.idle + sum(self.stalls.values())


@dataclass(frozen=True)
class Result:
    """One run of a workload on a design at one level.

    Attributes
    ----------
    level, backend, timing : str
        "rtl", "cycle" or "analytic"; "pysim" or "" where no RTL runs; "rtl" or "ideal".
    cycles : int
        Cycles of the run; at level analytic the bound.
    span : int
        Cycles from the first start of a descriptor or job to the end.
    output : ndarray of int64 or None
        The last stored result.
    useful_macs, bytes_read, bytes_written : int
        Real elements only; padding never counts.
    exchange_bytes : int
        Traffic of a staged hand-off.
    output_scale : float
        What 1 in the output stands for; for attention, in units of the given v.
    accuracy : dict of str to float
        Of attention: `max_error` and `rms_error` against floating point, over the greatest
        magnitude of the result, to six digits. Otherwise empty.
    overflow : bool or None
        Some accumulator overflowed; None when no output was computed.
    units : dict of str to UnitCounters
        Empty at level analytic.
    counters : dict of str to int
        The other counters; `rtl/counters.py` defines them.
    items : dict of str to int
        Where the cycles beyond the analytic bound went; bound + sum(items) = cycles.
    limited_by : str
        The resource that sets the bound.
    simulate_seconds : float
        Host time of the cycles alone, without building or checking.
    checks : list of dict
        Every comparison made.
    """
    design: Design
    workload: Mapping[str, Any]
    level: str
    backend: str
    timing: str
    cycles: int
    span: int
    useful_macs: int
    bytes_read: int
    bytes_written: int
    output: np.ndarray | None = None
    exchange_bytes: int = 0
    output_scale: float = 1.0
    accuracy: Mapping[str, float] = field(default_factory=dict)
    overflow: bool | None = None
    units: Mapping[str, UnitCounters] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    items: Mapping[str, int] = field(default_factory=dict)
    limited_by: str = ""
    simulate_seconds: float = 0.0
    checks: list[Check] = field(default_factory=list)
    vcd: str | None = None

    def __post_init__(self) -> None:
        if self.useful_macs > self.design.macs_per_cycle * self.cycles:
            raise ValueError(f"utilization above 1: {self.useful_macs} useful MACs in "
                             f"{self.cycles} cycles of {self.design.macs_per_cycle} MACs")

    @property
    def utilization(self) -> float:
        """Useful MACs / (rows * cols * cycles), from 0 to 1."""
        return self.useful_macs / (self.design.macs_per_cycle * self.cycles)

    @property
    def shape_efficiency(self) -> float | None:
        """Useful MACs over those of all cells while rows enter the array, from 0 to 1.

        A ratio of work, not of time. None where no row enters.
        """
        executed = executed_macs(self.design, self.counters.get("activation_rows", 0))
        return self.useful_macs / executed if executed else None

    @property
    def ok(self) -> bool:
        """All checks hold."""
        return all(check["ok"] for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """The entry of this result in the JSON's `results`."""
        entry: dict[str, Any] = {
            "level": self.level, "backend": self.backend, "timing": self.timing,
            "cycles": self.cycles, "span": self.span, "useful_macs": self.useful_macs,
            "utilization": self.utilization, "shape_efficiency": self.shape_efficiency,
            "bytes_read": self.bytes_read, "bytes_written": self.bytes_written,
            "exchange_bytes": self.exchange_bytes, "overflow": self.overflow,
            "output_scale": self.output_scale, "accuracy": dict(self.accuracy),
            "simulate_seconds": self.simulate_seconds,
            "limited_by": self.limited_by, "items": dict(self.items),
            "counters": dict(self.counters),
            "units": {name: {"busy": unit.busy, "idle": unit.idle, "stalls": dict(unit.stalls)}
                      for name, unit in self.units.items()},
            "output_sha256": None if self.output is None else output_sha256(self.output)}
        if self.vcd is not None:
            entry["vcd"] = self.vcd
        return entry

    def to_json(self) -> dict[str, Any]:
        """The document of the command line's JSON for this one result."""
        return document([self])


def output_sha256(output: np.ndarray) -> str:
    """SHA-256 of a result matrix as little-endian int64, row by row."""
    return hashlib.sha256(np.ascontiguousarray(output, dtype="<i8").tobytes()).hexdigest()


def document(results: list[Result]) -> dict[str, Any]:
    """The JSON document of results of one workload on one design."""
    return {"schema": SCHEMA, "workload": dict(results[0].workload),
            "design": results[0].design.to_dict(),
            "results": [result.to_dict() for result in results],
            "checks": [check for result in results for check in result.checks]}
