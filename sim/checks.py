"""Comparisons that every run makes."""

from typing import Any

import numpy as np

from .analytic import GemmEstimate
from .result import Check, Result, output_sha256

__all__ = ["check", "run_checks"]


def check(name: str, expected: Any, actual: Any, ok: bool | None = None) -> Check:
    """One entry of the checks; equal unless `ok` says otherwise."""
    return {"name": name, "expected": expected, "actual": actual,
            "ok": bool(expected == actual if ok is None else ok)}


def run_checks(result: Result, estimate: GemmEstimate, reference: np.ndarray | None,
               reference_overflow: bool) -> list[Check]:
    """Compare a run with numpy, with the analytic level and with itself."""
    level = result.level
    expected_hash = None if reference is None else output_sha256(reference)
    actual_hash = None if result.output is None else output_sha256(result.output)
    checks = [check(f"{level}_output", expected_hash, actual_hash),
              check(f"{level}_overflow", reference_overflow, result.overflow)]
    measured = {**result.counters, "useful_macs": result.useful_macs,
                "bytes_read": result.bytes_read, "bytes_written": result.bytes_written}
    checks += [check(f"{level}_{name}", expected, measured[name])
               for name, expected in estimate.counts.items()]
    checks += [check(f"{level}_{name}_partition", result.cycles, unit.total)
               for name, unit in result.units.items()]
    checks += [
        check(f"{level}_bound", estimate.bound, result.cycles,
              ok=estimate.bound <= result.cycles),
        check(f"{level}_items", result.cycles, estimate.bound + sum(result.items.values())),
    ]
    return checks
