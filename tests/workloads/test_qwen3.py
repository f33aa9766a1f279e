"""Qwen3-8B: the chapter's work and traffic, and small models of the same kind on the hardware.

Work and traffic are those of the products, as in the chapter, whose attention is two products for
each key-value head. Rotary embedding and residuals add traffic of their own, and no MACs.
"""

import time

import pytest
from click.testing import CliRunner

from cubewave.rtl import Design
from cubewave.sim.cli import main
from cubewave.sim.network import simulate_network
from cubewave.workloads import WorkloadError
from cubewave.workloads.qwen3 import Model, Qwen3

SMALL = Model("small", layers=3, hidden=8, heads=4, kv_heads=2, head_dim=4, intermediate=12,
              vocabulary=20, rope_base=1e4, tied_embedding=False)
VECTOR = ("rope", "residual")


def flops(network, choose):
    return sum(2 * layer.useful_macs for layer in network.layers() if choose(layer))


def linear(layer):
    return layer.name not in ("attention", "lm_head")


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
    assert flops(step, lambda layer: layer.name == "attention") == 4_831_838_208
    assert flops(step, lambda layer: layer.name == "lm_head") == 1_244_659_712
    assert 2 * step.useful_macs == 19_968_032_768
    # Linear layers and head, as systems.md gives them for the lane budget.
    assert flops(step, lambda layer: layer.name != "attention") == 15_136_194_560


def test_prefill_work_of_the_chapter():
    """q8b-prefill-attn and q8b-prefill-tflops of 4.8.2, exact to the last operation."""
    prompt = Qwen3("prefill", tokens=4096)
    assert flops(prompt, lambda layer: layer.name == "attention") == 4_949_010_284_544
    assert 2 * prompt.useful_macs == 61_849_981_681_664


def test_causal_work_does_not_depend_on_the_groups():
    for tokens in (1, 5, 16):
        works = {Qwen3("prefill", tokens=tokens, query_block=block, model=SMALL).useful_macs
                 for block in (1, 3, 4, 16, None)}
        layer = tokens * sum(k * n for _, k, n in SMALL.projections())
        heads = SMALL.heads * SMALL.head_dim
        attention = 2 * heads * tokens * (tokens + 1) // 2
        assert works == {SMALL.layers * (layer + attention) + 8 * 20}
    design = Design.preset("tiny")
    for block, masked in ((1, 0), (4, 2 * 16 * 6)):  # 4 rows execute 6 keys beyond their own
        prompt = Qwen3("prefill", tokens=4, query_block=block, model=SMALL, scope="layer")
        assert simulate_network(design, prompt).masked_macs == masked


def test_decode_bytes_of_the_chapter_at_two_bytes_a_value():
    """q8b-step-weight-bytes and q8b-step-kv-bytes of 4.1.3, but for what no product reads:
    norms and the embedding's row."""
    result = simulate_network(Design.preset("ascend-910"), Qwen3("decode", context=8192),
                              level="analytic")
    layers, hidden, head_dim = 36, 4096, 128
    not_products = 2 * (layers * (2 * hidden + 2 * head_dim) + hidden + hidden)
    products = [layer for layer in result.layers if layer.layer.name not in VECTOR]
    cache = sum(layer.bytes_read - layer.layer.count * 2 * hidden for layer in products
                if layer.layer.name == "attention")
    assert cache == 8192 * 147456 == 1_207_959_552  # the four heads that share it read it once
    activations = 2 * sum(layer.layer.count * layer.layer.product.shape[0]
                          * layer.layer.product.shape[1] for layer in products
                          if layer.layer.name != "attention")
    weights = sum(layer.bytes_read for layer in products
                  if layer.layer.name != "attention") - activations
    assert weights == 15_136_819_200 - not_products


def test_vector_work_of_the_chapter():
    """4.2.2: 15360 operations for each token and layer turn the pairs of queries and keys."""
    for network, tokens in ((Qwen3("decode", batch=3), 3), (Qwen3("prefill", tokens=7), 7)):
        rope, *residuals = (layer for layer in network.layers() if layer.name in VECTOR)
        assert rope.count * rope.product.operations == 36 * tokens * 15360
        assert rope.product.base == 1e6
        assert [layer.count * layer.product.operations for layer in residuals] == (
            2 * [36 * tokens * 4096])
    assert (Qwen3("decode", context=9, batch=2).layers()[3].product.positions == 8).all()


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
        "q_proj", "k_proj", "v_proj", "rope", "attention", "o_proj", "residual",
        "gate_proj", "up_proj", "down_proj", "residual"]


def test_operators_without_hardware_are_listed():
    model, layer = (Qwen3(context=64, batch=2, scope=scope) for scope in ("model", "layer"))
    assert [(entry.name, entry.count, entry.what) for entry in model.omitted] == [
        ("rms_norm", 73, "2x4096"), ("qk_norm", 36, "2x5120"), ("silu_mul", 36, "2x12288")]
    assert [entry.count for entry in layer.omitted] == [2, 1, 1]


@pytest.mark.parametrize("preset", [
    "tpu-v1", pytest.param("b200-sm", marks=pytest.mark.long)])
def test_a_whole_decode_step_takes_seconds(preset):
    started = time.process_time()
    result = simulate_network(Design.preset(preset), Qwen3("decode"))
    assert time.process_time() - started < 60
    # Runs: the products of five shapes, attention, rotary embedding, residual.
    assert result.ok and len(result.runs) == 8
    assert result.totals()["layers"] == 36 * (7 + 1 + 1 + 2) + 1
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
    assert "q_proj 512x4096x4096 36 " in words and (
        "attention 32 x 256x128x256 72 " in words)
    assert "rope 256x5120 72 " in words and "residual 512x4096 36 " in words
    assert "rms_norm 512x4096 73 - - not simulated - -" in words
    assert "RMS norms and SiLU are not simulated: the vector unit has no operations" in words
    result = CliRunner().invoke(main, ["run", "qwen3-8b"])
    assert result.exit_code == 2
    assert "layer gate_proj has 3,145,728 weight tiles on an array of 4x4" in result.stderr
