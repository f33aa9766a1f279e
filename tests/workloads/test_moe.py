"""Experts: the chapter's padding, and as descriptors on one machine."""

import numpy as np
import pytest
from click.testing import CliRunner

from cubewave.rtl import Design
from cubewave.rtl.commands import Destination
from cubewave.sim import simulate
from cubewave.sim.cli import main
from cubewave.workloads import QProjection, WorkloadError
from cubewave.workloads.batch import Batch
from cubewave.workloads.gemm import RandomGemm
from cubewave.workloads.moe import MoE

TINY = Design.preset("tiny")


def test_chapter_rows():
    """moe-* of chapter 4.2.1: 64 tokens, 8 experts each, spread over 256 experts or over 8."""
    spread, concentrated = MoE(), MoE(experts=8)
    assert spread.useful_rows == concentrated.useful_rows == 512
    assert set(spread.rows) == {2} and set(concentrated.rows) == {64}
    assert spread.executed_rows == 4096 and concentrated.executed_rows == 512
    assert spread.padding_factor == 8 and concentrated.padding_factor == 1
    assert spread.executed_rows // concentrated.executed_rows == 8
    assert 16 - spread.rows[0] == 14          # empty rows of 16
    assert spread.useful_rows / spread.executed_rows == 0.125
    assert concentrated.rows[0] // 16 == 4    # full tiles of each expert


@pytest.mark.parametrize("experts, executed", [(256, 4096), (8, 512)])
def test_the_machine_counts_the_executed_rows(experts, executed):
    moe = MoE(experts=experts, k=4, n=4)      # one weight tile each
    for level in ("cycle", "analytic"):
        result = simulate(TINY, moe, level=level)
        assert result.ok
        assert result.counters["activation_rows"] == executed
        assert result.useful_macs == 512 * 16
        assert result.shape_efficiency == 512 / executed
    assert result.workload["executed_rows"] == executed


def test_experts_on_the_hardware():
    moe = MoE(tokens=6, top_k=3, experts=5, k=9, n=7, tile_rows=4, seed=2)
    assert moe.rows == [4, 4, 4, 3, 3] and moe.executed_rows == 20
    result = simulate(TINY, moe)
    assert result.ok and result.output.shape == (18, 7)
    products = [np.matmul(*job.operands(TINY)) for job in moe.parts()]
    assert np.array_equal(result.output, np.concatenate(products))
    assert result.counters["activation_rows"] == 20 * 3 * 2


def test_an_output_stationary_array_pads_by_itself():
    design = Design(dataflow="output_stationary", rows=4, cols=4)
    moe = MoE(tokens=4, top_k=2, experts=4, k=5, n=4, tile_rows=4)
    result = simulate(design, moe)
    assert result.ok and result.counters["activation_rows"] == 4 * 5
    assert result.shape_efficiency == 8 / moe.executed_rows


def test_weight_descriptors_of_experts_differ_in_the_base_only():
    moe = MoE(tokens=8, top_k=2, experts=8, k=8, n=8, tile_rows=4)
    weights = [load for load in moe.program(TINY).loads
               if load.destination == Destination.WEIGHT]
    first, *others = weights
    assert first.keep_shape == 0 and all(load.keep_shape for load in others)
    assert len({load._replace(base=0, keep_shape=0) for load in weights}) == 1
    bases = [load.base for load in weights[::4]]
    assert len(bases) == 8 and len(set(np.diff(bases))) == 1


def test_experts_without_rows_are_skipped():
    moe = MoE(tokens=2, top_k=2, experts=6, k=4, n=4)
    assert moe.rows == [1, 1, 1, 1, 0, 0] and len(moe.parts()) == 4
    assert moe.executed_rows == 64


def test_another_seed():
    moe = MoE(tokens=2, top_k=1, experts=2, k=4, n=4).seeded(5)
    assert moe.describe()["seed"] == 5 and [job.seed for job in moe.parts()] == [5, 6]


def test_at_size_in_the_model():
    """Two rows of 16: the array executes eight times the rows, and is busy for them."""
    design = Design.preset("tpu-v1")
    spread = simulate(design, MoE(experts=128, tokens=32, k=4096, n=1536), level="cycle",
                      output=False)
    assert spread.ok and spread.shape_efficiency == 2 / 16


@pytest.mark.parametrize("values, message", [
    ({"top_k": 9, "experts": 8}, "top_k must be at most experts = 8, not 9: a token goes to "
                                 "different experts"),
    ({"tokens": 0}, "tokens must be an integer from 1 to 2147483647, not 0"),
    ({"tile_rows": 1.5}, "tile_rows must be an integer from 1 to 2147483647, not 1.5"),
])
def test_refusals(values, message):
    with pytest.raises(WorkloadError) as error:
        MoE(**values)
    assert str(error.value) == message


def test_refusals_of_batches():
    with pytest.raises(WorkloadError, match="^the products of a batch must have the same n, not "
                                            "4, 5$"):
        Batch([RandomGemm(1, 2, 4), RandomGemm(1, 2, 5)])
    with pytest.raises(WorkloadError, match="^each product of a batch stores a result"):
        Batch([QProjection(1, 2, 4, store_output=False)])


def test_command_line():
    result = CliRunner().invoke(main, ["run", "moe", "-p", "k=4", "-p", "n=4", "--level", "cycle"])
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert "useful_rows=512 executed_rows=4096 padding_factor=8.0" in words
    assert "shape eff. 12.5 %" in words
    result = CliRunner().invoke(main, ["run", "moe", "-p", "experts=4"])
    assert result.exit_code == 2 and result.stderr == (
        "error: -p experts=4: top_k must be at most experts = 4, not 8: a token goes to different "
        "experts\n")
