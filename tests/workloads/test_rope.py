"""Rotary embedding: the chapter's counts, the numbers against floating point, refusals."""

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.rtl.vector_commands import VectorOp
from cubewave.sim.analytic import estimate
from cubewave.workloads import RandomRope, Rope, WorkloadError
from cubewave.workloads.registry import build
from cubewave.workloads.rope import FRACTION, rope_table

TINY = Design.preset("tiny")


def turned(x, positions, heads, base):
    """In floating point."""
    x = np.asarray(x, float).reshape(len(x), heads, 2, -1)
    half = x.shape[3]
    angles = np.asarray(positions)[:, None] * base ** (-np.arange(half) / half)
    cos, sin = (function(angles)[:, None] for function in (np.cos, np.sin))
    x1, x2 = x[:, :, 0], x[:, :, 1]
    return np.stack((x1 * cos - x2 * sin, x1 * sin + x2 * cos), axis=2).reshape(len(x), -1)


def test_work_and_table_of_the_chapter():
    """4.2.2: 2560 pairs and 15360 FLOPs per token and layer of Qwen3-8B, 128 entries for each
    position, 256 KiB for 1024 positions."""
    token = RandomRope(1, 32 + 8, 128, base=1e6)
    assert (token.pairs, token.operations, token.table_bytes) == (2560, 15360, 128 * 2)
    assert rope_table(np.arange(1024), 128, 1e6).shape == (1024, 128)
    assert RandomRope(1024, 40, 128).table_bytes == 256 * 1024
    described = token.describe()
    assert (described["pairs"], described["operations"]) == (2560, 15360)


def test_six_operations_of_a_pair_and_their_rounding():
    """Elements that go through the vector unit: 6 for each pair, and 2 that are rounded."""
    work = RandomRope(6, 3, 10)
    commands = work.program(TINY, contents=False).vectors
    elements = {op: sum(command.rows * command.length for command in commands if command.op is op
                        and not command.shift) for op in VectorOp}
    assert elements[VectorOp.MULTIPLY] == 4 * work.pairs
    assert elements[VectorOp.SUBTRACT] == elements[VectorOp.ADD] == work.pairs
    assert sum(command.rows * command.length for command in commands if command.shift) == (
        2 * work.pairs)


@pytest.mark.parametrize("units", [1, 2])
def test_bytes(units):
    """x and the result once, and each block's coefficients for every unit that has a head."""
    design = Design(vector_units=units)
    work = RandomRope(8, 4, 8, bits=16)
    counts = estimate(design, [work]).counts
    assert counts["bytes_written"] == 8 * 4 * 8 * 2
    assert counts["bytes_read"] == 8 * 4 * 8 * 2 + units * work.table_bytes


def test_coefficients_have_15_bits():
    table = rope_table(np.arange(100_000, 100_050), 16, 1e4)
    assert np.abs(table).max() <= 1 << FRACTION
    angles = np.arange(100_000, 100_050)[:, None] * 1e4 ** (-np.arange(8) / 8)
    assert np.abs(table / 2**FRACTION - np.hstack((np.cos(angles), np.sin(angles)))).max() <= (
        0.5001 / 2**FRACTION)
    assert (rope_table(np.zeros(1, int), 4, 1e4) == [[1 << FRACTION, 1 << FRACTION, 0, 0]]).all()


@pytest.mark.parametrize("bits", [8, 16])
def test_near_floating_point(bits):
    """Half a unit of rounding, and half a unit of either coefficient times the element."""
    work = RandomRope(20, 3, 12, bits=bits, start=500, base=1e6)
    x = work.operand(TINY)
    exact = np.clip(turned(x, work.positions, 3, 1e6), -(1 << bits - 1), (1 << bits - 1) - 1)
    output, overflow = work.reference(TINY)
    assert not overflow
    assert np.abs(output - exact).max() <= 0.5 + 2 * (1 << bits - 1) * 0.5 / 2**FRACTION + 1e-9


def test_position_0_changes_nothing_and_results_saturate():
    x = np.array([[127, -128, 5, -7]])
    assert (Rope(x).reference(TINY)[0] == x).all()
    # At 45 degrees, about, (127, 127) would become (0, 180).
    x = np.full((1, 2), 127)
    output = Rope(x, positions=[11]).reference(TINY)[0]
    assert output.max() == 127 or output.min() == -128


def test_positions_of_rows_of_their_own():
    x = np.arange(24).reshape(3, 8)
    rows = [Rope(x[row:row + 1], heads=2, start=position).reference(TINY)[0]
            for row, position in enumerate((7, 7, 2))]
    together = Rope(x, heads=2, positions=[7, 7, 2])
    assert (together.reference(TINY)[0] == np.vstack(rows)).all()
    assert together.describe()["positions"] == "given"


@pytest.mark.parametrize("arguments, message", [
    ({"heads": 3}, "x must have an even number of columns for each of 3 heads, not 8 in all"),
    ({"heads": 0}, "heads must be an integer from 1 to 2147483647, not 0"),
    ({"base": 0.5}, "base must be a number from 1, not 0.5"),
    ({"base": float("nan")}, "base must be a number from 1, not nan"),
    ({"start": -1}, "start must be an integer from 0 to 2147483645, not -1"),
    ({"bits": 17}, "bits must be an integer from 2 to 16, not 17"),
    ({"positions": [1]}, "positions must be 2 integers from 0 to 2147483647, one for each row of "
                         "x"),
])
def test_refusals(arguments, message):
    with pytest.raises(WorkloadError) as error:
        Rope(np.zeros((2, 8), int), **arguments)
    assert str(error.value) == message


def test_elements_beyond_their_bits_are_refused():
    with pytest.raises(WorkloadError) as error:
        Rope([[1, 128]]).program(TINY)
    assert str(error.value) == "x must be from -128 to 127, 8 bits, but holds 128"


def test_registry(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(16).reshape(2, 8))
    given = build("rope", {"x": str(path), "heads": "2", "start": "3"})
    assert (given.rows, given.heads, given.head_dim, given.start) == (2, 2, 4, 3)
    for options, seed, message in (
            ({"x": str(path), "rows": "2"}, None,
             f"-p x={path} -p rows=2: rows comes from the file of x; leave it out"),
            ({"x": str(path), "heads": "1"}, 3,
             f"-p x={path} -p heads=1: files leave nothing random; leave --seed out"),
            ({"base": "0"}, None, "-p base=0: base must be a number from 1, not 0.0"),
            ({"head_dim": "5"}, None, "-p head_dim=5: head_dim must be even, not 5")):
        with pytest.raises(WorkloadError) as error:
            build("rope", options, seed)
        assert str(error.value) == message
