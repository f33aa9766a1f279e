"""The registry, parameters, units and data tables."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubewave.sim.analytic.model import LIMITED_BY, MODELS, find, model, registry
from cubewave.sim.analytic.parameters import choice, integer, real
from cubewave.sim.analytic.tables import TABLES, TEXTS, entry, table
from cubewave.sim.analytic.units import UNITS, UnitError, convert

NAMES = [item.name for item in registry()]


def test_there_are_many_models_each_with_a_test_by_hand():
    assert len(NAMES) >= 55 and len(set(NAMES)) == len(NAMES)
    tests = "".join(path.read_text(encoding="utf-8")
                    for path in Path(__file__).parent.glob("test_*_and_*.py"))
    assert set(NAMES) == set(re.findall(r'check\(\s*"([a-z0-9-]+)"', tests))


@pytest.mark.parametrize("name", NAMES)
def test_every_model_is_described_and_runs_on_its_defaults(name):
    item = find(name)
    documentation = " ".join(item.documentation.split())
    assert re.search(r"[Cc]hapter 4\.", documentation), "no source"
    assert re.fullmatch(r"4\.\d(\.\d)?", item.section) and len(item.summary) <= 72
    results = item()
    assert list(results) == [field.name for field in item.results]
    names = [*item.names, *results]
    assert len(set(names)) == len(names), "a result has the name of a parameter"
    for field in item.results:
        value = results[field.name]
        assert isinstance(value, str) == (field.unit == "text" or value == "none")
        assert value is None or isinstance(value, str) or math.isfinite(value)
        assert field.description and (field.name == LIMITED_BY) <= (field.unit == "text")
    for parameter in item.parameters:
        assert parameter.description and parameter.low < parameter.high or parameter.choices
        if not parameter.source:
            assert parameter.check(parameter.default) == parameter.default
        if parameter.unit not in UNITS:  # what is merely counted
            assert re.fullmatch(r"[a-zA-Z]+", parameter.unit), parameter.unit


@pytest.mark.parametrize("name", NAMES)
def test_results_are_finite_or_refused_at_the_ends_of_every_range(name):
    item = find(name)
    for parameter in item.parameters:
        if parameter.choices:
            ends = parameter.choices
        elif parameter.name in ("accesses", "blocks", "messages"):  # one step for each
            ends = (parameter.low, 1000)
        else:
            ends = (parameter.low + 1e-9 if parameter.above else parameter.low, parameter.high)
        for value in ends:
            try:
                results = item(**{parameter.name: value})
            except ValueError as error:
                assert str(error).startswith(f"{name}: ")
            else:
                assert all(math.isfinite(number) for number in results.values()
                           if isinstance(number, float))


def test_parameters_refuse_what_is_outside():
    whole, above = integer("rows", 4, "rows", "", high=9), real("time_us", 1, "us", "", high=5)
    assert whole.parse("7") == 7 and whole.check(3.0) == 3
    assert above.parse("1e-3") == 0.001 and above.parse(".5") == 0.5
    for value in (0, 10, 2.5, True, "3", math.nan, None):
        with pytest.raises(ValueError, match="^rows must be an integer from 1 to 9 rows, not "):
            whole.check(value)
    for value in (0, 5.1, math.inf, math.nan, "x"):
        with pytest.raises(ValueError, match="^time_us must be a number above 0 to 5 us, not "):
            above.check(value)
    with pytest.raises(ValueError, match='^way must be fast or slow, not "x"$'):
        choice("way", ("fast", "slow"), "").parse("x")
    for text in ("١", "1" * 41, "1e9999", "nan", "inf", "0x1", ""):
        with pytest.raises(ValueError):
            above.parse(text)


def test_unknown_names_are_refused_with_the_valid_ones():
    with pytest.raises(ValueError, match='^unknown model "rooflin"; the nearest valid one is '
                                         '"roofline"; `cubewave model` lists them$'):
        find("rooflin")
    with pytest.raises(ValueError, match='^unknown parameter of amdahl "speedupp"; the nearest '
                                         'valid one is "speedup"; valid are accelerated_us, '
                                         'other_us, speedup$'):
        find("amdahl")(speedupp=2)
    with pytest.raises(ValueError, match="^two models are called amdahl$"):
        model("amdahl", "4.0", "", [], {})(lambda: {})
    assert len(MODELS) == len(NAMES)


@pytest.mark.parametrize("value,unit,wanted,expected", [
    (3, "MiB", "byte", 3 << 20), (3 << 20, "byte", "MiB", 3), (1, "s", "us", 1e6),
    (5, "GB/s", "TB/s", 0.005), (0.25, "ratio", "percent", 25), (7, "rows", "tiles", 7),
    (2, "year", "s", 2 * 365 * 86400), (2, "ratio", "thirds", 6), (8, "GFLOP", "FLOP", 8e9)])
def test_units_convert(value, unit, wanted, expected):
    assert convert(value, unit, wanted) == expected


def test_units_of_different_kinds_do_not():
    with pytest.raises(UnitError, match="^byte is a data, s a time$"):
        convert(1, "byte", "s")


@given(st.floats(1e-9, 1e9), st.sampled_from(sorted(UNITS)), st.sampled_from(sorted(UNITS)))
def test_conversion_and_back_is_the_same(value, unit, other):
    if UNITS[unit][0] == UNITS[other][0]:
        assert convert(convert(value, unit, other), other, unit) == pytest.approx(value)


# Data tables


@pytest.mark.parametrize("name", TABLES)
def test_every_entry_has_a_source_and_positive_numbers(name):
    assert table(name)
    for values in table(name).values():
        assert values["source"]
        assert all(value >= 0 for key, value in values.items() if key not in TEXTS)


OWN = """[mine]
title = "My card"
bandwidth_gb_per_s = 100
matrix_tflops_per_s = 10
capacity_gb = 16
power_watts = 50
link_gb_per_s = 7
die_bandwidth_gb_per_s = 50
die_link_gb_per_s = 10
vector_tflops_per_s = 1

[other]
bandwidth_gb_per_s = 200
matrix_tflops_per_s = 20
capacity_gb = 16
power_watts = 60
link_gb_per_s = 8
die_bandwidth_gb_per_s = 60
die_link_gb_per_s = 20
vector_tflops_per_s = 2
"""


def test_a_users_device_works_wherever_a_built_in_one_does(tmp_path):
    path = tmp_path / "cards.toml"
    path.write_text(OWN, encoding="utf-8")
    used = 0
    for item in registry():
        picks = [name for name in item.picks if name.startswith("device")]
        if picks:
            used += 1
            own = item(**{name: f"{path}:{'mine' if name != 'device_b' else 'other'}"
                          for name in picks})
            assert own != item() or item.name == "unified-copy"
    assert used > 15
    assert entry("devices", f"{path}:other")["bandwidth_gb_per_s"] == 200


def test_a_users_network_and_energies_work_too(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text("layers = 2\nhidden = 8\nintermediate = 10\nheads = 2\nkv_heads = 1\n"
                    "head_dim = 4\nvocabulary = 100\nexperts = 0\nexperts_per_token = 0\n"
                    "weight_bits = 16\nweight_group = 0\nscale_bytes = 0\n", encoding="utf-8")
    assert find("model-memory")(network=str(path))["kv_bytes_per_token"] == 32
    path.write_text("off_chip_pj_per_byte = 1\nflop_pj = 1\n", encoding="utf-8")
    assert find("decode-energy")(energies=str(path), weight_gb=1, kv_gb=1, gflop=1)[
        "token_joules"] == pytest.approx(0.003)


@pytest.mark.parametrize("text,suffix,message", [
    (OWN, "", "has 2 entries; choose one as {path}:ENTRY, ENTRY being mine, other"),
    (OWN, ":min", 'unknown device "min"; the nearest valid one is "mine"'),
    ("bandwith_gb_per_s = 1\n", "", 'own.toml: unknown number "bandwith_gb_per_s"; the nearest '
     'valid one is "bandwidth_gb_per_s"; valid are title, source'),
    ('bandwidth_gb_per_s = "fast"\n', "", 'own.toml.bandwidth_gb_per_s must be a number, not '
     '"fast"'),
    ("bandwidth_gb_per_s = true\n", "", "own.toml.bandwidth_gb_per_s must be a number, not True"),
    ("bandwidth_gb_per_s = inf\n", "", "own.toml.bandwidth_gb_per_s must be a number, not inf"),
    ("bandwidth", "", "cannot be read as a device: "),
])
def test_files_that_are_no_table_are_refused(tmp_path, text, suffix, message):
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    expected = f"{path}: {message.format(path=path)}"
    with pytest.raises(ValueError, match="^" + re.escape(expected)):
        find("step-time")(device=f"{path}{suffix}")


def test_missing_files_and_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="none.toml: cannot be read as a device: No such file"):
        entry("devices", str(tmp_path / "none.toml"))
    with pytest.raises(ValueError, match='^unknown device "h1000"; the nearest valid one is '
                                         '"h100"; valid are rtx3090, .* or FILE.toml$'):
        find("roofline")(device="h1000")
