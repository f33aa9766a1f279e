# amaranth: UnusedElaboratable=no
"""The bare output-stationary mesh, its lanes skewed by the test: products, exact cycles."""

import numpy as np
import pytest
from amaranth.hdl import signed
from harness import lockstep

from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.output_mesh import OutputMesh

FORMAT = IntegerFormat(8, 8, 32, 1 << 16)
SHAPES = [(1, 1), (2, 5), (3, 2), (4, 4), (5, 1)]


def inputs(rows, cols, tiles, starts, cycles):
    """What enters the edges: tile [(a [rows, K], w [K, cols], first cycle)], skewed lane by lane.

    `starts` are the cycles in which column 0's results start to move.
    """
    steps = [{"i_rows": [{"activation": 0, "first": 0, "last": 0} for _ in range(rows)],
              "i_cols": [{"weight": 0, "start": 0} for _ in range(cols)]} for _ in range(cycles)]
    for a, w, at in tiles:
        length = a.shape[1]
        for place in range(length):
            for row in range(rows):
                steps[at + place + row]["i_rows"][row] = {
                    "activation": int(a[row, place]), "first": int(place == 0),
                    "last": int(place == length - 1)}
            for col in range(cols):
                steps[at + place + col]["i_cols"][col]["weight"] = int(w[place, col])
    for at in starts:
        for col in range(cols):
            steps[at + col]["i_cols"][col]["start"] = 1
    return steps


def random_tile(rng, rows, cols, length):
    return rng.integers(-128, 256, (rows, length)), rng.integers(-128, 128, (length, cols))


def results(rows, cols, tiles, mac_latency=1):
    """The result tiles that leave below, de-skewed: from each start on, the bottom row first."""
    latency = OutputMesh.latency(rows, mac_latency)
    starts = [at + a.shape[1] - 1 + latency for a, _w, at in tiles]
    cycles = starts[-1] + rows + cols + 2
    mesh = OutputMesh(format=FORMAT, rows=rows, cols=cols, mac_latency=mac_latency)
    got = [row["o"] for row in lockstep(mesh, inputs(rows, cols, tiles, starts, cycles), ["o"])]
    return [np.array([[got[start + rows - 1 - row + col][col] for col in range(cols)]
                      for row in range(rows)]) for start in starts]


@pytest.mark.parametrize("rows,cols", SHAPES)
@pytest.mark.parametrize("mac_latency", [1, 2, 3])
def test_products_at_the_shortest_interval(rows, cols, mac_latency):
    """Tiles end exactly `rows` cycles apart: a tile's results leave while the next one sums."""
    assert OutputMesh.latency(rows, mac_latency) == rows + mac_latency
    rng = np.random.default_rng(rows)
    lengths = [rows, 1, rows, rows + 3, 1]  # of K
    tiles, end = [], rows
    for length in lengths:
        a, w = random_tile(rng, rows, cols, length)
        first = max(end + rows - length, end)  # ends `rows` later, but no overlap
        tiles.append((a, w, first))
        end = first + length
    for (a, w, _at), got in zip(tiles, results(rows, cols, tiles, mac_latency), strict=True):
        assert got.tolist() == (a @ w).tolist()


@pytest.mark.parametrize("rows,cols", [(2, 5), (3, 2), (4, 4)])
def test_tiles_one_cycle_closer_lose_results(rows, cols):
    """The least interval is `rows`, not less: the row on top has not left yet."""
    rng = np.random.default_rng(rows)
    tiles = [(*random_tile(rng, rows, cols, 1), at) for at in (0, rows - 1)]
    first, _second = results(rows, cols, tiles)
    exact = tiles[0][0] @ tiles[0][1]
    assert first[1:].tolist() == exact[1:].tolist()
    assert first[0].tolist() != exact[0].tolist()


def test_every_cell_is_used():
    """A single one in A and W: its product is in one place of the result, zero elsewhere."""
    for row in range(3):
        for col in range(2):
            a, w = np.zeros((3, 2), int), np.zeros((2, 2), int)
            a[row, 1], w[1, col] = 5, -3
            got = results(3, 2, [(a, w, 0)])[0]
            expected = np.zeros((3, 2), int)
            expected[row, col] = -15
            assert got.tolist() == expected.tolist()


def test_layouts():
    mesh = OutputMesh(format=IntegerFormat(5, 7, 32, 3), rows=3, cols=2)
    assert mesh.i_rows.shape().length == 3 and mesh.i_cols.shape().length == 2
    assert mesh.i_rows[0].activation.shape() == signed(6)
    assert mesh.i_cols[0].weight.shape() == signed(7)
    assert mesh.o.shape().length == 2 and mesh.o[0].shape() == signed(14)


@pytest.mark.parametrize("parameters,error,message", [
    ({"rows": 0}, ValueError, r"^rows must be from 1 to 1024, not 0$"),
    ({"rows": 1025}, ValueError, r"^rows must be from 1 to 1024, not 1025$"),
    ({"cols": 0}, ValueError, r"^cols must be from 1 to 1024, not 0$"),
    ({"cols": 1025}, ValueError, r"^cols must be from 1 to 1024, not 1025$"),
    ({"cols": 1.5}, TypeError, r"^cols must be an integer, not 1.5$"),
    ({"rows": True}, TypeError, r"^rows must be an integer, not True$"),
])
def test_refused_sizes(parameters, error, message):
    with pytest.raises(error, match=message):
        OutputMesh(format=FORMAT, **{"rows": 1, "cols": 1, **parameters})
