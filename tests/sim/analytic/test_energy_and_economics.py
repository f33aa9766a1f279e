"""Models of energy, power and cost, against numbers computed by hand."""

from hypothesis import given
from hypothesis import strategies as st

from cubewave.sim.analytic.model import find
from cubewave.sim.analytic.tables import entry, look_up


def test_energy_per_byte(check):
    # 12 pJ for 16 bits: 6 pJ a byte, 0.75 a bit.
    check("energy-per-byte", dict(picojoules=12, bits=16), pj_per_byte=6, pj_per_bit=0.75)


def test_hbm_energy(check):
    check("hbm-energy", dict(datapath_pj=1, activation_pj=2, io_pj=0.5), pj_per_bit=3.5,
          pj_per_byte=28, limited_by="activation")


def test_the_table_of_energies_is_the_sources_numbers():
    """Per byte: 8 bits of a bit's energy, a quarter of a 32-bit word's."""
    table = entry("energies", "chapter")
    for key, source, factor in (("sram_kb", "sram-kb-word", 1 / 4),
                                ("sram_mb", "sram-mb-word", 1 / 4), ("link", "c2c-bit", 8),
                                ("off_chip", "hbm2-bit", 8), ("lpddr", "lpddr-word", 1 / 4)):
        assert table[f"{key}_pj_per_byte"] == factor * look_up(f"measured.energy-{source}.value")
    assert table["mac_pj"] == 2 * table["flop_pj"] == look_up("measured.energy-fma16-op.value")


def test_decode_energy(check):
    # 10 GB at 20 pJ = 0.2 J, over 4 requests 0.05; 2 GB 0.04 J; 40 GFLOP at 0.5 pJ = 0.02 J: 0.11;
    # single 0.26; equal at 0.2 / 0.02 = 10; 18 GB at 100 GB/s = 0.18 s for 0.44 J.
    check("decode-energy", dict(weight_gb=10, kv_gb=2, gflop=40, batch=4,
                                off_chip_pj_per_byte=20, flop_pj=0.5, bandwidth_gb_per_s=100),
          weight_joules=0.05, kv_joules=0.04, compute_joules=0.02, token_joules=0.11,
          step_joules=0.44, weight_share=5 / 11, batch_saving=26 / 11, flip_batch=10,
          first_compute_batch=11, step_seconds=0.18, average_watts=0.44 / 0.18,
          limited_by="weights")


@given(st.integers(1, 1000), st.floats(100, 10_000))
def test_energy_does_not_depend_on_bandwidth(batch, bandwidth):
    energy = find("decode-energy")
    assert (energy(batch=batch, bandwidth_gb_per_s=bandwidth)["step_joules"]
            == energy(batch=batch)["step_joules"])
    assert energy(batch=batch + 1)["token_joules"] < energy(batch=batch)["token_joules"]


def test_level_energy(check):
    # 2 GB at 1, 2, 3, 4 and 5 pJ.
    check("level-energy", dict(gigabytes=2, sram_kb_pj_per_byte=1, sram_mb_pj_per_byte=2,
                               link_pj_per_byte=3, off_chip_pj_per_byte=4, lpddr_pj_per_byte=5),
          sram_kb_joules=0.002, sram_mb_joules=0.004, link_joules=0.006, off_chip_joules=0.008,
          lpddr_joules=0.01)


def test_bandwidth_energy(check):
    # 6 J in 3 s; four times the bandwidth: 0.75 s, 8 W.
    check("bandwidth-energy", dict(joules=6, seconds=3, multiplier=4), joules_after=6,
          seconds_after=0.75, time_ratio=0.25, watts_after=8)


def test_dynamic_power(check):
    # (0.8 / 1)^2 = 0.64, * 0.5 * 2 = 0.64; 0.48 / 0.32 = 1.5.
    check("dynamic-power", dict(voltage_before=1, voltage_after=0.8, frequency_ratio=0.5,
                                alpha_c_ratio=2, reported_ratio=0.48),
          voltage_term=0.64, power_ratio=0.64, implied_alpha_c_ratio=1.5)


def test_cut(check):
    check("cut", dict(cut_percent=25, factor=2), left_ratio=0.75, product=1.5)


def test_power_density(check):
    check("power-density", dict(power_ratio=0.6, area_ratio=0.8), density_ratio=0.75,
          density_increase=-0.25, threshold_area_ratio=0.6, limited_by="area")


def test_power_cap(check):
    # 1,000 GB/s at 50 pJ = 50 W; 250 left, for 500 TFLOP/s 0.5 pJ; 4 pJ are 8 times that: 1/8 of
    # the frequency, or 1/2 with the voltage.
    check("power-cap", dict(power_watts=300, bandwidth_gb_per_s=1000, matrix_tflops_per_s=500,
                            off_chip_pj_per_byte=50, flop_pj_needed=4),
          memory_watts=50, compute_watts=250, budget_pj_per_flop=0.5, excess=8,
          fixed_voltage_frequency=0.125, scaled_voltage_frequency=0.5, limited_by="power")
    check("power-cap", dict(power_watts=10, bandwidth_gb_per_s=1000, off_chip_pj_per_byte=50),
          compute_watts=-40, excess=None, fixed_voltage_frequency=None)


def test_sustained_frequency(check):
    check("sustained-frequency", dict(excess=27), fixed_voltage=1 / 27, scaled_voltage=1 / 3,
          limited_by="power")
    check("sustained-frequency", dict(excess=0.5), fixed_voltage=1, scaled_voltage=1,
          limited_by="peak frequency")


def test_capped_step(check):
    # 10 + 3 * 2 = 16 GB at 80 = 0.2 s; 3 * 50 GFLOP at 1 / 2 TFLOP/s = 0.3 s; 16 * 10 + 150 * 1 pJ
    # = 0.31 J.
    check("capped-step", dict(weight_gb=10, kv_gb=2, gflop=50, batch=3, bandwidth_gb_per_s=80,
                              matrix_tflops_per_s=1, off_chip_pj_per_byte=10, flop_pj=1,
                              excess=2),
          memory_seconds=0.2, compute_seconds=0.3, step_seconds=0.3, step_joules=0.31,
          average_watts=0.31 / 0.3, limited_by="compute")


def test_instruction_overhead(check):
    check("instruction-overhead", dict(overhead_pj=10, operation_pj=40), overhead_ratio=0.25,
          overhead_share=0.2, limited_by="operation")


def test_cost_comparison(check):
    # a: 36 s at 10 USD/h, half busy: 0.2; b: 72 s at 4: 0.08; tasks an hour 72 * 0.5 / 36 = 1.
    check("cost-comparison", dict(seconds_a=36, seconds_b=72, usd_per_hour_a=10,
                                  usd_per_hour_b=4, utilisation_a=0.5),
          threshold_cost_ratio=1, usd_a=0.2, usd_b=0.08, output_ratio=1, limited_by="a")


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.1, 1))
def test_cost_threshold_is_where_both_cost_the_same(a, b, cost, utilisation):
    machines = dict(seconds_a=a, seconds_b=b, utilisation_a=utilisation)
    threshold = find("cost-comparison")(**machines)["threshold_cost_ratio"]
    result = find("cost-comparison")(**machines, usd_per_hour_a=threshold * cost,
                                     usd_per_hour_b=cost)
    assert abs(result["usd_a"] / result["usd_b"] - 1) < 1e-9


def test_energy_comparison(check):
    # 100 W * 20 us = 2 mJ; other 30 W * 50 us = 1.5 mJ, equal at 40 W.
    check("energy-comparison", dict(power_watts=100, time_us=20, other_time_us=50,
                                    other_watts=30),
          time_ratio=2.5, joules=0.002, other_joules=0.0015, break_even_watts=40,
          limited_by="first")


def test_step_energy(check):
    # 10 GB: 200 W at 50 GB/s = 40 J; 100 W at 20 GB/s = 50 J.
    check("step-energy", dict(gigabytes=10, power_a_watts=200, power_b_watts=100,
                              bandwidth_a_gb_per_s=50, bandwidth_b_gb_per_s=20),
          joules_a=40, joules_b=50, power_increase=1, energy_decrease=0.2)


def test_specialisation(check):
    # 1,000 USD at 0.2 for a million: 5e9 tokens; 10 days are 864,000 s; 2 machines at 100 a
    # second, a quarter busy: 43.2e6 tokens; one 21.6e6, so 231.48 -> 232 machines; 5e9 / 50 s.
    check("specialisation", dict(fixed_usd=1000, saving_usd=0.2, machines=2, tokens_per_s=100,
                                 utilisation=0.25, life_days=10),
          break_even_tokens=5e9, life_seconds=864_000, life_tokens=43.2e6, life_share=0.00864,
          least_machines=232, life_saving_usd=8.64, break_even_seconds=1e8,
          limited_by="fixed cost")


def test_lane_budget(check):
    # 1e9 operations in 10 us at 1 GHz, 2 a lane, half busy: 1e9 / 10,000 = 100,000 lanes; 500
    # lanes take 1 ms.
    check("lane-budget", dict(operations=1e9, clock_ghz=1, time_us=10, utilisation=0.5,
                              operations_per_lane=2, lanes=500),
          lanes_needed=100_000, given_seconds=1e-3, lane_factor=200)
