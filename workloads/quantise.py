"""Floating-point arrays as integers with one scale."""

from typing import Any

import numpy as np

from .checks import check_integer
from .errors import OperandTypeError, WorkloadError
from .operands import as_array

__all__ = ["quantise"]

MOST_BITS = 32


def quantise(x: Any, bits: int, unsigned: bool = False,
             name: str = "x") -> tuple[np.ndarray, float]:
    """`x` as integers of `bits` bits and the scale they are multiplied with: x ~ integers * scale.

    One scale for the whole array, symmetric about 0: the greatest magnitude becomes the greatest
    integer, 2**(bits - 1) - 1 (unsigned: 2**bits - 1), and the least signed integer is left out.
    An element is at most half a scale away from its integer; halves go to the even integer. An
    array of zeros has scale 1.

    Parameters
    ----------
    x : array of numbers
        Finite. With `unsigned` none below 0.
    bits : int
        2 (unsigned: 1) to 32.
    name : str
        Of the array, for refusals.

    Returns
    -------
    ndarray of int64, float
    """
    bits = check_integer("bits", bits, 1 if unsigned else 2, MOST_BITS)
    array = as_array(name, x)
    if array.dtype.kind not in "fiu":
        raise OperandTypeError(f"{name} must hold numbers, not {array.dtype}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise WorkloadError(f"{name} must be finite, but holds infinity or not-a-number")
    if unsigned and (array < 0).any():
        raise WorkloadError(f"{name} must be 0 or more to become unsigned, but holds "
                            f"{array.min()}")
    most = (1 << bits - (0 if unsigned else 1)) - 1
    greatest = float(np.abs(array).max(initial=0.0))
    scale = greatest / most if greatest else 1.0
    if not scale:
        raise WorkloadError(f"{name} must be 0 or within the range of a float after division by "
                            f"{most}, but its greatest magnitude is {greatest}")
    # With a scale among the subnormal numbers the quotient may pass the greatest integer.
    integers = np.clip(np.rint(array / scale), 0 if unsigned else -most, most)
    return integers.astype(np.int64), scale
