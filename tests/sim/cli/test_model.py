"""`cubewave model`."""

import builtins
import json
import xml.etree.ElementTree as ElementTree

import pytest

from cubewave.sim.analytic.model import find, registry


@pytest.fixture
def document(cubewave):
    """The JSON of a command, which must end with status 0."""

    def run(*args):
        result = cubewave(*args, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout, parse_constant=pytest.fail)

    return run


@pytest.fixture
def without_matplotlib(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


# model


def test_list_has_a_line_for_each_model(cubewave):
    result = cubewave("model")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [model.name for model in registry()]
    assert all(len(line) <= 120 for line in lines)


def test_list_as_json_has_parameters_units_and_ranges(document):
    models = {model["name"]: model for model in document("model")["models"]}
    assert set(models) == {model.name for model in registry()}
    little = models["little"]
    assert little["parameters"]["latency_ns"] == {
        "default": 500, "unit": "ns", "range": "above 0 to 1e+15",
        "description": "from the start of a transaction to its completion"}
    assert little["parameters"]["bandwidth_gb_per_s"]["default"] == 1008
    assert little["results"]["attainable_gb_per_s"]["unit"] == "GB/s"
    assert little["tables"] == {"device": "devices:rtx4090"}


@pytest.mark.parametrize("name", [model.name for model in registry()])
def test_every_model_prints_and_yields_one_flat_object(cubewave, document, name):
    flat = document("model", name)
    assert flat.pop("model") == name
    assert not any(isinstance(value, dict | list) for value in flat.values())
    assert flat == {**find(name).values({}), **find(name)()}
    result = cubewave("model", name)
    assert result.exit_code == 0
    assert all(word in result.stdout for word in flat)
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_parameters_and_devices_are_set(document, tmp_path):
    (tmp_path / "card.toml").write_text("bandwidth_gb_per_s = 100\n", encoding="utf-8")
    flat = document("model", "step-time", "device=card.toml", "batch=4")
    assert (flat["device"], flat["bandwidth_gb_per_s"], flat["batch"]) == ("card.toml", 100, 4)
    assert document("model", "step-time", "device=h100",
                    "bandwidth_gb_per_s=10")["bandwidth_gb_per_s"] == 10


def test_several_values_are_a_table(cubewave, document):
    result = cubewave("model", "input-slot-bounds", "slots=1,2,3,4", "--field", "buffer_bytes",
                      "--field", "limited_by")
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["slots", "buffer_bytes", "limited_by"], ["1", "16", "KiB", "latency"],
        ["2", "32", "KiB", "latency"], ["3", "48", "KiB", "matrix"],
        ["4", "64", "KiB", "matrix"]]
    flat = document("model", "input-slot-bounds", "slots=1,2", "wait_ticks=0,128")
    assert flat["slots"] == [1, 1, 2, 2] and flat["wait_ticks"] == [0, 128, 0, 128]
    assert flat["m"] == 128 and len(flat["lifetime_ticks"]) == 4


def test_wide_tables_are_not_cut(cubewave):
    result = cubewave("model", "decode-step", "batch=1,64", "device=h100,m4max",
                      "matrix_tflops_per_s=100")
    assert result.exit_code == 0 and "…" not in result.stdout
    assert len(result.stdout.splitlines()) == 5


@pytest.mark.parametrize("args,message", [
    (("rooflin",), 'unknown model "rooflin"; the nearest valid one is "roofline"'),
    (("roofline", "mm=1"), 'unknown parameter of roofline "mm"; the nearest valid one is "m"; '
     "valid are device, m, k, n, element_bytes, matrix_tflops_per_s, bandwidth_gb_per_s"),
    (("roofline", "m"), "m: must be PARAM=VALUE; valid are device, m, k, n, "),
    (("roofline", "m="), "m=: a value is missing; give m=VALUE or m=VALUE,VALUE"),
    (("roofline", "m=1,,2"), "m=1,,2: a value is missing"),
    (("roofline", "m=1", "m=2"), "m=2: m is given twice, before as m=1"),
    (("roofline", "m=0"), "m must be an integer from 1 to 1073741824 rows, not 0"),
    (("roofline", "m=1.5"), "m must be an integer from 1 to 1073741824 rows, not 1.5"),
    (("roofline", "bandwidth_gb_per_s=nan"), "bandwidth_gb_per_s must be a number above 0 to "
     '1e+15 GB/s, not "nan"'),
    (("roofline", "device=h10"), 'unknown device "h10"; the nearest valid one is "h100"'),
    (("roofline", "--field", "flop"), '--field flop: unknown result "flop"; the nearest valid '
     'one is "flops"; valid are flops, '),
    (("roofline", "--plot", "x.svg"), "--plot x.svg: needs a parameter with several values"),
    (("roofline", f"m={','.join(map(str, range(1, 102)))}",
      f"k={','.join(map(str, range(1, 101)))}"), "roofline: 10,100 combinations of values; at "
     "most 10,000"),
    (("--field", "flops"), "--field flops: needs the NAME of a model"),
    (("--plot", "x.svg"), "--plot x.svg: needs the NAME of a model"),
    (("attention-block", "reads=never"), 'reads must be once or per_block, not "never"'),
])
def test_model_refuses(refused, args, message):
    assert refused("model", *args).startswith(message)


# Diagrams


def texts(path):
    return {element.text for element in ElementTree.parse(path).iter()
            if element.tag.endswith("}text")}


def test_plot_is_an_svg_and_the_same_every_time(cubewave, tmp_path):
    pytest.importorskip("matplotlib")
    args = ("model", "roofline", "m=1,16,256", "device=h100,rtx4090", "--field",
            "bound_seconds", "--plot", "x.svg")
    assert cubewave(*args).exit_code == 0
    first = (tmp_path / "x.svg").read_bytes()
    assert cubewave(*args).exit_code == 0
    assert (tmp_path / "x.svg").read_bytes() == first
    shown = texts(tmp_path / "x.svg")
    assert {"m, rows", "bound_seconds, s", "device=h100", "device=rtx4090"} <= shown


def test_plot_of_names_and_of_gaps(cubewave, tmp_path):
    pytest.importorskip("matplotlib")
    assert cubewave("model", "step-time", "device=m4,m5,h100", "--plot", "x.svg").exit_code == 0
    assert {"m4", "m5", "h100", "read_seconds, s"} <= texts(tmp_path / "x.svg")
    # At the lower rates some crossovers exist, at the higher ones none.
    assert cubewave("model", "ridge", "matrix_tflops_per_s=100,1000,10000", "--field",
                    "crossover_rows", "--plot", "y.svg").exit_code == 0


@pytest.mark.parametrize("args,message", [
    (("--field", "flops", "--field", "ridge"), "--plot x.svg: the results must have one unit, "
     "not FLOP, FLOP/byte; choose others with --field"),
    (("--field", "limited_by"), "--plot x.svg: the results must have one unit, not words"),
    (("k=1,2,3,4,5", "n=1,2,3"), "--plot x.svg: 15 lines; at most 12"),
])
def test_plots_that_cannot_be_drawn_are_refused(refused, args, message):
    pytest.importorskip("matplotlib")
    assert refused("model", "roofline", "m=1,2", *args, "--plot", "x.svg").startswith(message)


def test_without_matplotlib_the_message_says_how_to_get_it(refused, without_matplotlib):
    message = "needs matplotlib; install it with `pip install 'cubewave[plot]'`"
    assert refused("model", "roofline", "m=1,2", "--plot", "x.svg") == f"--plot x.svg: {message}"
    assert refused("run", "gemm", "--roofline", "x.svg") == f"--roofline x.svg: {message}"
