"""Checks of the parameters of workloads."""

from typing import Any

import numpy as np

from .errors import WorkloadError

__all__ = ["LARGEST_SIZE", "check_integer"]

LARGEST_SIZE = (1 << 31) - 1   # of a dimension or a count


def check_integer(name: str, value: Any, low: int, high: int = LARGEST_SIZE) -> int:
    """`value` as an `int`, or a :class:`WorkloadError` that names it and its range."""
    integral = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integral or not low <= value <= high:
        raise WorkloadError(f"{name} must be an integer from {low} to {high}, not {value!r}")
    return int(value)
