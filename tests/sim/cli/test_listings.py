"""`cubewave designs`, `workloads`, `waves` and the help."""

import json
import shutil

import pytest

from cubewave.rtl import Design
from cubewave.rtl.design_fields import FIELDS
from cubewave.rtl.presets import PRESETS
from cubewave.sim.simulation import LEVELS
from cubewave.workloads.minilm import MiniLM
from cubewave.workloads.registry import WORKLOADS, build


def printed(result):
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stdout and result.stderr == ""
    assert all(len(line) <= 80 and line == line.rstrip() for line in result.stdout.splitlines())
    return result.stdout


def document_of(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout, parse_constant=pytest.fail)


def test_designs(cubewave):
    text = printed(cubewave("designs"))
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line}
    for name in PRESETS:
        assert name in rows
    assert "16x16   8/8/32   4x4 KiB      4 2x256       64   128 GMAC/s pysim" in text
    assert "256x256 8/8/32   24x1 MiB     4 2x2048   48.57 45.88 TMAC/s compiled" in text
    assert "…" not in text


def test_large_arrays_are_slow_only_without_a_compiler(cubewave, monkeypatch):
    monkeypatch.setattr("cubewave.sim.backends.compiled.find_compiler", lambda: None)
    assert "48.57 45.88 TMAC/s slow\n" in printed(cubewave("designs"))
    first, *_, tpu = (entry for entry in document_of(cubewave("designs", "--json"))["designs"]
                      if entry["name"] in ("tiny", "tpu-v1"))
    assert (first["rtl_backend"], first["levels"]) == ("pysim", list(LEVELS))
    assert (tpu["rtl_backend"], tpu["levels"]) == (None, ["cycle", "analytic"])


@pytest.mark.parametrize("name", PRESETS)
def test_every_field_of_a_design(cubewave, name):
    text = " ".join(printed(cubewave("designs", name)).split())
    for field, spec in FIELDS.items():
        for part in (field, spec.description, spec.range, PRESETS[name].fields[field][1]):
            assert part in text, part


def test_designs_as_json(cubewave):
    document = document_of(cubewave("designs", "--json"))
    assert [design["name"] for design in document["designs"]] == list(PRESETS)
    for entry in document["designs"]:
        design = Design.preset(entry["name"])
        values = {name: field["value"] for name, field in entry["fields"].items()}
        assert Design.from_dict(values) == design
        assert entry["macs_per_second"] == design.rows * design.cols * design.clock_hz
        assert entry["levels"] == list(LEVELS)
        assert entry["rtl_backend"] == ("pysim" if design.rows <= 16 else "compiled")
    one = document_of(cubewave("designs", "edge", "--json"))
    assert one["designs"] == [document["designs"][1]]


def test_workloads(cubewave):
    text = printed(cubewave("workloads"))
    for spec in WORKLOADS.values():
        assert f"{spec.name}  {spec.description.split()[0]}" in text
    assert "m                5        1 to 1048576 rows      rows of a" in text
    assert "k                4096     1 to 1048576 columns   columns of a, rows of b" in text
    one = printed(cubewave("workloads", "q-projection"))
    assert one.startswith("q-projection") and "gemm" not in one


def test_workloads_as_json(cubewave):
    document = document_of(cubewave("workloads", "--json"))
    assert [entry["name"] for entry in document["workloads"]] == list(WORKLOADS)
    for entry in document["workloads"]:
        for parameter in entry["parameters"].values():
            assert set(parameter) == {"default", "rule", "unit", "range", "description"}


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_parameter_has_a_default(name):
    if name == "attention-head" and MiniLM.folder() is None:
        pytest.skip("no weights")
    workload = build(name, {})
    listed = {parameter.name: parameter.default for parameter in WORKLOADS[name].parameters
              if parameter.default is not None}
    described = workload.describe()
    left_out = {"relu": False}  # parts of an epilogue are described where there are any
    if name == "conv2d":  # one number for each side, nested as the workload takes them
        left_out["padding"] = sum(described["padding"], [])
        listed |= {key: list(value) for key, value in listed.items() if isinstance(value, tuple)}
    assert {key: left_out.get(key, described.get(key)) for key in listed} == listed
    spelled = {parameter.name: parameter.default_text for parameter in WORKLOADS[name].parameters
               if parameter.default is not None}
    assert build(name, spelled).describe() == described


def test_waves(cubewave, monkeypatch):
    assert cubewave("run", "gemm", "--vcd", "x.vcd").exit_code == 0
    monkeypatch.setattr(shutil, "which", lambda *args, **options: None)
    result = cubewave("waves", "x.vcd")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ("save file  x.gtkw\n"
                             "GTKWave could not be started here; where it can: gtkwave x.gtkw\n")


def test_help_names_every_command_and_status(cubewave):
    text = printed(cubewave("--help"))
    assert text == printed(cubewave())
    for word in ("run", "designs", "workloads", "waves", "130 interrupted"):
        assert word in text
    for command in ("run", "designs", "workloads", "waves", "model", "figures", "flip"):
        assert printed(cubewave(command, "--help")).startswith(f"Usage: cubewave {command}")
    assert printed(cubewave("--version")).startswith("cubewave ")
