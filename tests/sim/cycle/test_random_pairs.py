"""The cycle model and the RTL over random designs and workloads: no difference in any counter.

Every run at level rtl also compares its output with numpy, its work and traffic with the analytic
level, and its units' partition with the cycles. A pair that differs is shrunk, and the message
ends with the command that runs it again.
"""

import dataclasses

import numpy as np
import pytest
from designs import designs, small, workloads
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from reproduce import command_line

from cubewave.rtl import Design
from cubewave.rtl.counters import COUNTERS
from cubewave.rtl.status import UNITS
from cubewave.sim import simulate
from cubewave.sim.cycle import Durations
from cubewave.workloads.gemm import RandomGemm

PER_DESIGN = 10  # workloads on one elaborated core
FIELDS = ("cycles", "span", "useful_macs", "utilization", "bytes_read", "bytes_written",
          "exchange_bytes", "overflow", "counters", "units", "items", "limited_by", "workload")

# Hypothesis's own generator would mutate each example several times, most often with the same
# design; with this one every example is new, and a failing one is shrunk all the same.
random_runs = settings(backend="hypothesis-urandom", suppress_health_check=list(HealthCheck))


def differences(rtl, cycle):
    """Everything in which two results differ, and every check of theirs that failed."""
    found = {name: (getattr(rtl, name), getattr(cycle, name)) for name in FIELDS
             if getattr(rtl, name) != getattr(cycle, name)}
    same_output = (cycle.output is None if rtl.output is None
                   else np.array_equal(rtl.output, cycle.output))
    if not same_output:
        found["output"] = (rtl.output, cycle.output)
    failed = [check for check in (*rtl.checks, *cycle.checks) if not check["ok"]]
    return {**found, "checks": failed} if failed else found


def compare(design, workload, backend="pysim"):
    """Run both levels; raise with the command line if they differ in anything."""
    found = differences(simulate(design, workload, backend=backend),
                        simulate(design, workload, level="cycle"))
    ideal = simulate(design, workload, level="cycle", timing="ideal", output=False)
    if not ideal.ok:
        found["timing ideal"] = ideal.checks
    if found:
        lines = [f"{name}: {values}" for name, values in found.items()]
        raise AssertionError("\n".join(["rtl and cycle differ:", *lines,
                                        command_line(design, workload)]))


@pytest.mark.parametrize("part", range(6))  # parts run in parallel; together 180 pairs
@settings(random_runs, max_examples=3)
@given(st.data())
def test_no_difference(part, data):
    design = data.draw(designs())
    for _ in range(PER_DESIGN):
        compare(design, data.draw(workloads(design)))


@pytest.mark.long
@pytest.mark.parametrize("part", range(16))  # together 8,192 pairs, of larger products
@settings(random_runs, max_examples=32)
@given(st.data())
def test_no_difference_in_thousands_of_runs(part, data):
    design = data.draw(designs())
    for _ in range(16):
        compare(design, data.draw(workloads(design, tiles=4)))


@pytest.fixture
def quick_builds(monkeypatch, tmp_path):
    """Compiled machines are thrown away after the test, so they are built quickly."""
    monkeypatch.setenv("CUBEWAVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CUBEWAVE_CXXFLAGS", "-O1")


@pytest.mark.long
@pytest.mark.parametrize("part", range(25))  # together 10,000 pairs, of 100 designs
@settings(random_runs, max_examples=4, phases=[Phase.generate])  # each design takes builds
@given(st.data())
def test_no_difference_on_the_compiled_backend(quick_builds, part, data):
    side = small(1, 3, 6, 7, 8, 11, 13, 16, 17)
    fields = {"rows": data.draw(side), "cols": data.draw(side), "slot_bytes": 1 << 10}
    design = dataclasses.replace(data.draw(designs()), **fields)
    for _ in range(100):
        compare(design, data.draw(workloads(design, tiles=6)), backend="compiled")


def test_all_counters_are_compared():
    """Whatever the hardware counts is in the results, under the name it has there."""
    result = simulate(Design.preset("tiny"), RandomGemm(5, 9, 10), level="cycle")
    units = {f"{unit}.{cause}" for unit, counts in result.units.items()
             for cause in ("busy", "idle", *counts.stalls)}
    assert units | set(result.counters) == set(COUNTERS)
    assert result.units.keys() == UNITS.keys()


@pytest.mark.parametrize("name,step,fields,shape", [
    ("first_command", 1, {}, (3, 3, 4)),
    ("operand_arrival", 1, {}, (9, 3, 4)),
    ("weight_arrival", 1, {}, (1, 3, 4)),
    ("shift", -1, {}, (1, 3, 4)),
    ("result", 1, {}, (3, 3, 4)),
    ("tile_interval", 1, {"dataflow": "output_stationary"}, (3, 1, 8)),
    ("sum_interval", -1, {"dataflow": "output_stationary", "weight_double_buffer": False},
     (3, 3, 8)),
])
def test_a_duration_that_is_one_off_is_seen(monkeypatch, name, step, fields, shape):
    """The comparison can fail: each duration matters to some run."""
    design = Design(rows=3, cols=2, memory_bytes_per_cycle="unlimited", **fields)
    workload = RandomGemm(*shape)
    compare(design, workload)
    exact = Durations.rtl(design)
    monkeypatch.setattr(Durations, "rtl", classmethod(lambda cls, design: dataclasses.replace(
        exact, **{name: getattr(exact, name) + step})))
    with pytest.raises(AssertionError) as caught:
        compare(design, workload)
    text = str(caught.value)
    assert "'rtl_cycle_array." in text and "\nunits: " in text
    assert text.splitlines()[-1] == command_line(design, workload)


def test_random_runs_reach_every_corner():
    """Each stall, each choice and overflow occur among the random pairs; at level cycle only."""
    seen = set()

    @settings(max_examples=300, derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))
    @given(st.data())
    def collect(data):
        design = data.draw(designs())
        workload = data.draw(workloads(design))
        result = simulate(design, workload, level="cycle")
        seen.update(f"{unit}.{cause}" for unit, counts in result.units.items()
                    for cause, cycles in counts.stalls.items() if cycles)
        seen.update(f"{name}={value}" for name, value in design.to_dict().items())
        seen.update(name for part in workload.parts() for name, value in part.describe().items()
                    if value)
        seen.update([type(workload).__name__, f"overflow={result.overflow}"])

    collect()
    stalls = {f"{unit}.{status.name.lower()}" for unit, statuses in UNITS.items()
              for status in statuses} - {f"{unit}.{name}" for unit in UNITS
                                         for name in ("busy", "idle")}
    assert stalls - seen == set()
    assert {"m_tile", "tile_rows", "slices_per_slot", "a_resident", "accumulate", "unsigned",
            "Gemm", "RandomGemm", "Sequence", "overflow=True", "overflow=False",
            "memory_bytes_per_cycle=340/7", "memory_bytes_per_cycle=unlimited"} - seen == set()
    for name in Design.preset("tiny").to_dict():  # every field varies
        assert len([value for value in seen if value.startswith(f"{name}=")]) >= 2, name
