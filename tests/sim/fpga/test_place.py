"""Reports of nextpnr: the clock, the slowest path, and what does not fit."""

import pytest

from cubewave.sim.fpga.names import Place
from cubewave.sim.fpga.place import arguments, does_not_fit, read_placement
from cubewave.sim.fpga.synthesis import Cell, Netlist
from cubewave.sim.fpga.targets import TARGETS

ECP5 = TARGETS["ecp5"]


def test_clock_and_use(report, netlist):
    placement = read_placement(report, ECP5, netlist)
    assert placement.fmax_hz == pytest.approx(115.82e6, rel=1e-4)
    assert placement.used["MULT18X18D"] == (4, 156) and "DP16KD" not in placement.used


def test_the_slowest_path_in_components(report, netlist):
    placement = read_placement(report, ECP5, netlist)
    assert placement.path_ns == pytest.approx(1e9 / placement.fmax_hz, abs=0.01)
    assert [(step.component, step.kind, step.signal) for step in placement.path] == [
        ("mesh", "register", ""),
        ("mesh.cell_1_1", "multiplier", ""),
        ("mesh.cell_1_1", "adder", "sum_out"),
        ("mesh.cell_1_1", "register", "sum_out"),
    ]
    multiplier = placement.path[1]
    assert (multiplier.logic_ns, multiplier.routing_ns) == pytest.approx((3.927, 1.323))


def test_a_path_from_the_harness(netlist):
    document = {"fmax": {"clk": {"achieved": 500.0, "constraint": 150}}, "utilization": {},
                "critical_paths": [
                    {"from": "<async>", "to": "posedge clk", "path": []},
                    {"from": "posedge clk", "to": "posedge clk", "path": [
                        {"type": "clk-to-q", "delay": 0.5, "from": {"cell": "inputs_1"},
                         "to": {"cell": "inputs_1"}},
                        {"type": "routing", "delay": 1.0, "from": {"cell": "inputs_1"},
                         "to": {"cell": "dut.tags.words_TRELLIS_FF_Q_10$x"}}]}]}
    steps = read_placement(document, ECP5, netlist).path
    assert [(step.component, step.kind, step.signal) for step in steps] == [
        ("harness", "register", "inputs_1"), ("tags", "register", "words")]


@pytest.mark.parametrize("target, cells, message", [
    ("ecp5", {"MULT18X18D": 156, "LUT4": 83640}, ""),
    ("ecp5", {"MULT18X18D": 256}, "256 of 156 MULT18X18D"),
    ("gowin", {"LUT2": 20000, "LUT4": 737}, "20737 of 20736 LUT1+LUT2+LUT3+LUT4"),
])
def test_what_does_not_fit(target, cells, message):
    netlist = Netlist({f"{kind}_{number}": Cell(kind, Place("", ""))
                       for kind, count in cells.items() for number in range(count)})
    found = does_not_fit(TARGETS[target], netlist)
    assert found.endswith(message) and bool(found) == bool(message)


@pytest.mark.parametrize("target, luts, is_large", [
    ("ecp5", 9_999, False), ("ecp5", 10_000, True), ("gowin", 20_000, False)])
def test_a_large_design_is_spread_out(target, luts, is_large):
    netlist = Netlist({f"lut_{number}": Cell("LUT4", Place("", "")) for number in range(luts)})
    found = arguments(TARGETS[target], netlist)
    assert found[:len(TARGETS[target].place)] == TARGETS[target].place
    assert ("static" in found) == is_large
