"""The design: ranges, cross-field rules, derived values, presets and files."""

import dataclasses
import json
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubewave.rtl import Design, DesignError
from cubewave.rtl.design_fields import FIELDS, IntegerField
from cubewave.rtl.presets import PRESETS

RATE = ('a positive integer, a fraction such as "340/7" (numerator and denominator up to 1048576) '
        'or "unlimited", in bytes/cycle')
INTEGERS = {name: spec for name, spec in FIELDS.items() if isinstance(spec, IntegerField)}


def refused(message):
    return pytest.raises(DesignError, match=f"^{re.escape(message)}$")


@st.composite
def designs(draw):
    """Any valid design."""
    values = {name: draw(st.integers(spec.low, spec.high)) for name, spec in INTEGERS.items()}
    row_bytes = -(-values["rows"] * values["activation_bits"] // 8)
    least = row_bytes * values["buffer_port_rows"]
    values["slot_bytes"] = draw(st.integers(least, 1 << 26))
    values["accumulator_overflow"] = draw(st.sampled_from(["wrap", "saturate"]))
    values["weight_double_buffer"] = draw(st.booleans())
    parts = st.integers(1, 1 << 20)
    values["memory_bytes_per_cycle"] = draw(
        st.just("unlimited") | parts | st.builds(Fraction, parts, parts))
    return Design(**values)


# Ranges


@pytest.mark.parametrize("field, value, message", [
    ("rows", 0, "rows must be an integer from 1 to 1024 cells, not 0"),
    ("cols", -1, "cols must be an integer from 1 to 1024 cells, not -1"),
    ("memory_bytes_per_cycle", 0, f"memory_bytes_per_cycle must be {RATE}, not 0"),
    ("activation_bits", 0, "activation_bits must be an integer from 4 to 16 bits, not 0"),
    ("weight_bits", 0, "weight_bits must be an integer from 4 to 16 bits, not 0"),
    ("weight_fifo_depth", -3, "weight_fifo_depth must be an integer from 1 to 1024 tiles, not -3"),
    ("rows", 1.5, "rows must be an integer from 1 to 1024 cells, not 1.5"),
    ("rows", True, "rows must be an integer from 1 to 1024 cells, not True"),
])
def test_f091_senseless_parameters_are_refused(field, value, message):
    with refused(message):
        Design(**{field: value})
    with refused(message):
        dataclasses.replace(Design.preset("edge"), **{field: value})


def test_a_refusal_is_a_value_error():
    assert issubclass(DesignError, ValueError)


@pytest.mark.parametrize("spec", INTEGERS.values(), ids=INTEGERS)
def test_integer_range(spec):
    roomy = Design(slot_bytes=1 << 26)
    for good in (spec.low, spec.high):
        if spec.name != "slot_bytes" or good != spec.low:
            assert getattr(dataclasses.replace(roomy, **{spec.name: good}), spec.name) == good
    for bad in (spec.low - 1, spec.high + 1, float(spec.high), str(spec.high), None, False):
        shown = f'"{bad}"' if isinstance(bad, str) else repr(bad)
        with refused(f"{spec.name} must be an integer from {spec.low} to {spec.high} {spec.unit}, "
                     f"not {shown}"):
            dataclasses.replace(roomy, **{spec.name: bad})


@pytest.mark.parametrize("field, value, message", [
    ("dataflow", "row_stationary",
     'dataflow must be "weight_stationary" or "output_stationary", not "row_stationary"'),
    ("accumulator_overflow", "clip", 'accumulator_overflow must be "wrap" or "saturate", '
     'not "clip"'),
    ("accumulator_overflow", None, 'accumulator_overflow must be "wrap" or "saturate", not None'),
    ("weight_double_buffer", 1, "weight_double_buffer must be true or false, not 1"),
    ("weight_double_buffer", "yes", 'weight_double_buffer must be true or false, not "yes"'),
])
def test_choices(field, value, message):
    with refused(message):
        Design(**{field: value})


@pytest.mark.parametrize("value, shown", [
    (-1, "-1"), (True, "True"), (1.5, "1.5"), (16.0, "16.0"), ("", '""'), ("fast", '"fast"'),
    ("1.5", '"1.5"'), ("-4", '"-4"'), ("1/0", '"1/0"'), ("0/3", '"0/3"'), (" 4", '" 4"'),
    ("Unlimited", '"Unlimited"'), ("1/2/3", '"1/2/3"'), ("\N{SUPERSCRIPT TWO}", '"²"'),
    (Fraction(-1, 2), "Fraction(-1, 2)"), (Fraction(1, 1 << 21), "Fraction(1, 2097152)"),
    ((1 << 20) + 1, "1048577"), ("1048577/2", '"1048577/2"'), (float("inf"), "inf"),
])
def test_refused_bandwidth(value, shown):
    with refused(f"memory_bytes_per_cycle must be {RATE}, not {shown}"):
        Design(memory_bytes_per_cycle=value)


@pytest.mark.parametrize("value, shown", [
    pytest.param(10 ** 5000, "an integer of thousands of digits", id="huge"),
    ("two\nlines", r'"two\nlines"'),
    ("x" * 100, '"' + "x" * 56 + "..."),
    ("x" * 59, '"' + "x" * 56 + "..."),
    ("x" * 58, '"' + "x" * 58 + '"'),
    (np.array([[1], [2]]), "array([[1], [2]])"),
    (np.array(3), "array(3)"),
    (np.bool_(True), "np.True_"),
])
def test_a_message_is_one_short_line(value, shown):
    with refused(f"rows must be an integer from 1 to 1024 cells, not {shown}"):
        Design(rows=value)


def test_a_slot_holds_what_its_port_writes_at_once():
    message = ("slot_bytes must be at least 35 bytes, to hold buffer_port_rows = 5 activation "
               "rows of 7 bytes each, not 34")
    assert Design(rows=5, activation_bits=10, buffer_port_rows=5, slot_bytes=35).slot_rows == 5
    with refused(message):
        Design(rows=5, activation_bits=10, buffer_port_rows=5, slot_bytes=34)


def test_unknown_keyword():
    with pytest.raises(TypeError, match="wheels"):
        Design(wheels=4)


# Normal form


def test_numpy_values_become_plain_ones():
    design = Design(rows=np.int16(4), clock_hz=np.uint64(10 ** 11), weight_double_buffer=np.True_,
                    memory_bytes_per_cycle=np.int8(16), accumulator_overflow=np.str_("wrap"))
    assert design == Design(clock_hz=10 ** 11)
    assert {type(value) for value in dataclasses.astuple(design)} == {int, bool, str}


@pytest.mark.parametrize("given_as, stored", [
    (48, 48), ("48", 48), ("96/2", 48), (Fraction(48), 48), (np.int64(48), 48),
    ("340/7", Fraction(340, 7)), ("680/14", Fraction(340, 7)), (Fraction(1, 3), Fraction(1, 3)),
    ("2097152/2", 1 << 20), ("unlimited", "unlimited"),
])
def test_bandwidth_is_normalised(given_as, stored):
    design = Design(memory_bytes_per_cycle=given_as)
    assert design.memory_bytes_per_cycle == stored
    assert type(design.memory_bytes_per_cycle) is type(stored)
    same = Design(memory_bytes_per_cycle=stored)
    assert design == same and hash(design) == hash(same)
    assert design.memory_bandwidth == (None if stored == "unlimited" else stored)
    assert stored == "unlimited" or type(design.memory_bandwidth) is Fraction


def test_designs_are_frozen_and_hashable():
    design = Design.preset("edge")
    with pytest.raises(dataclasses.FrozenInstanceError):
        design.rows = 8
    assert {design: 1}[dataclasses.replace(Design(), **dataclasses.asdict(design))] == 1
    assert design != dataclasses.replace(design, rows=15)
    assert pickle.loads(pickle.dumps(design)) == design


def test_every_field_is_described():
    assert [field.name for field in dataclasses.fields(Design)] == list(FIELDS)
    for field in dataclasses.fields(Design):
        assert set(field.metadata) == {"description", "unit", "range"}
        assert field.metadata["description"] and field.metadata["range"]
        assert field.metadata["unit"] or field.type in (str, bool)
    rows = Design.__dataclass_fields__["rows"].metadata
    assert dict(rows) == {"description": "array size along K; along M when output stationary",
                          "unit": "cells", "range": "1 to 1024"}


# Derived values


def test_derived_values():
    design = Design(rows=5, cols=7, activation_bits=10, weight_bits=4, accumulator_bits=33,
                    slot_bytes=100, buffer_port_rows=4)
    assert design.activation_row_bytes == 7  # 50 bits
    assert design.activation_bytes == 2 and design.window_row_bytes == 10
    assert design.weight_row_bytes == 4  # 28 bits
    assert design.result_element_bytes == 5
    assert design.slot_rows == 12  # 14 fit, in whole writes of 4
    assert design.macs_per_cycle == 35
    with pytest.raises(AttributeError):
        design.slot_rows = 1


@given(designs())
def test_derived_values_of_any_design(design):
    assert 8 * design.activation_row_bytes - design.rows * design.activation_bits in range(8)
    assert 8 * design.activation_bytes - design.activation_bits in range(8)
    assert 8 * design.weight_row_bytes - design.cols * design.weight_bits in range(8)
    assert 8 * design.result_element_bytes - design.accumulator_bits in range(8)
    assert design.slot_rows % design.buffer_port_rows == 0
    used = design.slot_rows * design.activation_row_bytes
    write = design.buffer_port_rows * design.activation_row_bytes
    assert design.slot_rows >= 1 and 0 <= design.slot_bytes - used < write


# Presets


def test_presets():
    assert Design.presets() == ("tiny", "edge", "chapter", "b200-sm", "tpu-v1", "ascend-910",
                                "ascend-950")
    assert Design.preset("tiny") == Design()
    for name in Design.presets():
        assert list(PRESETS[name].fields) == list(FIELDS)
        assert all(source for _, source in PRESETS[name].fields.values())
        assert PRESETS[name].summary.startswith(
            f"{Design.preset(name).rows}x{Design.preset(name).cols}, ")


def test_presets_have_the_published_sizes():
    assert Design.preset("edge").macs_per_cycle == 256
    assert 2 * Design.preset("b200-sm").macs_per_cycle == 8192
    assert 2 * Design.preset("ascend-910").macs_per_cycle == 8192
    tpu = Design.preset("tpu-v1")
    assert tpu.macs_per_cycle == 65536
    assert tpu.input_slots * tpu.slot_bytes == 24 << 20
    sums = tpu.accumulator_banks * tpu.accumulator_rows * tpu.cols
    assert sums * tpu.result_element_bytes == 4 << 20
    assert tpu.rows * tpu.weight_row_bytes == 64 << 10
    assert tpu.memory_bandwidth * tpu.clock_hz == 34 * 10 ** 9
    ascend = Design.preset("ascend-910")
    assert ascend.memory_bandwidth * ascend.clock_hz == 94 * 10 ** 9


@pytest.mark.parametrize("name, m_n, k", [("chapter", 16, 32), ("b200-sm", 64, 128)])
def test_presets_have_the_ticks_of_the_slot_study(name, m_n, k):
    design = Design.preset(name)
    assert 2 * m_n * k / design.memory_bandwidth == 64
    assert design.memory_latency_cycles == 128
    assert m_n * m_n * k / design.macs_per_cycle == 128
    rows = m_n * k // design.rows  # of either operand; neither port nor tags limit the channel
    assert rows / design.buffer_port_rows <= 32
    assert design.memory_outstanding * design.memory_transaction_bytes >= m_n * k


@pytest.mark.parametrize("name, nearest", [("edeg", "edge"), ("TPU", "tpu-v1"), ("b200", "b200-sm"),
                                           ("ascend-91", "ascend-910")])
def test_unknown_preset(name, nearest):
    with refused(f'unknown preset "{name}"; the nearest valid one is "{nearest}"'):
        Design.preset(name)


def test_a_preset_name_is_text():
    with pytest.raises(DesignError, match="^unknown preset None; the nearest valid one is "):
        Design.preset(None)


# Dicts and files


@given(designs())
def test_round_trips(tmp_path_factory, design):
    path = tmp_path_factory.mktemp("design") / "design.toml"
    path.write_text(design.to_toml())
    assert Design.from_toml(path) == design
    assert Design.from_dict(json.loads(json.dumps(design.to_dict()))) == design
    text = {name: str(value) for name, value in design.to_dict().items()}
    assert Design.preset("edge").override(text) == design


def test_dict_of_a_preset():
    values = Design.preset("tpu-v1").to_dict()
    assert list(values) == list(FIELDS)
    assert values["memory_bytes_per_cycle"] == "340/7"
    assert values["rows"] == 256 and values["weight_double_buffer"] is True


def test_toml_says_what_each_field_means():
    lines = Design.preset("tpu-v1").to_toml().splitlines()
    assert lines[0] == "rows = 256  # cells: array size along K; along M when output stationary"
    assert 'memory_bytes_per_cycle = "340/7"  # bytes/cycle: bandwidth of the memory channel' \
        in lines


def test_toml_base(tmp_path):
    path = tmp_path / "d.toml"
    path.write_text('preset = "edge"\nrows = 8\n')
    assert Design.from_toml(str(path)) == dataclasses.replace(Design.preset("edge"), rows=8)
    path.write_text("cols = 2\n")
    assert Design.from_toml(path) == Design(cols=2)
    path.write_text("")
    assert Design.from_toml(path) == Design()


@pytest.mark.parametrize("text, message", [
    ("rowz = 4\n", 'unknown field "rowz"; the nearest valid one is "rows"'),
    ("weight_fifo = 4\n", 'unknown field "weight_fifo"; the nearest valid one is '
                          '"weight_fifo_depth"'),
    ("[memory]\nlatency = 4\n", 'unknown field "memory"; the nearest valid one is '
                                '"memory_outstanding"'),
    ('preset = "edgy"\n', 'unknown preset "edgy"; the nearest valid one is "edge"'),
    ("rows = 4.0\n", "rows must be an integer from 1 to 1024 cells, not 4.0"),
    ('rows = "4"\n', 'rows must be an integer from 1 to 1024 cells, not "4"'),
    ("rows = true\n", "rows must be an integer from 1 to 1024 cells, not True"),
    ('weight_double_buffer = "true"\n', 'weight_double_buffer must be true or false, not "true"'),
    ("memory_bytes_per_cycle = 48.5\n", f"memory_bytes_per_cycle must be {RATE}, not 48.5"),
    ("slot_bytes = 3\n", "slot_bytes must be at least 4 bytes, to hold buffer_port_rows = 1 "
                         "activation rows of 4 bytes each, not 3"),
    ("rows = 4\nrows = 5\n", "not valid TOML: Cannot overwrite a value (at line 2, column 9)"),
])
def test_refused_toml(tmp_path, text, message):
    path = tmp_path / "d.toml"
    path.write_text(text)
    with refused(f"{path}: {message}"):
        Design.from_toml(path)


def test_toml_that_cannot_be_read(tmp_path):
    with refused(f"{tmp_path / 'none.toml'}: cannot be read: No such file or directory"):
        Design.from_toml(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DesignError, match="b.toml: not valid TOML: "):
        Design.from_toml(tmp_path / "b.toml")


# The command line's -s FIELD=VALUE


def test_override():
    design = Design.preset("edge").override({
        "rows": "8", "clock_hz": "250_000_000", "weight_double_buffer": "False",
        "memory_bytes_per_cycle": "340/7", "accumulator_overflow": "saturate"})
    assert design == dataclasses.replace(
        Design.preset("edge"), rows=8, clock_hz=250_000_000, weight_double_buffer=False,
        memory_bytes_per_cycle=Fraction(340, 7), accumulator_overflow="saturate")
    assert design.override({}) == design
    assert design.override({"memory_bytes_per_cycle": "unlimited"}).memory_bandwidth is None


@pytest.mark.parametrize("options, message", [
    ({"rowz": "8"}, '-s rowz=8: unknown field "rowz"; the nearest valid one is "rows"'),
    ({"rows": "0"}, "-s rows=0: rows must be an integer from 1 to 1024 cells, not 0"),
    ({"rows": "1.5"}, '-s rows=1.5: rows must be an integer from 1 to 1024 cells, not "1.5"'),
    ({"rows": ""}, '-s rows=: rows must be an integer from 1 to 1024 cells, not ""'),
    ({"rows": "True"}, '-s rows=True: rows must be an integer from 1 to 1024 cells, not "True"'),
    ({"weight_double_buffer": "1"},
     '-s weight_double_buffer=1: weight_double_buffer must be true or false, not "1"'),
    ({"memory_bytes_per_cycle": "0"},
     f'-s memory_bytes_per_cycle=0: memory_bytes_per_cycle must be {RATE}, not "0"'),
    ({"rows": "8", "slot_bytes": "7"},
     "-s rows=8 -s slot_bytes=7: slot_bytes must be at least 8 bytes, to hold buffer_port_rows = "
     "1 activation rows of 8 bytes each, not 7"),
])
def test_refused_override(options, message):
    with refused(message):
        Design().override(options)
