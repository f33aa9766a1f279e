"""A head of a real model on a real sentence, quantised, against the same head in floats."""

import json

import pytest
from click.testing import CliRunner

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.sim.cli import main
from cubewave.workloads import AttentionHead
from cubewave.workloads.minilm import INSTALL, MiniLM

pytestmark = pytest.mark.skipif(MiniLM.folder() is None, reason="no weights; " + INSTALL)


def test_a_head_on_the_hardware():
    """16x16 cells, int8: the hardware's bits and cycles are the models', and near the floats."""
    result = simulate(Design.preset("edge"), AttentionHead(), level="rtl")
    assert not [entry for entry in result.checks if not entry["ok"]]
    assert result.output.shape == (19, 32) and result.overflow is False
    assert 0 < result.accuracy["rms_error"] < 0.005 and result.accuracy["max_error"] < 0.025


@pytest.mark.parametrize("layer, head", [(0, 3), (2, 7), (5, 11)])
def test_errors_of_heads(layer, head):
    """Errors, in units of the greatest value, of int8 and of int16 operands."""
    work = AttentionHead(layer=layer, head=head)
    for bits, bound in ((8, 0.04), (16, 0.0005)):
        design = Design(rows=16, cols=16, activation_bits=bits, weight_bits=bits,
                        accumulator_bits=48 if bits == 16 else 32)
        result = simulate(design, work, level="cycle")
        assert result.accuracy["max_error"] < bound, (bits, result.accuracy)


def test_streaming_a_sentence():
    """Keys in blocks give the same head."""
    design = Design.preset("edge")
    errors = [simulate(design, AttentionHead(layer=1, block_keys=block), level="cycle").accuracy
              for block in (None, 8)]
    assert all(error["max_error"] < 0.04 for error in errors)


def test_command_line():
    result = CliRunner().invoke(main, [
        "run", "attention-head", "-p", "layer=2", "-p", "head=7", "-p", "text=To be, or not to be.",
        "--design", "edge", "--level", "cycle", "--json", "-"])
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert (document["workload"]["layer"], document["workload"]["rows"]) == (2, 10)
    assert document["results"][0]["accuracy"]["max_error"] < 0.1
    assert CliRunner().invoke(main, ["run", "attention-head", "-p", "layer=6"]).exit_code == 2
