"""`cubewave export`."""

import os
import re

import pytest

from cubewave.sim.cli import export as export_module


def test_a_component(cubewave, tmp_path):
    result = cubewave("export", "--top", "weight_fifo", "-s", "rows=3", "-o", "fifo.v")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "fifo.v").read_text()
    assert result.stdout == (f"top       cubewave_weight_fifo\nmodules   2\n"
                             f"lines     {text.count(chr(10)):,}\nfile      fifo.v\n")
    assert text.startswith("// cubewave_weight_fifo: ") and "//   rows = 3\n" in text
    assert os.listdir(tmp_path) == ["fifo.v"]


def test_a_test_bench_of_two_runs(cubewave, tmp_path):
    result = cubewave("export", "--top", "array", "-o", "array.v", "--testbench", "array_tb.v",
                      "gemm m=2", "gemm m=3 k=4")
    assert result.exit_code == 0, result.output
    assert sorted(os.listdir(tmp_path)) == ["array.v", "array_tb.hex", "array_tb.v"]
    cycles = int(re.search(r"^cycles +(\d+) recorded$", result.stdout, re.M)[1])
    assert len((tmp_path / "array_tb.hex").read_text().splitlines()) == cycles
    bench = (tmp_path / "array_tb.v").read_text()
    assert f"localparam CYCLES = {cycles};" in bench and "Run: gemm m=2, gemm m=3 k=4." in bench
    assert 'stimulus = "array_tb.hex";' in bench
    assert "cubewave_matrix_unit dut (\n    .clk(clk),\n    .rst(rst),\n" in bench


def test_files_are_replaced(cubewave, tmp_path):
    (tmp_path / "cell.v").write_text("old")
    assert cubewave("export", "--top", "cell", "-o", "cell.v").exit_code == 0
    assert (tmp_path / "cell.v").read_text().startswith("// cubewave_weight_stationary_cell")


@pytest.mark.parametrize("args, message", [
    ([], "Missing option '-o' / '--output'."),
    (["-o", "x.v", "--top", "matrx"],
     '--top matrx: unknown component "matrx"; the nearest valid one is "'),
    (["-o", "x.v", "--design", "tinny"],
     '--design tinny: unknown preset "tinny"; the nearest valid one is "tiny"'),
    (["-o", "x.v", "-s", "rows=0"], "-s rows=0: rows must be an integer from 1 to 1024 cells"),
    (["-o", "-"], "-o -: must be the name of a file"),
    (["-o", "none/x.v"], "-o none/x.v: cannot be written: there is no folder none"),
    (["-o", "x.v", "gemm"], "gemm: a workload needs --testbench TB.v"),
    (["-o", "x.v", "--testbench", "tb.v"], "--testbench tb.v: needs a workload, such as gemm"),
    (["-o", "x.v", "--testbench", "x.v", "gemm"],
     "--testbench x.v: cannot be written: the file of -o too"),
    (["-o", "tb.hex", "--testbench", "tb.v", "gemm"],
     "--testbench (the .hex beside it) tb.hex: cannot be written: the file of -o too"),
    (["-o", "x.v", "--testbench", "tb.v", "gem"],
     'unknown workload "gem"; the nearest valid one is "gemm"'),
    (["-o", "x.v", "--testbench", "tb.v", "gemm m=0"], "-p m=0: m must be an integer from 1 to "),
    (["-o", "x.v", "--testbench", "tb.v", "gemm m"], "workload gemm m: m: must be PARAM=VALUE"),
    (["-o", "x.v", "--testbench", "tb.v", "topology"], "topology: "),
    (["-o", "x.v", "--testbench", "tb.v", "--top", "machine", "gemm"],
     "--top machine: machine has memories whose contents are not among its inputs"),
    (["-o", "x.v", "--testbench", "tb.v", "--top", "nothing", "gemm"],
     '--top nothing: unknown component "nothing"'),
])
def test_refusals(refused, args, message):
    assert refused("export", *args).startswith(message)


def test_an_interrupt_leaves_what_was_there(cubewave, tmp_path, monkeypatch):
    (tmp_path / "tb.v").write_text("old")

    def interrupted(recording):
        yield "0\n"
        raise KeyboardInterrupt

    monkeypatch.setattr("cubewave.sim.export.stimulus_text", interrupted)
    result = cubewave("export", "--top", "cell", "-o", "cell.v", "--testbench", "tb.v", "gemm")
    assert result.exit_code == 130 and result.stderr.strip() == "interrupted"
    assert os.listdir(tmp_path) == ["tb.v"] and (tmp_path / "tb.v").read_text() == "old"
    assert export_module.command.name == "export"
