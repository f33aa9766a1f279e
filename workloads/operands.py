"""Operand arrays: checks, ranges, random ones."""

from typing import Any

import numpy as np

from ..rtl.formats import IntegerFormat
from .errors import OperandTypeError, WorkloadError

__all__ = ["as_array", "integer_matrix", "check_range", "random_matrix", "safe_amplitude",
           "exact_product"]


def as_array(name: str, value: Any) -> np.ndarray:
    """`value` as an array.

    Raises
    ------
    OperandTypeError
        Nested lists of unequal lengths.
    """
    try:
        return np.asarray(value)
    except ValueError:
        raise OperandTypeError(f"{name} must be an array, not nested lists of unequal "
                               f"lengths") from None


def integer_matrix(name: str, value: Any) -> np.ndarray:
    """`value` as an int64 matrix.

    Raises
    ------
    OperandTypeError
        Neither integers nor floats that are all integral, or no array.
    WorkloadError
        Not two-dimensional, empty, or beyond 63 bits.
    """
    array = as_array(name, value)
    if array.ndim != 2:
        raise WorkloadError(f"{name} must have 2 dimensions, not {array.ndim}")
    if 0 in array.shape:
        raise WorkloadError(f"{name} must have at least 1 row and 1 column, not shape "
                            f"{array.shape}")
    if array.dtype.kind == "f":
        if not (np.isfinite(array).all() and (array == np.floor(array)).all()):
            raise OperandTypeError(f"{name} must hold integers (floats only when integral)")
        if np.abs(array).max() >= 2.0 ** 62:
            raise WorkloadError(f"{name} must be within the operand format, not beyond 62 bits")
    elif array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.max() >= 1 << 62:
        raise WorkloadError(f"{name} must be within the operand format, not beyond 62 bits")
    elif array.dtype.kind not in "iu":
        raise OperandTypeError(f"{name} must hold integers, not {array.dtype}")
    return array.astype(np.int64)


def check_range(name: str, matrix: np.ndarray, low: int, high: int) -> None:
    """Raise :class:`WorkloadError` unless every element is from `low` to `high`."""
    least, most = int(matrix.min()), int(matrix.max())
    if least < low or most > high:
        value = least if least < low else most
        raise WorkloadError(f"{name} must be from {low} to {high} for this design, but holds "
                            f"{value}")


def safe_amplitude(format: IntegerFormat, k: int) -> int:
    """The widest amplitude of both operands with which a sum of `k` products cannot overflow."""
    amplitude = int((format.accumulator_range()[1] / k) ** 0.5)
    while amplitude > 1 and amplitude * amplitude * k > format.accumulator_range()[1]:
        amplitude -= 1
    return max(amplitude, 1)


def random_matrix(rng: np.random.Generator, rows: int, cols: int, limits: tuple[int, int],
                  amplitude: int) -> np.ndarray:
    """Uniform integers within the limits, narrowed to `amplitude` on either side."""
    low, high = limits
    return rng.integers(max(low, -amplitude), min(high, amplitude), size=(rows, cols),
                        endpoint=True)


def exact_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The exact product of two int64 matrices whose sums fit into 62 bits.

    Through float64 (and its fast library) where every partial sum fits into its 53 bits.
    """
    bound = a.shape[1] * int(np.abs(a).max()) * int(np.abs(b).max())
    if bound < 1 << 53:
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    return a @ b
