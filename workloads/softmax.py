"""Softmax in fixed point, as the vector unit computes it; the numbers only.

Scores are integers. The exponential has base 2 and takes units of 2**-16, so the differences to
the greatest score of the row are multiplied by a multiplier that stands for scale * log2(e); see
:func:`exponent_scale`. Every operation is one of :class:`VectorFormat`.

Error of a probability against the exact softmax of the same integer scores: at most 2**-12 with
16 bits and 2**-7 with 8, for every scale and for rows up to 4096. The codes of a row of n add up
to all ones within n / 2. A greater score never has the smaller code; a masked one has code 0.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..rtl.checks import ceil_log2
from ..rtl.vector_format import VectorFormat
from .errors import WorkloadError

__all__ = ["EXPONENTIAL_BITS", "exponent_scale", "exponentials", "softmax_codes"]

EXPONENTIAL_BITS = 30     # an exponential is in units of 2**-30
EXPONENT_BITS = 16        # and takes units of 2**-16
MULTIPLIER_BITS = 16
LARGEST_MULTIPLIER = (1 << 31) - 1
LARGEST_SHIFT = 63


def exponent_scale(scale: Any, score_shift: int = 0) -> tuple[int, int]:
    """Multiplier and shift that turn differences of scores into exponents of 2.

    multiplier / 2**shift is scale * log2(e) * 2**(16 + score_shift). The multiplier has 16 bits;
    where this needs a shift below 0, the shift is 0 and the multiplier longer, up to 31 bits;
    where it needs one above 63, the shift is 63 and the multiplier shorter (then all exponents
    round to 0, as they should).

    Parameters
    ----------
    scale : number
        The logit is the exact score times `scale`. More than 0.
    score_shift : int
        Bits that the exact score has lost on its way to the vector unit.

    Raises
    ------
    WorkloadError
        A scale out of the range, which the message names.
    """
    greatest = LARGEST_MULTIPLIER / math.log2(math.e) / 2.0 ** (EXPONENT_BITS + score_shift)
    refusal = (f"scale must be a number above 0 and at most {greatest:.6g} for scores shifted by "
               f"{score_shift}, not {scale!r}")
    number = isinstance(scale, int | float | np.integer | np.floating)
    if not number or isinstance(scale, bool) or not 0 < scale <= 2 * greatest:
        raise WorkloadError(refusal)
    exact = Fraction(float(scale)) * Fraction(math.log2(math.e)) * (
        1 << EXPONENT_BITS + score_shift)
    shift = MULTIPLIER_BITS - 1
    while shift < LARGEST_SHIFT and _rounded(exact, shift) < 1 << MULTIPLIER_BITS - 1:
        shift += 1
    while shift > 0 and _rounded(exact, shift) >= 1 << MULTIPLIER_BITS:
        shift -= 1
    multiplier = _rounded(exact, shift)
    if multiplier > LARGEST_MULTIPLIER:
        raise WorkloadError(refusal)
    return multiplier, shift


def _rounded(exact: Fraction, shift: int) -> int:
    """exact * 2**shift, rounded half up."""
    return math.floor(exact * (1 << shift) + Fraction(1, 2))


def exponentials(format: VectorFormat, scores: np.ndarray, greatest: np.ndarray, multiplier: int,
                 shift: int) -> np.ndarray:
    """2**((score - greatest) * multiplier / 2**(shift + 16)) in units of 2**-30; masked: 0."""
    difference, _ = format.subtract(scores, greatest)   # two bits more than a score: always fits
    return format.exponential(format.multiply(difference, multiplier, shift))


def softmax_codes(format: VectorFormat, scores: np.ndarray, masked: np.ndarray | None,
                  multiplier: int, shift: int, bits: int) -> np.ndarray:
    """Softmax over the last axis as codes from 0 to 2**`bits` - 1, which is probability 1.

    A row whose elements are all masked has codes 0.

    Parameters
    ----------
    scores : ndarray of int64
        Scores as the vector unit holds them.
    masked : ndarray of bool or None
        Elements without a part in it; broadcast over `scores`.
    multiplier, shift : int
        Of :func:`exponent_scale`.
    """
    x = scores if masked is None else np.where(masked, format.masked, scores)
    greatest = format.row_maximum(x)[..., None]
    e = exponentials(format, x, greatest, multiplier, shift)
    row_shift = ceil_log2(x.shape[-1])
    total, _ = format.row_sum(e, row_shift)             # at most 2**30
    return format.divide(e, total[..., None], (1 << bits) - 1, row_shift)
