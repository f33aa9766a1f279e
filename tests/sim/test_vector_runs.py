"""Rotary embeddings and residual additions on the hardware: results, cycles, every counter."""

import numpy as np
import pytest
from designs import designs, small
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.sim import OptionError, simulate
from cubewave.workloads import RandomResidual, RandomRope, Residual, Rope


@st.composite
def workloads(draw):
    seed, bits = draw(st.integers(0, 99)), draw(small(None, 8, 16, 5))
    rows = draw(small(1, 2, 3, 5, 8, 20))
    if draw(small(True, True, False)):
        return RandomRope(rows, draw(small(1, 2, 3, 5)), draw(small(2, 4, 6, 10, 40)), seed=seed,
                          bits=bits, start=draw(small(0, 5, 1000)), base=draw(small(1e4, 1e6)))
    return RandomResidual(rows, draw(small(1, 2, 3, 5, 13, 40)), seed=seed, bits=bits)


def check(design, workload):
    """All checks of all levels: the result bit by bit, and the models' cycles and counts."""
    for level, timing in (("rtl", "rtl"), ("cycle", "rtl"), ("cycle", "ideal")):
        result = simulate(design, workload, level=level, timing=timing)
        assert not [entry for entry in result.checks if not entry["ok"]]
        assert not result.overflow and result.useful_macs == 0


@settings(max_examples=3, suppress_health_check=list(HealthCheck), deadline=None)
@given(designs(), workloads())
def test_random_designs(design, workload):
    check(design, workload)


@pytest.mark.long
@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(designs(), workloads())
def test_many_random_designs(design, workload):
    check(design, workload)


@pytest.mark.parametrize("work", [
    Rope(np.arange(-20, 20).reshape(2, 20), heads=2, start=3), RandomRope(5, 3, 6),
    Residual(np.arange(21).reshape(3, 7), np.arange(21).reshape(3, 7)), RandomResidual(5, 7)])
def test_two_units_and_one_slot_of_each_kind(work):
    check(Design(rows=2, cols=4, vector_units=2, handoff_slots=1, accumulator_rows=3), work)


def test_blocks_overlap():
    """Loads and stores of other blocks go on while one is worked on."""
    result = simulate(Design.preset("tiny"), RandomRope(64, 4, 8), level="cycle", output=False)
    assert result.limited_by == "vector" and result.cycles < 1.6 * (
        result.cycles - sum(result.items.values()))


def test_too_many_descriptors_are_refused():
    with pytest.raises(OptionError) as refusal:
        simulate(Design.preset("tiny"), RandomRope(1 << 20, 4, 128), level="cycle")
    assert "descriptors on an array of 4x4, more than the 3,000,000" in str(refusal.value)
    bound = simulate(Design.preset("tiny"), RandomRope(1 << 20, 4, 128), level="analytic")
    assert bound.bytes_written == (1 << 20) * 4 * 128
