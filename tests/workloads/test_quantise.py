"""Quantisation of arrays."""

import re

import numpy as np
import pytest

from cubewave.workloads import OperandTypeError, WorkloadError
from cubewave.workloads.quantise import quantise


@pytest.mark.parametrize("bits", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("unsigned", [False, True])
def test_error_and_range(bits, unsigned):
    rng = np.random.default_rng(bits)
    x = rng.standard_normal((7, 33)) * 10.0 ** rng.uniform(-6, 6)
    x = np.abs(x) if unsigned else x
    integers, scale = quantise(x, bits, unsigned)
    most = 2 ** bits - 1 if unsigned else 2 ** (bits - 1) - 1
    assert integers.dtype == np.int64 and integers.shape == x.shape
    assert integers.min() >= (0 if unsigned else -most) and np.abs(integers).max() == most
    assert scale == np.abs(x).max() / most
    assert np.abs(integers * scale - x).max() <= scale / 2 * (1 + 1e-6)


def test_halves_go_to_the_even_integer():
    integers, scale = quantise([127.0, 0.5, 1.5, 2.5, -0.5, -1.5], 8)
    assert scale == 1 and integers.tolist() == [127, 0, 2, 2, 0, -2]


def test_the_least_integer_is_left_out():
    assert quantise([-3.0, 1.0], 8)[0].tolist() == [-127, 42]


def test_zeros_have_scale_1():
    integers, scale = quantise(np.zeros((2, 3)), 8)
    assert scale == 1 and not integers.any()
    assert quantise(np.zeros((0, 3)), 8)[1] == 1


def test_integers_are_numbers():
    integers, scale = quantise(np.array([-128, 64], np.int8), 8)
    assert integers.tolist() == [-127, 64] and scale == 128 / 127


def test_subnormal_scale():
    least = np.nextafter(0.0, 1.0)
    integers, scale = quantise([190 * least], 8)
    assert integers.tolist() == [127] and scale > 0


@pytest.mark.parametrize("x, bits, unsigned, error, message", [
    ([np.inf], 8, False, WorkloadError, "x must be finite, but holds infinity or not-a-number"),
    ([np.nan], 8, False, WorkloadError, "x must be finite, but holds infinity or not-a-number"),
    ([1.0, -2.5], 8, True, WorkloadError,
     "x must be 0 or more to become unsigned, but holds -2.5"),
    ([5e-324], 8, False, WorkloadError,
     "x must be 0 or within the range of a float after division by 127, but its greatest "
     "magnitude is 5e-324"),
    ([True], 8, False, OperandTypeError, "x must hold numbers, not bool"),
    (["a"], 8, False, OperandTypeError, "x must hold numbers, not <U1"),
    ([1.0], 1, False, WorkloadError, "bits must be an integer from 2 to 32, not 1"),
    ([1.0], 33, True, WorkloadError, "bits must be an integer from 1 to 32, not 33"),
    ([1.0], True, True, WorkloadError, "bits must be an integer from 1 to 32, not True"),
])
def test_refused(x, bits, unsigned, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        quantise(np.array(x), bits, unsigned)
