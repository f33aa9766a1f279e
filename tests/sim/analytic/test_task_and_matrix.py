"""Models of tasks and matrix units, against numbers computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubewave.sim.analytic.model import find
from cubewave.sim.analytic.models.task import double_buffered_time, phase_times

times = st.integers(0, 50)


def test_amdahl(check):
    # 30 / 3 = 10, + 20 = 30; before 50; 50 / 30; limit 50 / 20; a further doubling saves 10 / 2.
    check("amdahl", dict(accelerated_us=30, other_us=20, speedup=3), total_us=30,
          overall_speedup=5 / 3, saved_us=20, next_doubling_saves_us=5, limit=2.5,
          limited_by="other")


@given(st.floats(0.5, 1e6), st.floats(0.5, 1e6), st.floats(1, 1e6))
def test_amdahl_never_exceeds_its_limit(part, other, speedup):
    result = find("amdahl")(accelerated_us=part, other_us=other, speedup=speedup)
    assert 1 - 1e-9 <= result["overall_speedup"] <= result["limit"] * (1 + 1e-9)


def test_resource_sharing(check):
    # 3 / 60 = 0.05 s, 4 / 40 = 0.1 s.
    check("resource-sharing", dict(first_tflop=3, first_tflops_per_s=60, second_tflop=4,
                                   second_tflops_per_s=40),
          first_seconds=0.05, second_seconds=0.1, total_seconds=0.15, limited_by="second")


def test_phases(check):
    # max(6, 4) + max(2, 7) = 13; compute 8, memory 11; 13 - 11 = 2.
    check("phases", dict(compute_1_us=6, memory_1_us=4, compute_2_us=2, memory_2_us=7),
          total_us=13, compute_us=8, memory_us=11, bound_us=11, gap_us=2, limited_by="memory")
    # Three phases on three units: 5, 5 + 9, 14 + 4.
    assert phase_times([(5, 1, 2), (3, 9, 9), (4, 0, 0)]) == [5, 14, 18]


def test_double_buffer(check):
    # 5 (3 + 4) = 35; 3 + 4 + 4 * 4 = 23.
    check("double-buffer", dict(blocks=5, load_us=3, compute_us=4, buffers=3), serial_us=35,
          two_buffer_us=23, total_us=23, saved_us=12, limited_by="compute")
    # One buffer: no overlap at all.
    check("double-buffer", dict(blocks=5, load_us=3, compute_us=4, buffers=1), total_us=35)


@given(st.integers(1, 30), times, times, st.integers(2, 5))
def test_more_buffers_than_two_do_not_help_equal_blocks(blocks, load, compute, buffers):
    closed = load + compute + (blocks - 1) * max(load, compute)
    assert double_buffered_time(blocks, load, compute, buffers) == closed
    assert double_buffered_time(blocks, load, compute, 1) == blocks * (load + compute)


def test_busy_time(check):
    # 30/50 = 0.6 of the peak at work, at work 50/200 = 0.25: together 0.15; 150 waiting.
    check("busy-time", dict(service_us=30, active_us=50, total_us=200), overall_ratio=0.15,
          active_ratio=0.6, active_share=0.25, waiting_us=150, limited_by="waiting")


def test_exposed_overhead(check):
    # 4 + 10 (1 - 0.6) = 8: half of it is the bound; 1000 / 8 steps a second.
    check("exposed-overhead", dict(bound_ms=4, overhead_ms=10, overlapped=0.6), step_ms=8,
          bound_ratio=0.5, tokens_per_s=125, limited_by="bandwidth")


def test_matrix_tile(check):
    # 4 * 8 * 2 = 64 MACs on 4 * 2 + 2 * 8 elements.
    check("matrix-tile", dict(m=4, n=8, k=2), flops=128, macs=64, a_elements=8, b_elements=16,
          a_uses=8, b_uses=4)


def test_tile_padding(check):
    # m 5 -> 8, k 9 -> 12, n 10 -> 12: 450 / 1152; rows alone 5 / 8; 2 * 3 * 3 tiles.
    check("tile-padding", dict(m=5, k=9, n=10, tile_m=4, tile_k=4, tile_n=4),
          efficiency=450 / 1152, row_efficiency=0.625, useful_macs=450, executed_macs=1152,
          tiles=18)


@given(*(st.integers(1, 100) for _ in range(6)))
def test_padding_is_whole_tiles(m, k, n, tile_m, tile_k, tile_n):
    given_values = dict(m=m, k=k, n=n, tile_m=tile_m, tile_k=tile_k, tile_n=tile_n)
    result = find("tile-padding")(**given_values)
    assert 0 < result["efficiency"] <= 1
    assert (result["efficiency"] == 1) == (not (m % tile_m or k % tile_k or n % tile_n))


def test_fill_drain(check):
    # One tile: 5 + 4 + 3 - 2 = 10. Three: 4 + 2 max(5, 4) + 10 = 24; rows enter in 15 of them.
    check("fill-drain", dict(rows=4, cols=3, m=5, tiles=3), tile_cycles=10, run_cycles=24,
          array_cycles=15, utilization=15 / 24, limited_by="activations")
    # Fewer rows than the array has: shifting weights sets the interval, 4 + 1 * 4 + 2 + 4 + 3 - 2.
    check("fill-drain", dict(rows=4, cols=3, m=2, tiles=2), run_cycles=15,
          limited_by="weight shift")


def test_weight_stationary(check):
    # 8 * 8 weights of 2 bytes = 128; 2 * 3 * 64 = 384 ops, 6 for each weight, 3 for each byte;
    # 128 bytes at 1 GB/s = 128 ns; 3 rows at 100 MHz = 30 ns; balanced at 12.8 rows.
    check("weight-stationary", dict(side=8, rows=3, weight_bytes=2, fifo_tiles=3,
                                    weight_gb_per_s=1, clock_mhz=100),
          mac_units=64, tile_bytes=128, fifo_bytes=384, ops=384, ops_per_weight_byte=3,
          load_seconds=128e-9, compute_seconds=30e-9, balanced_rows=12.8, limited_by="weights")


def test_gemv_path(check):
    # One row of 1000 x 1000: padded to 10 rows 2e7 FLOP at 1 TFLOP/s = 20 us; 2e6 at 0.5 = 4 us;
    # 2 (1000 + 1e6 + 1000) bytes at 2004 GB/s = 1 us.
    check("gemv-path", dict(m=1, k=1000, n=1000, tile_m=10, matrix_tflops_per_s=1,
                            vector_tflops_per_s=0.5, bandwidth_gb_per_s=2004),
          matrix_seconds=2e-5, vector_seconds=4e-6, memory_seconds=1e-6, choice="vector",
          limited_by="vector")


def test_split_k(check):
    # 2 * 3 blocks, split 4 ways: 24 blocks on 10 units are 3 waves of 10; partial 4 * 200 * 300
    # * 4 bytes, written and read; operands 2 (200 * 100 + 100 * 300 + 200 * 300) = 220,000.
    check("split-k", dict(m=200, k=100, n=300, splits=4, tile_m=100, tile_n=100, units=10),
          kernels=2, blocks=24, waves=3, unit_use=0.8, partial_traffic_bytes=1_920_000,
          total_bytes=2_140_000, traffic_ratio=107 / 11)
    check("split-k", dict(m=1, splits=1), kernels=1, partial_traffic_bytes=0, traffic_ratio=1)


def test_sparsity(check):
    # 1 of 4 of 800 values of 8 bits: 200 (8 + 2) / 8 = 250 bytes against 800.
    check("sparsity", dict(kept=1, group=4, values=800, value_bits=8), density=0.25,
          rate_ratio=4, index_bits=2, dense_bytes=800, sparse_bytes=250, size_ratio=3.2)


def test_dual_path(check):
    # 2 * 10 * 100 * 100 = 200,000 FLOP; 2 (1000 + 10000 + 1000) = 24,000 bytes at 10 GB/s = 2.4 us;
    # 0.1 TFLOP/s: 2 us; 0.02 TFLOP/s: 10 us, so matrix units gain 10 / 2.4.
    check("dual-path", dict(m=10, k=100, n=100, matrix_tflops_per_s=0.1,
                            vector_tflops_per_s=0.02, bandwidth_gb_per_s=10),
          flops=200_000, total_bytes=24_000, vector_seconds=1e-5, matrix_seconds=2e-6,
          memory_seconds=2.4e-6, vector_limited_by="vector", limited_by="memory",
          matrix_gain=10 / 2.4)


def test_projection(check):
    # m 3, k 4, n 5 of 4 bytes: 120 FLOP; 4 (12 + 20 + 15) = 188; rows add 36; limit 40 / 36.
    check("projection", dict(m=3, k=4, n=5, element_bytes=4), flops=120, weight_bytes=80,
          input_output_bytes=108, row_bytes=36, total_bytes=188, intensity=120 / 188,
          intensity_limit=40 / 36, weight_bytes_per_row=80 / 3)


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_intensity_grows_with_rows_up_to_its_limit(m, more):
    few, many = find("projection")(m=m), find("projection")(m=m + more)
    assert few["intensity"] < many["intensity"] < many["intensity_limit"]
    assert many["total_bytes"] - few["total_bytes"] == more * few["row_bytes"]


def test_rows_growth(check):
    # Bytes 2 (8 + 8 + 8) = 48 with k 4, n 2, m 2... at m 2: 2 (8 + 8 + 4) = 40; at m 6: 2 (24 + 8
    # + 12) = 88: 2.2 times; growth 1.2.
    check("rows-growth", dict(m_before=2, m_after=6, k=4, n=2), work_ratio=3, traffic_ratio=2.2,
          traffic_growth=1.2, growth_inverse=1 / 1.2)
    check("rows-growth", dict(m_before=2, m_after=2), growth_inverse=None)


def test_roofline(check):
    # 2 * 20 * 100 * 100 = 400,000 FLOP at 0.2 TFLOP/s = 2 us; 2 (2000 + 10000 + 2000) bytes
    # at 7 GB/s = 4 us: 0.1 TFLOP/s; ridge 200 / 7.
    check("roofline", dict(m=20, k=100, n=100, matrix_tflops_per_s=0.2, bandwidth_gb_per_s=7),
          flops=400_000, total_bytes=28_000, intensity=400 / 28, ridge=200 / 7,
          compute_seconds=2e-6, memory_seconds=4e-6, bound_seconds=4e-6,
          attainable_tflops_per_s=0.1, limited_by="memory")


@given(st.integers(1, 4096), st.floats(1, 1e4), st.floats(1, 1e4), st.floats(1, 10))
def test_roofline_is_monotone_in_both_rates(m, rate, bandwidth, factor):
    shape = dict(m=m, k=512, n=512)
    bound = find("roofline")(**shape, matrix_tflops_per_s=rate, bandwidth_gb_per_s=bandwidth)
    for faster in (dict(matrix_tflops_per_s=rate * factor, bandwidth_gb_per_s=bandwidth),
                   dict(matrix_tflops_per_s=rate, bandwidth_gb_per_s=bandwidth * factor)):
        assert find("roofline")(**shape, **faster)["bound_seconds"] <= bound["bound_seconds"]


def test_ridge(check):
    # Intensity 10; k = n = 100, 2 bytes: m = 10 * 2 * 10000 / (20000 - 10 * 2 * 200) = 12.5.
    check("ridge", dict(k=100, n=100, matrix_tflops_per_s=1, bandwidth_gb_per_s=100), ridge=10,
          crossover_rows=12.5, first_compute_rows=13, intensity_limit=50)
    # Intensity 60 is above the limit of 50: memory-bound at any row count.
    check("ridge", dict(k=100, n=100, matrix_tflops_per_s=6, bandwidth_gb_per_s=100),
          crossover_rows=None, first_compute_rows=None)


@given(st.integers(64, 4096), st.integers(64, 4096), st.floats(1, 30))
def test_ridge_is_where_the_roofline_turns(k, n, rate):
    device = dict(k=k, n=n, matrix_tflops_per_s=rate, bandwidth_gb_per_s=1000)
    first = find("ridge")(**device)["first_compute_rows"]
    if first is not None and first > 1:
        assert find("roofline")(m=first, **device)["limited_by"] == "compute"
        below = find("roofline")(m=first - 1, **device)
        assert below["memory_seconds"] >= below["compute_seconds"] * (1 - 1e-12)


def test_results_that_do_not_exist_are_none():
    assert find("amdahl")(accelerated_us=5, other_us=0)["limit"] is None
    with pytest.raises(ValueError, match=r"^amdahl: .* too large"):
        find("amdahl")(accelerated_us=1e15, other_us=1, speedup=1e-300)
