"""What the tools said about the array of a 2x2 `tiny` on ECP5, cut to a few cells."""

import json
from pathlib import Path

import pytest

from cubewave.sim.fpga.synthesis import read_netlist

RECORDED = Path(__file__).parent / "recorded"
CELL = "cubewave_weight_stationary_cell"

#: Ports of the modules, and whether they are inputs.
PORTS = {
    CELL: {"activation_in": True, "activation_out": False, "sum_in": True, "sum_out": False},
    "cubewave_mesh": {"i_rows": True, "i_cols": True, "o": False},
    "cubewave_row_skew": {"i": True, "o": False},
    "cubewave_col_skew": {"i": True, "o": False},
    "cubewave_deskew": {"i": True, "o": False},
    "cubewave_delay": {"i": True, "o": False},
}


def recorded(name):
    return json.loads((RECORDED / name).read_text(encoding="utf-8"))


@pytest.fixture
def netlist():
    """The netlist of Yosys."""
    return read_netlist(recorded("netlist.json"), "cubewave_matrix_unit", PORTS)


@pytest.fixture
def report():
    """The report of nextpnr."""
    return recorded("report.json")
