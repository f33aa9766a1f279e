# amaranth: UnusedElaboratable=no
"""Skew and de-skew, lane by lane."""

import random

import pytest
from amaranth.hdl import signed
from amaranth.lib import data
from harness import lockstep

from cubewave.rtl.skew import Skew

LANES = [1, 2, 3, 4, 5, 7]


def vectors(lanes, count=30):
    rng = random.Random(lanes)
    return [[rng.randrange(-4, 4) for _ in range(lanes)] for _ in range(count)]


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("reverse", [False, True])
def test_each_lane_has_its_delay(lanes, reverse):
    skew = Skew(shape=signed(3), lanes=lanes, reverse=reverse)
    sent = vectors(lanes)
    got = [row["o"] for row in lockstep(skew, [{"i": vector} for vector in sent], ["o"])]
    for lane in range(lanes):
        late = lanes - 1 - lane if reverse else lane
        assert skew.latency(lane) == late
        assert [vector[lane] for vector in got] == (
            [0] * late + [vector[lane] for vector in sent])[:len(sent)]


def test_the_lane_is_a_structure():
    layout = data.StructLayout({"activation": signed(9), "turn": 1})
    lane = {"activation": -256, "turn": 1}
    rows = lockstep(Skew(shape=layout, lanes=2), [{"i": [lane, lane]}, {}, {}], ["o"])
    nothing = {"activation": 0, "turn": 0}
    assert [row["o"] for row in rows] == [[lane, nothing], [nothing, lane], [nothing, nothing]]


@pytest.mark.parametrize("lanes,error,message", [
    (0, ValueError, r"^lanes must be from 1 to 4096, not 0$"),
    (4097, ValueError, r"^lanes must be from 1 to 4096, not 4097$"),
    (None, TypeError, r"^lanes must be an integer, not None$"),
])
def test_refused_lanes(lanes, error, message):
    with pytest.raises(error, match=message):
        Skew(shape=8, lanes=lanes)
