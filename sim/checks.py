"""Comparisons that every run makes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .analytic import Estimate
from .result import Check, Result, output_sha256

__all__ = ["check", "model_checks", "output_checks", "run_checks"]


def check(name: str, expected: Any, actual: Any, ok: bool | None = None) -> Check:
    """One entry of the checks; equal unless `ok` says otherwise."""
    return {"name": name, "expected": expected, "actual": actual,
            "ok": bool(expected == actual if ok is None else ok)}


def output_checks(result: Result, reference: np.ndarray | None,
                  reference_overflow: bool) -> list[Check]:
    """Compare the result of a run with numpy's, bit for bit."""
    expected = None if reference is None else output_sha256(reference)
    actual = None if result.output is None else output_sha256(result.output)
    return [check(f"{result.level}_output", expected, actual),
            check(f"{result.level}_overflow", reference_overflow, result.overflow)]


def run_checks(result: Result, estimate: Estimate) -> list[Check]:
    """Compare a run with the analytic level and with itself."""
    level = result.level
    checks = [check(f"{level}_{name}", expected, result.counters[name])
              for name, expected in estimate.counts.items()]
    checks += [check(f"{level}_{name}_partition", result.cycles, unit.total)
               for name, unit in result.units.items()]
    checks += [
        check(f"{level}_bound", estimate.bound, result.cycles,
              ok=estimate.bound <= result.cycles),
        check(f"{level}_items", result.cycles, estimate.bound + sum(result.items.values())),
    ]
    return checks


def model_checks(counters: Mapping[str, int], model: Mapping[str, int]) -> list[Check]:
    """Compare every counter of the hardware with the cycle model; one that differs is named."""
    differing = [check(f"rtl_cycle_{name}", model[name], value)
                 for name, value in counters.items() if model[name] != value]
    return differing or [check("rtl_cycle_model", model["cycles"], counters["cycles"])]
