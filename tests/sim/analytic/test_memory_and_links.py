"""Models of memories, whole models and links, against numbers computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubewave.sim.analytic.model import find
from cubewave.sim.analytic.models.links import link_arrivals
from cubewave.sim.analytic.models.network import Network
from cubewave.sim.analytic.tables import entry
from cubewave.workloads.qwen3 import Model, Qwen3

#: A network of one layer small enough to count by hand.
SMALL = dict(layers=1, hidden=8, intermediate=10, heads=2, kv_heads=1, head_dim=4, vocabulary=100,
             experts=0, experts_per_token=0, weight_bits=16, weight_group=0, scale_bytes=0)


def test_hbm_stack(check):
    # 2 * 1500 MHz = 3 Gbit/s on 64 pins = 24 GB/s; 4 layers of 2 GB.
    check("hbm-stack", dict(pins=64, clock_mhz=1500, layers=4, layer_gb=2), pin_gbit_per_s=3,
          bandwidth_gb_per_s=24, stack_bytes=8e9)


def test_hbm_package(check):
    # 4 stacks: 48 / 4, 1024 / 4; 4 * 16 raw; 48 / 16; 4 * 512 bits; 256 * 8 / 512 = 4 Gbit/s;
    # 2048 * 5 / 8 = 1280.
    check("hbm-package", dict(capacity_gb=48, bandwidth_gb_per_s=1024, stacks=4, stack_gb=16,
                              pins=512, pin_gbit_per_s=5),
          stack_bytes=12e9, stack_gb_per_s=256, raw_bytes=64e9, stack_count=3, bus_bits=2048,
          implied_pin_gbit_per_s=4, pin_bandwidth_gb_per_s=1280)


def test_compare(check):
    check("compare", dict(a=10, b=8), ratio=1.25, gain=0.25, reduction=0.2, inverse=0.8)


def test_device_ratios(check):
    # Bandwidth 300 / 200, matrix rate 60 / 15; ridges 200 and 75.
    check("device-ratios", dict(bandwidth_a_gb_per_s=300, bandwidth_b_gb_per_s=200,
                                matrix_a_tflops_per_s=60, matrix_b_tflops_per_s=15),
          bandwidth_ratio=1.5, bandwidth_gain=0.5, matrix_ratio=4, decode_reduction=1 / 3,
          prefill_reduction=0.75, ridge_a=200, ridge_b=75)


def test_moe_padding(check):
    # 30 rows on 8 experts: 6 have 4 rows, 2 have 3; tiles of 3: 6 * 6 + 2 * 3 = 42 rows.
    check("moe-padding", dict(tokens=15, experts_per_token=2, experts=8, tile_m=3),
          assignments=30, rows_per_expert=3.75, tiles_per_expert=1.75, executed_rows=42,
          padding_rows_per_expert=1.5, efficiency=30 / 42, executed_ratio=1.4)


def test_moe_routing(check):
    # 3 requests of 2 of 4 experts: 4 at most; by chance 4 (1 - 1/8) = 3.5.
    check("moe-routing", dict(batch=3, experts=4, experts_per_token=2), scattered_experts=4,
          concentrated_experts=2, expected_experts=3.5, spread_ratio=2)


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 64))
def test_expected_experts_are_between_the_extremes(batch, experts, each):
    result = find("moe-routing")(batch=batch, experts=experts, experts_per_token=each)
    assert (result["concentrated_experts"] <= result["expected_experts"] * (1 + 1e-9)
            and result["expected_experts"] <= result["scattered_experts"] * (1 + 1e-9))


def test_capacity_fit(check):
    # 10 + 3 * 2 + 1 GB and 1 GiB = 18.073741824 of 20 GB.
    check("capacity-fit", dict(weight_gb=10, kv_gb=2, batch=3, workspace_gib=1, reserve_gb=1,
                               capacity_gb=20),
          total_bytes=18_073_741_824, spare_bytes=1_926_258_176, shortfall_bytes=-1_926_258_176,
          fits="yes")


def test_bulk_read(check):
    # 8,000 bytes: 1 us at 8 GB/s, 4 us at 2.
    check("bulk-read", dict(volume_bytes=8000, bandwidth_a_gb_per_s=8, bandwidth_b_gb_per_s=2),
          seconds_a=1e-6, seconds_b=4e-6, difference_seconds=3e-6, reduction=0.75)


def test_unified_copy(check):
    # 1 MiB = 1,048,576 bytes; copied at 1.048576 GB/s: 1 ms, then twice 0.1 ms; shared 2 * 0.5.
    check("unified-copy", dict(mib=1, copy_gb_per_s=1.048576, device_gb_per_s=10.48576,
                               bandwidth_gb_per_s=2.097152, uses=2),
          separate_seconds=1.2e-3, unified_seconds=1e-3, limited_by="separate")


def test_rom_weights(check):
    # 12 GB of weights, 4 requests of 2 GB: 20 before, 8 after, 2.5 times; equal at 6 requests;
    # ROM 12 / 100 = 120 ms, HBM 8 / 50 = 160 ms; 8 GB at 3 tokens a second.
    check("rom-weights", dict(weight_gb=12, kv_gb=2, batch=4, rom_gb_per_s=100, hbm_gb_per_s=50,
                              tokens_per_s=3),
          before_bytes=20e9, after_bytes=8e9, reduction_factor=2.5, crossover_batch=6,
          first_kv_batch=6, step_seconds=0.16, token_seconds=1 / 3, kv_gb_per_s=24,
          limited_by="HBM")


def test_distributed_sram(check):
    # 3 GB in chips of 1,024 MiB: 2.79 -> 3; 2 * 100 * 10 MB = 2 GB: 1.86 -> 2.
    check("distributed-sram", dict(weight_gb=3, kv_bytes_per_token=1e7, context=100, batch=2,
                                   chip_mib=1024),
          weight_chips=3, kv_bytes=2e9, kv_chips=2, total_chips=5, limited_by="weights")


def test_model_memory(check):
    # Attention 2 * 8 * 8 + 2 * 8 * 4 = 192, feed-forward 3 * 8 * 10 = 240, embedding and head
    # 2 * 800, norms 2 * 8 + 2 * 4 + 8 = 32: 2,064 weights of 2 bytes; KV 2 * 2 * 4 = 16 bytes.
    check("model-memory", dict(SMALL, batch=3, context=5, workspace_gib=0, capacity_gb=1e-5),
          weight_bytes=4128, kv_bytes_per_token=16, request_kv_bytes=80, kv_bytes=240,
          total_bytes=4368, spare_bytes=5632, fits="yes")
    # Experts of 4 bits with 1 byte for each 8 values are 0.625 bytes: 192 + 3 * 240 = 912 of them;
    # router 3 * 8, embedding, head, norms 1,632 + 24 of 2 bytes.
    check("model-memory", dict(SMALL, experts=3, experts_per_token=2, weight_bits=4,
                               weight_group=8, scale_bytes=1), weight_bytes=570 + 3312)


def test_kv_capacity(check):
    # 10 GB - 6 GB - 1 GiB = 2,926,258,176; a request of 1000 * 1e6 * 0.5 = 0.5 GB: 5 fit; 4 leave
    # 926,258,176.
    check("kv-capacity", dict(capacity_gb=10, weight_gb=6, workspace_gib=1,
                              kv_bytes_per_token=1e6, context=1000, batch=4, kv_ratio=0.5),
          free_bytes=2_926_258_176, request_kv_bytes=5e8, batch_kv_bytes=2e9,
          margin_bytes=926_258_176, most_requests=5, limited_by="weights")
    check("kv-capacity", dict(capacity_gb=10, weight_gb=11), most_requests=0)


def test_decode_step(check):
    # Weights 2 (192 + 240 + 800 + 32 + one row of 8) = 2,544 bytes; KV 3 * (5 + 1) * 16 = 288.
    # Work 2 * 432 + 4 * 5 * 8 + 2 * 800 = 864 + 160 + 1,600 for each of 3.
    check("decode-step", dict(SMALL, batch=3, context=5, kv_writes=1, bandwidth_gb_per_s=1,
                              matrix_tflops_per_s=1),
          weight_bytes=2544, kv_bytes=288, total_bytes=2832, linear_flops=864,
          attention_flops=160, head_flops=1600, token_flops=2624, memory_seconds=2.832e-6,
          compute_seconds=7.872e-9, bound_seconds=2.832e-6, tokens_per_s=3 / 2.832e-6,
          kv_equal_batch=2544 * 3 / 288, limited_by="memory", larger_read="weights")
    # 2 experts of 3 used: 192 + 2 * 240 of 2 bytes, router 24, head and one row 808, norms 32.
    check("decode-step", dict(SMALL, experts=3, experts_per_token=2),
          weight_bytes=2 * (672 + 24 + 808 + 32))


def test_prefill(check):
    # 3 tokens: 3 * 864; causal 2 * 8 * 3 * 4 = 192; head 1,600: 4,384 at 1 TFLOP/s.
    check("prefill", dict(SMALL, tokens=3, matrix_tflops_per_s=1, bandwidth_gb_per_s=1),
          linear_flops=2592, attention_flops=192, head_flops=1600, flops=4384,
          compute_seconds=4.384e-9, weight_seconds=4.128e-6, limited_by="memory")


def test_networks_are_those_of_the_workloads():
    """One inventory: the work of the closed form is that of the network's products."""
    assert entry("networks", "qwen3-8b")["vocabulary"] == Model.load("qwen3_8b").vocabulary
    decode = find("decode-step")(context=1000, batch=2)
    assert 2 * Qwen3("decode", context=1000, batch=2).useful_macs == 2 * decode["token_flops"]
    prefill = find("prefill")(tokens=300)
    assert 2 * Qwen3("prefill", tokens=300).useful_macs == prefill["flops"]


@given(st.integers(1, 64), st.integers(1, 64))
def test_steps_read_at_most_what_is_resident(experts, each):
    network = Network(**{**SMALL, "experts": experts, "experts_per_token": min(experts, each)})
    used = network.experts_per_token
    assert network.step_weight_bytes(used, 1) <= network.resident_bytes
    assert network.step_weight_bytes(used, 1) <= network.step_weight_bytes(experts, 1)


def test_prefill_bound(check):
    check("prefill-bound", dict(tflop=30, matrix_tflops_per_s=60), compute_seconds=0.5)


def test_step_time(check):
    # 10 + 5 * 2 = 20 GB at 40 GB/s: 0.5 s, 10 tokens a second.
    check("step-time", dict(weight_gb=10, kv_gb=2, batch=5, bandwidth_gb_per_s=40),
          total_bytes=20e9, read_seconds=0.5, tokens_per_s=10, limited_by="weights")
    check("step-time", dict(weight_gb=0, kv_gb=0), tokens_per_s=None)


def test_measured_decode(check):
    # Median of 5, 9, 4 is 5 ms; 1 GB + 2 * 500 * 1e6 = 2 GB at 1,000 GB/s: 2 ms, 0.4 of it.
    check("measured-decode", dict(round_1_ms=5, round_2_ms=9, round_3_ms=4, weight_gb=1,
                                  kv_bytes_per_token=1e6, batch=2, context=500, steps=10,
                                  bandwidth_gb_per_s=1000),
          median_seconds=0.005, spread=0.25, total_bytes=2e9, bound_seconds=0.002,
          bound_ratio=0.4, excess_seconds=0.003, tokens_per_s=400, run_seconds=0.05,
          bound_run_seconds=0.02, effective_gb_per_s=400)


def test_context_saving(check):
    # 300 positions of 1,000 bytes at 3 GB/s.
    check("context-saving", dict(context_before=500, context_after=200, kv_bytes_per_token=1000,
                                 bandwidth_gb_per_s=3), saved_bytes=300_000, saved_seconds=1e-4)


def test_weight_copies(check):
    # 5 * 2 MiB; a cache of 7 MiB holds 3, so 4; 6 / 5 of the time.
    check("weight-copies", dict(copies=5, copy_mib=2, cache_mib=7, rotate_us=6, reuse_us=5),
          footprint_bytes=10 * 2 ** 20, least_copies=4, slowdown=0.2)


def test_die_locality(check):
    # 1 GiB = 1.073741824e9 bytes: 1 s at 1.073741824 GB/s, 4 s over a quarter of that; 1 MiB of
    # activations 4 / 1024 s.
    check("die-locality", dict(gib_per_die=1, die_gb_per_s=1.073741824,
                               link_gb_per_s=0.268435456, activation_mib=1),
          weight_bytes=2 ** 31, local_seconds=1, remote_seconds=4, one_die_seconds=4,
          activation_seconds=4 / 1024, local_phase_seconds=1, remote_over_local=4,
          link_ratio=0.25, limited_by="link")
    check("die-locality", dict(die_gb_per_s=100, link_gb_per_s=100), limited_by="memory",
          remote_over_local=1)


def test_die_share(check):
    check("die-share", dict(total_gb_per_s=90, parts=3, other_gb_per_s=60), part_gb_per_s=30,
          total_over_other=1.5, part_over_other=0.5)


def test_host_transfer(check):
    # 1 MiB at 1.048576 GB/s is 1 ms, at 7.340032 a seventh; for each of 5 uses 0.2 ms.
    check("host-transfer", dict(mib=1, link_gb_per_s=1.048576, bandwidth_gb_per_s=7.340032,
                                uses=5),
          upload_seconds=1e-3, read_seconds=1e-3 / 7, upload_over_read=7, break_even_uses=7,
          upload_share_seconds=2e-4, limited_by="upload")


def test_alpha_beta(check):
    # 6,000 bytes at 2 GB/s = 3 us, and 5; 2.5 / 8 saved; alpha R = 10,000 bytes, 6.25 rows of
    # 1,600; 4 exchanges 20 and 32 us.
    check("alpha-beta", dict(message_bytes=6000, alpha_us=5, link_gb_per_s=2, row_bytes=1600,
                             exchanges=4),
          wire_seconds=3e-6, total_seconds=8e-6, half_alpha_saving=0.3125, crossover_bytes=10_000,
          crossover_rows=6.25, first_wire_rows=7, fixed_seconds=2e-5, chain_seconds=3.2e-5,
          limited_by="alpha")


def test_link_upgrade(check):
    # 8,000 bytes: 1 + 2 us at 4 GB/s, 1 + 8 us at 1.
    check("link-upgrade", dict(message_bytes=8000, alpha_us=1, link_a_gb_per_s=4,
                               link_b_gb_per_s=1),
          link_ratio=4, seconds_a=3e-6, seconds_b=9e-6, reduction=2 / 3)


def test_activation_rows(check):
    check("activation-rows", dict(rows=3, hidden=100, element_bytes=4), row_bytes=400,
          message_bytes=1200)


def test_message_coalescing(check):
    # 3 messages of 4,000 bytes, ready every 2 us, wire 1 us at 4 GB/s, alpha 3: 4, 8, 12 us;
    # merged 4 + 3 + 3 = 10; with overlapping start-ups 4, 6, 8.
    messages = dict(messages=3, message_bytes=4000, interval_us=2, alpha_us=3, link_gb_per_s=4)
    check("message-coalescing", messages, first_seconds=4e-6, last_seconds=1.2e-5,
          merged_seconds=1e-5, merged_bytes=12_000, earlier="merged")
    check("message-coalescing", dict(messages, startup="overlaps"), last_seconds=8e-6,
          earlier="separate")


@given(st.lists(st.integers(0, 100), min_size=1, max_size=10), st.integers(0, 9),
       st.integers(0, 9))
def test_overlapping_start_ups_are_never_later(ready, wire, alpha):
    ready = sorted(ready)
    overlapping = link_arrivals(ready, wire, alpha, occupies=False)
    assert all(a <= b for a, b in zip(overlapping, link_arrivals(ready, wire, alpha, True)))
    assert overlapping == sorted(overlapping)


def test_allreduce(check):
    # 7 of 20 us, with 30 us of computing between.
    check("allreduce", dict(latency_us=20, count=7, compute_us=30), one_seconds=2e-5,
          total_seconds=1.4e-4, task_seconds=3.5e-4, limited_by="compute")


def test_hops(check):
    # 3 + 4 hops of 10 ns; 640 bytes at 16 GB/s = 40 ns.
    check("hops", dict(columns=3, rows=4, hop_ns=10, message_bytes=640, link_gb_per_s=16),
          hops=7, distance_seconds=7e-8, wire_seconds=4e-8, total_seconds=1.1e-7,
          limited_by="distance")


def test_a_device_without_a_number_is_refused():
    with pytest.raises(ValueError, match=r"^device=m4: the device has no matrix_tflops_per_s; "
                                         r"give matrix_tflops_per_s=VALUE$"):
        find("roofline")(device="m4")
    assert find("roofline")(device="m4", matrix_tflops_per_s=1)["limited_by"] == "memory"
