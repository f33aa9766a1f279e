"""Models of on-chip storage, hand-off and movement, against numbers computed by hand."""

from hypothesis import given
from hypothesis import strategies as st

from cubewave.rtl.memory_timing import MemoryTiming
from cubewave.sim.analytic.model import find


def test_input_slots(check):
    # Transfers of 10, waits of 5, computing of 20, 3 blocks, 2 slots. Block 1: issued 0, ready
    # 15, computed 15 to 35. Block 2: issued 10, ready 25, computed 35 to 55. Block 3: needs the
    # slot of block 1, issued 35, ready 50, computed 55 to 75. One slot: 3 (10 + 5 + 20) = 105.
    given = dict(blocks=3, transfer=10, wait=5, compute=20, slots=2)
    check("input_slots", given, cycles=75, saved_ticks=30, issue_tick=0, ready_tick=15,
          start_tick=15, end_tick=35, gap_ticks=15)
    check("input_slots", dict(given, block=3), issue_tick=35, ready_tick=50, start_tick=55,
          end_tick=75, gap_ticks=0)
    # The channel sets the pace: 30 a block, the last one ready at 95 and computed until 115.
    check("input_slots", dict(given, transfer=30, slots=3, block=3), cycles=115, issue_tick=60,
          ready_tick=95, gap_ticks=10)
    check("input_slots", dict(given, slots=1), cycles=105, saved_ticks=None)


def test_tile_budget(check):
    # 2 (10 * 4 + 4 * 20) = 240 a pair; sums 10 * 20 * 4 = 800; 3 pairs: 1,520 of 1,536 bytes;
    # beside the sums (1536 - 800) / 240 = 3 pairs, alone 6.
    check("tile-budget", dict(m=10, n=20, k=4, pairs=3, capacity_kib=1.5), operand_bytes=80,
          pair_bytes=240, sum_bytes=800, total_bytes=1520, fits="yes", pairs_beside_sums=3,
          pairs_alone=6)
    check("tile-budget", dict(m=10, n=20, k=4, pairs=4, capacity_kib=1.5), fits="no")


def test_occupancy(check):
    # 100 / 30 = 3 groups, 10 KiB left; a limit of 2 groups leaves 40 KiB.
    check("occupancy", dict(capacity_kib=100, group_kib=30), resident_groups=3,
          unused_bytes=10240, limited_by="memory")
    check("occupancy", dict(capacity_kib=100, group_kib=30, most_groups=2), resident_groups=2,
          unused_bytes=40960, limited_by="group limit")


def test_accumulator_memory(check):
    # 2 pairs of 240 bytes stay, 800 bytes of sums move.
    check("accumulator-memory", dict(m=10, n=20, k=4, pairs=2), total_bytes=1280,
          moved_bytes=800, shared_bytes=480, shared_ratio=0.375)


def test_buffer_area(check):
    # 100 - 40 - 20 - 5; 10 MiB / 40; 1000 / 20; 10 MiB / 1000.
    check("buffer-area", dict(buffer_percent=40, compute_percent=20, control_percent=5,
                              buffer_mib=10, mac_units=1000),
          other_percent=35, bytes_per_percent=262_144, macs_per_percent=50,
          bytes_per_mac=10_485.76)


def test_l2_reuse(check):
    # 5 readers of 2 KiB; of the 4 repeated reads a quarter misses: 2 + 4 * 2 / 4 = 4 KiB.
    check("l2-reuse", dict(block_kib=2, readers=5, hit_ratio=0.75), requested_bytes=10240,
          off_chip_bytes=4096, reuse=2.5)


def test_block_requests(check):
    # m 10 in blocks of 4: 3; n 9 in blocks of 5: 2. Input 10 * 6 * 2 = 120, asked for twice;
    # weights 6 * 9 * 2 = 108, three times.
    check("block-requests", dict(m=10, k=6, n=9, block_m=4, block_n=5, element_bytes=2),
          blocks=6, input_bytes=120, input_request_bytes=240, weight_bytes=108,
          weight_request_bytes=324, request_ratio=564 / 228)


def test_input_slot_bounds(check):
    # (4 * 2 + 6 * 2) * 1 = 20 bytes at 4 a tick = 5; 2 * 4 * 6 * 2 = 96 FLOP at 12 = 8; wait 11:
    # ready 16, lifetime 24 = 3 slots; 3 blocks: 16 + 24 = 40, with one slot 72; the second block
    # is needed at 24; with 2 slots one every 12 ticks.
    check("input-slot-bounds", dict(m=4, n=6, k=2, k_total=6, element_bytes=1, bytes_per_tick=4,
                                    wait_ticks=11, flops_per_tick=12, slots=2, block=2),
          block_bytes=20, blocks=3, block_flops=96, buffer_bytes=40, transfer_ticks=5,
          ready_ticks=16, compute_ticks=8, lifetime_ticks=24, loads_in_flight=3.2, least_slots=3,
          earliest_finish_ticks=40, one_slot_ticks=72, needed_ticks=24, limited_by="latency")
    # A channel slower than the matrix unit: no number of slots fills the gaps.
    check("input-slot-bounds", dict(m=4, n=6, k=2, bytes_per_tick=1, flops_per_tick=12, slots=99,
                                    wait_ticks=0), least_slots=None, limited_by="channel")


def test_handoff_bounds(check):
    # 4 groups of 5 rows, 8 keys, head dimension 10: QK 800 / 100 = 8; scores 160 bytes at 16 = 10;
    # softmax ceil(5 * 23 / 10) + ceil(35 / 10) + 2 ceil(40 / 4) = 12 + 4 + 20 = 36;
    # probabilities 80 / 16 = 5. One slot: 4 (16 + 10 + 36 + 5) = 268; bound by the vector unit:
    # 16 + 10 + 144 + 5 = 175. A slot has 240 bytes, 4 of them in 1 KiB.
    check("handoff-bounds", dict(rows=20, group=5, keys=8, head_dim=10, passes=1,
                                 flops_per_tick=100, bytes_per_tick=16, lanes=10, sfu_lanes=4,
                                 capacity_kib=1),
          groups=4, group_score_bytes=160, group_probability_bytes=80, slot_bytes=240,
          slots_that_fit=4, all_score_bytes=640, interface_bytes=640, matrix_ticks=8,
          score_ticks=10, softmax_ticks=36, probability_ticks=5, vector_start_ticks=18,
          one_slot_ticks=268, vector_bound_ticks=175, limited_by="vector")


def test_handoff(check):
    # 20 rows in groups of 16 and 4, 8 keys, head dimension 10, staged. QK 2560 / 100 = 26 and 7;
    # scores 2 * 512 / 16 = 64 and 16; softmax ceil(16 * 23 / 10) + ceil(112 / 10) + 2 * 128 / 4 =
    # 37 + 12 + 64 = 113 and 10 + 3 + 16 = 29; probabilities 32 and 8.
    # First group: QK until 26, scores 90, softmax 203, probabilities 235, PV 261. Second group
    # with a slot of its own: QK 33, scores 106, softmax from 203 to 232, probabilities 243, PV
    # after the first one's 268. With one slot 261 + 7 + 16 + 29 + 8 + 7 = 328.
    given = dict(rows=20, keys=8, head_dim=10, rows_per_group=16, path="staged",
                 flops_per_cycle=100, interface_bytes_per_cycle=16, alu_per_cycle=10,
                 sfu_per_cycle=4)
    check("handoff", given, cycles=268, vector_start=90, vector_end=232, vector_idle_ticks=0,
          groups=2, group_cycles=261, qk_ticks=26, scores_ticks=64, softmax_ticks=113,
          probabilities_ticks=32, pv_ticks=26, slot_saving=60 / 328, limited_by="slots")
    check("handoff", dict(given, slots=3), cycles=268, limited_by="vector")
    # One slot: the second softmax starts at 261 + 7 + 16, 81 after the end of the first.
    check("handoff", dict(given, slots=1), cycles=328, vector_end=313, vector_idle_ticks=81,
          slot_saving=0, limited_by="slots")
    # Direct: QK 26, scores 58, softmax 171, probabilities 187, PV 213; then softmax 200,
    # probabilities 204, PV 220.
    check("handoff", dict(given, path="direct"), cycles=220, vector_start=58,
          direct_saving=48 / 268)
    check("handoff", given, direct_saving=48 / 268)
    check("handoff", dict(given, rows=4, rows_per_group=4), cycles=7 + 16 + 29 + 8 + 7)


def test_cv_path(check):
    # 10 * 20 * 2 = 400 bytes; outer 1,600 at 2 GB/s = 800 ns, direct 800 at 4 GB/s = 200 ns;
    # within 1 us 1.6 and 0.8 GB/s.
    check("cv-path", dict(m=10, n=20, element_bytes=2, matrix_us=1, outer_gb_per_s=2,
                          direct_gb_per_s=4),
          tensor_bytes=400, handoff_bytes=800, outer_bytes=1600, direct_bytes=800,
          outer_gb_per_s_needed=1.6, direct_gb_per_s_needed=0.8, outer_seconds=8e-7,
          direct_seconds=2e-7, limited_by="matrix")


def test_strided_view(check):
    # 3 rows of 5 * 2 bytes, 20 * 2 apart: span 2 * 40 + 10.
    check("strided-view", dict(rows=3, cols=5, element_bytes=2, width=20), row_bytes=10,
          pitch_bytes=40, useful_bytes=30, span_bytes=90, span_ratio=3)


def test_coalescing(check):
    # 8 accesses of 4 bytes, 16 apart, 32-byte transactions: bytes 0 to 115 in 4 of them.
    check("coalescing", dict(accesses=8, access_bytes=4, stride_bytes=16, transaction_bytes=32),
          useful_bytes=32, transactions=4, moved_bytes=128, efficiency=0.25)
    # Farther apart than a transaction: one each. The same address: one for all.
    check("coalescing", dict(accesses=8, access_bytes=4, stride_bytes=64, transaction_bytes=32),
          transactions=8)
    check("coalescing", dict(accesses=8, access_bytes=4, stride_bytes=0, transaction_bytes=32),
          transactions=1, useful_bytes=4)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 90), st.integers(1, 64))
def test_coalescing_counts_distinct_transactions(accesses, size, stride, transaction):
    touched = {(access * stride + byte) // transaction
               for access in range(accesses) for byte in range(size)}
    wanted = {access * stride + byte for access in range(accesses) for byte in range(size)}
    result = find("coalescing")(accesses=accesses, access_bytes=size, stride_bytes=stride,
                                transaction_bytes=transaction)
    assert (result["transactions"], result["useful_bytes"]) == (len(touched), len(wanted))


def test_expert_descriptors(check):
    # 10 * 64 = 640 against 64 + 9 * 4 = 100.
    check("expert-descriptors", dict(experts=10, descriptor_bytes=64, update_bytes=4),
          rewritten_bytes=640, updated_bytes=100, rewrite_ratio=6.4)


def test_img2col(check):
    # 7 x 9, kernel 3, stride 2, no padding: 3 * 4 = 12 rows of 3 * 3 * 5 = 45; 540 elements of 2
    # bytes against 315; written and read 2,160 bytes at 1 GB/s.
    check("img2col", dict(height=7, width=9, channels=5, kernel=3, stride=2, padding=0,
                          bandwidth_gb_per_s=1),
          input_bytes=630, unfold_rows=12, unfold_cols=45, unfold_bytes=1080,
          unfold_ratio=12 / 7, avoided_bytes=2160, avoided_seconds=2.16e-6)
    # A kernel larger than the padded input has no output.
    check("img2col", dict(height=2, width=2, kernel=5, padding=0), unfold_rows=0)


def test_little(check):
    # 10 * 64 bytes in 100 ns = 6.4 GB/s of 16; 3,200 bytes in 500 ns; needed 16 * 100 / 64 = 25.
    check("little", dict(outstanding=10, latency_ns=100, transaction_bytes=64, volume_bytes=3200,
                         bandwidth_gb_per_s=16),
          attainable_gb_per_s=6.4, concurrency_gb_per_s=6.4, read_seconds=5e-7,
          transactions_needed=25, concurrency_gain=-0.6, limited_by="transactions")
    check("little", dict(outstanding=25, latency_ns=100, transaction_bytes=64,
                         bandwidth_gb_per_s=16), limited_by="interface")


@given(st.integers(1, 64), st.integers(0, 300), st.integers(1, 64))
def test_little_is_what_the_channel_does_in_the_long_run(outstanding, latency, bandwidth):
    """The latency of a transaction on the channel is its own transfer and the wait after it."""
    size, transactions = 64, 40_000
    channel = MemoryTiming(bandwidth * 1, latency, outstanding, size, 1)
    cycles = channel.occupancy(size * transactions)
    law = find("little")(outstanding=outstanding, latency_ns=latency + size / bandwidth,
                         transaction_bytes=size, bandwidth_gb_per_s=bandwidth)
    assert abs(size * transactions / cycles / law["attainable_gb_per_s"] - 1) < 0.01
