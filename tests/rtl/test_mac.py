# amaranth: UnusedElaboratable=no
"""The weight-stationary cell: directed cases, then a cycle-exact model under random stimulus."""

import re

import pytest
from amaranth.back import rtlil
from harness import lockstep
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.mac import WeightStationaryCell

FORMAT = IntegerFormat(8, 8, 32, 4)
WATCH = ["activation_out", "turn_out", "weight_out", "weight_valid_out", "sum_out"]


def run(steps, watch=WATCH, format=FORMAT, **kwargs):
    return lockstep(WeightStationaryCell(format=format, **kwargs), steps, watch)


def weight(value, **more):
    return {"weight_in": value, "weight_valid_in": 1, **more}


def row(activation, turn=0, **more):
    return {"activation_in": activation, "turn_in": turn, **more}


def column(rows, name):
    return [step[name] for step in rows]


def test_takes_the_first_valid_word_and_passes_the_others_on():
    steps = [{"weight_in": 9}, weight(11), weight(12), {"weight_in": 13}, weight(14), {}]
    rows = run(steps)
    assert column(rows, "weight_out") == [0, 9, 11, 12, 13, 14]
    assert column(rows, "weight_valid_out") == [0, 0, 0, 1, 0, 1]


def test_turn_starts_the_waiting_weight():
    steps = [weight(3), row(10), row(10, turn=1), row(20), row(0), row(0)]
    assert column(run(steps), "sum_out") == [0, 0, 0, 0, 30, 60]


def test_a_word_that_arrives_with_the_turn_is_taken():
    steps = [weight(3), weight(5, **row(10, turn=1)), weight(6), row(20), row(30, turn=1), {},
             {}]
    rows = run(steps)
    # 3 works from the first turn; 5 was taken at it and works from the second; 6 goes on.
    assert column(rows, "weight_valid_out") == [0, 0, 0, 1, 0, 0, 0]
    assert column(rows, "sum_out") == [0, 0, 0, 30, 0, 60, 150]


def test_turn_empties_the_shadow():
    steps = [weight(3), row(1, turn=1), weight(4), weight(5), row(1, turn=1), {}, {}]
    rows = run(steps)
    assert column(rows, "weight_valid_out") == [0, 0, 0, 0, 1, 0, 0]
    assert column(rows, "sum_out") == [0, 0, 0, 3, 0, 0, 4]


def test_single_buffer_keeps_its_weight_until_the_turn():
    steps = [weight(3), weight(9), row(10), row(20, turn=1), {}, weight(5), row(30), {}, {}]
    rows = run(steps, double_buffer=False)
    assert column(rows, "weight_valid_out") == [0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert column(rows, "sum_out") == [0, 0, 0, 0, 30, 60, 0, 0, 150]


def test_sums_fall_and_turns_ride():
    rows = run([{"sum_in": -7}, {"sum_in": 1000, "turn_in": 1}, {}])
    assert column(rows, "sum_out") == [0, -7, 1000]
    assert column(rows, "turn_out") == [0, 0, 1]


@pytest.mark.parametrize("mac_latency", [1, 2, 3, 4])
@pytest.mark.parametrize("double_buffer", [False, True])
def test_latency_is_what_is_measured(mac_latency, double_buffer):
    steps = [weight(7), row(-5, turn=int(double_buffer)), *[{}] * 8]
    sums = column(run(steps, double_buffer=double_buffer, mac_latency=mac_latency), "sum_out")
    assert [cycle for cycle, value in enumerate(sums) if value] == [
        1 + WeightStationaryCell.latency(mac_latency)]
    assert WeightStationaryCell.latency(mac_latency) == 1 + mac_latency
    assert sums[2 + mac_latency] == -35


@pytest.mark.parametrize("mac_latency", [1, 3])
@pytest.mark.parametrize("activation,value,product", [
    (-128, -128, 16384), (-128, 127, -16256), (127, 127, 16129), (-1, -1, 1),
    (255, -128, -32640), (255, 1, 255), (255, 127, 32385)])
def test_extremes_signed_and_unsigned_f080(activation, value, product, mac_latency):
    """Unsigned activations are the positive values of the 9-bit operand."""
    steps = [weight(value), row(activation, turn=1), *[{}] * 5]
    assert run(steps, mac_latency=mac_latency)[2 + mac_latency]["sum_out"] == product


@pytest.mark.parametrize("activation_bits,weight_bits", [(8, 8), (4, 16), (16, 4), (16, 16)])
@pytest.mark.parametrize("mac_latency", [1, 2])
def test_multiplier_operands_are_narrow_f108(activation_bits, weight_bits, mac_latency):
    text = rtlil.convert(WeightStationaryCell(
        format=IntegerFormat(activation_bits, weight_bits, 32, 4), mac_latency=mac_latency))
    multipliers = re.findall(r"cell \$mul .*?end\n", text, re.DOTALL)
    assert len(multipliers) == 1
    widths = [int(width) for width in re.findall(r"\\[AB]_WIDTH (\d+)", multipliers[0])]
    assert sorted(widths) == sorted([activation_bits + 1, weight_bits])


def model(steps, double_buffer, mac_latency):
    """The registers before every cycle."""
    regs = {name: 0 for name in WATCH}
    place, full, active = 0, False, 0
    products = [0] * mac_latency  # the last one is added in this cycle
    rows = []
    for step in steps:
        rows.append(dict(regs))
        products[0] = regs["activation_out"] * (active if double_buffer else place)
        turn, word, valid = step["turn_in"], step["weight_in"], step["weight_valid_in"]
        if turn:
            active, full = place, False
        taken = valid and not full
        if taken:
            place, full = word, True
        regs = {"activation_out": step["activation_in"], "turn_out": turn, "weight_out": word,
                "weight_valid_out": int(valid and not taken),
                "sum_out": step["sum_in"] + products[-1]}
        products = [0, *products[:-1]]
    return rows


@pytest.mark.parametrize("double_buffer", [False, True])
@settings(max_examples=40, derandomize=True)
@given(mac_latency=st.integers(1, 4), steps=st.lists(st.fixed_dictionaries({
    "activation_in": st.integers(-128, 255), "turn_in": st.integers(0, 1),
    "weight_in": st.integers(-128, 127), "weight_valid_in": st.integers(0, 1),
    "sum_in": st.integers(-(1 << 16), (1 << 16) - 1)}), min_size=5, max_size=40))
def test_any_stimulus(double_buffer, mac_latency, steps):
    assert run(steps, double_buffer=double_buffer, mac_latency=mac_latency) == model(
        steps, double_buffer, mac_latency)


@pytest.mark.parametrize("mac_latency,error,message", [
    (0, ValueError, r"^mac_latency must be from 1 to 64, not 0$"),
    (65, ValueError, r"^mac_latency must be from 1 to 64, not 65$"),
    (True, TypeError, r"^mac_latency must be an integer, not True$"),
])
def test_refused_latency(mac_latency, error, message):
    with pytest.raises(error, match=message):
        WeightStationaryCell(format=FORMAT, mac_latency=mac_latency)
