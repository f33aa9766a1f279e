"""Models of the vector side and of number formats, against numbers computed by hand."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubewave.sim.analytic.model import find
from cubewave.sim.analytic.models.formats import grouped_bytes, round_to_float


def test_softmax(check):
    # 3 rows of 10 scores on 8 lanes and 4 sfu lanes: ceil(3 * 29 / 8) = 11, ceil(27 / 8) = 4,
    # ceil(30 / 4) = 8 twice; 10 values need 4 rounds.
    check("softmax", dict(rows=3, scores=10, lanes=8, sfu_lanes=4), exponentials=30,
          tree_rounds=4, general_ticks=11, compare_ticks=4, exponential_ticks=8,
          division_ticks=8, total_ticks=31, limited_by="sfu_lanes")


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 64))
def test_softmax_of_groups_costs_at_least_that_of_all_rows(groups, rows, scores):
    softmax = find("softmax")
    assert (groups * softmax(rows=rows, scores=scores)["total_ticks"]
            >= softmax(rows=groups * rows, scores=scores)["total_ticks"])


def test_exponential_rate(check):
    # 6 * 8 = 48 at 4 * 3 a cycle.
    check("exponential-rate", dict(m=6, n=8, rate=4, multiplier=3), exponentials=48,
          rate_per_cycle=12, cycles=4)


def test_rope(check):
    # (4 + 2) * 10 / 2 = 30 pairs, 180 FLOP; 10 entries of 4 bytes at 7 positions = 280.
    check("rope", dict(heads=4, kv_heads=2, head_dim=10, positions=7, entry_bytes=4), pairs=30,
          flops=180, entries_per_position=10, table_bytes=280)


def test_vector_core(check):
    # 64 / 4 = 16 lanes; 100 elements are 7 vectors, of which one core of 3 gets 3.
    check("vector-core", dict(vector_bytes=64, element_bytes=4, elements=100, cubes=5,
                              vectors_per_cube=3),
          lanes=16, groups=7, vector_cores=15, groups_per_vector_core=3)


def test_attention_block(check):
    # 4 * 10 * 20 * 30 = 24,000 FLOP at 100 = 240; (300 + 1200) * 2 = 3,000 bytes at 10 = 300;
    # 200 exponentials at 2 = 100.
    check("attention-block", dict(m=10, n=20, d=30, matrix_rate=100, memory_rate=10,
                                  exponential_rate=2),
          flops=24_000, exponentials=200, read_bytes=3_000, matrix_cycles=240, memory_cycles=300,
          exponential_cycles=100, interval_cycles=300, limited_by="memory")
    # In sub-blocks of 10: 1 * 2 of them, each 3 * 10 * 30 * 2 bytes.
    check("attention-block", dict(m=10, n=20, d=30, memory_rate=10, reads="per_block",
                                  sub_block=10), read_bytes=3_600, memory_cycles=360)


@given(st.floats(1, 1e5), st.floats(1, 1e5), st.floats(1, 1e5), st.floats(1, 16))
def test_attention_interval_is_monotone_in_every_rate(matrix, memory, exponential, factor):
    rates = dict(matrix_rate=matrix, memory_rate=memory, exponential_rate=exponential)
    block = find("attention-block")
    for name in rates:
        faster = block(**{**rates, name: factor * rates[name]})
        assert faster["interval_cycles"] <= block(**rates)["interval_cycles"]


def test_cube_vector_convolution(check):
    # 4 * 5 * 7 = 140 outputs of 3 * 3 * 2 products: 5,040 FLOP at 42 = 120 cycles; 140 elements in
    # vectors of 8 are 18, 10 cycles each.
    check("cube-vector-convolution", dict(height=4, width=5, channels=2, kernel=3, filters=7,
                                          matrix_rate=42, vector_lanes=8, group_cycles=10),
          flops=5_040, matrix_cycles=120, relu_elements=140, relu_groups=18, vector_cycles=180,
          limited_by="vector")


def test_cube_vector_attention(check):
    # 4 * 8 * 10 * 5 = 1,600 FLOP at 20 = 80 cycles; 80 exponentials in vectors of 9 are 9.
    check("cube-vector-attention", dict(m=8, n=10, d=5, matrix_rate=20, vector_lanes=9,
                                        group_cycles=10),
          flops=1_600, matrix_cycles=80, exponentials=80, exponential_groups=9,
          group_interval_cycles=80 / 9, exponentials_per_cycle=1, vector_cycles=90,
          limited_by="vector")


def test_rate_multipliers(check):
    # 1200 / 4 = 300, 900 / 2 = 450: 1.5 times; 8,000 bytes in a format of half the size, in 450.
    check("rate-multipliers", dict(matrix_cycles=1200, vector_cycles=900, matrix_multiplier=4,
                                   vector_multiplier=2, handoff_bytes=9000, format_ratio=0.5),
          matrix_cycles_after=300, vector_cycles_after=450, vector_over_matrix=1.5,
          handoff_bytes_after=4500, handoff_bytes_per_cycle=10, limited_by="vector")


def test_grouped_weights(check):
    # 640 values of 3 bits: 240 bytes; 10 scales of 2 bytes; 1280 / 260; 8 * 260 / 640 bits.
    check("grouped-weights", dict(values=640, bits=3, group=64, scale_bytes=2),
          payload_bytes=240, scale_bytes_total=20, total_bytes=260, ratio_to_bf16=128 / 26,
          bits_per_value=3.25)


@given(st.integers(1, 10 ** 6), st.integers(1, 10 ** 6), st.integers(1, 16), st.integers(1, 512))
def test_storage_is_additive_in_values(a, b, bits, group):
    both = grouped_bytes(a + b, bits, group, 2)
    assert both == pytest.approx(grouped_bytes(a, bits, group, 2)
                                 + grouped_bytes(b, bits, group, 2))


def test_grouped_dot(check):
    # ceil(1000 / 128) = 8; 3 / 2 of the time, 1 - 10 / 40 of the memory saved.
    check("grouped-dot", dict(k=1000, group=128, direct_ms=3, expand_ms=2, direct_mib=10,
                              expand_mib=40),
          groups=8, scale_multiplies=8, time_ratio=1.5, memory_saving=0.75, faster="expand")


def test_expansion(check):
    # 6 / (3 - 1) = 3 calls; at 5: 6 + 5 = 11 against 5 * 7 = 35 and 5 * 3 = 15.
    check("expansion", dict(expand_ms=6, product_ms=1, direct_ms=3, uses=5), once_ms=11,
          per_call_ms=35, direct_total_ms=15, break_even_uses=3, limited_by="expand once")
    check("expansion", dict(expand_ms=6, product_ms=1, direct_ms=3, uses=2), limited_by="direct")
    check("expansion", dict(product_ms=3, direct_ms=3), break_even_uses=None)


def test_float_format(check):
    # 4 exponent bits, 3 of the fraction, as in E4M3 with infinities: bias 7, smallest normal
    # 2^-6, subnormal 2^-9, largest 2^7 * 1.875 = 240.
    check("float-format", dict(exponent_bits=4, mantissa_bits=3), total_bits=8, largest=240,
          smallest_normal=2 ** -6, smallest_subnormal=2 ** -9, spacing_at_one=0.125)


def test_float_rounding(check):
    # Half precision at 1000 has steps of 0.5, so 1000.3 becomes 1000.5; at 2049 steps of 2, and a
    # tie goes to the even 2048.
    check("float-rounding", dict(value=1000.3), rounded=1000.5, relative_error=0.2 / 1000.3)
    check("float-rounding", dict(value=2049), rounded=2048)
    check("float-rounding", dict(value=65520), rounded=None, relative_error=None)


@given(st.floats(-1e5, 1e5))
def test_rounding_to_half_is_numpys(value):
    with np.errstate(over="ignore"):
        assert round_to_float(value, 5, 10) == float(np.float16(value))


@given(st.floats(min_value=1e-37, max_value=1e37))
def test_rounding_to_bfloat16_is_rounding_of_the_upper_half(value):
    bits, = struct.unpack("<I", struct.pack("<f", value))
    single = struct.unpack("<f", struct.pack("<I", bits))[0]
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    expected, = struct.unpack("<f", struct.pack("<I", rounded))
    assert round_to_float(single, 8, 7) == expected


def test_rounding_keeps_signs_and_infinities():
    assert round_to_float(0.0, 5, 10) == 0
    assert round_to_float(-1e9, 5, 10) == -math.inf


def test_mx_weights(check):
    # 3,200 values of 6 bits: 2,400 bytes and 100 scales, at 5 GB/s.
    check("mx-weights", dict(values=3200, format="mxfp6", bandwidth_gb_per_s=5),
          payload_bytes=2400, total_bytes=2500, read_seconds=5e-7, ratio_to_bf16=2.56)


def test_kv_record(check):
    # 512 values of 4 bits: 256 bytes, and a byte for each 16.
    check("kv-record", dict(values=512, bits=4, group=16), record_bytes=288, payload_bytes=256,
          ratio_to_bf16=1024 / 288)
