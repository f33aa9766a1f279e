# amaranth: UnusedElaboratable=no
"""The output-stationary cell: directed cases, then a cycle-exact model under random stimulus."""

import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import signed
from harness import lockstep
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.output_cell import OutputStationaryCell

FORMAT = IntegerFormat(8, 8, 32, 1 << 16)
PASSED_ON = ["activation", "first", "last", "weight"]
WATCH = [*(f"{name}_out" for name in PASSED_ON), "sum_out"]


def run(steps, watch=WATCH, format=FORMAT, **kwargs):
    return lockstep(OutputStationaryCell(format=format, **kwargs), steps, watch)


def pair(activation, weight, first=0, last=0, **more):
    return {"activation_in": activation, "weight_in": weight, "first_in": first, "last_in": last,
            **more}


def sums(steps, **kwargs):
    """`sum_out` in each cycle. A pair's sum is there two cycles later (mac_latency 1)."""
    return [row["sum_out"] for row in run(steps, ["sum_out"], **kwargs)]


def test_everything_moves_on_after_one_cycle():
    assert OutputStationaryCell.TRANSPORT == 1
    steps = [pair(-5, 7, first=1), pair(6, -8, last=1), {}, {}]
    for name in PASSED_ON:
        passed = [row[f"{name}_out"] for row in run(steps)]
        assert passed == [0, *(step.get(f"{name}_in", 0) for step in steps[:-1])]


def test_a_sum_of_several_pairs():
    assert sums([pair(2, 3, first=1), pair(-4, 5), pair(6, 7, last=1), {}, {}]) == [0, 0, 0, 0, 28]


def test_a_sum_of_one_pair():
    assert sums([pair(9, -9, first=1, last=1), {}, {}, {}]) == [0, 0, -81, -81]


def test_sums_follow_each_other_without_a_gap():
    """`first` forgets what was summed before, `last` hands over what was."""
    steps = [pair(1, 10, first=1), pair(2, 10, last=1), pair(7, 10, first=1, last=1),
             pair(4, 10, first=1), pair(5, 10, last=1), {}, {}]
    assert sums(steps) == [0, 0, 0, 30, 70, 70, 90]


def test_zeros_between_two_pairs_of_a_sum_change_nothing():
    steps = [pair(2, 3, first=1), {}, {}, pair(4, 5, last=1), {}, {}]
    assert sums(steps)[-1] == 26


def test_a_result_stays_until_start_then_the_chain_moves():
    """Whatever comes from above in the meantime is not for this register."""
    steps = [pair(2, 3, first=1, last=1), {"sum_in": 11}, {"sum_in": 12}, {"sum_in": 13},
             {"sum_in": 14, "start": 1}, {"sum_in": 15}, {"sum_in": 16}, {}]
    assert sums(steps) == [0, 0, 6, 6, 6, 14, 15, 16]


def test_without_a_result_the_chain_moves_at_once():
    """From reset on, and until the register takes its next result."""
    steps = [{"sum_in": 11}, pair(2, 3, first=1, last=1, sum_in=12), {"sum_in": 13}, {}]
    assert sums(steps) == [0, 11, 12, 6]


def test_a_result_that_comes_with_start_is_kept():
    """The bottom cell takes its result in the very cycle of a start: the start is too early."""
    steps = [pair(2, 3, first=1, last=1), {"start": 1, "sum_in": 11}, {"sum_in": 12}, {}]
    assert sums(steps) == [0, 0, 6, 6]


@pytest.mark.parametrize("mac_latency", [1, 2, 3, 4])
def test_latency_is_what_is_measured(mac_latency):
    assert OutputStationaryCell.latency(mac_latency) == 1 + mac_latency
    got = sums([pair(-5, 7, first=1, last=1), *[{}] * 7], mac_latency=mac_latency)
    assert got == [0] * (1 + mac_latency) + [-35] * (7 - mac_latency)


@pytest.mark.parametrize("mac_latency", [1, 3])
@pytest.mark.parametrize("activation,value,product", [
    (-128, -128, 16384), (-128, 127, -16256), (127, 127, 16129), (-1, -1, 1),
    (255, -128, -32640), (255, 1, 255), (255, 127, 32385)])
def test_extremes_signed_and_unsigned_f080(activation, value, product, mac_latency):
    """Unsigned activations are the positive values of the 9-bit operand."""
    steps = [pair(activation, value, first=1, last=1), *[{}] * 5]
    assert sums(steps, mac_latency=mac_latency)[1 + mac_latency] == product


@pytest.mark.parametrize("mac_latency", [1, 2])
@pytest.mark.parametrize("activation,value", [(-8, -8), (-8, 7), (15, -8), (15, 7)])
def test_the_longest_sum_of_extremes_fits(activation, value, mac_latency):
    """`terms` products of the widest operands need every bit of the sum's shape."""
    format = IntegerFormat(4, 4, 16, 4)
    assert format.sum_shape == signed(10)
    steps = [pair(activation, value, first=int(place == 0), last=int(place == 3))
             for place in range(4)]
    got = sums([*steps, *[{}] * 4], format=format, mac_latency=mac_latency)
    assert got[4 + mac_latency] == 4 * activation * value


@pytest.mark.parametrize("activation_bits,weight_bits", [(8, 8), (4, 16), (16, 4), (16, 16)])
@pytest.mark.parametrize("mac_latency", [1, 2])
def test_multiplier_operands_are_narrow_f108(activation_bits, weight_bits, mac_latency):
    text = rtlil.convert(OutputStationaryCell(
        format=IntegerFormat(activation_bits, weight_bits, 32, 4), mac_latency=mac_latency))
    multipliers = re.findall(r"cell \$mul .*?end\n", text, re.DOTALL)
    assert len(multipliers) == 1
    widths = [int(width) for width in re.findall(r"\\[AB]_WIDTH (\d+)", multipliers[0])]
    assert sorted(widths) == sorted([activation_bits + 1, weight_bits])


def model(steps, mac_latency):
    """The registers before every cycle."""
    regs = dict.fromkeys(WATCH, 0)
    stages = [(0, 0, 0)] * mac_latency  # product, first, last; the last one is summed now
    partial, fresh = 0, False
    rows = []
    for step in steps:
        rows.append(dict(regs))
        stages[0] = (regs["activation_out"] * regs["weight_out"], regs["first_out"],
                     regs["last_out"])
        product, first, last = stages[-1]
        partial = (0 if first else partial) + product
        if last:
            result, fresh = partial, True
        elif step["start"] or not fresh:
            result, fresh = step["sum_in"], False
        else:
            result = regs["sum_out"]
        regs = {**{f"{name}_out": step[f"{name}_in"] for name in PASSED_ON}, "sum_out": result}
        stages = [(0, 0, 0), *stages[:-1]]
    return rows


@settings(max_examples=80, derandomize=True)
@given(mac_latency=st.integers(1, 4), steps=st.lists(st.fixed_dictionaries({
    "activation_in": st.integers(-128, 255), "weight_in": st.integers(-128, 127),
    "first_in": st.integers(0, 1), "last_in": st.integers(0, 1), "start": st.integers(0, 1),
    "sum_in": st.integers(-(1 << 31), (1 << 31) - 1)}), min_size=5, max_size=40))
def test_any_stimulus(mac_latency, steps):
    assert run(steps, mac_latency=mac_latency) == model(steps, mac_latency)


@pytest.mark.parametrize("mac_latency,error,message", [
    (0, ValueError, r"^mac_latency must be from 1 to 64, not 0$"),
    (65, ValueError, r"^mac_latency must be from 1 to 64, not 65$"),
    (True, TypeError, r"^mac_latency must be an integer, not True$"),
])
def test_refused_latency(mac_latency, error, message):
    with pytest.raises(error, match=message):
        OutputStationaryCell(format=FORMAT, mac_latency=mac_latency)
