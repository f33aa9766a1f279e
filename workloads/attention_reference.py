"""Attention in numpy: what the hardware computes, bit by bit, and the same in floating point.

Queries are [rows, heads * head_dim], keys and values [keys, kv_heads * head_dim]; query head h
has the keys and values of head h // (heads / kv_heads). Key j takes part in row r when
j < valid[r] and mask[r, j]; a row without any key is 0. A causal mask is aligned to the end: the
last query sees all keys (:func:`causal_valid`).

Whole rows: softmax codes of `probability_bits` are rounded once to `activation_bits`, and the
array multiplies them by the values.

Streaming, by blocks of keys: codes of 2**(score - greatest so far) of min(`probability_bits`,
`activation_bits`) bits meet the values of the block; sums so far are scaled down whenever a block
raises the maximum, and divided by the sum of the codes at the end.

Error of an element of the output against exact attention over the same integer scores, in units
of the greatest |v|, for a row with n keys in b blocks. A and P are the greatest codes of
`activation_bits` and `probability_bits`, E the lesser of both; s, from 1 to n, is the sum of
exp(logit - greatest logit); d = 1/2 + E / 2**15 is the error of a code.

    whole rows  n * (1 / (2 A) + 1 / (2 P) + 2**-14)
    streaming   2 (n + b) d / (E s - (n + b) d) + b / 2**15, and half a unit of the output
"""

import numpy as np

from ..rtl import Design
from ..rtl.formats import IntegerFormat
from ..rtl.handoff_formats import convert_probability, convert_score
from ..rtl.vector_commands import vector_element_bits
from ..rtl.vector_format import VectorFormat
from .errors import WorkloadError
from .softmax import EXPONENTIAL_BITS, exponent_scale, exponentials, softmax_codes

__all__ = ["attention", "causal_valid", "check_row_length", "code_bits", "float_attention",
           "output_scale", "score_shift"]

STREAMING_UNIT = 256        # of a value, in an element of the output
CHUNK_ELEMENTS = 1 << 17    # scores at a time: few enough to stay in the processor's cache


def score_shift(design: Design, head_dim: int, q_max: int, k_max: int) -> int:
    """The least shift with which no score of operands up to q_max and k_max saturates."""
    greatest, limit = head_dim * q_max * k_max, (1 << design.score_bits - 1) - 1
    shift = 0
    while (greatest + (1 << shift >> 1)) >> shift > limit:
        shift += 1
    return shift


def causal_valid(rows: int, keys: int) -> np.ndarray:
    """Keys that each row sees when the last query belongs to the last key."""
    return np.clip(np.arange(1, rows + 1) + keys - rows, 0, keys)


def code_bits(design: Design, block_keys: int | None) -> int:
    """Bits of the codes that meet the values in the array."""
    if block_keys is None:
        return design.activation_bits
    return min(design.probability_bits, design.activation_bits)


def output_scale(design: Design, block_keys: int | None) -> float:
    """What an element of the output counts, in units of V."""
    if block_keys is None:
        return 1 / ((1 << design.activation_bits) - 1)
    return 1 / STREAMING_UNIT


def check_row_length(design: Design, keys: int) -> None:
    """Raise :class:`WorkloadError` when the codes of a long row of equal scores would be 0."""
    bits = min(design.probability_bits, design.activation_bits)
    limit = 2 * ((1 << bits) - 1)
    if keys > limit:
        raise WorkloadError(
            f"keys must be at most {limit} for whole rows with probabilities of {bits} bits, not "
            f"{keys}, because equal scores would give 0; set block_keys to stream longer rows")


def attention(design: Design, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, heads: int,
              kv_heads: int, scale: float, valid: np.ndarray | None = None,
              mask: np.ndarray | None = None, block_keys: int | None = None,
              score_shift: int = 0) -> tuple[np.ndarray, bool]:
    """The output, in units of :func:`output_scale`, and whether any sum overflowed.

    Overflow is that of an accumulator, which wraps or saturates as the design says after each
    tile of the inner dimension, or of a sum in the vector unit, which saturates.

    Parameters
    ----------
    q, k, v : ndarray of int64
        Within the operand formats.
    scale : float
        A logit is the exact score times `scale`.
    valid : ndarray of int, shape [rows], or None
        Keys that each row sees at most; below 0 is 0.
    mask : ndarray of bool, shape [rows, keys], or None
        True where a row sees a key.
    block_keys : int or None
        Keys of a block, for streaming. None: whole rows.
    score_shift : int
        Of :func:`score_shift`.
    """
    if block_keys is None:
        check_row_length(design, len(k))
    exponent = exponent_scale(scale, score_shift)
    numbers = _Numbers(design, *exponent, score_shift, block_keys)
    masked = _masked(valid, mask, len(q), len(k))
    queries, keys, values = (_heads(x, kv_heads, count)
                             for x, count in ((q, heads // kv_heads), (k, 1), (v, 1)))
    output = np.empty((*queries.shape[:2], values.shape[2]), np.int64)
    chunk = max(1, CHUNK_ELEMENTS // (block_keys or len(k)))
    overflow = False
    for head in range(kv_heads):
        for start in range(0, queries.shape[1], chunk):
            part = slice(start, min(start + chunk, queries.shape[1]))
            hidden = None if masked is None else masked[np.arange(part.start, part.stop) % len(q)]
            output[head, part], outside = numbers.rows(
                queries[head, part], keys[head], values[head], hidden)
            overflow |= outside
    return _rows(output, len(q)), overflow


def _heads(x: np.ndarray, kv_heads: int, group: int) -> np.ndarray:
    """[rows, heads * dim] as [kv_heads, group * rows, dim], the query heads of a key head."""
    rows = len(x)
    split = x.reshape(rows, kv_heads, group, -1).transpose(1, 2, 0, 3)
    return split.reshape(kv_heads, group * rows, -1)


def _rows(x: np.ndarray, rows: int) -> np.ndarray:
    """The way back from :func:`_heads`."""
    split = x.reshape(x.shape[0], -1, rows, x.shape[2])
    return split.transpose(2, 0, 1, 3).reshape(rows, -1)


def _masked(valid: np.ndarray | None, mask: np.ndarray | None, rows: int,
            keys: int) -> np.ndarray | None:
    """Which keys a row does not see, [rows, keys]; None: every row sees all."""
    masked = None if mask is None else ~np.asarray(mask, bool)
    if valid is not None:
        beyond = np.arange(keys) >= np.asarray(valid)[:, None]
        masked = beyond if masked is None else masked | beyond
    return masked


class _Numbers:
    """The arithmetic of rows of one head."""

    def __init__(self, design: Design, multiplier: int, shift: int, score_shift: int,
                 block_keys: int | None):
        self._design, self._block_keys = design, block_keys
        self._vector = VectorFormat(vector_element_bits(design))
        self._exponent = (multiplier, shift)
        self._score_shift = score_shift

    def rows(self, q: np.ndarray, k: np.ndarray, v: np.ndarray,
             masked: np.ndarray | None) -> tuple[np.ndarray, bool]:
        """Output of q [rows, dim] over k, v [keys, dim], and whether a sum overflowed."""
        if self._block_keys is None:
            return self._whole_rows(q, k, v, masked)
        return self._streaming(q, k, v, masked)

    def _scores(self, q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, bool]:
        sums, overflow = _product(self._design, q, k.T)
        return convert_score(self._design, sums, self._score_shift, narrow=1), overflow

    def _whole_rows(self, q: np.ndarray, k: np.ndarray, v: np.ndarray,
                    masked: np.ndarray | None) -> tuple[np.ndarray, bool]:
        design = self._design
        scores, overflow = self._scores(q, k)
        codes = softmax_codes(self._vector, scores, masked, *self._exponent,
                              design.probability_bits)
        codes = convert_probability(design, codes, narrow=1)
        output, outside = _product(design, codes, v)
        return output, overflow or outside

    def _streaming(self, q: np.ndarray, k: np.ndarray, v: np.ndarray,
                   masked: np.ndarray | None) -> tuple[np.ndarray, bool]:
        vector, block = self._vector, self._block_keys
        assert block is not None
        ones = (1 << code_bits(self._design, block)) - 1
        overflows = []
        greatest: np.ndarray | None = None
        total: np.ndarray | None = None
        output: np.ndarray | None = None
        for start in range(0, len(k), block):
            part = slice(start, min(start + block, len(k)))
            x, overflow = self._scores(q, k[part])
            if masked is not None:
                np.copyto(x, vector.masked, where=masked[:, part])
            before, greatest = greatest, vector.row_maximum(x)[:, None]
            if before is not None:
                greatest = vector.maximum(before, greatest)
            e = exponentials(vector, x, greatest, *self._exponent)
            codes = vector.multiply(e, ones, EXPONENTIAL_BITS)
            block_total, sum_overflow = vector.row_sum(codes, 0)
            block_total = block_total[:, None]
            values, outside = _product(self._design, codes, v[part])
            overflows += [overflow, sum_overflow, outside]
            if before is None:
                total, output = block_total, values
                continue
            factor = exponentials(vector, before, greatest, *self._exponent)
            total, total_overflow = vector.add(
                vector.multiply(total, factor, EXPONENTIAL_BITS), block_total)
            output, output_overflow = vector.add(
                vector.multiply(output, factor, EXPONENTIAL_BITS), values)
            overflows += [total_overflow, output_overflow]
        return (vector.divide(output, total, STREAMING_UNIT, 0),
                any(np.any(overflow) for overflow in overflows))


def _product(design: Design, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, bool]:
    """a @ b in the accumulators, and whether one overflowed.

    As in :func:`.gemm.reference`: overflow can happen at an accumulator update only, tile by tile
    of the inner dimension; where none is possible the product is computed at once.
    """
    format = IntegerFormat.of(design)
    row_sum = int(np.abs(a).sum(axis=1).max())
    bound = row_sum * int(np.abs(b).max())     # of every partial sum, in whatever order
    if bound <= format.accumulator_range()[1]:
        return _exact_product(a, b, bound), False
    tile = a.shape[1] if design.dataflow == "output_stationary" else design.rows
    total = np.zeros((a.shape[0], b.shape[1]), np.int64)
    overflow = False
    for start in range(0, a.shape[1], tile):
        part = slice(start, start + tile)
        total, outside = format.accumulate(total, _exact_product(a[:, part], b[part], bound),
                                           design.accumulator_overflow)
        overflow |= outside
    return total, overflow


def _exact_product(a: np.ndarray, b: np.ndarray, bound: int) -> np.ndarray:
    """The product of two int64 matrices whose partial sums stay within `bound`.

    Through floats, and their fast library, where these hold every partial sum exactly.
    """
    for kind, bits in ((np.float32, 24), (np.float64, 53)):
        if bound <= 1 << bits:
            return (a.astype(kind) @ b.astype(kind)).astype(np.int64)
    return a @ b


def float_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, *, heads: int, kv_heads: int,
                    scale: float, valid: np.ndarray | None = None,
                    mask: np.ndarray | None = None) -> np.ndarray:
    """Exact attention, in float64; parameters as for :func:`attention`."""
    masked = _masked(valid, mask, len(q), len(k))
    queries, keys, values = (_heads(np.asarray(x, np.float64), kv_heads, count)
                             for x, count in ((q, heads // kv_heads), (k, 1), (v, 1)))
    output = np.empty((*queries.shape[:2], values.shape[2]))
    for head in range(kv_heads):
        logits = scale * (queries[head] @ keys[head].T).reshape(-1, len(q), len(k))
        if masked is not None:
            logits = np.where(masked, -np.inf, logits)
        greatest = logits.max(axis=2, keepdims=True)
        weights = np.exp(logits - np.where(np.isfinite(greatest), greatest, 0))
        total = weights.sum(axis=2, keepdims=True)
        weights /= np.where(total > 0, total, 1)
        output[head] = weights.reshape(-1, len(k)) @ values[head]
    return _rows(output, len(q))
