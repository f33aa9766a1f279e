"""Energy and power: per byte and per operation, ledgers of a step, dynamic power, caps."""

import math

from ..model import Results, model
from ..parameters import fraction, integer, real
from .common import BANDWIDTH, ENERGIES, MATRIX_RATE, longest

__all__ = ["decode_energy", "dynamic_power", "energy_per_byte", "hbm_energy",
           "instruction_overhead", "level_energy", "power_cap", "power_density",
           "sustained_frequency"]

OFF_CHIP = real("off_chip_pj_per_byte", None, "pJ/byte", "energy of a byte from memory",
                source="energies.off_chip_pj_per_byte")
FLOP_PJ = real("flop_pj", None, "pJ/FLOP", "energy of a FLOP", source="energies.flop_pj")
STEP = [real("weight_gb", 15.1368192, "GB", "weights read in a step"),
        real("kv_gb", 1.207959552, "GB", "keys and values of a request"),
        real("gflop", 19.968032768, "GFLOP", "work of a request"),
        integer("batch", 1, "requests", "requests of a step", high=1 << 30)]


@model("energy-per-byte", "4.1.3", "Energy of a word or a bit as energy of a byte", [
    real("picojoules", 50, "pJ", "energy of an access"),
    integer("bits", 32, "bit", "bits of the access", high=1 << 20),
], {
    "pj_per_byte": ("pJ/byte", "energy of a byte"),
    "pj_per_bit": ("pJ/bit", "energy of a bit"),
})
def energy_per_byte(picojoules: float, bits: int) -> Results:
    """e / (bits / 8). Source: chapter 4.1.3."""
    return {"pj_per_byte": picojoules / (bits / 8), "pj_per_bit": picojoules / bits}


@model("hbm-energy", "4.1.3", "The parts of the energy of a bit from HBM2", [
    real("datapath_pj", 2.24, "pJ/bit", "data path inside the die", above=False),
    real("activation_pj", 1.21, "pJ/bit", "row activation", above=False),
    real("io_pj", 0.3, "pJ/bit", "interposer", above=False),
], {
    "pj_per_bit": ("pJ/bit", "all parts"),
    "pj_per_byte": ("pJ/byte", "the same for a byte"),
    "limited_by": ("text", "the largest part"),
})
def hbm_energy(datapath_pj: float, activation_pj: float, io_pj: float) -> Results:
    """a + b + c. Source: chapter 4.1.3; with error correction the source says 3.92 or 3.97."""
    total = datapath_pj + activation_pj + io_pj
    return {"pj_per_bit": total, "pj_per_byte": 8 * total, "limited_by": longest(
        {"data path": datapath_pj, "activation": activation_pj, "interposer": io_pj})}


@model("decode-energy", "4.1.3", "Energy ledger of a decode step: weights, keys and values, work", [
    *STEP, OFF_CHIP, FLOP_PJ, BANDWIDTH,
], {
    "weight_joules": ("J", "weights, for each token"),
    "kv_joules": ("J", "keys and values, for each token"),
    "compute_joules": ("J", "multiply-accumulates, for each token"),
    "token_joules": ("J", "all three, for each token"),
    "step_joules": ("J", "for all requests"),
    "weight_share": ("ratio", "weights over all three"),
    "batch_saving": ("ratio", "energy of a token of a single request over this"),
    "flip_batch": ("requests", "batch at which weights cost what the work costs"),
    "first_compute_batch": ("requests", "first whole batch beyond it"),
    "step_seconds": ("s", "bytes over bandwidth"),
    "average_watts": ("W", "energy over time of a step"),
    "limited_by": ("text", "the largest of the three, for each token"),
}, {**ENERGIES, "device": "devices:h100"})
def decode_energy(weight_gb: float, kv_gb: float, gflop: float, batch: int,
                  off_chip_pj_per_byte: float, flop_pj: float, bandwidth_gb_per_s: float
                  ) -> Results:
    """W e / B + K e + F f; flip batch = W e / (F f). Source: chapter 4.1.3, 4.8.4.

    Bandwidth does not change the energy, only the time and so the power.
    """
    weight, kv = weight_gb * off_chip_pj_per_byte * 1e-3, kv_gb * off_chip_pj_per_byte * 1e-3
    work = gflop * flop_pj * 1e-3
    parts = {"weights": weight / batch, "keys and values": kv, "compute": work}
    token = sum(parts.values())
    seconds = (weight_gb + batch * kv_gb) / bandwidth_gb_per_s
    return {"weight_joules": weight / batch, "kv_joules": kv, "compute_joules": work,
            "token_joules": token, "step_joules": batch * token,
            "weight_share": weight / batch / token, "batch_saving": (weight + kv + work) / token,
            "flip_batch": weight / work, "first_compute_batch": math.floor(weight / work) + 1,
            "step_seconds": seconds, "average_watts": batch * token / seconds,
            "limited_by": longest(parts)}


@model("level-energy", "4.1.3", "Energy of the same bytes at each level of memory", [
    real("gigabytes", 16.344778752, "GB", "bytes"),
    *(real(f"{level}_pj_per_byte", None, "pJ/byte", text,
           source=f"energies.{level}_pj_per_byte")
      for level, text in (("sram_kb", "kilobytes of SRAM"), ("sram_mb", "megabytes of SRAM"),
                          ("link", "link between chips"), ("off_chip", "HBM"),
                          ("lpddr", "LPDDR"))),
], {
    "sram_kb_joules": ("J", "from kilobytes of SRAM"),
    "sram_mb_joules": ("J", "from megabytes of SRAM"),
    "link_joules": ("J", "over the link"),
    "off_chip_joules": ("J", "from HBM"),
    "lpddr_joules": ("J", "from LPDDR"),
}, ENERGIES)
def level_energy(gigabytes: float, **picojoules: float) -> Results:
    """V e, with each level's e. Source: chapter 4.1.3."""
    return {name.replace("_pj_per_byte", "_joules"): gigabytes * value * 1e-3
            for name, value in picojoules.items()}


@model("bandwidth-energy", "4.1.3", "More bandwidth: less time, the same energy", [
    real("joules", 0.53408619773952, "J", "energy of a step"),
    real("seconds", 0.004879038433432836, "s", "time of a step"),
    real("multiplier", 2, "ratio", "bandwidth over before"),
], {
    "joules_after": ("J", "energy of a step after"),
    "seconds_after": ("s", "time of a step after"),
    "time_ratio": ("ratio", "time after over before"),
    "watts_after": ("W", "average power after"),
})
def bandwidth_energy(joules: float, seconds: float, multiplier: float) -> Results:
    """E stays, t / x, so the power rises by x. Source: chapter 4.1.3."""
    return {"joules_after": joules, "seconds_after": seconds / multiplier,
            "time_ratio": 1 / multiplier, "watts_after": joules / (seconds / multiplier)}


@model("dynamic-power", "4.1.3", "Dynamic power alpha C V^2 f after a change", [
    real("voltage_before", 0.85, "V", "supply before"),
    real("voltage_after", 0.55, "V", "supply after"),
    fraction("frequency_ratio", 0.37, "frequency after over before", high=100),
    fraction("alpha_c_ratio", 1, "switched capacitance after over before", high=100),
    fraction("reported_ratio", 0.34, "power after over before, as reported", high=100),
], {
    "voltage_term": ("ratio", "voltage ratio squared"),
    "power_ratio": ("ratio", "power after over before"),
    "implied_alpha_c_ratio": ("ratio", "growth of alpha C that explains the reported ratio"),
})
def dynamic_power(voltage_before: float, voltage_after: float, frequency_ratio: float,
                  alpha_c_ratio: float, reported_ratio: float) -> Results:
    """P1 / P0 = (aC1 / aC0) (V1 / V0)^2 (f1 / f0). Source: chapter 4.1.3."""
    voltage = (voltage_after / voltage_before) ** 2
    return {"voltage_term": voltage, "power_ratio": alpha_c_ratio * voltage * frequency_ratio,
            "implied_alpha_c_ratio": reported_ratio / (voltage * frequency_ratio)}


@model("cut", "4.1.3", "What a cut in percent leaves, and the product of two factors", [
    real("cut_percent", 63, "percent", "the cut", high=100, above=False),
    fraction("factor", 0.42, "another factor", high=1e6),
], {
    "left_ratio": ("ratio", "what is left"),
    "product": ("ratio", "what is left times the factor"),
})
def cut(cut_percent: float, factor: float) -> Results:
    """1 - cut / 100. Source: chapter 4.1.3."""
    left = (100 - cut_percent) / 100
    return {"left_ratio": left, "product": left * factor}


@model("power-density", "4.1.3", "Power density after power and area shrink", [
    fraction("power_ratio", 0.75, "power after over before", high=100),
    fraction("area_ratio", 0.60, "area after over before", high=100),
], {
    "density_ratio": ("ratio", "density after over before"),
    "density_increase": ("ratio", "the same minus 1"),
    "threshold_area_ratio": ("ratio", "smallest area ratio at which density does not rise"),
    "limited_by": ("text", "whether heat or area is the tighter constraint afterwards"),
})
def power_density(power_ratio: float, area_ratio: float) -> Results:
    """d = p / a; it does not rise from a = p on. Source: chapter 4.1.3."""
    density = power_ratio / area_ratio
    return {"density_ratio": density, "density_increase": density - 1,
            "threshold_area_ratio": power_ratio,
            "limited_by": "heat" if density > 1 else "area"}


@model("power-cap", "4.1.3", "What a power cap leaves for each FLOP at peak rate", [
    real("power_watts", None, "W", "the cap", source="device.power_watts"),
    BANDWIDTH, MATRIX_RATE, OFF_CHIP,
    real("flop_pj_needed", 0.75, "pJ/FLOP", "energy of a FLOP, everything counted"),
], {
    "memory_watts": ("W", "memory at full bandwidth"),
    "compute_watts": ("W", "left for computing; negative if nothing is"),
    "budget_pj_per_flop": ("pJ/FLOP", "left for each FLOP at peak rate"),
    "excess": ("ratio", "energy needed over budget; none without a budget"),
    "fixed_voltage_frequency": ("ratio", "sustained over peak frequency, voltage fixed"),
    "scaled_voltage_frequency": ("ratio", "the same, voltage following the frequency"),
    "limited_by": ("text", "power, or the matrix rate"),
}, {**ENERGIES, "device": "devices:h100"})
def power_cap(power_watts: float, bandwidth_gb_per_s: float, matrix_tflops_per_s: float,
              off_chip_pj_per_byte: float, flop_pj_needed: float) -> Results:
    """budget = (cap - R e) / P; with more energy for a FLOP the frequency falls.

    How far says sustained-frequency. Source: chapter 4.1.3.
    """
    memory = bandwidth_gb_per_s * off_chip_pj_per_byte * 1e-3
    compute = power_watts - memory
    budget = compute / matrix_tflops_per_s
    excess = flop_pj_needed / budget if budget > 0 else None
    over = None if excess is None else max(1.0, excess)
    return {"memory_watts": memory, "compute_watts": compute, "budget_pj_per_flop": budget,
            "excess": excess, "fixed_voltage_frequency": None if over is None else 1 / over,
            "scaled_voltage_frequency": None if over is None else over ** (-1 / 3),
            "limited_by": "power" if excess is None or excess > 1 else "matrix rate"}


@model("sustained-frequency", "4.1.3", "Frequency that a power cap allows", [
    real("excess", 1.5, "ratio", "energy needed over budget"),
], {
    "fixed_voltage": ("ratio", "sustained over peak frequency, voltage fixed"),
    "scaled_voltage": ("ratio", "the same, voltage following the frequency"),
    "limited_by": ("text", "power, or the peak frequency"),
})
def sustained_frequency(excess: float) -> Results:
    """1 / x and x^(-1/3), at most 1: with V ~ f power is ~ f^3. Source: chapter 4.1.3."""
    over = max(1.0, excess)
    return {"fixed_voltage": 1 / over, "scaled_voltage": (1 / over) ** (1 / 3),
            "limited_by": "power" if excess > 1 else "peak frequency"}


@model("capped-step", "4.8.4", "Time and power of a decode step on a device under a power cap", [
    *STEP, BANDWIDTH, MATRIX_RATE, OFF_CHIP, FLOP_PJ,
    real("excess", 1.5, "ratio", "energy needed over budget, voltage fixed"),
], {
    "memory_seconds": ("s", "bytes over bandwidth"),
    "compute_seconds": ("s", "work over the sustained rate"),
    "step_seconds": ("s", "the longer of the two"),
    "step_joules": ("J", "memory and arithmetic"),
    "average_watts": ("W", "energy over time"),
    "limited_by": ("text", "memory or compute"),
}, {**ENERGIES, "device": "devices:h100"})
def capped_step(weight_gb: float, kv_gb: float, gflop: float, batch: int,
                bandwidth_gb_per_s: float, matrix_tflops_per_s: float,
                off_chip_pj_per_byte: float, flop_pj: float, excess: float) -> Results:
    """max((W + B K) / R, B F x / P). Source: chapter 4.8.4."""
    nbytes = weight_gb + batch * kv_gb
    times = {"memory": nbytes / bandwidth_gb_per_s,
             "compute": batch * gflop * 1e-3 / (matrix_tflops_per_s / max(1.0, excess))}
    joules = (nbytes * off_chip_pj_per_byte + batch * gflop * flop_pj) * 1e-3
    seconds = max(times.values())
    return {"memory_seconds": times["memory"], "compute_seconds": times["compute"],
            "step_seconds": seconds, "step_joules": joules, "average_watts": joules / seconds,
            "limited_by": longest(times)}


@model("instruction-overhead", "4.1.3", "Energy of fetching an instruction over its operation", [
    real("overhead_pj", 30, "pJ", "fetch, decode and operands"),
    real("operation_pj", 1.5, "pJ", "the operation"),
], {
    "overhead_ratio": ("ratio", "overhead over operation"),
    "overhead_share": ("ratio", "overhead over both"),
    "limited_by": ("text", "the larger part"),
})
def instruction_overhead(overhead_pj: float, operation_pj: float) -> Results:
    """o / e and o / (o + e). Source: chapter 4.1.3."""
    return {"overhead_ratio": overhead_pj / operation_pj,
            "overhead_share": overhead_pj / (overhead_pj + operation_pj),
            "limited_by": longest({"operation": operation_pj, "overhead": overhead_pj})}
