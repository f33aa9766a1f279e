"""What an exported file looks like."""

import os
import re
import subprocess
import sys

import pytest
from verilog_tools import LANGUAGES, WAIVED, lint

from cubewave.rtl import Design
from cubewave.sim.errors import OptionError
from cubewave.sim.export import export_top
from cubewave.sim.export.names import KEYWORDS

SMALLEST = dict(
    rows=1, cols=1, activation_bits=4, weight_bits=4, accumulator_bits=16, weight_fifo_depth=1,
    input_slots=1, slot_bytes=1, accumulator_banks=1, accumulator_rows=1,
    memory_bytes_per_cycle=1, memory_latency_cycles=0, memory_outstanding=1,
    memory_transaction_bytes=1, buffer_port_rows=1, lanes=1, sfu_lanes=1, handoff_slots=1,
    handoff_bytes_per_cycle=1)
ODD = dict(
    rows=3, cols=2, dataflow="output_stationary", buffer_port_rows=2, weight_fifo_depth=3,
    input_slots=3, accumulator_rows=5, accumulator_banks=3, mac_latency=3, lanes=2,
    vector_units=2, vector_schedule="pipelined", handoff="staged", handoff_slots=2)
MODULE = re.compile(r"^module (\w+) \(\n(.*?)\n\);\n(.*?)^endmodule$", re.MULTILINE | re.DOTALL)


def identifiers(text):
    """Every name that a file declares."""
    text = re.sub(r'"[^"]*"', "", text)
    ports = re.findall(r"^  (?:input|output)(?: reg)? (?:\[[^\]]*\] )?(\S+?),?$", text, re.M)
    inner = re.findall(r"^  (?:wire|reg|integer) (?:\[[^\]]*\] )?([^\s;]+)", text, re.M)
    instances = re.findall(r"^  \w+ (\S+) \(\n", text, re.M)
    return [*ports, *inner, *instances, *re.findall(r"^module (\S+)", text, re.M)]


@pytest.mark.parametrize("top, settings", [
    ("core", {}), ("machine", SMALLEST), ("core", ODD)], ids=["tiny", "smallest", "odd"])
def test_f102_f104_names_and_lint(export, code, tmp_path, top, settings):
    exported = export(top, **settings)
    path = tmp_path / "exported.v"
    path.write_text(exported.text)
    text = code(exported.text)
    names = identifiers(text)
    assert len(names) > 1000
    assert [name for name in names if name in KEYWORDS or not re.fullmatch(r"\w+", name)] == []
    assert "\\" not in text and "[-1:0]" not in text and '""' not in text
    assert re.findall(r"\$(?!signed\b)\w+|always @\*|always @\(\*\)|casez", text) == []
    assert not re.search(r"(?<![\w.])/(?:root|work|tmp|home|usr)/", exported.text)
    for language in LANGUAGES:
        assert lint(path, exported.top, language) == []


def test_waivers_are_few_and_justified():
    assert set(WAIVED) == {"DECLFILENAME", "UNUSEDSIGNAL", "WIDTH"}
    assert all(WAIVED.values())


def test_each_distinct_module_is_there_once(export):
    exported = export()
    names = [match[1] for match in MODULE.finditer(exported.text)]
    assert names == [module.name for module in exported.modules]
    assert len(names) == len(set(names)) and names[-1] == exported.top == "cubewave_core"
    bodies = [match[3] for match in MODULE.finditer(exported.text)]
    assert len(bodies) == len(set(bodies))
    cells = re.findall(r"^  cubewave_weight_stationary_cell (\w+) \(", exported.text, re.M)
    assert cells == [f"cell_{row}_{col}" for row in range(4) for col in range(4)]
    assert len(re.findall(r"^  cubewave_vector_slot \w+ \(", exported.text, re.M)) > 3
    assert {"cubewave_load_queue", "cubewave_job_queue", "cubewave_mesh",
            "cubewave_weight_fifo"} <= set(names)
    assert all(f"//   {name}\n" in exported.text for name in names)


def test_ports_of_a_cell(export):
    exported = export("cell")
    (name, head, _body), = MODULE.findall(exported.text)
    assert name == "cubewave_weight_stationary_cell"
    assert head.replace(" reg", "").split(",\n") == [
        "  input clk", "  input rst", "  input [8:0] activation_in",
        "  output [8:0] activation_out", "  input turn_in", "  output turn_out",
        "  input [7:0] weight_in", "  output [7:0] weight_out", "  input weight_valid_in",
        "  output weight_valid_out", "  input [17:0] sum_in", "  output [17:0] sum_out"]
    assert "//   input  [8:0] activation_in  signed\n" in exported.text
    assert "Weight-stationary multiply-accumulate" not in exported.text  # the file's docstring
    assert "// One cell of the array: holds a weight" in exported.text


def test_header_lists_every_field_of_a_port(export):
    text = export("weight_fifo").text
    assert "//   input  [" in text and "i__payload" in text
    assert "[32 * i +: 32]  element i, 0 to" in re.sub(r"\[\d+ \* i \+: \d+\]",
                                                        "[32 * i +: 32]", text)
    for field in ("rows", "count", "first", "last", "tag", "slot unsigned"):
        assert re.search(rf"//       +\[[^\]]+\]  {field}\n", text), field
    assert "//   i is always ready.\n" in text
    assert "// Streams (X__payload, X__valid, X__ready): a word passes" in text
    assert "//   rows = 4\n" in text


def test_status_values_have_names_in_the_header(export):
    assert re.search(r"//   output \[2:0\] status  0 IDLE, 1 BUSY, 2 DRAIN", export("store").text)


def test_same_bytes_on_every_run(tmp_path):
    script = ("import sys; from cubewave.rtl import Design; from cubewave.sim.export import "
              "export_top; sys.stdout.write(export_top(Design(), 'matrix_unit').text)")
    first, second = (subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in ("1", "2"))
    assert first == second and first.count("\n") > 300


def test_a_component_of_nothing_but_wires_is_a_module(export, code):
    exported = export("row_skew", **SMALLEST)
    assert "  assign o = i;\n" in code(exported.text)


def test_f106_memories_have_a_registered_output(export, code):
    text = code(export().text)
    memories = re.findall(r"^  reg \[\d+:0\] (\w+) \[\d+:0\];$", text, re.M)
    assert len(memories) >= 5
    for name in set(memories):
        reads = re.findall(rf"^.*[=] {name}\[.*$", text, re.M)
        assert reads and all(re.fullmatch(rf"    +\w+ <= {name}\[\w+(?:\[[\d:]+\])?\];", line)
                             for line in reads), reads
        for start in re.finditer(rf"<= {name}\[", text):
            block = text[:start.start()].rpartition("always")[2]
            assert block.startswith(" @(posedge clk)")


def test_f108_no_wide_multiplier_in_the_array(export, code):
    text = code(export("matrix_unit").text)
    widths = {name: int(high or 0) + 1 for high, name in re.findall(
        r"^  (?:input|output|wire|reg)(?: reg| wire)? (?:\[(\d+):0\] )?(\w+)", text, re.M)}
    products = re.findall(r"\$signed\((\w+)\) \* \$signed\((\w+)\);", text)
    assert len(products) == len(re.findall(r" \* ", text)) == 1  # in the module of the cell
    assert sorted(widths[operand] for operand in products[0]) == [8, 9]


@pytest.mark.parametrize("name, top", [
    ("array", "cubewave_matrix_unit"), ("mesh", "cubewave_mesh"), ("store", "cubewave_store_unit"),
    ("core.fifo.tiles", "cubewave_queue"), ("load_queue", "cubewave_queue"),
    ("vector_flags", "cubewave_vector_flags"), ("memory", "cubewave_memory_channel")])
def test_any_component_can_be_the_top(export, name, top):
    exported = export(name)
    assert exported.top == top
    assert f"// {top}: " in exported.text


def test_unknown_components_are_refused_with_the_nearest():
    with pytest.raises(OptionError, match='^unknown component "matrx_unit"; the nearest valid one '
                                          'is "matrix_unit"$'):
        export_top(Design(), "matrx_unit")
