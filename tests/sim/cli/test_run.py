"""`cubewave run`: what it runs, prints and writes."""

import dataclasses
import json
import time

import numpy as np
import pytest

import cubewave.sim.cli.progress as progress
import cubewave.sim.cli.run as command
from cubewave.sim import DeadlockError, simulate
from cubewave.sim.result import output_sha256
from cubewave.sim.simulation import LEVELS
from cubewave.sim.waves.vcd_parser import VCDVCD


@pytest.fixture
def run_json(cubewave):
    """The document that a run prints with --json -; it must end with status 0."""

    def run(*args):
        result = cubewave("run", *args, "--json", "-")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout, parse_constant=pytest.fail)

    return run


def settings(**fields):
    return [part for name, value in fields.items() for part in ("-s", f"{name}={value}")]


# The document


def test_json_document(run_json):
    document = run_json("gemm", "--level", "all")
    assert document["schema"] == 1
    assert document["workload"] == {
        "name": "gemm", "m": 5, "k": 9, "n": 10, "unsigned": False, "a_resident": False,
        "store_output": True, "accumulate": False, "order": "mn", "seed": 0}
    assert document["design"]["rows"] == 4
    assert tuple(result["level"] for result in document["results"]) == LEVELS
    rtl, analytic = document["results"][0], document["results"][-1]
    assert (rtl["level"], rtl["backend"], rtl["timing"]) == ("rtl", "pysim", "rtl")
    assert (analytic["level"], analytic["output_sha256"], analytic["units"]) == (
        "analytic", None, {})
    assert rtl["useful_macs"] == analytic["useful_macs"] == 5 * 9 * 10
    assert rtl["bytes_read"] == analytic["bytes_read"]
    assert rtl["cycles"] == analytic["cycles"] + sum(rtl["items"].values())
    assert rtl["simulate_seconds"] > 0
    for unit in rtl["units"].values():
        assert unit["busy"] + unit["idle"] + sum(unit["stalls"].values()) == rtl["cycles"]
    assert document["checks"] and all(check["ok"] for check in document["checks"])


DESIGNS = [
    dict(rows=1, cols=1), dict(rows=2, cols=5), dict(rows=3, cols=2), dict(rows=5, cols=7),
    dict(rows=8, cols=8, weight_fifo_depth=1, input_slots=1), dict(rows=16, cols=16),
    dict(weight_fifo_depth=2, input_slots=3, memory_latency_cycles=0),
    dict(memory_bytes_per_cycle=1, memory_latency_cycles=20, accumulator_banks=1),
    dict(memory_bytes_per_cycle="unlimited", mac_latency=2),
    dict(memory_bytes_per_cycle="34/7", weight_double_buffer="false"),
]


@pytest.mark.parametrize("fields", DESIGNS, ids=lambda fields: "-".join(
    f"{name}={value}" for name, value in fields.items()).replace("/", "_"))
def test_f010_every_design_runs_with_all_checks_ok(run_json, fields):
    document = run_json("gemm", "-p", "m=5", "-p", "k=9", "-p", "n=10", "--design", "tiny",
                        "--level", "all", *settings(**fields))
    design, result = document["design"], document["results"][0]
    assert all(check["ok"] for check in document["checks"])
    peak = design["rows"] * design["cols"] * result["cycles"]
    assert 0 < result["utilization"] <= 1
    assert result["useful_macs"] == 450 and result["utilization"] == 450 / peak
    for unit in result["units"].values():
        assert unit["busy"] + unit["idle"] + sum(unit["stalls"].values()) == result["cycles"]


def test_seed_changes_the_operands(run_json):
    hashes = [run_json("gemm", "--seed", seed)["results"][0]["output_sha256"]
              for seed in (0, 1, 1)]
    assert hashes[0] != hashes[1] == hashes[2]


def test_user_data(cubewave, run_json, tmp_path):
    a, b = np.arange(12).reshape(3, 4) - 5, np.arange(8).reshape(4, 2) - 3
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b.astype(np.float32))
    document = run_json("gemm", "-p", "a=a.npy", "-p", "b=b.npy")
    assert document["results"][0]["output_sha256"] == output_sha256(a @ b)
    assert [document["workload"][name] for name in "mkn"] == [3, 4, 2]
    assert "seed" not in document["workload"]


def test_choices_reach_the_workload(run_json):
    document = run_json("q-projection", "-p", "m=6", "-p", "k=8", "-p", "n=8", "-p", "order=nm",
                        "-p", "m_tile=4", "-p", "unsigned=true", "-p", "store_output=false",
                        "-p", "a_resident=true", "-p", "slices_per_slot=2")
    workload = document["workload"]
    assert (workload["order"], workload["m_tile"], workload["unsigned"]) == ("nm", 4, True)
    assert document["results"][0]["bytes_written"] == 0
    assert document["results"][0]["output_sha256"] is None


def test_design_file(run_json, tmp_path):
    (tmp_path / "mine.toml").write_text('preset = "edge"\nrows = 3\ncols = 2\n')
    design = run_json("gemm", "--design", "mine.toml", "-s", "cols=5")["design"]
    assert (design["rows"], design["cols"], design["memory_latency_cycles"]) == (3, 5, 20)


def test_f086_large_layer_at_level_analytic(run_json):
    """2**36 MACs, without overflow of any counter."""
    document = run_json("gemm", "-p", "m=4096", "-p", "k=4096", "-p", "n=4096", "-s", "rows=128",
                        "-s", "cols=128", "--level", "analytic")
    assert document["results"][0]["useful_macs"] == 68719476736


def test_levels_and_timings_of_large_designs(run_json):
    """Without the output, and with the textbook's durations."""
    args = ["q-projection", "-p", "m=64", "-p", "k=512", "-p", "n=512", "--design", "b200-sm"]
    real = run_json(*args, "--level", "cycle")["results"][0]
    quick = run_json(*args, "--level", "cycle", "--no-output")["results"][0]
    assert real["output_sha256"] is not None and quick["output_sha256"] is None
    assert real["cycles"] == quick["cycles"] and real["units"] == quick["units"]
    ideal = run_json(*args, "--level", "cycle", "--timing", "ideal")["results"][0]
    assert ideal["timing"] == "ideal" and ideal["cycles"] < real["cycles"]
    bound = run_json(*args, "--level", "analytic", "--no-output")["results"][0]
    assert bound["cycles"] <= ideal["cycles"]


# Files


def test_waveform_and_json_file(cubewave, tmp_path):
    result = cubewave("run", "gemm", "--vcd", "run.vcd", "--json", "run.json", "--level", "all")
    assert result.exit_code == 0, result.stderr
    assert "waveform  run.vcd  (open it: cubewave waves run.vcd)" in result.stdout
    document = json.loads((tmp_path / "run.json").read_text())
    assert document["results"][0]["vcd"] == "run.vcd"
    assert "vcd_counters" in [check["name"] for check in document["checks"]]
    assert VCDVCD(str(tmp_path / "run.vcd")).signals
    assert (tmp_path / "run.gtkw").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.gtkw", "run.json", "run.vcd"]


def test_waveform_options_reach_the_recorder(cubewave, monkeypatch):
    seen = []
    monkeypatch.setattr(command, "simulate", lambda *args, vcd=None, **options: (
        seen.append(vcd), simulate(*args, **options))[1])
    result = cubewave("run", "gemm", "--vcd", "x.vcd", "--vcd-depth", "cells", "--vcd-signals",
                      "array", "--vcd-cycles", "3:9", "--level", "all")
    assert result.exit_code == 0
    assert seen[1:] == [None] * (len(LEVELS) - 1)
    assert (seen[0].path, seen[0].depth, seen[0].signals, seen[0].cycles) == (
        "x.vcd", "cells", "array", (3, 9))


def test_without_options_nothing_is_written(cubewave, tmp_path):
    assert cubewave("run", "gemm").exit_code == 0
    assert list(tmp_path.iterdir()) == []


# Ends


def _with_checks(*checks):
    def run(*args, **options):
        return dataclasses.replace(simulate(*args, **options), checks=list(checks))
    return run


def test_failed_check_is_named_with_status_1(cubewave, monkeypatch):
    good = {"name": "rtl_macs", "expected": 1, "actual": 1, "ok": True}
    bad = {"name": "rtl_bytes", "expected": 10, "actual": 12, "ok": False}
    vcd = {"name": "vcd_counters", "expected": {"cycles": 7, "span": 3},
           "actual": {"cycles": 8, "span": 3}, "ok": False}
    monkeypatch.setattr(command, "simulate", _with_checks(good, bad, vcd))
    result = cubewave("run", "gemm")
    assert result.exit_code == 1
    assert result.stderr == ("check rtl_bytes failed: expected 10, actual 12\n"
                             "check vcd_counters failed: expected cycles=7, actual cycles=8\n")
    assert "2 of 3 checks FAILED" in result.stdout
    assert "checks ok" not in result.stdout
    result = cubewave("run", "gemm", "--json", "-")
    assert result.exit_code == 1
    assert [check["ok"] for check in json.loads(result.stdout)["checks"]] == [True, False, False]


def test_deadlock_has_status_1(cubewave, monkeypatch):
    def deadlock(*args, **options):
        raise DeadlockError("deadlock: nothing has moved for 9 cycles; array waits for its tile")
    monkeypatch.setattr(command, "simulate", deadlock)
    result = cubewave("run", "gemm", "--json", "-")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == ("error: deadlock: nothing has moved for 9 cycles; array waits for "
                             "its tile\n")


def test_interrupt_has_status_130(cubewave, monkeypatch):
    def interrupt(*args, progress, **options):
        progress(1234, 5, rows=10)
        raise KeyboardInterrupt
    monkeypatch.setattr(command, "simulate", interrupt)
    result = cubewave("run", "gemm", "--vcd", "x.vcd", "--json", "-")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == ("interrupted at level rtl after 1,234 cycles; the waveform up to "
                             "there is x.vcd\n")


def test_too_large_for_the_host(refused, monkeypatch):
    def exhausted(*args, **options):
        raise MemoryError
    monkeypatch.setattr(command, "simulate", exhausted)
    assert "too little memory" in refused("run", "gemm")


def test_f086_long_runs_are_advised_not_refused(cubewave, monkeypatch):
    def run(*args, **options):
        time.sleep(0.2)
        raise KeyboardInterrupt
    monkeypatch.setattr(command, "simulate", run)
    monkeypatch.setattr(progress, "NOTE_DELAY", 0.01)
    result = cubewave("run", "q-projection", "--design", "b200-sm", "--backend", "pysim")
    advice = result.stderr.splitlines()[0]
    assert advice.startswith("note: level rtl will take ") and "--level cycle" in advice
    assert "cycles/s on an array of 64x64" in advice
    assert cubewave("run", "gemm").stderr.count("\n") == 1  # nothing but the interruption


def test_a_long_run_that_is_refused_gets_no_advice(refused):
    assert "a_resident" in refused("run", "gemm", "-p", "m=4096", "-p", "k=1024", "-p", "n=1024",
                                   "-p", "a_resident=true", "--design", "chapter")
