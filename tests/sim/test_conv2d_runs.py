"""Random convolutions on random designs: RTL, cycle model, numpy and the analytic level."""

import time
from dataclasses import replace

import numpy as np
import pytest
from designs import designs, small
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.formats import IntegerFormat
from cubewave.sim import simulate
from cubewave.sim.analytic import estimate
from cubewave.workloads import Conv2d, RandomConv2d

TINY = Design.preset("tiny")
PER_DESIGN = 8  # convolutions on one elaborated core


def run(design, workload):
    """The result of level rtl, which is that of level cycle and numpy's."""
    rtl = simulate(design, workload)
    cycle = simulate(design, workload, level="cycle")
    ideal = simulate(design, workload, level="cycle", timing="ideal", output=False)
    for result in (rtl, cycle, ideal):
        failed = [check for check in result.checks if not check["ok"]]
        assert not failed, (design, workload.describe(), failed)
        needed = estimate(design, workload.parts(), result.timing).resources
        assert {name: result.units[name].busy for name in needed if name in result.units} == {
            name: cycles for name, cycles in needed.items() if name in result.units}
    assert rtl.output.shape == workload.output_shape
    assert (rtl.output == cycle.output).all()
    assert rtl.overflow == cycle.overflow
    assert (rtl.counters, rtl.units) == (cycle.counters, cycle.units)
    return rtl


@st.composite
def shapes(draw):
    """Sizes and steps, never square, that give an output."""
    sides = {}
    for side in ("height", "width"):
        kernel, dilation = draw(small(1, 2, 3)), draw(small(1, 1, 2, 3))
        padding = draw(small((0, 0), (0, 1), (2, 0), (1, 1), (0, 3)))
        reach = (kernel - 1) * dilation + 1
        size = max(1, reach - sum(padding)) + draw(st.integers(0, 4))
        sides[side] = size, kernel, draw(small(1, 1, 2, 3, 4)), dilation, padding
    (height, width), kernel, stride, dilation, padding = zip(*sides.values())
    channels = draw(small(1, 2, 4, 6))
    groups = draw(small(1, 1, 2, channels))
    groups = groups if channels % groups == 0 else 1
    return {"batch": draw(small(1, 1, 2)), "height": height, "width": width,
            "channels": channels, "filters": groups * draw(small(1, 2, 5)), "kernel": kernel,
            "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


@st.composite
def convolutions(draw, design):
    """A convolution; some overflow the accumulators."""
    shape = draw(shapes())
    format = IntegerFormat.of(design)
    unsigned = draw(st.booleans())
    limits = format.activation_range(unsigned)
    im2col = draw(small("loader", "loader", "memory"))
    choices = {
        "unsigned": unsigned, "layout": draw(small("NHWC", "NHWC", "NCHW")),
        "padding_value": draw(small(0, *limits)), "order": draw(small("mn", "nm")),
        "im2col": im2col if design.activation_bits in (8, 16) else "loader",
        **draw(small({}, {}, {"m_tile": 1}, {"slices_per_slot": 1})),
        **draw(small({}, {}, {"relu": True}, {"requantize": (3, 5, 8)}))}
    if draw(st.booleans()):
        bias = draw(small(None, "random"))
        return RandomConv2d(**shape, seed=draw(st.integers(0, 99)), bias=bias, **choices)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = [shape.pop(name) for name in ("batch", "height", "width", "channels")]
    if choices["layout"] == "NCHW":
        sizes = [sizes[0], sizes[3], sizes[1], sizes[2]]
    channels = sizes[1 if choices["layout"] == "NCHW" else 3]
    kernel, filters = shape.pop("kernel"), shape.pop("filters")
    w = (*kernel, channels // shape["groups"], filters)
    if sizes[0] == 1 and draw(st.booleans()):
        del sizes[0]
    return Conv2d(rng.integers(*limits, size=sizes, endpoint=True),
                  rng.integers(*format.weight_range(), size=w, endpoint=True), **shape, **choices)


def run_random(data, seconds=8.0):
    """Convolutions on one design until enough or, on a slow one, until the time is over."""
    design = replace(data.draw(designs()), im2col_line_buffer=data.draw(st.booleans()))
    started = time.monotonic()
    for _ in range(PER_DESIGN):
        workload = data.draw(convolutions(design))
        if estimate(design, [workload]).bound < 3000 and time.monotonic() - started < seconds:
            run(design, workload)


# Without shrinking, which would take minutes; the message names design and convolution.
SETTINGS = {"suppress_health_check": list(HealthCheck), "deadline": None,
            "phases": [Phase.generate]}


@pytest.mark.parametrize("part", [1, 2])
@settings(max_examples=2, **SETTINGS)
@given(data=st.data())
def test_random_convolutions(part, data):
    """Together some 30 of them."""
    run_random(data)


@pytest.mark.long
@settings(max_examples=30, **SETTINGS)
@given(st.data())
def test_many_random_convolutions(data):
    run_random(data, 60.0)
