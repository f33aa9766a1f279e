"""Waveforms of compiled machines: every signal in every cycle as in pysim."""

import dataclasses

import pytest

from cubewave.rtl import Design
from cubewave.sim import VcdOptions, simulate
from cubewave.sim.waves.reader import Waveform
from cubewave.sim.waves.vcd_parser import VCDVCD
from cubewave.workloads import QProjection, RandomAttention
from cubewave.workloads.conv2d import RandomConv2d

TINY = Design.preset("tiny")
SMALL = dataclasses.replace(TINY, rows=3, cols=2, lanes=3, sfu_lanes=2, slot_bytes=96,
                            accumulator_rows=12, weight_fifo_depth=2)
OUTPUT = dataclasses.replace(SMALL, dataflow="output_stationary", rows=2, cols=3, mac_latency=2)
STAGED = dataclasses.replace(SMALL, rows=2, cols=3, vector_units=2, handoff="staged",
                             memory_latency_cycles=3)
CONV = RandomConv2d(height=5, width=4, channels=2, kernel=2, filters=3)
ATTENTION = RandomAttention(5, 7, 4)


def read(path):
    """Size and values of every variable; texts as they stand in the file."""
    vcd = VCDVCD(str(path))
    return {name: (vcd.data[code].size, vcd.data[code].tv)
            for name, code in vcd.references_to_ids.items()}


def check_equal(folder, design, workload, mesh="kernel", **options):
    """Record on both backends; what is in the file, by name."""
    files, results = [], []
    for backend in ("pysim", "compiled"):
        path = folder / f"{backend}.vcd"
        results.append(simulate(design, workload, backend=backend,
                                mesh=mesh if backend == "compiled" else None,
                                vcd=VcdOptions(str(path), **options)))
        files.append(read(path))
    pysim, compiled = files
    assert pysim.keys() == compiled.keys()
    assert [name for name in pysim if pysim[name] != compiled[name]] == []
    pysim, compiled = results
    assert pysim.counters == compiled.counters and pysim.checks == compiled.checks
    assert all(check["ok"] for check in compiled.checks)
    return files[0]


@pytest.mark.parametrize(("design", "workload", "mesh"), [
    (SMALL, ATTENTION, "kernel"),
    pytest.param(OUTPUT, CONV, "netlist", marks=pytest.mark.long)])
def test_contents_of_memories_lanes_and_cells(tmp_path, design, workload, mesh):
    """One library per case, which every window and filter then uses."""
    whole = check_equal(tmp_path, design, workload, mesh, depth="memory",
                        signals=r"^(?!.*program\.memory\.row_\d\d)")
    names = [name for name in whole if ".row_" in name]
    for part in ("core.slots.slot_", "core.accumulators.bank_", "core.fifo.storage.",
                 "channel.storage.even.", "array_program.memory.", "special.gelu.table.",
                 *(["vector.unit_0.storage.slot_"] if workload is ATTENTION else [])):
        values = [value for name in names if part in name for _time, value in whole[name][1]]
        assert any(int(value, 2) for value in values), part
    length = len(whole["machine.cycle"][1])
    assert length > 150
    for first, last in ((0, 0), (40, 60), (length - 2, length + 5), (length, length)):
        check_equal(tmp_path, design, workload, mesh, depth="memory", cycles=(first, last),
                    signals=r"cell_|bank_0|engine_0")


def test_control_depth_where_lanes_are_code(tmp_path):
    check_equal(tmp_path, STAGED, ATTENTION)
    found = check_equal(tmp_path, STAGED, ATTENTION, signals="mesh")
    assert found["machine.core.matrix.mesh.i_rows__1__activation"]
    check_equal(tmp_path, STAGED, CONV)


@pytest.mark.long
def test_single_cells_by_row_and_column(tmp_path):
    """Of a large array: what they do is a step of the product."""
    design = dataclasses.replace(TINY, rows=24, cols=40, accumulator_rows=24, slot_bytes=1024)
    path = tmp_path / "cells.vcd"
    result = simulate(design, QProjection(20, 24, 40), backend="compiled", vcd=VcdOptions(
        str(path), depth="cells", signals=r"cell_(10_2[01]|23_39)\."))
    assert all(check["ok"] for check in result.checks)
    mesh = "machine.core.matrix.mesh"
    names = [f"{mesh}.cell_10_20.activation_out", f"{mesh}.cell_10_21.activation_out",
             f"{mesh}.cell_23_39.sum_out"]
    assert {name.rsplit(".", 1)[0] for name in read(path) if name.startswith(mesh)} == {
        f"{mesh}.cell_{place}" for place in ("10_20", "10_21", "23_39")}
    waves = Waveform(path, names)
    left, right, sums = (waves[name] for name in names)
    assert len(set(left)) > 15
    assert (left[:-1] == right[1:]).all()
    bits = int(read(path)[names[2]][0])
    sums = (sums + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    expected = result.output[:, 39].tolist()
    assert any(sums[start:start + 20].tolist() == expected for start in range(len(sums)))
