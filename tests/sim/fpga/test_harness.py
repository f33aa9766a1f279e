"""The harness reaches every bit of every port."""

import re
from types import SimpleNamespace

import pytest
from amaranth import Signal

from cubewave.sim.fpga.harness import FAN_IN, harness_text


def port(name, bits, is_input):
    return SimpleNamespace(name=name, signal=Signal(bits), is_input=is_input)


def test_ports_and_their_bits():
    text = harness_text("unit", ["clk"], [port("a", 3, True), port("b", 5, False),
                                          port("c", 1, True), port("d", 2, False)])
    assert "module unit (\n  input clk,\n  input [2:0] a,\n  output [4:0] b,\n" in text
    assert ("  unit dut (\n    .clk(clk),\n    .a(inputs[2:0]),\n    .b(outputs[4:0]),\n"
            "    .c(inputs[3:3]),\n    .d(outputs[6:5])\n  );") in text
    assert "reg [3:0] inputs;" in text and "wire [6:0] outputs;" in text
    assert "inputs <= {inputs[2:0], data_in};" in text


@pytest.mark.parametrize("bits, levels", [(1, 1), (2, 2), (4, 2), (5, 3), (16, 3), (17, 4)])
def test_a_tree_takes_every_output_bit_once(bits, levels):
    text = harness_text("unit", [], [port("o", bits, False)])
    assert f"assign data_out = level_{levels - 1};" in text
    assert f"reg [0:0] level_{levels - 1};" in text
    taken = [place for first, count in re.findall(r"\^level_0\[(\d+) \+: (\d+)\]", text)
             for place in range(int(first), int(first) + int(count))]
    assert taken == (list(range(bits)) if bits > 1 else [])
    assert all(int(count) <= FAN_IN for count in re.findall(r"\+: (\d+)\]", text))
    assert "inputs <= data_in;" in text  # no inputs: one register, for nothing
