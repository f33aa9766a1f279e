"""A build with the real tools."""

import dataclasses
import importlib.util

import pytest

from cubewave.rtl import Design
from cubewave.sim.fpga import TARGETS, build
from cubewave.sim.fpga.flow import packages

SMALL = dataclasses.replace(Design.preset("tiny"), rows=2, cols=2)


def installed(target):
    return all(importlib.util.find_spec(package) for package in packages(TARGETS[target], True))


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_the_array_of_a_2x2(target):
    if not installed(target):
        pytest.skip("the extra fpga is not installed")
    result = build(SMALL, "array", TARGETS[target])
    counts = result.netlist.counts(TARGETS[target])
    assert counts["dsp"] == 4 and counts["ff"] > 100
    assert not set(result.netlist.types) - set(TARGETS[target].cells) - {"GND", "VCC"}
    if target == "xilinx":
        assert result.placement is None and "no free place and route" in result.unplaced
        return
    assert result.placement is not None, result.unplaced
    assert result.placement.fmax_hz > 50e6
    assert any(step.component.startswith("mesh.cell") for step in result.placement.path)


@pytest.mark.long
@pytest.mark.parametrize("top, expected", [("slots", 4), ("accumulators", 4)])
def test_memories_are_block_ram_without_logic_around_it(top, expected):
    if not installed("ecp5"):
        pytest.skip("the extra fpga is not installed")
    result = build(SMALL, top, TARGETS["ecp5"], is_placed=False)
    counts = result.netlist.counts(TARGETS["ecp5"])
    assert counts["block_ram"] == expected
    # What would keep the old word of a collision has a register for every bit.
    assert counts["ff"] < 2 * SMALL.cols * SMALL.accumulator_bits + 60
