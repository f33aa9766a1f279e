# amaranth: UnusedElaboratable=no
"""The bare mesh, its lanes skewed by the test: products against numpy, exact cycles."""

import numpy as np
import pytest
from amaranth.hdl import signed
from harness import lockstep

from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.mesh import Mesh


def run(rows, cols, a, w, mac_latency=1, double_buffer=True, turn_row=0):
    """The outputs of each cycle: weights enter from cycle 0, activations from cycle `rows`."""
    fmt = IntegerFormat(8, 8, 32, rows)
    cycles = rows + len(a) + rows + cols + mac_latency + 4
    steps = []
    for cycle in range(cycles):
        step = {"i_rows": [{"activation": 0, "turn": 0} for _ in range(rows)],
                "i_cols": [{"weight": 0, "valid": 0} for _ in range(cols)]}
        for row in range(rows):
            place = cycle - rows - row
            if 0 <= place < len(a):
                step["i_rows"][row] = {"activation": int(a[place, row]),
                                       "turn": int(place == turn_row)}
        for col in range(cols):
            if 0 <= cycle - col < rows:
                step["i_cols"][col] = {"weight": int(w[cycle - col, col]), "valid": 1}
        steps.append(step)
    mesh = Mesh(format=fmt, rows=rows, cols=cols, mac_latency=mac_latency,
                double_buffer=double_buffer)
    return [row["o"] for row in lockstep(mesh, steps, ["o"])]


@pytest.mark.parametrize("rows,cols", [(1, 1), (2, 5), (3, 2), (4, 4), (5, 3)])
@pytest.mark.parametrize("mac_latency", [1, 2, 3])
@pytest.mark.parametrize("double_buffer", [False, True])
def test_products(rows, cols, mac_latency, double_buffer):
    rng = np.random.default_rng(rows)
    a = rng.integers(-128, 256, (6, rows))
    w = rng.integers(-128, 128, (rows, cols))
    got = run(rows, cols, a, w, mac_latency, double_buffer, 0 if double_buffer else 5)
    latency = Mesh.latency(rows, mac_latency)
    assert latency == rows + mac_latency
    product = a @ w
    for cycle, sums in enumerate(got):
        for col in range(cols):
            place = cycle - rows - col - latency
            assert sums[col] == (product[place, col] if 0 <= place < len(a) else 0)


def test_layouts():
    fmt = IntegerFormat(5, 7, 32, 3)
    mesh = Mesh(format=fmt, rows=3, cols=2)
    assert mesh.i_rows.shape().length == 3 and mesh.i_cols.shape().length == 2
    assert mesh.i_rows[0].activation.shape() == signed(6)
    assert mesh.i_cols[0].weight.shape() == signed(7)
    assert mesh.o[0].shape() == signed(14)


@pytest.mark.parametrize("parameters,error,message", [
    ({"rows": 0}, ValueError, r"^rows must be from 1 to 1024, not 0$"),
    ({"rows": 1025}, ValueError, r"^rows must be from 1 to 1024, not 1025$"),
    ({"cols": 0}, ValueError, r"^cols must be from 1 to 1024, not 0$"),
    ({"cols": 1025}, ValueError, r"^cols must be from 1 to 1024, not 1025$"),
    ({"cols": 1.5}, TypeError, r"^cols must be an integer, not 1.5$"),
])
def test_refused_sizes(parameters, error, message):
    with pytest.raises(error, match=message):
        Mesh(format=IntegerFormat(8, 8, 32, 1), **{"rows": 1, "cols": 1, **parameters})
