"""How a run of pysim begins."""

import dataclasses

import pytest

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.sim.backends import pysim
from cubewave.workloads import RandomAttention


@pytest.mark.parametrize("rows", [4, 9])
def test_the_array_is_idle_when_a_run_with_resident_weights_begins(rows, monkeypatch):
    """However soon the end of the preload is seen, the first weights are in the array."""
    monkeypatch.setattr(pysim, "CHUNK", 1)
    design = dataclasses.replace(Design.preset("tiny"), rows=rows, weight_fifo_depth=1)
    result = simulate(design, RandomAttention(2, 5, 4, resident=True), backend="pysim")
    assert result.ok, [check for check in result.checks if not check["ok"]]
