"""Qwen3-8B: the chapter's work and traffic, and small models of the same kind on the hardware."""

import time

import pytest
from click.testing import CliRunner

from cubewave.rtl import Design
from cubewave.sim.cli import main
from cubewave.sim.network import simulate_network
from cubewave.workloads import WorkloadError
from cubewave.workloads.qwen3 import Model, Qwen3

SMALL = Model("small", layers=3, hidden=8, heads=4, kv_heads=2, head_dim=4, intermediate=12,
              vocabulary=20, tied_embedding=False)
ATTENTION = ("qk", "pv")


def flops(network, choose):
    return sum(2 * layer.useful_macs for layer in network.layers() if choose(layer))


def linear(layer):
    return layer.group not in ATTENTION and layer.name != "lm_head"


def test_inventory():
    """q8b-linear-gflops counts 192937984 weights a layer."""
    model = Model.load("qwen3_8b")
    assert sum(k * n for _, k, n in model.projections()) == 192937984
    assert (model.layers, model.group, model.vocabulary) == (36, 4, 151936)
    assert model.heads * model.head_dim == model.hidden


def test_decode_work_of_the_chapter():
    """q8b-linear-gflops, q8b-attn-gflops, q8b-head-gflops, q8b-decode-gflops of 4.8.2."""
    step = Qwen3("decode", context=8192)
    assert flops(step, linear) == 13_891_534_848
    assert flops(step, lambda layer: layer.group in ATTENTION) == 4_831_838_208
    assert flops(step, lambda layer: layer.name == "lm_head") == 1_244_659_712
    assert 2 * step.useful_macs == 19_968_032_768
    # Linear layers and head, as systems.md gives them for the lane budget.
    assert flops(step, lambda layer: layer.group not in ATTENTION) == 15_136_194_560


def test_prefill_work_of_the_chapter():
    """q8b-prefill-attn and q8b-prefill-tflops of 4.8.2, exact to the last operation."""
    prompt = Qwen3("prefill", tokens=4096)
    assert flops(prompt, lambda layer: layer.group in ATTENTION) == 4_949_010_284_544
    assert 2 * prompt.useful_macs == 61_849_981_681_664


def test_causal_work_does_not_depend_on_the_blocks():
    for tokens in (1, 5, 16):
        works = {Qwen3("prefill", tokens=tokens, query_block=block, model=SMALL).useful_macs
                 for block in (1, 3, 4, 16)}
        layer = tokens * sum(k * n for _, k, n in SMALL.projections())
        attention = 2 * SMALL.hidden * 2 * tokens * (tokens + 1) // 2   # 4 heads of 4: 2 * hidden
        assert works == {SMALL.layers * (layer + attention) + 8 * 20}
    blocks = Qwen3("prefill", tokens=7, query_block=1, model=SMALL).layers()
    assert not any(layer.masked_macs for layer in blocks)


def test_decode_bytes_of_the_chapter_at_two_bytes_a_value():
    """q8b-step-weight-bytes and q8b-step-kv-bytes of 4.1.3, but for what no product reads:
    norms and the embedding's row."""
    result = simulate_network(Design.preset("ascend-910"), Qwen3("decode", context=8192),
                              level="analytic")
    layers, hidden, head_dim = 36, 4096, 128
    not_products = 2 * (layers * (2 * hidden + 2 * head_dim) + hidden + hidden)
    activations = 2 * sum(
        layer.layer.count * layer.layer.product.shape[0] * layer.layer.product.shape[1]
        for layer in result.layers)
    weights_and_cache = result.bytes_read - activations
    assert weights_and_cache == 15_136_819_200 - not_products + 1_207_959_552
    cache = sum(layer.layer.count * 2 * layer.layer.product.shape[1] *
                layer.layer.product.shape[2]
                for layer in result.layers if layer.layer.group in ATTENTION)
    assert cache == 8192 * 147456


@pytest.mark.parametrize("phase, sizes", [("decode", {"context": 9, "batch": 2}),
                                          ("prefill", {"tokens": 7, "query_block": 3})])
def test_small_models_on_the_hardware(phase, sizes):
    network = Qwen3(phase, model=SMALL, **sizes)
    design = Design.preset("tiny")
    rtl = simulate_network(design, network, level="rtl")
    cycle = simulate_network(design, network, level="cycle")
    bound = simulate_network(design, network, level="analytic")
    assert rtl.ok and cycle.ok and rtl.overflow is False
    assert rtl.cycles == cycle.cycles >= bound.cycles
    assert rtl.useful_macs == network.useful_macs == bound.useful_macs
    assert 0 < rtl.utilization <= 1


def test_scope_layer_is_a_layer_without_the_head():
    model, layer = (Qwen3(context=64, scope=scope, model=SMALL) for scope in ("model", "layer"))
    assert model.useful_macs == 3 * layer.useful_macs + 8 * 20
    assert [one.name for one in layer.layers()] == [
        "q_proj", "k_proj", "v_proj", "qk", "pv", "o_proj", "gate_proj", "up_proj", "down_proj"]


@pytest.mark.parametrize("preset", [
    "tpu-v1", pytest.param("b200-sm", marks=pytest.mark.long)])
def test_a_whole_decode_step_takes_seconds(preset):
    started = time.process_time()
    result = simulate_network(Design.preset(preset), Qwen3("decode"))
    assert time.process_time() - started < 60
    assert result.ok and len(result.runs) == 7
    assert result.totals()["layers"] == 36 * (7 + 2 * 8) + 1
    assert 2 * result.useful_macs == 19_968_032_768


@pytest.mark.parametrize("arguments, message", [
    ({"phase": "train"}, "phase must be one of decode, prefill, not 'train'"),
    ({"scope": "half"}, "scope must be one of model, layer, not 'half'"),
    ({"tokens": 4}, "tokens belongs to phase prefill, not decode"),
    ({"phase": "prefill", "context": 4}, "context belongs to phase decode, not prefill"),
    ({"batch": 0}, "batch must be an integer from 1 to 2147483647, not 0"),
])
def test_refusals(arguments, message):
    with pytest.raises(WorkloadError) as error:
        Qwen3(**arguments)
    assert str(error.value) == message


def test_command_line():
    result = CliRunner().invoke(main, [
        "run", "qwen3-8b", "--design", "tpu-v1", "--level", "analytic", "-p", "phase=prefill",
        "-p", "tokens=256", "-p", "batch=2"])
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert "q_proj 512x4096x4096 36 " in words and "qk 2 shapes 1,152 " in words
    assert "softmax and the other vector operators join with attention" in words
    result = CliRunner().invoke(main, ["run", "qwen3-8b"])
    assert result.exit_code == 2
    assert "layer gate_proj has 3,145,728 weight tiles on an array of 4x4" in result.stderr
