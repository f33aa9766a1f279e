"""Attention: shapes, refusals, the plan, options of the command line, and small exact results."""

import re
from dataclasses import replace

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.workloads import Attention, RandomAttention, WorkloadError
from cubewave.workloads.attention_plan import AttentionPlan, AttentionShape
from cubewave.workloads.registry import build

TINY = Design.preset("tiny")
ONE = np.ones((2, 2), np.int64)
INTEGER = "an integer from 1 to 2147483647"


def real(result):
    """The output in units of v, of a run whose checks all hold."""
    assert result.ok, [check for check in result.checks if not check["ok"]]
    return result.output * result.output_scale


# Refusals


@pytest.mark.parametrize("arguments,options,message", [
    ((ONE[0], ONE, ONE), {}, "q must be a matrix of 1 or more rows and columns, not of shape (2,)"),
    ((ONE, ONE[:0], ONE), {},
     "k must be a matrix of 1 or more rows and columns, not of shape (0, 2)"),
    ((ONE, ONE, ONE[:1]), {}, "v must have as many rows as k (2), not 1"),
    ((ONE, ONE[:, :1], ONE), {}, "k must have 1 * 2 columns, as many as its heads have, not 1"),
    ((ONE, ONE, ONE[:, :1]), {}, "v must have 1 * 2 columns, as many as its heads have, not 1"),
    ((ONE, ONE, ONE), {"heads": 3}, "q must have columns for each of 3 heads, not 2"),
    ((ONE, ONE, ONE), {"heads": 2, "kv_heads": 3},
     "heads must be a multiple of kv_heads = 3, not 2"),
    ((ONE, ONE, ONE), {"heads": 0}, f"heads must be {INTEGER}, not 0"),
    ((ONE, ONE, ONE), {"kv_heads": True}, f"kv_heads must be {INTEGER}, not True"),
    ((ONE, ONE, ONE), {"rows_per_group": 0}, f"rows_per_group must be {INTEGER}, not 0"),
    ((ONE, ONE, ONE), {"block_keys": 1.5},
     "block_keys must be an integer from 1 to 2, not 1.5"),
    ((ONE, ONE, ONE), {"block_keys": 3},     # not taken for whole rows
     "block_keys must be an integer from 1 to 2, not 3"),
    ((ONE, ONE, ONE), {"scale": 0}, "scale must be a number above 0, not 0"),
    ((ONE, ONE, ONE), {"scale": 10**309},
     f"scale must be a number above 0, not {10**309}"),
    ((ONE, ONE, ONE), {"scale": float("nan")}, "scale must be a number above 0, not nan"),
    ((ONE, ONE, ONE), {"causal": 1}, "causal must be true or false, not 1"),
    ((ONE, ONE, ONE), {"resident": None}, "resident must be true or false, not None"),
    ((ONE, ONE, ONE), {"store_output": 0}, "store_output must be true or false, not 0"),
    ((ONE, ONE, ONE), {"mask": ONE},
     "mask must be an array of bool of 2 rows and 2 keys, not int64 of shape (2, 2)"),
    ((ONE, ONE, ONE), {"mask": np.ones((2, 3), bool)},
     "mask must be an array of bool of 2 rows and 2 keys, not bool of shape (2, 3)"),
    ((ONE, ONE, ONE), {"mask": [[True], [True, False]]},
     "mask must be an array, not nested lists of unequal lengths"),
    ((ONE, [[1, 2], [3]], ONE), {}, "k must be an array, not nested lists of unequal lengths"),
    ((ONE * np.nan, ONE, ONE), {}, "q must hold finite numbers"),
    ((ONE, ONE, [[0.5, -np.inf]]), {}, "v must hold finite numbers"),
    ((ONE.astype(complex), ONE, ONE), {}, "q must hold integers or floats, not complex128"),
    ((np.full((1, 1), 2**64 - 1, np.uint64), [[1]], [[1]]), {},
     "q must be within the operand format, not beyond 62 bits"),
])
def test_refusals(arguments, options, message):
    with pytest.raises(WorkloadError, match=f"^{re.escape(message)}$"):
        Attention(*arguments, **options)


@pytest.mark.parametrize("options,message", [
    ({"rows": 0}, f"rows must be {INTEGER}, not 0"),
    ({"keys": 2**31}, f"keys must be {INTEGER}, not 2147483648"),
    ({"head_dim": "8"}, f"head_dim must be {INTEGER}, not '8'"),
    ({"seed": -1}, "seed must be an integer from 0 to 2147483647, not -1"),
    ({"heads": 3, "kv_heads": 2}, "heads must be a multiple of kv_heads = 2, not 3"),
])
def test_refusals_of_random_attention(options, message):
    with pytest.raises(WorkloadError, match=f"^{re.escape(message)}$"):
        RandomAttention(**options)


@pytest.mark.parametrize("fields,workload,message", [
    ({}, Attention(ONE * 200, ONE, ONE),
     "q must be from -128 to 127 for this design, but holds 200"),
    ({"weight_bits": 4}, Attention(ONE, ONE, -9 * ONE),
     "v must be from -8 to 7 for this design, but holds -9"),
    ({"dataflow": "output_stationary"}, RandomAttention(),
     'attention needs dataflow "weight_stationary": an output-stationary array takes its operands '
     "by columns, which the hand-off does not write"),
    ({"input_slots": 1}, RandomAttention(),
     "attention needs input_slots of at least 2: one for Q, one for the probabilities"),
    ({}, RandomAttention(8, 600, 2, block_keys=600),
     "block_keys must be less than keys = 600, for rows of more than 510 keys lose small "
     "probabilities"),
    ({}, RandomAttention(8, 100, 2, rows_per_group=100),
     "rows_per_group must be from 1 to 8 rows on this design, not 100"),
    ({"accumulator_rows": 3}, RandomAttention(2, 9, 16, block_keys=2),
     "attention over 2 keys at a time with head_dim 16 does not fit the design: a row needs "
     "accumulator_rows of at least 4 and slots of 4 rows; give a smaller block_keys or larger "
     "buffers"),
    ({"accumulator_rows": 3}, RandomAttention(2, 9, 16, block_keys=1),
     "attention over 1 keys at a time with head_dim 16 does not fit the design: a row needs "
     "accumulator_rows of at least 4 and slots of 4 rows; give larger buffers"),
    ({"slot_bytes": 32}, RandomAttention(24, 4, 4, resident=True),
     "resident needs all of Q in 2 operand slots: 12 rows each, but they hold 8"),
    ({"accumulator_bits": 16}, RandomAttention(1, 200, 4, block_keys=128),
     "accumulator_bits = 16 is too small for attention over 200 keys of 4: sums of 2-bit "
     "operands overflow"),
    ({}, Attention(ONE, ONE, ONE, scale=1e5),
     "scale must be a number above 0 and at most 22713 for scores shifted by 0, not 100000.0"),
    ({}, Attention(ONE * 1e300, ONE * 0.5, ONE),
     "q up to 1e+300 and k up to 0.5 with scale = 0.707107 are beyond the softmax of this design: "
     "a step of both would be a logit of 2.19e+295"),
    ({}, Attention(ONE * 1e-300, ONE * 1e-300, ONE),
     "q up to 1e-300 and k up to 1e-300 with scale = 0.707107 are beyond the softmax of this "
     "design: a step of both would be a logit of 0"),
    ({}, Attention(ONE * 0.5, ONE * 5e-324, ONE),
     "k must be 0 or within the range of a float after division by 127, but its greatest magnitude "
     "is 5e-324"),
    ({}, RandomAttention(2, 2, 2, scale=1e9),
     "scale = 1e+09 does not fit operands quantised for this design: of integers, scale must be a "
     "number above 0 and at most 22713 for scores shifted by 0, not 992001.984003968"),
])
def test_refusals_of_a_design(fields, workload, message):
    """At every level, before anything runs."""
    for level in ("rtl", "cycle", "analytic"):
        with pytest.raises(WorkloadError, match=f"^{re.escape(message)}$"):
            simulate(replace(TINY, **fields), workload, level=level)


# Options of the command line


def test_options_are_the_arguments(tmp_path):
    np.save(tmp_path / "mask.npy", np.eye(5, 7, dtype=bool))
    options = {"rows": "5", "keys": "7", "head_dim": "3", "heads": "4", "kv_heads": "2",
               "causal": "true", "scale": "0.25", "rows_per_group": "2", "block_keys": "3",
               "resident": "true", "store_output": "false", "mask": str(tmp_path / "mask.npy")}
    described = build("attention", options, 3).describe()
    assert described == {
        "name": "attention", "rows": 5, "keys": 7, "head_dim": 3, "heads": 4, "kv_heads": 2,
        "causal": True, "masked": True, "resident": True, "store_output": False, "scale": 0.25,
        "rows_per_group": 2, "block_keys": 3, "seed": 3}


def test_defaults():
    assert build("attention", {}, None).describe() == RandomAttention().describe()
    assert build("attention", {"heads": "2"}, None).shape == AttentionShape(16, 32, 8, 2, 2)


@pytest.mark.parametrize("options,message", [
    ({"rows": "0"}, "-p rows=0: rows must be an integer from 1 to"),
    ({"causal": "1"}, '-p causal=1: causal must be true or false, not "1"'),
    ({"scale": "-1"}, '-p scale=-1: scale must be a number above 0, not "-1"'),
    ({"scale": "0"}, "-p scale=0: scale must be a number above 0, not"),
    ({"scale": "1e999"}, "-p scale=1e999: scale must be a number above 0, not"),
    ({"heads": "3", "kv_heads": "2"},
     "-p heads=3 -p kv_heads=2: heads must be a multiple of kv_heads = 2, not 3"),
    ({"q": "none.npy"}, "-p q=none.npy: cannot be read: No such file or directory; expected a "
                        ".npy file"),
    ({"key": "3"}, '-p key=3: unknown parameter of attention "key"; the nearest valid one is '
                   '"keys"; valid are rows, '),
])
def test_refusals_of_options(options, message):
    with pytest.raises(WorkloadError, match=f"^{re.escape(message)}"):
        build("attention", options, None)


# The plan


def plan(rows, keys, head_dim=4, causal=False, design=TINY, **choices):
    return AttentionPlan.choose(design, AttentionShape(rows, keys, head_dim, causal=causal),
                                *(choices.get(name) for name in ("group_rows", "block_keys")))


@pytest.mark.parametrize("shape,choices,expected", [
    ((8, 16), {}, (4, 16, False)),              # a quarter of the rows, if that fills the array
    ((64, 16), {}, (16, 16, False)),
    ((3, 16), {}, (3, 16, False)),
    ((8, 16), {"group_rows": 2}, (2, 16, False)),
    ((8, 16), {"group_rows": 8}, (8, 16, False)),
    ((8, 16), {"block_keys": 5}, (8, 5, True)),
    ((8, 16), {"block_keys": 16}, (4, 16, False)),
    ((8, 510), {"group_rows": 1}, (1, 510, False)),
    ((8, 511), {"group_rows": 1}, (1, 508, True)),  # longer rows lose small probabilities
])
def test_choice_of_groups_and_blocks(shape, choices, expected):
    chosen = plan(*shape, **choices)
    assert (chosen.group_rows, chosen.block_keys, chosen.streaming) == expected


@pytest.mark.parametrize("fields", [
    {}, {"buffer_port_rows": 3}, {"slot_bytes": 64}, {"accumulator_rows": 16}, {"rows": 3},
    {"vector_units": 2, "handoff_slots": 4}])
@pytest.mark.parametrize("keys", [3, 33, 600])
def test_a_default_plan_fits_and_one_more_row_does_not(fields, keys):
    """And `rows_per_group` is refused above the same limit."""
    design = replace(TINY, **fields)
    chosen = plan(99, keys, design=design)
    most = AttentionPlan._largest(design, chosen.shape, chosen.block_keys)
    assert 1 <= chosen.group_rows <= most
    with pytest.raises(WorkloadError, match=f"^rows_per_group must be from 1 to {most} rows"):
        plan(99, keys, design=design, group_rows=most + 1, block_keys=chosen.block_keys)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows,keys", [(5, 9), (9, 5), (1, 1), (7, 7)])
@pytest.mark.parametrize("block_keys", [None, 2])
def test_items_cover_what_is_seen_once(rows, keys, causal, block_keys):
    """Every key that a row of the group sees is in just one of its blocks."""
    shape = AttentionShape(rows, keys, 4, heads=2, kv_heads=2, causal=causal)
    chosen = AttentionPlan.choose(TINY, shape, min(2, rows), block_keys)
    seen = np.zeros((2, rows, keys), int)
    for item in chosen.items():
        seen[item.head, item.rows.start:item.rows.start + item.rows.size,
             item.block.start:item.block.start + item.block.size] += 1
    for row in range(rows):
        assert (seen[:, row, :max(0, shape.valid(row))] == 1).all()
        group = chosen.groups_of_head[row // chosen.group_rows]
        assert seen[0, row].sum() == chosen.keys_of(group) >= 1
    assert seen.max() == 1


def test_keys_that_no_row_of_a_group_sees_are_left_out():
    work = [simulate(TINY, RandomAttention(16, 16, 4, causal=causal), level="analytic")
            for causal in (False, True)]
    assert work[1].bytes_read < work[0].bytes_read
    assert work[1].useful_macs == 2 * 4 * 4 * (4 + 8 + 12 + 16)


# Small results


@pytest.mark.parametrize("block_keys", [None, 1, 2, 3, 4])
def test_f079_causal_is_aligned_to_the_end(block_keys):
    """F079: Causal mask with fewer queries than keys.

    Half of eight-bit probabilities is not a code, hence the tolerance: see the error in
    `workloads/attention_reference.py`.
    """
    values = np.arange(1, 6)[:, None]
    result = simulate(TINY, Attention(np.zeros((2, 1)), np.zeros((5, 1)), values, causal=True,
                                      block_keys=block_keys))
    tolerance = 5 * 5 * (1 / 510 + 1 / 131070 + 2**-14) if block_keys is None else 1 / 256
    assert np.abs(real(result).ravel() - [2.5, 3.0]).max() <= tolerance
    assert result.accuracy["max_error"] <= tolerance / 3


@pytest.mark.parametrize("value,expected", [(1, 255), (-128, -32640)])
def test_f080_probabilities_are_unsigned(value, expected):
    """F080: An unsigned probability is treated as signed."""
    result = simulate(TINY, Attention([[0]], [[0]], [[value]]))
    assert result.output.tolist() == [[expected]]
    assert real(result).tolist() == [[value]]


@pytest.mark.parametrize("block_keys", [None, 2])
def test_rows_without_a_key_are_0(block_keys):
    """By causality, by the mask, by both together."""
    rng = np.random.default_rng(1)
    q, k, v = (rng.integers(1, 100, (rows, 3)) for rows in (5, 4, 4))
    mask = np.ones((5, 4), bool)
    mask[2] = False           # by itself
    mask[1, 0] = False        # row 1 sees key 0 only
    result = simulate(TINY, Attention(q, k, v, causal=True, mask=mask, block_keys=block_keys))
    output = real(result)
    assert (output[:3] == 0).all()
    assert (output[3:] > 0).all()


@pytest.mark.parametrize("block_keys", [None, 3])
def test_mask_and_causal_hide_what_either_hides(block_keys):
    rng = np.random.default_rng(2)
    q, k, v = (rng.integers(-100, 100, (rows, 4)) for rows in (6, 7, 7))
    mask = rng.random((6, 7)) < 0.7
    both = simulate(TINY, Attention(q, k, v, causal=True, mask=mask, block_keys=block_keys))
    earlier = np.arange(7) <= np.arange(6)[:, None] + 1
    one = simulate(TINY, Attention(q, k, v, mask=mask & earlier, block_keys=block_keys),
                   level="cycle")
    assert (real(both) == real(one)).all()
    assert one.cycles >= both.cycles


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_query_heads_share_key_heads(kv_heads):
    """Head h by itself, with the keys and values of head h // (heads / kv_heads)."""
    rng = np.random.default_rng(3)
    q = rng.integers(-100, 100, (3, 4 * 2))
    k, v = (rng.integers(-100, 100, (5, kv_heads * 2)) for _ in range(2))
    whole = simulate(TINY, Attention(q, k, v, heads=4, kv_heads=kv_heads, scale=0.001))
    assert whole.ok
    for head in range(4):
        shared = head // (4 // kv_heads)
        mine, theirs = (slice(2 * number, 2 * number + 2) for number in (head, shared))
        alone = Attention(q[:, mine], k[:, theirs], v[:, theirs], scale=0.001)
        assert (whole.output[:, mine] == alone.reference(TINY)[0]).all()


def test_floats_are_quantised_per_tensor():
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal((rows, 4)) * size
               for rows, size in ((3, 1e-3), (6, 50), (6, 1e4)))
    workload = Attention(q, k, v)
    result = simulate(replace(TINY, activation_bits=16, weight_bits=16, accumulator_bits=48),
                      workload)
    assert np.abs(real(result) - workload.float_reference(TINY)).max() < 1e4 * 1e-3
    assert result.accuracy["max_error"] < 1e-3


def test_seeds():
    draws = [RandomAttention(2, 3, 4, seed=seed).operands(TINY).q for seed in (1, 1, 2)]
    assert (draws[0] == draws[1]).all() and (draws[0] != draws[2]).any()
    assert (RandomAttention(2, 3, 4).seeded(2).operands(TINY).q == draws[2]).all()
    given = Attention(ONE, ONE, ONE)
    assert given.seeded(5) is given
