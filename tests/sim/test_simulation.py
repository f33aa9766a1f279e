"""The function `simulate`: its options, and what it refuses."""

import dataclasses
import re

import pytest

import cubewave.sim
from cubewave.rtl import Design
from cubewave.sim import DeadlockError, OptionError, network, simulate
from cubewave.workloads import (
    Conv2d,
    Gemm,
    QProjection,
    Residual,
    Rope,
    Sequence,
    WorkloadError,
)

TINY = Design.preset("tiny")


@pytest.mark.parametrize("options,message", [
    ({"level": "cycles"}, 'unknown level "cycles"; the nearest valid one is "cycle"'),
    ({"timing": "idle"}, 'unknown timing "idle"; the nearest valid one is "ideal"'),
    ({"backend": "pysin"}, 'unknown backend "pysin"; the nearest valid one is "pysim"'),
    ({"level": "cycle", "vcd": "x.vcd"}, "vcd needs level rtl, not cycle"),
    ({"timing": "ideal"}, "timing ideal needs level cycle, not rtl"),
    ({"output": False}, "output False needs level cycle or analytic: the hardware of level rtl "
                        "computes its output"),
])
def test_refusals(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=f"^{message}$"):
        simulate(TINY, QProjection(2, 3, 4), **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("design,workload,message", [
    ("tiny", QProjection(2, 3, 4),
     "design must be a Design, not 'tiny'; Design.preset('tiny') makes one"),
    (None, QProjection(2, 3, 4), "design must be a Design, not None"),
    (TINY, "gemm", "workload must be a workload such as QProjection(5, 9, 10), not 'gemm'"),
    (TINY, Gemm, f"workload must be a workload such as QProjection(5, 9, 10), not {Gemm!r}"),
])
def test_names_and_classes_are_refused(design, workload, message):
    for function in (simulate, network.run):
        with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
            function(design, workload)


@pytest.mark.parametrize("name,make", [
    ("a", lambda lists: Gemm(lists, [[1], [1]])),
    ("b", lambda lists: Gemm([[1, 1]], lists)),
    ("bias", lambda lists: Gemm([[1, 1]], [[1], [1]], bias=lists)),
    ("x", lambda lists: Conv2d([lists], [[[[1]]]])),
    ("w", lambda lists: Conv2d([[[1]]], lists)),
    ("positions", lambda lists: Rope([[1, 1]], positions=lists)),
    ("y", lambda lists: Residual([[1, 1]], lists)),
])
def test_lists_of_unequal_lengths_are_refused_by_name(name, make):
    with pytest.raises(WorkloadError, match=f"^{name} must be an array, not nested lists of "
                                            f"unequal lengths$"):
        make([[1, 2], [3]])


def test_levels_agree():
    workload = QProjection(6, 10, 7)
    rtl, cycle, analytic = (simulate(TINY, workload, level=level)
                            for level in ("rtl", "cycle", "analytic"))
    assert rtl.ok and cycle.ok
    assert (rtl.cycles, rtl.span, rtl.counters, rtl.units, rtl.items) \
        == (cycle.cycles, cycle.span, cycle.counters, cycle.units, cycle.items)
    assert (rtl.output == cycle.output).all()
    assert rtl.overflow is cycle.overflow is False
    assert analytic.cycles + sum(rtl.items.values()) == rtl.cycles
    assert analytic.output is None and analytic.units == {}
    assert rtl.span == rtl.cycles - 1  # the first descriptor starts in cycle 1


def test_seed_draws_the_operands():
    outputs = [simulate(TINY, QProjection(3, 4, 5, seed=seed), level="cycle", seed=chosen).output
               for seed, chosen in ((7, None), (0, 7), (0, None), (0, 0))]
    assert (outputs[0] == outputs[1]).all()
    assert (outputs[2] == outputs[3]).all()
    assert (outputs[0] != outputs[2]).any()
    given = Gemm([[1]], [[2]])
    assert simulate(TINY, given, seed=5).output.tolist() == [[2]]
    with pytest.raises(ValueError, match="^seed must be an integer from 0"):
        simulate(TINY, QProjection(3, 4, 5), seed=-1)


def test_seed_of_a_sequence_differs_between_its_jobs():
    job = QProjection(3, 4, 5)
    sequence = Sequence([job, job]).seeded(4)
    assert [part.seed for part in sequence.parts()] == [4, 5]


def test_without_output_nothing_is_known_of_the_result():
    result = simulate(TINY, QProjection(6, 10, 7), level="cycle", output=False)
    assert result.output is None and result.overflow is None
    assert result.to_json()["results"][0]["output_sha256"] is None


def test_cycle_level_names_a_deadlock(monkeypatch):
    workload = QProjection(5, 9, 10)
    program = workload.program(TINY)
    program.loads = [load for load in program.loads if load.slot != 1]
    monkeypatch.setattr(workload, "program", lambda design, contents: program)
    with pytest.raises(DeadlockError, match="^deadlock: .*array waits for slot 1 to be ready; "
                                            "store waits for accumulator bank 0 to be full$"):
        simulate(TINY, workload, level="cycle")


def test_exports_are_lazy_and_complete():
    for name in cubewave.sim.__all__:
        assert getattr(cubewave.sim, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'simulation_of_nothing'"):
        _ = cubewave.sim.simulation_of_nothing


def test_ideal_timing_is_never_slower():
    for design in (TINY, dataclasses.replace(TINY, dataflow="output_stationary")):
        for shape in ((5, 9, 10), (1, 1, 1), (16, 16, 16)):
            rtl = simulate(design, QProjection(*shape), level="cycle")
            ideal = simulate(design, QProjection(*shape), level="cycle", timing="ideal")
            assert ideal.ok
            assert ideal.cycles < rtl.cycles


def test_a_product_too_large_for_a_program_is_refused_at_once():
    workload = QProjection(1 << 20, 1 << 20, 1 << 20)
    for level in ("rtl", "cycle"):
        with pytest.raises(OptionError, match=rf"^workload q-projection has [\d,]+ weight tiles on "
                                              rf"an array of 4x4, more than the 3,000,000 that "
                                              rf"level {level} takes; choose a larger array or "
                                              rf"level analytic$"):
            simulate(TINY, workload, level=level)
    assert simulate(TINY, workload, level="analytic").useful_macs == 1 << 60
