"""Residual additions: numbers, bytes, refusals."""

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.sim.analytic import estimate
from cubewave.workloads import RandomResidual, Residual, WorkloadError
from cubewave.workloads.registry import build

TINY = Design.preset("tiny")


def test_sums_saturate_to_the_bits_of_an_element():
    x, y = np.array([[100, -100, 3]]), np.array([[100, -100, -5]])
    assert Residual(x, y).reference(TINY)[0].tolist() == [[127, -128, -2]]
    assert Residual(x, y, bits=16).reference(TINY)[0].tolist() == [[200, -200, -2]]


@pytest.mark.parametrize("shape", [(1, 1), (5, 13), (3, 4), (40, 100)])
@pytest.mark.parametrize("bits, nbytes", [(8, 1), (16, 2), (32, 4)])
def test_every_element_is_read_and_written_once(shape, bits, nbytes):
    work = RandomResidual(*shape, bits=bits)
    counts = estimate(Design(vector_units=2), [work]).counts
    assert counts["bytes_read"] == 2 * shape[0] * shape[1] * nbytes
    assert counts["bytes_written"] == shape[0] * shape[1] * nbytes
    assert work.operations == shape[0] * shape[1]


def test_refusals(tmp_path):
    with pytest.raises(WorkloadError) as error:
        Residual(np.zeros((2, 3), int), np.zeros((3, 2), int))
    assert str(error.value) == "y must have the shape of x, (2, 3), not (3, 2)"
    with pytest.raises(WorkloadError) as error:
        Residual([[1]], [[-129]]).program(TINY)
    assert str(error.value) == "y must be from -128 to 127, 8 bits, but holds -129"
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((1, 1), int))
    with pytest.raises(WorkloadError) as error:
        build("residual", {"x": str(path)})
    assert str(error.value) == f"-p x={path}: needs y too, -p y=FILE.npy"
