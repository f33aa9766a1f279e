"""Memory systems: HBM, MoE traffic, unified memory, ROM, distributed SRAM, comparisons."""

import math

from ..model import Results, model
from ..parameters import integer, real
from .common import BANDWIDTH, ceil_div, longest
from .inference import GIB, MIB

__all__ = ["bulk_read", "capacity_fit", "compare", "device_ratios", "distributed_sram",
           "hbm_package", "hbm_stack", "moe_padding", "moe_routing", "rom_weights",
           "unified_copy"]


@model("hbm-stack", "4.1.3", "One HBM stack: bandwidth from pins, capacity from layers", [
    integer("pins", 1024, "pins", "data pins", high=1 << 16),
    real("clock_mhz", 4800, "MHz", "memory clock, two transfers a period"),
    integer("layers", 8, "layers", "DRAM layers", high=64),
    real("layer_gb", 3, "GB", "capacity of a layer"),
], {
    "pin_gbit_per_s": ("Gbit/s", "rate of a pin"),
    "bandwidth_gb_per_s": ("GB/s", "bandwidth of the stack"),
    "stack_bytes": ("byte", "capacity of the stack"),
})
def hbm_stack(pins: int, clock_mhz: float, layers: int, layer_gb: float) -> Results:
    """pin rate = 2 f; bandwidth = pins rate / 8; capacity = layers per-layer. Chapter 4.1.3."""
    rate = 2 * clock_mhz / 1000
    return {"pin_gbit_per_s": rate, "bandwidth_gb_per_s": pins * rate / 8,
            "stack_bytes": layers * layer_gb * 1e9}


@model("hbm-package", "4.1.3", "A package of HBM stacks: width, rates, raw capacity", [
    real("capacity_gb", 80, "GB", "capacity of the package"),
    real("bandwidth_gb_per_s", 3350, "GB/s", "bandwidth of the package"),
    integer("stacks", 5, "stacks", "stacks", high=64),
    real("stack_gb", 16, "GB", "raw capacity of a stack"),
    integer("pins", 1024, "pins", "data pins of a stack", high=1 << 16),
    real("pin_gbit_per_s", 5.24, "Gbit/s", "rate of a pin"),
], {
    "stack_bytes": ("byte", "capacity over stacks"),
    "stack_gb_per_s": ("GB/s", "bandwidth over stacks"),
    "raw_bytes": ("byte", "stacks times the capacity of one"),
    "stack_count": ("stacks", "capacity over the capacity of a stack"),
    "bus_bits": ("bit", "width of all interfaces"),
    "implied_pin_gbit_per_s": ("Gbit/s", "pin rate from the bandwidth"),
    "pin_bandwidth_gb_per_s": ("GB/s", "bandwidth from the pin rate"),
})
def hbm_package(capacity_gb: float, bandwidth_gb_per_s: float, stacks: int, stack_gb: float,
                pins: int, pin_gbit_per_s: float) -> Results:
    """per stack C / s and R / s; rate = R 8 / (s pins); R = s pins rate / 8. Chapter 4.1.3."""
    return {"stack_bytes": capacity_gb / stacks * 1e9,
            "stack_gb_per_s": bandwidth_gb_per_s / stacks, "raw_bytes": stacks * stack_gb * 1e9,
            "stack_count": capacity_gb / stack_gb, "bus_bits": stacks * pins,
            "implied_pin_gbit_per_s": bandwidth_gb_per_s / stacks * 8 / pins,
            "pin_bandwidth_gb_per_s": stacks * pins * pin_gbit_per_s / 8}


@model("compare", "4.6.1", "Two devices, or any two numbers: ratio, gain, reduction", [
    real("a", None, "", "the first: bandwidth of device_a",
         source="device_a.bandwidth_gb_per_s"),
    real("b", None, "", "the second: bandwidth of device_b",
         source="device_b.bandwidth_gb_per_s"),
], {
    "ratio": ("ratio", "a over b"),
    "gain": ("ratio", "a over b, minus 1"),
    "reduction": ("ratio", "1 minus b over a: what a time falls by at rate a after b"),
    "inverse": ("ratio", "b over a"),
}, {"device_a": "devices:rtx5090", "device_b": "devices:rtx4090"})
def compare(a: float, b: float) -> Results:
    """a / b; a / b - 1; 1 - b / a. Source: chapter 4.1.3, 4.6.1, 4.6.3, 4.8.2."""
    return {"ratio": a / b, "gain": a / b - 1, "reduction": 1 - b / a, "inverse": b / a}


@model("device-ratios", "4.6.1", "Two devices: bandwidth, matrix rate and balance", [
    real("bandwidth_a_gb_per_s", None, "GB/s", "bandwidth of device_a",
         source="device_a.bandwidth_gb_per_s"),
    real("bandwidth_b_gb_per_s", None, "GB/s", "bandwidth of device_b",
         source="device_b.bandwidth_gb_per_s"),
    real("matrix_a_tflops_per_s", None, "TFLOP/s", "matrix rate of device_a",
         source="device_a.matrix_tflops_per_s"),
    real("matrix_b_tflops_per_s", None, "TFLOP/s", "matrix rate of device_b",
         source="device_b.matrix_tflops_per_s"),
], {
    "bandwidth_ratio": ("ratio", "a over b"),
    "bandwidth_gain": ("ratio", "a over b, minus 1"),
    "matrix_ratio": ("ratio", "a over b"),
    "decode_reduction": ("ratio", "by how much the bound of a decode step falls from b to a"),
    "prefill_reduction": ("ratio", "by how much the bound of a prefill falls from b to a"),
    "ridge_a": ("FLOP/byte", "balance of device_a"),
    "ridge_b": ("FLOP/byte", "balance of device_b"),
}, {"device_a": "devices:h100", "device_b": "devices:a100"})
def device_ratios(bandwidth_a_gb_per_s: float, bandwidth_b_gb_per_s: float,
                  matrix_a_tflops_per_s: float, matrix_b_tflops_per_s: float) -> Results:
    """Ratios of rates; a bound falls by 1 - b / a. Source: chapter 4.6.1, 4.8.2."""
    return {"bandwidth_ratio": bandwidth_a_gb_per_s / bandwidth_b_gb_per_s,
            "bandwidth_gain": bandwidth_a_gb_per_s / bandwidth_b_gb_per_s - 1,
            "matrix_ratio": matrix_a_tflops_per_s / matrix_b_tflops_per_s,
            "decode_reduction": 1 - bandwidth_b_gb_per_s / bandwidth_a_gb_per_s,
            "prefill_reduction": 1 - matrix_b_tflops_per_s / matrix_a_tflops_per_s,
            "ridge_a": matrix_a_tflops_per_s * 1e3 / bandwidth_a_gb_per_s,
            "ridge_b": matrix_b_tflops_per_s * 1e3 / bandwidth_b_gb_per_s}


@model("moe-padding", "4.2.1", "Rows of experts padded to whole tiles", [
    integer("tokens", 64, "tokens", "tokens", high=1 << 24),
    integer("experts_per_token", 8, "experts", "experts that each token uses", high=1 << 16),
    integer("experts", 256, "experts", "experts over which the rows spread evenly",
            high=1 << 20),
    integer("tile_m", 16, "rows", "rows of a tile", high=1 << 20),
], {
    "assignments": ("rows", "tokens times experts of each"),
    "rows_per_expert": ("rows", "assignments over experts"),
    "tiles_per_expert": ("tiles", "tiles of each expert"),
    "executed_rows": ("rows", "with every expert's rows padded to whole tiles"),
    "padding_rows_per_expert": ("rows", "zero rows of each expert"),
    "efficiency": ("ratio", "assignments over executed rows"),
    "executed_ratio": ("ratio", "executed rows over assignments"),
})
def moe_padding(tokens: int, experts_per_token: int, experts: int, tile_m: int) -> Results:
    """E ceil(r / t) t executed rows, r = tokens k / E. Source: chapter 4.2.1.

    Rows that do not divide evenly: some experts have one more, which is counted.
    """
    rows = tokens * experts_per_token
    low, more = divmod(rows, experts)
    executed = tile_m * (more * ceil_div(low + 1, tile_m)
                         + (experts - more) * ceil_div(low, tile_m))
    mean = rows / experts
    return {"assignments": rows, "rows_per_expert": mean,
            "tiles_per_expert": executed / tile_m / experts, "executed_rows": executed,
            "padding_rows_per_expert": executed / experts - mean, "efficiency": rows / executed,
            "executed_ratio": executed / rows}


@model("moe-routing", "4.3.3", "Different experts that a batch uses in a layer", [
    integer("batch", 8, "requests", "requests", high=1 << 20),
    integer("experts", 128, "experts", "experts of a layer", high=1 << 20),
    integer("experts_per_token", 8, "experts", "experts that each token uses", high=1 << 20),
], {
    "scattered_experts": ("experts", "if no two requests share one, as far as there are"),
    "concentrated_experts": ("experts", "if all use the same"),
    "expected_experts": ("experts", "if each chooses evenly at random"),
    "spread_ratio": ("ratio", "scattered over concentrated"),
})
def moe_routing(batch: int, experts: int, experts_per_token: int) -> Results:
    """min(E, B k), k, and E (1 - (1 - k / E)^B). Source: chapter 4.3.3; the mean is ours.

    Ranges: experts of a token up to experts.
    """
    used = min(experts, experts_per_token)
    scattered = min(experts, batch * used)
    return {"scattered_experts": scattered, "concentrated_experts": used,
            "expected_experts": experts * (1 - (1 - used / experts) ** batch),
            "spread_ratio": scattered / used}


@model("capacity-fit", "4.3.3", "Weights, keys and values, workspace and a reserve in a memory", [
    real("weight_gb", 123.14203648, "GB", "resident weights", above=False),
    real("kv_gb", 1.577058304, "GB", "keys and values of a request", above=False),
    integer("batch", 1, "requests", "requests", low=0, high=1 << 30),
    real("workspace_gib", 2, "GiB", "workspace", above=False),
    real("reserve_gb", 0, "GB", "kept for the system", above=False),
    real("capacity_gb", None, "GB", "memory of the device", source="device.capacity_gb"),
], {
    "total_bytes": ("byte", "weights, keys and values, workspace and reserve"),
    "spare_bytes": ("byte", "capacity minus total; negative if it does not fit"),
    "shortfall_bytes": ("byte", "total minus capacity; negative if it fits"),
    "fits": ("text", "whether it fits"),
}, {"device": "devices:h200"})
def capacity_fit(weight_gb: float, kv_gb: float, batch: int, workspace_gib: float,
                 reserve_gb: float, capacity_gb: float) -> Results:
    """W + B K + workspace + reserve against C. Source: chapter 4.3.3, 4.6.3."""
    total = (weight_gb + batch * kv_gb + reserve_gb) * 1e9 + workspace_gib * GIB
    spare = capacity_gb * 1e9 - total
    return {"total_bytes": total, "spare_bytes": spare, "shortfall_bytes": -spare,
            "fits": "yes" if spare >= 0 else "no"}


@model("bulk-read", "4.6.3", "Time to read bytes on two devices", [
    real("volume_bytes", 1 << 25, "byte", "bytes to read"),
    real("bandwidth_a_gb_per_s", None, "GB/s", "bandwidth of device_a",
         source="device_a.bandwidth_gb_per_s"),
    real("bandwidth_b_gb_per_s", None, "GB/s", "bandwidth of device_b",
         source="device_b.bandwidth_gb_per_s"),
], {
    "seconds_a": ("s", "time on device_a"),
    "seconds_b": ("s", "time on device_b"),
    "difference_seconds": ("s", "b minus a"),
    "reduction": ("ratio", "1 minus a over b"),
}, {"device_a": "devices:m5", "device_b": "devices:m4"})
def bulk_read(volume_bytes: float, bandwidth_a_gb_per_s: float, bandwidth_b_gb_per_s: float
              ) -> Results:
    """V / R on either. Source: chapter 4.6.3."""
    a = volume_bytes / (bandwidth_a_gb_per_s * 1e9)
    b = volume_bytes / (bandwidth_b_gb_per_s * 1e9)
    return {"seconds_a": a, "seconds_b": b, "difference_seconds": b - a, "reduction": 1 - a / b}


@model("unified-copy", "4.6.3", "Shared memory instead of a copy to the device", [
    real("mib", 64, "MiB", "bytes that the device needs"),
    real("copy_gb_per_s", 32, "GB/s", "bandwidth of the copy, where memories are separate"),
    real("device_gb_per_s", 1008, "GB/s", "bandwidth of the device's own memory"),
    BANDWIDTH,
    integer("uses", 1, "reads", "reads after one copy"),
], {
    "separate_seconds": ("s", "one copy, then reads of the device's memory"),
    "unified_seconds": ("s", "reads of the shared memory"),
    "limited_by": ("text", "the way that takes longer"),
}, {"device": "devices:m3ultra"})
def unified_copy(mib: float, copy_gb_per_s: float, device_gb_per_s: float,
                 bandwidth_gb_per_s: float, uses: int) -> Results:
    """V / R_copy + u V / R_device against u V / R_shared. Source: chapter 4.6.3, 4.5.2."""
    nbytes = mib * MIB
    separate = nbytes / (copy_gb_per_s * 1e9) + uses * nbytes / (device_gb_per_s * 1e9)
    unified = uses * nbytes / (bandwidth_gb_per_s * 1e9)
    return {"separate_seconds": separate, "unified_seconds": unified,
            "limited_by": longest({"separate": separate, "unified": unified})}


@model("rom-weights", "4.7.3", "Weights in ROM: what HBM still reads, and the two ports", [
    real("weight_gb", 15.1368192, "GB", "weights read in a step"),
    real("kv_gb", 1.207959552, "GB", "keys and values of a request"),
    integer("batch", 1, "requests", "requests of a step", high=1 << 30),
    real("rom_gb_per_s", 100000, "GB/s", "bandwidth of the ROM"),
    real("hbm_gb_per_s", 8000, "GB/s", "bandwidth of the HBM"),
    real("tokens_per_s", 10000, "token/s", "token rate of a request that is wanted"),
], {
    "before_bytes": ("byte", "HBM bytes of a step, weights in HBM"),
    "after_bytes": ("byte", "HBM bytes of a step, weights in ROM"),
    "reduction_factor": ("ratio", "before over after"),
    "crossover_batch": ("requests", "batch whose keys and values equal the weights"),
    "first_kv_batch": ("requests", "first whole batch at which keys and values reach the weights"),
    "step_seconds": ("s", "the slower of the two ports"),
    "token_seconds": ("s", "time of a token at the rate wanted"),
    "kv_gb_per_s": ("GB/s", "HBM bandwidth that keys and values need at that rate"),
    "limited_by": ("text", "ROM or HBM"),
})
def rom_weights(weight_gb: float, kv_gb: float, batch: int, rom_gb_per_s: float,
                hbm_gb_per_s: float, tokens_per_s: float) -> Results:
    """step = max(W / R_rom, B K / R_hbm); reduction = 1 + W / (B K); crossover = W / K.

    The two bandwidths of the default are examples. Source: chapter 4.7.3.
    """
    kv = batch * kv_gb
    times = {"ROM": weight_gb / rom_gb_per_s, "HBM": kv / hbm_gb_per_s}
    return {"before_bytes": (weight_gb + kv) * 1e9, "after_bytes": kv * 1e9,
            "reduction_factor": 1 + weight_gb / kv, "crossover_batch": weight_gb / kv_gb,
            "first_kv_batch": math.ceil(weight_gb / kv_gb),
            "step_seconds": max(times.values()), "token_seconds": 1 / tokens_per_s,
            "kv_gb_per_s": kv * tokens_per_s, "limited_by": longest(times)}


@model("distributed-sram", "4.7.2", "Chips whose SRAM holds weights and keys and values", [
    real("weight_gb", 16.38147072, "GB", "resident weights", above=False),
    real("kv_bytes_per_token", 147456, "byte", "keys and values of a position"),
    integer("context", 8192, "positions", "positions of each request", high=1 << 30),
    integer("batch", 1, "requests", "requests", low=0, high=1 << 30),
    real("chip_mib", 220, "MiB", "SRAM of a chip"),
], {
    "weight_chips": ("chips", "chips for the weights"),
    "kv_bytes": ("byte", "keys and values of all requests"),
    "kv_chips": ("chips", "chips for keys and values"),
    "total_chips": ("chips", "both, each rounded up"),
    "limited_by": ("text", "what needs more chips"),
})
def distributed_sram(weight_gb: float, kv_bytes_per_token: float, context: int, batch: int,
                     chip_mib: float) -> Results:
    """ceil(W / chip) + ceil(B S kv / chip). Source: chapter 4.7.2."""
    chip, kv = chip_mib * MIB, batch * context * kv_bytes_per_token
    chips = {"weights": math.ceil(weight_gb * 1e9 / chip), "keys and values": math.ceil(kv / chip)}
    return {"weight_chips": chips["weights"], "kv_bytes": kv, "kv_chips": chips["keys and values"],
            "total_chips": sum(chips.values()), "limited_by": longest(chips)}


