# amaranth: UnusedElaboratable=no
"""Exponentials, divisions and GELU against the model, beat by beat."""

import re
from random import Random

import pytest
from amaranth.back import rtlil
from harness import lockstep
from vector_values import random_element, random_elements

from cubewave.rtl.divider import Divider
from cubewave.rtl.exponential import Exponential
from cubewave.rtl.gelu import Gelu
from cubewave.rtl.vector_commands import VectorOp
from cubewave.rtl.vector_format import VectorFormat
from cubewave.rtl.vector_special import VectorSpecial

SPECIAL = [op for op in VectorOp if op.special]


def beat(op, x, y=None, immediate=0, shift=0):
    return {"valid": 1, "op": op, "x": x, "y": y or x, "immediate": immediate, "shift": shift}


def check(op, steps, bits, lanes):
    """Results in the right cycle, kept until the next one. All steps are of one operation."""
    format, latency = VectorFormat(bits), VectorSpecial.latency(op)
    steps = [{"valid": 0, "op": op}, *steps]
    sampled = lockstep(VectorSpecial(element_bits=bits, lanes=lanes),
                       [*steps, *[{}] * (latency + 2)], ["o"])
    values = [0] * lanes
    for cycle, outputs in enumerate(sampled):
        step = steps[cycle - latency] if latency <= cycle < len(steps) + latency else {}
        if step.get("valid"):
            values, _ = format.apply(op, step["x"], step["y"], immediate=step["immediate"],
                                     shift=step["shift"])
            values = values.tolist()
        assert outputs["o"] == values, (cycle, step)


def in_beats(op, values, lanes):
    """Enough beats for all values; the last ones may come twice."""
    values = list(values)
    return [beat(op, (values[start:start + lanes] + values[-lanes:])[:lanes])
            for start in range(0, len(values), lanes)]


def test_latencies():
    assert [VectorSpecial.latency(op) for op in SPECIAL] == [4, 15, 4]
    assert (Exponential.LATENCY, Divider.LATENCY, Gelu.LATENCY) == (4, 15, 4)


@pytest.mark.parametrize("bits,lanes", [(34, 1), (34, 4), (49, 3)])
@pytest.mark.parametrize("op", SPECIAL)
def test_random_beats(op, bits, lanes):
    random = Random(bits + lanes)
    steps = []
    for _ in range(250):
        steps.append(beat(op, random_elements(random, bits, lanes),
                          random_elements(random, bits, lanes),
                          random.choice([0, 1, 65535, 65536, random.randrange(1 << 16)]),
                          random.choice([0, 8, 63, random.randrange(30)])))
        steps += [{}] * random.choice([0, 0, 0, 1, 3])
    check(op, steps, bits, lanes)


def test_exponential_around_every_entry():
    near = {-(place << 9) + offset for place in range(130) for offset in (-1, 0, 1, 200)}
    far = {-(whole << 16) + offset for whole in range(34) for offset in (-40000, -512, -1, 0, 1)}
    check(VectorOp.EXPONENTIAL, in_beats(VectorOp.EXPONENTIAL, sorted(near | far), 4), 34, 4)


def test_gelu_around_every_entry():
    values = [(place << 8) - (8 << 12) + offset for place in range(-2, 260)
              for offset in (-1, 0, 1, 100)]
    values += [VectorFormat(34).masked, VectorFormat(34).lowest, VectorFormat(34).highest]
    check(VectorOp.GELU, in_beats(VectorOp.GELU, values, 4), 34, 4)


def test_small_divisions_exhaustively():
    pairs = [(x, y) for x in range(-9, 10) for y in range(-1, 8)]
    steps = [beat(VectorOp.DIVIDE, [x, -x, x], [y, y, y + 1], immediate)
             for x, y in pairs for immediate in (1, 2, 3)]
    check(VectorOp.DIVIDE, steps, 34, 3)


def test_quotients_at_the_edge_of_saturation():
    limit = 1 << 24
    steps = []
    for divisor in (1, 2, 3, 1000, (1 << 23) + 1):
        for exact in (limit - 1, limit, limit + 1):
            x = [exact * divisor + offset - divisor // 2 for offset in (-1, 0, 1)]
            steps += [beat(VectorOp.DIVIDE, [sign * value for value in x], [divisor] * 3, 1)
                      for sign in (1, -1)]
    check(VectorOp.DIVIDE, steps, 49, 3)


def test_a_divisor_saturates_at_48_bits():
    highest = VectorFormat(49).highest
    steps = [beat(VectorOp.DIVIDE, [highest, -highest], [y, y], 65536, shift)
             for y in (1, 3, (1 << 33) - 1, highest) for shift in (0, 14, 15, 46, 47, 48, 63)]
    check(VectorOp.DIVIDE, steps, 49, 2)


def test_the_operation_may_change_after_its_last_result():
    random = Random(7)
    dut, format = VectorSpecial(element_bits=34, lanes=2), VectorFormat(34)
    steps, expected = [], {}
    for op in random.choices(SPECIAL, k=20):
        x, y = ([random_element(random, 20) for _ in "xy"] for _ in "xy")
        expected[len(steps) + VectorSpecial.latency(op)] = format.apply(
            op, x, y, immediate=999)[0].tolist()
        steps += [beat(op, x, y, immediate=999), *[{}] * VectorSpecial.latency(op)]
    sampled = lockstep(dut, [*steps, {}], ["o"])
    assert {cycle: sampled[cycle]["o"] for cycle in expected} == expected


def test_without_beats_nothing_changes():
    random = Random(1)
    steps = [{"op": random.choice(SPECIAL), "x": random_elements(random, 34, 2),
              "y": random_elements(random, 34, 2), "immediate": 5, "shift": 1}
             for _ in range(50)]
    sampled = lockstep(VectorSpecial(element_bits=34, lanes=2), steps, ["o"])
    assert all(outputs == {"o": [0, 0]} for outputs in sampled)


def test_same_parameters_same_circuit_and_plain_names():
    texts = [rtlil.convert(VectorSpecial(element_bits=34, lanes=2), emit_src=False)
             for _ in range(2)]
    assert texts[0] == texts[1]
    assert re.findall(r"\\\S*(?:\$sig|U\$)\S*", texts[0]) == []


@pytest.mark.parametrize("component", [VectorSpecial, Exponential, Divider, Gelu])
@pytest.mark.parametrize("kwargs,error,message", [
    ({"lanes": 0}, ValueError, r"^lanes must be from 1 to 65536, not 0$"),
    ({"lanes": None}, TypeError, r"^lanes must be an integer, not None$"),
    ({"element_bits": 50}, ValueError, r"^element_bits must be from 34 to 49, not 50$"),
])
def test_refused_parameters(component, kwargs, error, message):
    with pytest.raises(error, match=message):
        component(**{"element_bits": 34, "lanes": 4, **kwargs})


@pytest.mark.parametrize("divisor", [2, 4, 6, 10])
def test_halves_of_a_quotient_are_rounded_up(divisor):
    """Both signs, on both sides of a half and on it; even divisors have halves."""
    steps = [beat(VectorOp.DIVIDE, [x], [divisor >> shift], immediate=1, shift=shift)
             for x in range(-4 * divisor, 4 * divisor + 1) for shift in (0, 1)]
    check(VectorOp.DIVIDE, steps, 34, 1)
