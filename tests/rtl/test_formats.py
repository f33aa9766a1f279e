"""The numpy model of the integer format against Python integers."""

import dataclasses
import random

import numpy as np
import pytest
from amaranth.hdl import signed
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.formats import IntegerFormat


def wrapped(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def test_of_a_design():
    design = Design(rows=5, activation_bits=6, weight_bits=7, accumulator_bits=20)
    assert IntegerFormat.of(design) == IntegerFormat(6, 7, 20, 5)
    design = dataclasses.replace(design, dataflow="output_stationary")
    assert IntegerFormat.of(design) == IntegerFormat(6, 7, 20, 65536)


@pytest.mark.parametrize("activation_bits,weight_bits,rows,sum_bits", [
    (8, 8, 1, 16), (8, 8, 2, 17), (8, 8, 3, 18), (8, 8, 4, 18), (8, 8, 5, 19), (4, 16, 16, 24)])
def test_shapes(activation_bits, weight_bits, rows, sum_bits):
    fmt = IntegerFormat(activation_bits, weight_bits, 20, rows)
    assert fmt.activation_shape == signed(activation_bits + 1)
    assert fmt.weight_shape == signed(weight_bits)
    assert fmt.sum_shape == signed(sum_bits)
    assert fmt.accumulator_shape == signed(20)


@pytest.mark.parametrize("bits", [4, 5, 8, 16])
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8])
def test_sums_fit_their_shape(bits, rows):
    fmt = IntegerFormat(bits, bits, 48, rows)
    weights = fmt.weight_range()
    products = [activation * weight for unsigned in (False, True)
                for activation in fmt.activation_range(unsigned) for weight in weights]
    half = 1 << (fmt.sum_shape.width - 1)
    assert -half <= rows * min(products) and rows * max(products) < half


def test_ranges():
    fmt = IntegerFormat(4, 16, 18, 3)
    assert fmt.activation_range() == (-8, 7)
    assert fmt.activation_range(unsigned=True) == (0, 15)
    assert fmt.weight_range() == (-32768, 32767)
    assert fmt.accumulator_range() == (-131072, 131071)


@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
@settings(max_examples=60, derandomize=True)
@given(bits=st.integers(16, 48), data=st.data())
def test_accumulate(overflow, bits, data):
    fmt = IntegerFormat(8, 8, bits, 1024)
    low, high = fmt.accumulator_range()
    edges = [low, high, 0, -1]
    olds = data.draw(st.lists(st.integers(low, high) | st.sampled_from(edges), min_size=1,
                              max_size=5))
    sums = [data.draw(st.integers(-(1 << 41), 1 << 41) | st.sampled_from([0, 1, -1]))
            for _ in olds]
    exact = [old + new for old, new in zip(olds, sums)]
    words, overflows = fmt.accumulate(np.array(olds, np.int64), np.array(sums, np.int64),
                                      overflow)
    assert words.tolist() == [wrapped(value, bits) if overflow == "wrap"
                              else min(max(value, low), high) for value in exact]
    assert overflows is any(not low <= value <= high for value in exact)


@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
def test_accumulate_at_the_very_edges(overflow):
    fmt = IntegerFormat(8, 8, 18, 8)
    edge = np.array([131071, -131072], np.int64)
    words, overflows = fmt.accumulate(edge, np.array([0, 0]), overflow)
    assert (words.tolist(), overflows) == ([131071, -131072], False)
    for step, wrap, clip in (([1, 0], [-131072, -131072], [131071, -131072]),
                             ([0, -1], [131071, 131071], [131071, -131072])):
        words, overflows = fmt.accumulate(edge, np.array(step), overflow)
        assert (words.tolist(), overflows) == (wrap if overflow == "wrap" else clip, True)


@pytest.mark.parametrize("bits", range(4, 17))
@pytest.mark.parametrize("cols", [1, 2, 3, 7])
def test_pack_rows(bits, cols):
    rng = random.Random(bits)
    least, greatest = -(1 << bits - 1), (1 << bits) - 1  # signed and unsigned values
    values = [[least] * cols, [greatest] * cols, [-1] * cols,
              *([rng.randint(least, greatest) for _ in range(cols)] for _ in range(5))]
    packed = IntegerFormat(8, 8, 32, 4).pack_rows(np.array(values), bits)
    assert packed.dtype == np.uint8
    for row, row_bytes in zip(values, packed, strict=True):
        word = sum((value & (1 << bits) - 1) << bits * place for place, value in enumerate(row))
        nbytes = -(-len(row) * bits // 8)
        assert row_bytes.tolist() == list(word.to_bytes(nbytes, "little"))
