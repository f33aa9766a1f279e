# amaranth: UnusedElaboratable=no
"""The ordinary operations against the model, beat by beat."""

import re
from random import Random

import pytest
from amaranth.back import rtlil
from harness import lockstep
from vector_values import random_elements

from cubewave.rtl.vector_alu import VectorAlu
from cubewave.rtl.vector_commands import VectorOp
from cubewave.rtl.vector_format import VectorFormat

WATCH = ["o", "row", "overflow"]
ELEMENTWISE = [VectorOp.ADD, VectorOp.SUBTRACT, VectorOp.MULTIPLY, VectorOp.MAXIMUM, VectorOp.MASK]


def beat(op, x, y, shift=0, bits=0, count=None):
    return {"valid": 1, "op": op, "x": x, "y": y, "shift": shift, "bits": bits,
            "count": len(x) if count is None else count}


def check(steps, bits, lanes):
    """Elementwise beats: results in the right cycle, kept until the next one."""
    format = VectorFormat(bits)
    tail = [{}] * (VectorAlu.LATENCY + 2)
    sampled = lockstep(VectorAlu(element_bits=bits, lanes=lanes), [*steps, *tail], WATCH)
    values, known = [0] * lanes, lanes
    for cycle, outputs in enumerate(sampled):
        start = cycle - VectorAlu.LATENCY
        step = steps[start] if 0 <= start < len(steps) else {}
        overflow = False
        if step.get("valid"):
            known = step["count"]
            values, overflow = format.apply(
                step["op"], step["x"][:known], step["y"][:known], shift=step["shift"],
                bits=step["bits"])
            values = values.tolist()
        assert outputs["o"][:known] == values, (cycle, step)
        assert outputs["overflow"] == overflow, (cycle, step)
        assert outputs["row"] == 0


@pytest.mark.parametrize("bits,lanes", [(34, 1), (34, 4), (49, 3)])
@pytest.mark.parametrize("op", [*ELEMENTWISE, None])
def test_random_beats(op, bits, lanes):
    """`None`: the operation, its shift and its width change with every beat."""
    random = Random(bits + lanes)
    steps = []
    for _ in range(200):
        steps.append(beat(op or random.choice(ELEMENTWISE), random_elements(random, bits, lanes),
                          random_elements(random, bits, lanes),
                          random.choice([0, 1, 8, 63, random.randrange(64)]),
                          random.choice([0, 1, bits, random.randrange(bits + 1)]),
                          random.randrange(lanes + 1)))
        steps += [{}] * random.choice([0, 0, 0, 1, 3])
    check(steps, bits, lanes)


@pytest.mark.parametrize("op", ELEMENTWISE)
def test_every_two_boundaries(op):
    format = VectorFormat(34)
    edges = [format.masked, format.lowest, format.highest, -1, 0, 1, -(1 << 31), (1 << 31) - 1]
    check([beat(op, [x, y], [y, x], shift, bits) for x in edges for y in edges
           for shift, bits in ((0, 0), (1, 8), (32, 34))], 34, 2)


def test_scaling_rounds_half_up_f072():
    steps = [beat(VectorOp.MULTIPLY, [120, 127, 128, -128, -129], [1] * 5, shift=8),
             *[{}] * VectorAlu.LATENCY]
    sampled = lockstep(VectorAlu(element_bits=34, lanes=5), steps, ["o"])
    assert sampled[VectorAlu.LATENCY]["o"] == [0, 0, 1, 0, -1]


def test_a_multiplier_is_honoured_f075():
    steps = [beat(VectorOp.MULTIPLY, [1000, -1000, 100], [77] * 3, shift=7, bits=8),
             *[{}] * VectorAlu.LATENCY]
    sampled = lockstep(VectorAlu(element_bits=34, lanes=3), steps, ["o"])
    assert sampled[VectorAlu.LATENCY]["o"] == [127, -128, 60]


@pytest.mark.parametrize("lanes", [1, 3, 4])
def test_reductions_and_their_latency(lanes):
    for op, row, overflow in ((VectorOp.ROW_MAXIMUM, (1 << 33) - 1, 0),
                              (VectorOp.ROW_SUM, (1 << 33) - 1, 1)):
        values = [[(1 << 33) - 1] * lanes, [9] * lanes]
        steps = [{**beat(op, x, x, count=1), "first": int(x is values[0]),
                  "last": int(x is values[1])} for x in values]
        latency = VectorAlu.row_latency(lanes)
        sampled = lockstep(VectorAlu(element_bits=34, lanes=lanes), steps + [{}] * (latency + 2),
                           WATCH)
        assert [outputs["row"] for outputs in sampled] == [0] * (1 + latency) + [row] * 3
        assert [outputs["overflow"] for outputs in sampled] == [
            *[0] * (1 + latency), overflow, 0, 0]
        assert all(outputs["o"] == [0] * lanes for outputs in sampled)


def test_elements_that_are_not_there_do_not_overflow():
    highest = VectorFormat(34).highest
    check([beat(VectorOp.ADD, [1, highest], [1, highest], count=1),
           beat(VectorOp.ADD, [1, highest], [1, highest], count=2),
           beat(VectorOp.MULTIPLY, [highest, 1], [highest, 1], count=2)], 34, 2)


def test_without_beats_nothing_changes():
    random = Random(1)
    steps = [{"op": random.choice(list(VectorOp)), "x": random_elements(random, 34, 2),
              "y": random_elements(random, 34, 2), "count": 2, "first": 1, "last": 1}
             for _ in range(50)]
    sampled = lockstep(VectorAlu(element_bits=34, lanes=2), steps, WATCH)
    assert all(outputs == {"o": [0, 0], "row": 0, "overflow": 0} for outputs in sampled)


def test_same_parameters_same_circuit_and_plain_names():
    texts = [rtlil.convert(VectorAlu(element_bits=34, lanes=3), emit_src=False) for _ in range(2)]
    assert texts[0] == texts[1]
    assert re.findall(r"\\\S*(?:\$sig|U\$)\S*", texts[0]) == []


@pytest.mark.parametrize("kwargs,error,message", [
    ({"lanes": 0}, ValueError, r"^lanes must be from 1 to 65536, not 0$"),
    ({"lanes": "4"}, TypeError, r"^lanes must be an integer, not '4'$"),
    ({"element_bits": 50}, ValueError, r"^element_bits must be from 34 to 49, not 50$"),
])
def test_refused_parameters(kwargs, error, message):
    with pytest.raises(error, match=message):
        VectorAlu(**{"element_bits": 34, "lanes": 4, **kwargs})
