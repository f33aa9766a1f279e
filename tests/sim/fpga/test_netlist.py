"""Netlists of Yosys: cells, and the components that they belong to."""

import pytest

from cubewave.sim.fpga.names import Names, Place
from cubewave.sim.fpga.targets import KINDS, TARGETS

ECP5 = TARGETS["ecp5"]


def test_cells_are_counted_by_kind(netlist):
    counts = netlist.counts(ECP5)
    assert list(counts) == list(KINDS)
    assert counts["dsp"] == 4 and counts["block_ram"] == 0
    assert counts["ff"] == netlist.types["TRELLIS_FF"]
    assert "$scopeinfo" not in netlist.types


def test_components_share_the_cells(netlist):
    shares = netlist.share(ECP5)
    assert shares["mesh"]["dsp"] == 4
    assert {kind: sum(share[kind] for share in shares.values()) for kind in KINDS} == (
        netlist.counts(ECP5))
    cells = netlist.share(ECP5, depth=2)
    assert [cells[f"mesh.cell_{row}_{col}"]["dsp"] for row in (0, 1) for col in (0, 1)] == [1] * 4


@pytest.mark.parametrize("cell, place", [
    ("mesh.cell_0_1._08__MULT18X18D_P9", Place("mesh.cell_0_1", "")),
    # Named after the top's output, which the last cell drives.
    ("sums_TRELLIS_FF_Q_27", Place("mesh.cell_1_1", "sum_out")),
    # An adder, named after the register behind it.
    ("sums_TRELLIS_FF_Q_27_DI_CCU2C_S0", Place("mesh.cell_1_1", "sum_out")),
    ("sums_TRELLIS_FF_Q_1", Place("deskew", "o")),
    ("tags.words_TRELLIS_FF_Q_10", Place("tags", "words")),
])
def test_places_of_recorded_cells(netlist, cell, place):
    assert netlist.cells[cell].place == place


@pytest.mark.parametrize("nets, place", [
    (["a.total"], Place("a", "total")),
    (["a_sum"], Place("a", "sum")),                    # an output: in the component
    (["total", "a_i"], Place("", "total")),            # an input: outside
    (["a_i"], Place("a", "i")),                        # nothing better is known
    (["a.b_o", "a.x"], Place("a.b", "o")),             # the innermost
    (["a._12_"], Place("a", "")),
    (["a.total_LUT4_Z"], Place("a", "total")),         # made up, and nobody knows the cell
    (["x.y.z"], Place("", "x.y.z")),                   # dots of a memory
])
def test_places_by_nets(nets, place):
    names = Names({"a": "outer", "a.b": "inner"},
                  {"outer": {"i": True, "sum": False}, "inner": {"o": False}}, {"LUT4"})
    assert names.places({"cell": nets}) == {"cell": place}
