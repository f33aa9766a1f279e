"""Estimates of convolutions: sizes of the chapter, and host memory."""

import tracemalloc
from dataclasses import replace

import pytest

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.sim.analytic import estimate
from cubewave.sim.analytic.conv2d import image_bytes, window_bytes
from cubewave.workloads import RandomConv2d

ASCEND = Design.preset("ascend-910")
CHAPTER = {"height": 56, "width": 56, "channels": 64, "filters": 64, "padding": 1}


def test_sizes_of_the_chapter():
    work = RandomConv2d(**CHAPTER)
    assert image_bytes(ASCEND, work) == 56 * 56 * 64 * 2 == 401_408
    assert work.shape.product == (3136, 576, 64)
    assert 2 * work.shape.expanded_elements == 9 * 401_408
    assert 2 * work.useful_macs == 231_211_008
    # Windows at an edge lack a row or a column of taps.
    assert window_bytes(ASCEND, work) == (3 * 56 - 2) ** 2 * 64 * 2


@pytest.mark.parametrize("im2col", ["loader", "memory"])
@pytest.mark.parametrize("line_buffer", [True, False])
def test_level_cycle_at_full_size(im2col, line_buffer):
    design = replace(ASCEND, im2col_line_buffer=line_buffer)
    work = RandomConv2d(**CHAPTER, im2col=im2col, relu=True)
    result = simulate(design, work, level="cycle", output=False)
    assert result.ok
    analytic = simulate(design, work, level="analytic")
    assert analytic.cycles + sum(result.items.values()) == result.cycles
    assert (analytic.bytes_read, analytic.bytes_written) == (
        result.bytes_read, result.bytes_written)
    assert estimate(design, [work]).resources["array"] == result.units["array"].busy == 28_224


def peak(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_f084_host_memory_grows_with_the_operands_not_with_the_macs():
    """A 1x1 convolution is the product M = K = N; four times the size, 16 times the operands.

    Level cycle has a command for each weight tile of a bank's rows, here of all rows.
    """
    design = replace(Design.preset("edge"), accumulator_rows=512)

    def run(size, level):
        work = RandomConv2d(size // 16, 16, size, size, 1)
        return peak(lambda: simulate(design, work, level=level))

    for level in ("analytic", "cycle"):
        run(32, level)
        small, large = run(128, level), run(512, level)
        assert large < 18 * small, level
        assert large < 500e6, level
