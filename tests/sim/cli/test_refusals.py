"""Bad input: status 2, one line that names option, field and range, nothing written."""

import re

import numpy as np
import pytest

RATE = ('a positive integer, a fraction such as "340/7" (numerator and denominator up to 1048576) '
        'or "unlimited", in bytes/cycle')


# Commands and options


@pytest.mark.parametrize("args, message", [
    (["runn"], 'unknown command "runn"; the nearest valid one is "run"'),
    (["run", "gem"], 'unknown workload "gem"; the nearest valid one is "gemm"'),
    (["run"], "Missing argument 'WORKLOAD'."),
    (["run", "gemm", "more"], "Got unexpected extra argument (more)"),
    (["run", "gemm", "--json"], "Option '--json' requires an argument."),
    (["run", "gemm", "--level", "cycles"], "--level cycles: must be rtl, cycle, analytic or all"),
    (["run", "gemm", "--backend", "compiledd"],
     "--backend compiledd: must be auto, pysim or compiled"),
    (["run", "gemm", "--timing", "idle"], "--timing idle: must be rtl or ideal"),
    (["run", "gemm", "--seed", "-1"], "--seed -1: must be an integer from 0 to 2147483647"),
    (["run", "gemm", "--seed", "x"], "--seed x: must be an integer from 0 to 2147483647"),
    (["run", "gemm", "--no-output"], "--no-output: needs --level cycle or analytic, not rtl; at "
     "level rtl the hardware computes its output"),
    (["run", "gemm", "--no-output", "--level", "all"], "--no-output: needs --level cycle or "),
    (["run", "gemm", "--timing", "ideal"], "--timing ideal: needs --level cycle, not rtl"),
    (["run", "gemm", "--timing", "ideal", "--level", "all"],
     "--timing ideal: needs --level cycle, not all"),
    (["run", "gemm", "--level", "cycle", "--backend", "pysim"],
     "--backend pysim: needs --level rtl or all, not cycle"),
    (["run", "gemm", "--level", "analytic", "--backend", "pysim"],
     "--backend pysim: needs --level rtl or all, not analytic"),
    (["designs", "edgy"], 'unknown preset "edgy"; the nearest valid one is "edge"'),
    (["workloads", "gem"], 'unknown workload "gem"; the nearest valid one is "gemm"'),
])
def test_command_lines(refused, args, message):
    assert refused(*args).startswith(message)


def test_unknown_option_names_the_nearest_and_all(refused):
    line = refused("run", "gemm", "--vdc", "x.vcd")
    assert line.startswith('unknown option of cubewave run "--vdc"; the nearest valid one is '
                           '"--vcd"; valid are --design, -s, -p, --level, ')


# Designs


@pytest.mark.parametrize("setting, message", [
    ("rows=0", "rows must be an integer from 1 to 1024 cells, not 0"),
    ("cols=-1", "cols must be an integer from 1 to 1024 cells, not -1"),
    ("memory_bytes_per_cycle=0", f'memory_bytes_per_cycle must be {RATE}, not "0"'),
    ("activation_bits=0", "activation_bits must be an integer from 4 to 16 bits, not 0"),
    ("weight_fifo_depth=-3",
     "weight_fifo_depth must be an integer from 1 to 1024 tiles, not -3"),
    ("rows=1.5", 'rows must be an integer from 1 to 1024 cells, not "1.5"'),
    ("rows=True", 'rows must be an integer from 1 to 1024 cells, not "True"'),
    ("rowz=3", 'unknown field "rowz"; the nearest valid one is "rows"'),
])
def test_f091_senseless_fields(refused, setting, message):
    assert refused("run", "gemm", "-s", setting) == f"-s {setting}: {message}"


def test_f091_fields_that_do_not_fit_together(refused):
    assert refused("run", "gemm", "-s", "slot_bytes=3").startswith(
        "-s slot_bytes=3: slot_bytes must be at least 4 bytes")


@pytest.mark.parametrize("settings, message", [
    (["rows"], "-s rows: must be FIELD=VALUE"),
    (["=3"], "-s =3: must be FIELD=VALUE"),
    (["rows=3", "rows=4"], "-s rows=4: rows is given twice, before as rows=3"),
])
def test_malformed_settings(refused, settings, message):
    assert refused("run", "gemm", *(part for text in settings for part in ("-s", text))) == message


@pytest.mark.parametrize("text, message", [
    ("rows = 0\n", "rows must be an integer from 1 to 1024 cells, not 0"),
    ('rows = "four"\n', 'rows must be an integer from 1 to 1024 cells, not "four"'),
    ("rows = true\n", "rows must be an integer from 1 to 1024 cells, not True"),
    ("rowz = 4\n", 'unknown field "rowz"; the nearest valid one is "rows"'),
    ('preset = "tinny"\n', 'unknown preset "tinny"; the nearest valid one is "tiny"'),
    ("rows 4\n", "not valid TOML: "),
    ("[array]\nrows = 4\n", 'unknown field "array"; the nearest valid one is '),
])
def test_f088_malformed_design_file_names_file_and_field(refused, tmp_path, text, message):
    (tmp_path / "bad.toml").write_text(text)
    assert refused("run", "gemm", "--design", "bad.toml").startswith(f"bad.toml: {message}")


def test_f088_empty_line_at_the_end_of_a_design_file(cubewave, tmp_path):
    (tmp_path / "good.toml").write_text("rows = 3\n\n\n")
    assert cubewave("run", "gemm", "--design", "good.toml").exit_code == 0


@pytest.mark.parametrize("design, message", [
    ("tinny", '--design tinny: unknown preset "tinny"; the nearest valid one is "tiny", or name a '
              'FILE.toml'),
    ("none.toml", "none.toml: cannot be read: No such file or directory"),
    ("./tiny", "./tiny: cannot be read: No such file or directory"),
])
def test_unknown_designs(refused, design, message):
    assert refused("run", "gemm", "--design", design) == message


# Workloads


@pytest.mark.parametrize("parameter, message", [
    ("m=0", "m must be an integer from 1 to 1048576 rows, not 0"),
    ("m=-1", "m must be an integer from 1 to 1048576 rows, not -1"),
    ("k=1.5", 'k must be an integer from 1 to 1048576 columns, not "1.5"'),
    ("n=True", 'n must be an integer from 1 to 1048576 columns, not "True"'),
    ("order=kmn", 'order must be "mn" or "nm", not "kmn"'),
    ("unsigned=1", 'unsigned must be true or false, not "1"'),
    ("mm=1", 'unknown parameter of gemm "mm"; the nearest valid one is "m"; valid are m, k, n, a, '
             'b, unsigned, a_resident, store_output, accumulate, m_tile, order, slices_per_slot, '
             'tile_rows, bias, relu, requantize'),
    ("a=x.npy", "cannot be read: No such file or directory; expected a .npy file"),
])
def test_f091_senseless_parameters(refused, parameter, message):
    assert refused("run", "gemm", "-p", parameter) == f"-p {parameter}: {message}"


@pytest.mark.parametrize("level", ["rtl", "cycle", "all", "analytic"])
def test_choices_that_do_not_fit_the_design(refused, level):
    assert refused("run", "gemm", "-p", "m_tile=6", "--level", level) == (
        "m_tile must be an integer from 1 to 5, not 6")


def _files(folder):
    np.save(folder / "good.npy", np.ones((4, 4), np.int64))
    np.save(folder / "tall.npy", np.ones((5, 4), np.int64))
    np.save(folder / "cube.npy", np.ones((4, 4, 4), np.int64))
    np.save(folder / "half.npy", np.full((4, 4), 0.5))
    np.save(folder / "text.npy", np.array([["a"]]))
    np.save(folder / "bool.npy", np.ones((4, 4), bool))
    np.save(folder / "large.npy", np.full((4, 4), 300))
    np.save(folder / "empty.npy", np.ones((0, 4), np.int64))
    np.save(folder / "objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    np.savez(folder / "archive.npz", a=np.ones((4, 4)))
    (folder / "words.npy").write_text("1 2 3\n")
    (folder / "nothing.npy").write_bytes(b"")
    good = (folder / "good.npy").read_bytes()
    (folder / "cut.npy").write_bytes(good[:-8])
    (folder / "header.npy").write_bytes(good.replace(b"(4, 4)", b"print("))
    (folder / "folder.npy").mkdir()


@pytest.mark.parametrize("level", ["rtl", "cycle", "analytic"])
@pytest.mark.parametrize("name, message", [
    ("cube.npy", "a must have 2 dimensions, not 3"),
    ("half.npy", "a must hold integers (floats only when integral)"),
    ("text.npy", "a must hold integers, not <U1"),
    ("bool.npy", "a must hold integers, not bool"),
    ("large.npy", "a must be from -128 to 127 for this design, but holds 300"),
    ("empty.npy", "a must have at least 1 row and 1 column, not shape (0, 4)"),
    ("objects.npy", "holds pickled Python objects, which are never loaded; expected an array of "
                    "integers"),
    ("archive.npz", "not a .npy file; expected an array of integers as numpy.save writes it"),
    ("words.npy", "not a .npy file; expected an array of integers as numpy.save writes it"),
    ("nothing.npy", "not a .npy file; expected an array of integers as numpy.save writes it"),
    ("cut.npy", "a damaged .npy file ("),
    ("header.npy", "a damaged .npy file ("),
    ("folder.npy", "not a file; expected a .npy file"),
    ("missing.npy", "cannot be read: No such file or directory; expected a .npy file"),
])
def test_user_data(refused, tmp_path, name, message, level):
    _files(tmp_path)
    line = refused("run", "gemm", "-p", f"a={name}", "-p", "b=good.npy", "--level", level,
                   "--json", "out.json")
    assert line.startswith(f"-p a={name}: {message}")


@pytest.mark.parametrize("args, message", [
    (["-p", "a=good.npy"], "-p a=good.npy: needs b too, -p b=FILE.npy"),
    (["-p", "b=good.npy"], "-p b=good.npy: needs a too, -p a=FILE.npy"),
    (["-p", "a=good.npy", "-p", "b=good.npy", "-p", "m=4"], "-p m=4 -p a=good.npy -p b=good.npy: "
     "m, k and n come from the files of a and b; leave them out"),
    (["-p", "a=good.npy", "-p", "b=tall.npy"], "-p a=good.npy -p b=tall.npy: b must have as many "
     "rows as a has columns (4), not 5"),
    (["-p", "a=good.npy", "-p", "b=good.npy", "--seed", "1"], "--seed 1: -p a=good.npy -p "
     "b=good.npy leave nothing random; leave the seed out"),
])
def test_user_data_that_does_not_go_together(refused, tmp_path, args, message):
    _files(tmp_path)
    assert refused("run", "gemm", *args) == message


# Output files


@pytest.mark.parametrize("args, message", [
    (["--vcd-depth", "cells"], "--vcd-depth cells: needs --vcd FILE"),
    (["--vcd-signals", "x", "--vcd-cycles", "1:2"],
     "--vcd-signals x --vcd-cycles 1:2: needs --vcd FILE"),
    (["--vcd", "x.vcd", "--level", "analytic"],
     "--vcd x.vcd: needs --level rtl or all, not analytic"),
    (["--vcd", "x.vcd", "--vcd-depth", "deep"],
     "--vcd-depth deep: must be control, cells or memory"),
    (["--vcd", "x.vcd", "--vcd-signals", "("],
     "--vcd-signals (: vcd signals must be a regular expression: "),
    (["--vcd", "x.vcd", "--vcd-cycles", "9"], "--vcd-cycles 9: must be FIRST:LAST, "),
    (["--vcd", "x.vcd", "--vcd-cycles", "9:5"], "--vcd-cycles 9:5: must be FIRST:LAST, "),
    (["--vcd", "x.vcd", "--vcd-cycles", "-1:5"], "--vcd-cycles -1:5: must be FIRST:LAST, "),
    (["--vcd", "no/x.vcd"], "--vcd no/x.vcd: cannot be written: there is no folder no"),
    (["--vcd", ""], "--vcd : cannot be written: not a file name"),
    (["--vcd", "/dev/null"], "--vcd /dev/null: cannot be written: not a regular file"),
    (["--json", "no/x.json"], "--json no/x.json: cannot be written: there is no folder no"),
    (["--json", "."], "--json .: cannot be written: not a file name"),
    (["--json", "in.toml", "--design", "in.toml"],
     "--json in.toml: cannot be written: an input of the same command"),
    (["--vcd", "same", "--json", "./same"], "--json ./same: cannot be written: the file of --vcd"),
    (["--vcd", "x.vcd", "--json", "x.gtkw"], "--json x.gtkw: cannot be written: the file of "),
])
def test_outputs(refused, tmp_path, args, message):
    (tmp_path / "in.toml").write_text("rows = 4\n")
    assert refused("run", "gemm", *args).startswith(message)


def test_refused_input_leaves_existing_outputs_alone(refused, tmp_path):
    for name in ("x.vcd", "x.gtkw", "x.json"):
        (tmp_path / name).write_text("mine\n")
    outputs = ["--vcd", "x.vcd", "--json", "x.json"]
    refused("run", "gemm", *outputs, "-p", "m=0")
    refused("run", "gemm", *outputs, "-p", "m_tile=6")
    refused("run", "gemm", *outputs, "-p", "a_resident=true", "-p", "m=4096", "--level", "all")
    refused("run", "gemm", *outputs, "-s", "rows=0")


# `waves`


def test_waves_refuses_what_is_no_waveform(refused, tmp_path):
    (tmp_path / "text.vcd").write_text("hello\n")
    assert refused("waves", "none.vcd") == (
        "none.vcd: cannot be read: No such file or directory; expected a .vcd file")
    assert refused("waves", "text.vcd") == (
        "text.vcd: not a VCD; expected a .vcd file as `cubewave run --vcd` writes it")


def test_messages_stay_on_one_line(refused):
    line = refused("run", "gemm", "-p", "m=1\n2")
    assert re.fullmatch(r"-p m=1 2: m must be .*", line)
