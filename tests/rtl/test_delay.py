# amaranth: UnusedElaboratable=no
"""Delay against a shifted list."""

import random

import pytest
from amaranth.hdl import signed
from amaranth.lib import data
from harness import lockstep

from cubewave.rtl.delay import Delay


@pytest.mark.parametrize("cycles", [1, 2, 3, 7, 8])
def test_repeats_its_input_later(cycles):
    delay = Delay(shape=signed(8), cycles=cycles)
    words = random.Random(cycles).choices(range(-128, 128), k=60)
    rows = lockstep(delay, [{"i": word} for word in words], ["o"])
    assert delay.latency == cycles
    assert [row["o"] for row in rows] == ([0] * cycles + words)[:60]


def test_a_structure():
    layout = data.StructLayout({"valid": 1, "row": 3})
    rows = lockstep(Delay(shape=layout, cycles=2), [{"i": {"valid": 1, "row": 5}}, {}, {}, {}],
                    ["o"])
    nothing = {"valid": 0, "row": 0}
    assert [row["o"] for row in rows] == [nothing, nothing, {"valid": 1, "row": 5}, nothing]


@pytest.mark.parametrize("cycles,error,message", [
    (0, ValueError, r"^cycles must be from 1 to 65536, not 0$"),
    (65537, ValueError, r"^cycles must be from 1 to 65536, not 65537$"),
    ("1", TypeError, r"^cycles must be an integer, not '1'$"),
])
def test_refused_cycles(cycles, error, message):
    with pytest.raises(error, match=message):
        Delay(shape=8, cycles=cycles)
