"""Attention in numpy: against loops over rows and heads, and against floating point."""

import re
from dataclasses import replace

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.rtl.checks import ceil_log2
from cubewave.rtl.handoff_formats import convert_score
from cubewave.rtl.vector_commands import vector_element_bits
from cubewave.rtl.vector_format import VectorFormat
from cubewave.workloads import WorkloadError
from cubewave.workloads.attention_reference import (
    attention,
    causal_valid,
    check_row_length,
    float_attention,
    output_scale,
    score_shift,
)
from cubewave.workloads.softmax import exponent_scale

TINY = Design.preset("tiny")
WIDE = replace(TINY, activation_bits=16, accumulator_bits=48)


def integers(rng, amplitude, *shape):
    return rng.integers(-amplitude, amplitude, shape, endpoint=True)


def one_head(design, q, k, v, scale=1.0, **options):
    """Output in units of V."""
    output, overflow = attention(design, np.asarray(q), np.asarray(k), np.asarray(v), heads=1,
                                 kv_heads=1, scale=scale, **options)
    assert not overflow
    return output * output_scale(design, options.get("block_keys"))


# -- the same numbers, row by row -----------------------------------------------------------------

class Rows:
    """The commands of one row after another, in Python's integers where they are exact."""

    def __init__(self, design, scale, score_shift):
        self.design = design
        self.vector = VectorFormat(vector_element_bits(design))
        self.exponent = exponent_scale(scale, score_shift)
        self.score_shift = score_shift
        self.overflow = False

    def product(self, a, b):
        """Row a times matrix b, an accumulator update after each tile."""
        design = self.design
        low, span = -(1 << design.accumulator_bits - 1), 1 << design.accumulator_bits
        step = len(a) if design.dataflow == "output_stationary" else design.rows
        sums = [0] * len(b[0])
        for start in range(0, len(a), step):
            for col in range(len(sums)):
                exact = sums[col] + sum(int(a[i]) * int(b[i][col])
                                        for i in range(start, min(start + step, len(a))))
                inside = min(max(exact, low), low + span - 1)
                self.overflow |= inside != exact
                wrapped = (exact - low) % span + low
                sums[col] = inside if design.accumulator_overflow == "saturate" else wrapped
        return np.array(sums)

    def scores(self, q, k, seen):
        limit = (1 << self.design.score_bits - 1) - 1
        divisor = 1 << self.score_shift
        exact = [(int(s) + divisor // 2) // divisor for s in self.product(q, k.T)]
        return self.vector.mask(np.clip(exact, -limit, limit), seen)

    def exponentials(self, x, y):
        difference, overflow = self.vector.subtract(x, y)
        assert not overflow
        return self.vector.exponential(self.vector.multiply(difference, *self.exponent))

    def whole(self, q, k, v, seen):
        design, vector = self.design, self.vector
        x = self.scores(q, k, seen)
        e = self.exponentials(x, vector.row_maximum(x))
        shift = ceil_log2(len(k))
        total, _ = vector.row_sum(e, shift)
        ones, edge = (1 << design.probability_bits) - 1, (1 << design.activation_bits) - 1
        codes = vector.divide(e, total, ones, shift)
        return self.product([(2 * int(p) * edge + ones) // (2 * ones) for p in codes], v)

    def streaming(self, q, k, v, seen, block):
        design, vector = self.design, self.vector
        ones = (1 << min(design.probability_bits, design.activation_bits)) - 1
        m = total = output = None
        for start in range(0, len(k), block):
            part = slice(start, start + block)
            x = self.scores(q, k[part], seen[part])
            above = vector.row_maximum(x) if m is None else vector.maximum(m, vector.row_maximum(x))
            codes = vector.multiply(self.exponentials(x, above), ones, 30)
            block_total, sum_overflow = vector.row_sum(codes)
            values = self.product(codes, v[part])
            if m is None:
                total, output, overflows = block_total, values, ()
            else:
                c = self.exponentials(m, above)
                total, *overflows = vector.add(vector.multiply(total, c, 30), block_total)
                output, overflow = vector.add(vector.multiply(output, c, 30), values)
                overflows.append(overflow)
            self.overflow |= sum_overflow or any(overflows)
            m = above
        return vector.divide(output, total, 256)


def by_rows(design, q, k, v, *, heads, kv_heads, scale, seen, block_keys, score_shift):
    rows, dim = len(q), q.shape[1] // heads
    numbers, output = Rows(design, scale, score_shift), np.zeros((rows, heads * dim), np.int64)
    for head in range(heads):
        kv = head // (heads // kv_heads)
        keys, values = k[:, kv * dim:][:, :dim], v[:, kv * dim:][:, :dim]
        for row in range(rows):
            query = q[row, head * dim:][:dim]
            options = () if block_keys is None else (block_keys,)
            run = numbers.whole if block_keys is None else numbers.streaming
            output[row, head * dim:][:dim] = run(query, keys, values, seen[row], *options)
    return output, numbers.overflow


DESIGNS = {
    "tiny": TINY,
    "narrow": replace(TINY, activation_bits=5, weight_bits=6, score_bits=9, probability_bits=11),
    "short_codes": replace(TINY, activation_bits=12, probability_bits=8, accumulator_bits=40),
    "wrap": replace(TINY, accumulator_bits=16, accumulator_overflow="wrap"),
    "saturate": replace(TINY, accumulator_bits=16, accumulator_overflow="saturate"),
    "output_stationary": replace(TINY, dataflow="output_stationary", accumulator_bits=16),
    "wide": replace(WIDE, weight_bits=16),
}


@pytest.mark.parametrize("block_keys", [None, 1, 4, 5, 100])
@pytest.mark.parametrize("name", DESIGNS)
def test_against_rows(name, block_keys):
    design = DESIGNS[name]
    rng = np.random.default_rng(len(name) + 7 * (block_keys or 0))
    q_max, k_max = 2 ** (design.activation_bits - 1) - 1, 2 ** (design.weight_bits - 1) - 1
    overflows = []
    for rows, keys, heads, kv_heads, dim, causal, masked in (
            (3, 7, 2, 1, 3, False, False), (5, 12, 4, 2, 6, True, False),
            (4, 9, 3, 3, 5, False, True), (9, 5, 2, 2, 1, True, True), (1, 1, 1, 1, 2, True, True)):
        q = integers(rng, q_max, rows, heads * dim)
        k, v = (integers(rng, k_max, keys, kv_heads * dim) for _ in "kv")
        valid = causal_valid(rows, keys) if causal else None
        mask = rng.random((rows, keys)) < 0.7 if masked else None
        seen = np.ones((rows, keys), bool) if mask is None else mask.copy()
        if causal:
            seen &= np.arange(keys) < valid[:, None]
        options = {"heads": heads, "kv_heads": kv_heads, "block_keys": block_keys,
                   "scale": rng.uniform(1, 9) / (q_max * k_max * dim),
                   "score_shift": int(rng.integers(0, 2 + score_shift(design, dim, q_max, k_max)))}
        output, overflow = attention(design, q, k, v, valid=valid, mask=mask, **options)
        expected, outside = by_rows(design, q, k, v, seen=seen, **options)
        assert output.dtype == np.int64 and (output == expected).all() and overflow == outside
        overflows.append(overflow)
    assert any(overflows) == (design.accumulator_bits == 16)


def test_chunks_of_rows(monkeypatch):
    """However many rows are computed at a time."""
    rng = np.random.default_rng(3)
    q, k, v = integers(rng, 127, 6, 12), integers(rng, 127, 10, 6), integers(rng, 127, 10, 6)
    mask = rng.random((6, 10)) < 0.6
    for block_keys in (None, 4):
        options = {"heads": 4, "kv_heads": 2, "scale": 1e-4, "mask": mask,
                   "valid": causal_valid(6, 10), "block_keys": block_keys}
        whole, _ = attention(TINY, q, k, v, **options)
        for elements in (1, 50):
            monkeypatch.setattr("cubewave.workloads.attention_reference.CHUNK_ELEMENTS", elements)
            assert (attention(TINY, q, k, v, **options)[0] == whole).all()
        monkeypatch.undo()


# -- the scores -----------------------------------------------------------------------------------

@pytest.mark.parametrize("score_bits", [8, 16, 32])
def test_score_shift_is_the_least_without_saturation(score_bits):
    design, limit = replace(TINY, score_bits=score_bits), 2 ** (score_bits - 1) - 1
    for dim, q_max, k_max in ((1, 1, 1), (1, 127, 1), (1, 128, 1), (1, 255, 1), (128, 128, 128),
                              (64, 127, 127), (4096, 32768, 32768), (1, 2 ** 31 - 1, 1)):
        shift, greatest = score_shift(design, dim, q_max, k_max), dim * q_max * k_max
        for exact in (greatest, -greatest):
            assert convert_score(design, exact, shift, narrow=1) == convert_score(
                design, exact, shift)
        assert shift == 0 or (greatest + (1 << shift - 1 >> 1)) >> shift - 1 > limit


# -- known results --------------------------------------------------------------------------------

@pytest.mark.parametrize("block_keys", [None, 1, 2, 4, 5])
@pytest.mark.parametrize("design", [TINY, WIDE], ids=["8 bits", "16 bits"])
def test_causal_mask_is_aligned_to_the_end(design, block_keys):
    """F079: 2 queries of 0, 5 keys: the first sees four keys, the second all."""
    values = np.arange(1, 6)[:, None]
    output = one_head(design, np.zeros((2, 1), int), np.ones((5, 1), int), values,
                      valid=causal_valid(2, 5), block_keys=block_keys)
    tolerance = 5 * 5 / 2 / (2 ** design.activation_bits - 1) if block_keys is None else 0
    assert np.abs(output[:, 0] - [2.5, 3.0]).max() <= tolerance
    assert tolerance < 0.05


def test_causal_valid():
    assert causal_valid(2, 5).tolist() == [4, 5]
    assert causal_valid(3, 3).tolist() == [1, 2, 3]
    assert causal_valid(4, 2).tolist() == [0, 0, 1, 2]


def test_codes_are_unsigned():
    """F080: code 255 times 1 and times -128."""
    output, overflow = attention(TINY, np.array([[3]]), np.array([[5]]), np.array([[1, -128]]),
                                 heads=1, kv_heads=1, scale=1.0)
    assert output.tolist() == [[255, -32640]] and not overflow
    output, _ = attention(TINY, np.array([[3]]), np.array([[5]]), np.array([[1, -128]]),
                          heads=1, kv_heads=1, scale=1.0, block_keys=1)
    assert output.tolist() == [[256, -32768]]


@pytest.mark.parametrize("block_keys", [None, 2])
def test_masked_keys_have_no_part(block_keys):
    """Values of masked keys change nothing; rows without keys are 0."""
    rng = np.random.default_rng(5)
    q, k, v = (integers(rng, 127, 6, 4) for _ in range(3))
    mask = rng.random((6, 6)) < 0.5
    mask[:, 2], mask[3] = False, False
    first = one_head(TINY, q, k, v, 1e-3, mask=mask, block_keys=block_keys)
    k[2], v[2] = 127, -128
    assert (one_head(TINY, q, k, v, 1e-3, mask=mask, block_keys=block_keys) == first).all()
    assert not first[3].any() and first.any()
    valid = np.array([-2, 0, 3, 6, 6, 6])
    assert not one_head(TINY, q, k, v, valid=valid, block_keys=block_keys)[:2].any()


def test_query_heads_share_key_heads():
    """Head h has the keys of head h // (heads / kv_heads)."""
    rng = np.random.default_rng(6)
    q, k, v = integers(rng, 127, 3, 8), integers(rng, 127, 5, 4), integers(rng, 127, 5, 4)
    repeated = [np.repeat(x.reshape(5, 2, 2), 2, axis=1).reshape(5, 8) for x in (k, v)]
    for block_keys in (None, 2):
        options = {"heads": 4, "scale": 1e-4, "block_keys": block_keys}
        shared, _ = attention(TINY, q, k, v, kv_heads=2, **options)
        assert (attention(TINY, q, *repeated, kv_heads=4, **options)[0] == shared).all()
    shared = float_attention(q, k, v, heads=4, kv_heads=2, scale=1e-4)
    assert np.allclose(float_attention(q, *repeated, heads=4, kv_heads=4, scale=1e-4), shared)


def test_overflow_of_the_vector_unit():
    """Sums of values that the accumulators hold but an element does not."""
    design = replace(WIDE, accumulator_bits=33, weight_bits=16)
    keys = np.ones((20, 1), int)
    output, overflow = attention(design, np.ones((1, 1), int), keys, 32767 * keys, heads=1,
                                 kv_heads=1, scale=1.0, block_keys=1)
    assert overflow and output[0, 0] < 256 * 32767
    _, overflow = attention(design, np.ones((1, 1), int), keys, 3276 * keys, heads=1, kv_heads=1,
                            scale=1.0, block_keys=1)
    assert not overflow


# -- errors ---------------------------------------------------------------------------------------

def error_bounds(design, scores, scale, keys, block_keys):
    """Bounds of the module's docstring for each row, in units of the greatest |v|."""
    a, p = 2 ** design.activation_bits - 1, 2 ** design.probability_bits - 1
    whole = keys * (1 / (2 * a) + 1 / (2 * p) + 2.0 ** -14)
    ones, blocks = min(a, p), -(-keys // block_keys)
    logits = scores * scale
    s = np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)
    lost = (keys + blocks) * (1 / 2 + ones / 2 ** 15)
    room = ones * s - lost
    streaming = np.where(room > 0, 2 * lost / np.maximum(room, 1), 2) + blocks / 2 ** 15
    return whole, streaming


@pytest.mark.parametrize("design", [TINY, WIDE, DESIGNS["short_codes"]],
                         ids=["8 bits", "16 bits", "short codes"])
@pytest.mark.parametrize("keys, block_keys", [(1, 1), (8, 3), (64, 16), (500, 128)])
def test_error_of_whole_rows_and_of_streaming(design, keys, block_keys):
    rng = np.random.default_rng(keys)
    for spread in (0.01, 1.0, 5.0, 100.0):          # of the logits
        q, k = integers(rng, 127, 20, 8), integers(rng, 127, keys, 8)
        v = integers(rng, 127, keys, 8)
        scale = spread / (127 / 3 ** 0.5) ** 2 / 8 ** 0.5
        exact = float_attention(q, k, v, heads=1, kv_heads=1, scale=scale)
        whole = one_head(design, q, k, v, scale)
        streaming = one_head(design, q, k, v, scale, block_keys=block_keys)
        greatest = np.abs(v).max()
        whole_bound, streaming_bound = error_bounds(design, q @ k.T, scale, keys, block_keys)
        whole_bound = whole_bound * greatest
        streaming_bound = streaming_bound[:, None] * greatest + 1 / 512
        assert (np.abs(whole - exact) <= whole_bound).all()
        assert (np.abs(streaming - exact) <= streaming_bound).all()
        assert (np.abs(streaming - whole) <= whole_bound + streaming_bound).all()


def test_typical_errors():
    """What to expect rather than the worst: 128 keys, logits of spread 1."""
    rng = np.random.default_rng(0)
    q, k, v = integers(rng, 127, 64, 64), integers(rng, 127, 128, 64), integers(rng, 127, 128, 64)
    scale = 1 / (127 / 3 ** 0.5) ** 2 / 8
    exact = float_attention(q, k, v, heads=1, kv_heads=1, scale=scale)
    for design, block_keys, most in ((TINY, None, 0.02), (TINY, 32, 0.01),
                                     (WIDE, None, 1e-4), (WIDE, 32, 1e-4)):
        output = one_head(design, q, k, v, scale, block_keys=block_keys)
        assert np.sqrt(np.mean((output - exact) ** 2)) / 127 < most


def test_float_attention():
    """Against the formula, row by row."""
    rng = np.random.default_rng(1)
    q, k, v = integers(rng, 9, 4, 6), integers(rng, 9, 5, 3), integers(rng, 9, 5, 3)
    mask = rng.random((4, 5)) < 0.6
    mask[1] = False
    valid = np.array([5, 5, 2, 4])
    output = float_attention(q, k, v, heads=2, kv_heads=1, scale=0.1, valid=valid, mask=mask)
    for row in range(4):
        seen = mask[row] & (np.arange(5) < valid[row])
        for head in range(2):
            weights = np.exp(0.1 * (k @ q[row, 3 * head:][:3])) * seen
            expected = weights @ v / weights.sum() if seen.any() else np.zeros(3)
            assert np.allclose(output[row, 3 * head:][:3], expected)


# -- refusals and size ----------------------------------------------------------------------------

def test_long_rows_are_refused():
    message = ("keys must be at most 510 for whole rows with probabilities of 8 bits, not 511, "
               "because equal scores would give 0; set block_keys to stream longer rows")
    for design in (TINY, DESIGNS["short_codes"]):
        with pytest.raises(WorkloadError, match=f"^{re.escape(message)}$"):
            check_row_length(design, 511)
    check_row_length(WIDE, 131070)
    q, k = np.zeros((1, 1), int), np.zeros((511, 1), int)
    assert one_head(TINY, q, k[:510], k[:510] + 100)[0, 0] == 200      # codes 1 instead of 1/2
    with pytest.raises(WorkloadError, match=f"^{re.escape(message)}$"):
        one_head(TINY, q, k, k)
    assert one_head(TINY, q, k, k + 100, block_keys=64)[0, 0] == 100


@pytest.mark.long
@pytest.mark.parametrize("block_keys", [128, 256])
def test_large_problem(block_keys):
    """32 heads, 128 rows, 4096 keys: about a second; 16 bits keep the error small."""
    design = replace(Design.preset("b200-sm"), activation_bits=16, accumulator_bits=48)
    rng = np.random.default_rng(block_keys)
    q, k, v = (integers(rng, 127, rows, heads * 128)
               for rows, heads in ((128, 32), (4096, 8), (4096, 8)))
    valid = causal_valid(128, 4096)
    options = {"heads": 32, "kv_heads": 8, "scale": 1 / 60_000, "valid": valid}
    output, overflow = attention(design, q, k, v, block_keys=block_keys, **options)
    exact = float_attention(q, k, v, **options)
    assert not overflow
    assert np.abs(output / 256 - exact).max() < 0.3
