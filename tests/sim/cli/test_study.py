"""`cubewave run WORKLOAD --study NAME`."""

import dataclasses
import json

import pytest

from cubewave.sim.cli import study as command
from cubewave.sim.study import cases


@pytest.fixture
def slots(monkeypatch):
    """Changes parts of the input-slot study."""
    def change(**parts):
        monkeypatch.setitem(command.PARTS, "slots",
                            dataclasses.replace(command.PARTS["slots"], **parts))
    return change


@pytest.mark.parametrize("workload,study,rows", [("attention", "handoff", 5), ("gemm", "slots", 6)])
def test_a_study_prints_chapter_ideal_level_and_items(cubewave, workload, study, rows):
    result = cubewave("run", workload, "--study", study, "--level", "cycle")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == f"study {study} on chapter, level cycle"
    assert max(map(len, lines)) <= 80
    spans = [line for line in lines if line[:2] in {f"{number} " for number in range(1, 9)}]
    assert len(spans) == rows
    beyond = [line.split()[-2] for line in spans]
    total = next(line for line in lines if line.startswith("= cycle - ideal")).split()[-rows:]
    assert beyond == total
    assert lines[-1].endswith(" checks ok")


def test_the_hardware_is_the_usual_level(cubewave, slots):
    slots(cases=lambda design: [list(cases("slots", design))[3]])
    result = cubewave("run", "gemm", "--study", "slots", "--backend", "pysim")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("study slots on chapter, level rtl (pysim)\n")
    assert "= rtl - ideal" in result.stdout


def test_json(cubewave, tmp_path):
    options = ("run", "attention", "--study", "handoff", "--level", "cycle", "--design", "b200-sm",
               "--json")
    document = json.loads(cubewave(*options, "-").stdout)
    assert (document["study"], document["design"], len(document["rows"])) == (
        "handoff", "b200-sm", 5)
    assert [row["span"]["chapter"] for row in document["rows"]] == [5118, 5120, 3200, 3008, 3008]
    assert cubewave(*options, "study.json").stdout.splitlines()[-1] == "json      study.json"
    assert json.loads((tmp_path / "study.json").read_text()) == document


def test_a_span_that_is_not_the_printed_one_fails(cubewave, slots):
    slots(cases=lambda design: [dataclasses.replace(next(cases("slots", design)), span=1281)])
    result = cubewave("run", "gemm", "--study", "slots", "--level", "cycle")
    assert result.exit_code == 1
    assert result.stderr == "check 1 slot: ideal_span failed: expected 1281, actual 1280\n"
    assert "1 of 2 checks FAILED" in result.stdout


def test_interrupted(cubewave, slots):
    def interrupt(*_args):
        raise KeyboardInterrupt
    slots(run_case=interrupt)
    result = cubewave("run", "gemm", "--study", "slots")
    assert result.exit_code == 130
    assert result.stderr == "interrupted in row 1 of 6, 1 slot\n"


@pytest.mark.parametrize("args,message", [
    (["gemm", "--study", "handoff"], "--study handoff: needs workload attention, not gemm"),
    (["attention", "--study", "slots"], "--study slots: needs workload gemm, not attention"),
    (["gemm", "--study", "slots", "--level", "all"],
     "--study slots: needs --level rtl or cycle, not all"),
    (["gemm", "--study", "slots", "--level", "analytic"],
     "--study slots: needs --level rtl or cycle, not analytic"),
    (["gemm", "--study", "slots", "--level", "cycle", "--backend", "pysim"],
     "--backend: needs --level rtl, not cycle"),
    (["gemm", "--study", "slots", "--mesh", "kernel"],
     "--mesh kernel: needs --backend compiled, not auto"),
    (["gemm", "--study", "slots", "--design", "tiny"],
     "--design tiny: --study needs chapter or b200-sm"),
    (["gemm", "--study", "slots", "--json", "no/x.json"],
     "--json no/x.json: cannot be written: there is no folder no"),
    *((["gemm", "--study", "slots", *option],
       f"{option[0]}: not with --study, which fixes workload and machine; possible are --study, "
       f"--design, --level, --backend, --mesh, --rebuild, --json")
      for option in (["-s", "rows=4"], ["-p", "m=4"], ["--timing", "rtl"], ["--vcd", "x.vcd"],
                     ["--vcd-depth", "cells"], ["--vcd-signals", "a"], ["--vcd-cycles", "1:2"],
                     ["--trace", "x.json"], ["--energy"], ["--energies", "chapter"],
                     ["--roofline", "x.svg"], ["--seed", "1"], ["--no-output"])),
])
def test_refusals(refused, args, message):
    assert refused("run", *args) == message


def test_an_unknown_study_is_refused(refused):
    assert refused("run", "gemm", "--study", "slot").startswith("--study slot: must be handoff")
