"""Number formats: floating point, groups of low-bit values with scales, MX, KV records."""

import math

from ..model import Results, model
from ..parameters import choice, integer, real
from .common import BANDWIDTH, longest, per

__all__ = ["expansion", "float_format", "float_rounding", "grouped_bytes", "grouped_dot",
           "grouped_weights", "kv_record", "mx_weights", "round_to_float"]

VALUES = integer("values", 1 << 24, "elements", "stored values")
BITS = real("bits", 4, "bit", "bits of a value", high=64)
GROUP = integer("group", 32, "elements", "values that share a scale", high=1 << 30)
SCALE = real("scale_bytes", 1, "byte", "bytes of a scale", high=64, above=False)


def grouped_bytes(values: float, bits: float, group: float, scale_bytes: float) -> float:
    """n b / 8 + (n / g) s; a group of 0 has no scales."""
    return values * bits / 8 + (values / group * scale_bytes if group else 0)


@model("grouped-weights", "4.2.4", "Storage of low-bit values with a scale for each group", [
    VALUES, BITS, GROUP, SCALE,
], {
    "payload_bytes": ("byte", "values alone"),
    "scale_bytes_total": ("byte", "scales"),
    "total_bytes": ("byte", "values and scales"),
    "ratio_to_bf16": ("ratio", "BF16 size over this size"),
    "bits_per_value": ("bit", "with the share of the scale"),
})
def grouped_weights(values: int, bits: float, group: int, scale_bytes: float) -> Results:
    """n b / 8 + (n / g) s bytes. Source: chapter 4.2.4."""
    payload, total = values * bits / 8, grouped_bytes(values, bits, group, scale_bytes)
    return {"payload_bytes": payload, "scale_bytes_total": values / group * scale_bytes,
            "total_bytes": total, "ratio_to_bf16": 2 * values / total,
            "bits_per_value": 8 * total / values}


@model("grouped-dot", "4.2.4", "Dot product with a scale for each group, or expanded first", [
    integer("k", 2048, "elements", "length of the dot product", high=1 << 30),
    integer("group", 128, "elements", "values that share a scale", high=1 << 30),
    real("direct_ms", 2.81, "ms", "time of the direct method"),
    real("expand_ms", 2.52, "ms", "time of expanding, then one product"),
    real("direct_mib", 11.4, "MiB", "peak memory of the direct method"),
    real("expand_mib", 35.2, "MiB", "peak memory of expanding"),
], {
    "groups": ("groups", "integer partial sums, each scaled and added"),
    "scale_multiplies": ("ops", "multiplies by a scale for each result"),
    "time_ratio": ("ratio", "direct over expanded time"),
    "memory_saving": ("ratio", "memory that the direct method saves"),
    "faster": ("text", "the method that takes less time"),
})
def grouped_dot(k: int, group: int, direct_ms: float, expand_ms: float, direct_mib: float,
                expand_mib: float) -> Results:
    """groups = ceil(k / g); saving = 1 - direct / expanded.

    Source: chapter 4.2.4; times and memory are its measurements.
    """
    groups = -(-k // group)
    return {"groups": groups, "scale_multiplies": groups, "time_ratio": direct_ms / expand_ms,
            "memory_saving": 1 - direct_mib / expand_mib,
            "faster": longest({"expand": direct_ms, "direct": expand_ms})}


@model("expansion", "4.2.4", "Expand weights once, in every call, or compute in groups", [
    real("expand_ms", 1.5, "ms", "time to expand the weights", above=False),
    real("product_ms", 1.0, "ms", "product with expanded weights"),
    real("direct_ms", 2.81, "ms", "product in groups, without expanding"),
    integer("uses", 1, "calls", "calls for which weights stay expanded"),
], {
    "once_ms": ("ms", "expand at load, then all calls"),
    "per_call_ms": ("ms", "expand in every call"),
    "direct_total_ms": ("ms", "all calls in groups"),
    "break_even_uses": ("calls", "calls from which expanding once wins; none if never"),
    "limited_by": ("text", "the fastest policy"),
})
def expansion(expand_ms: float, product_ms: float, direct_ms: float, uses: int) -> Results:
    """break-even uses = t_expand / (t_direct - t_product). Source: chapter 4.2.4.

    The default times are examples, not measurements. `limited_by` names the choice.
    """
    once, per_call = expand_ms + uses * product_ms, uses * (expand_ms + product_ms)
    direct, gain = uses * direct_ms, direct_ms - product_ms
    best = min((("direct", direct), ("expand once", once), ("expand per call", per_call)),
               key=lambda policy: policy[1])[0]
    return {"once_ms": once, "per_call_ms": per_call, "direct_total_ms": direct,
            "break_even_uses": expand_ms / gain if gain > 0 else None, "limited_by": best}


def round_to_float(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    """The nearest value of a binary format with subnormals, ties to even; inf on overflow."""
    if value == 0:
        return 0.0
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.frexp(abs(value))[1] - 1, 1 - bias)
    step = math.ldexp(1.0, exponent - mantissa_bits)
    rounded = round(value / step) * step
    largest = math.ldexp(2 - math.ldexp(1.0, -mantissa_bits), bias)
    return math.copysign(math.inf, value) if abs(rounded) > largest else rounded


@model("float-format", "4.6.1", "Limits of a binary floating-point format", [
    integer("exponent_bits", 5, "bit", "bits of the exponent", low=2, high=10),
    integer("mantissa_bits", 10, "bit", "bits of the fraction", low=0, high=52),
], {
    "total_bits": ("bit", "with the sign"),
    "largest": ("value", "largest finite value"),
    "smallest_normal": ("value", "smallest positive normal value"),
    "smallest_subnormal": ("value", "smallest positive value"),
    "spacing_at_one": ("value", "distance to the next value above 1"),
})
def float_format(exponent_bits: int, mantissa_bits: int) -> Results:
    """min normal = 2^(2 - 2^(e-1)); min subnormal = that 2^-p; spacing at 1 = 2^-p.

    IEEE style: the largest exponent is for infinity. Source: chapter 4.6.1.
    """
    smallest = math.ldexp(1.0, 2 - 2 ** (exponent_bits - 1))
    spacing = math.ldexp(1.0, -mantissa_bits)
    return {"total_bits": 1 + exponent_bits + mantissa_bits,
            "largest": math.ldexp(2 - spacing, 2 ** (exponent_bits - 1) - 1),
            "smallest_normal": smallest, "smallest_subnormal": smallest * spacing,
            "spacing_at_one": spacing}


@model("float-rounding", "4.6.1", "A value rounded to a binary floating-point format", [
    real("value", 1e-8, "value", "the value", high=1e15),
    integer("exponent_bits", 5, "bit", "bits of the exponent", low=2, high=10),
    integer("mantissa_bits", 10, "bit", "bits of the fraction", low=0, high=52),
], {
    "rounded": ("value", "nearest value of the format; none above the largest"),
    "relative_error": ("ratio", "distance over the value; none above the largest"),
})
def float_rounding(value: float, exponent_bits: int, mantissa_bits: int) -> Results:
    """Round to nearest, ties to even, with subnormals. Source: chapter 4.6.1."""
    rounded = round_to_float(value, exponent_bits, mantissa_bits)
    if math.isinf(rounded):
        return {"rounded": None, "relative_error": None}
    return {"rounded": rounded, "relative_error": abs(rounded - value) / value}


@model("mx-weights", "4.6.1", "Weights in an MX format: size and time to read them", [
    VALUES,
    choice("format", ("mxfp4", "mxfp6", "mxfp8", "bf16"), "how a value is stored"),
    BANDWIDTH,
], {
    "payload_bytes": ("byte", "values alone"),
    "total_bytes": ("byte", "values and one-byte scales of 32"),
    "read_seconds": ("s", "time to read them once"),
    "ratio_to_bf16": ("ratio", "BF16 size over this size"),
}, {"device": "devices:rtx5090"})
def mx_weights(values: int, format: str, bandwidth_gb_per_s: float) -> Results:
    """n b / 8 + n / 32 bytes; BF16 has no scales. Source: chapter 4.6.1."""
    bits, group = {"mxfp4": (4, 32), "mxfp6": (6, 32), "mxfp8": (8, 32), "bf16": (16, 0)}[format]
    total = grouped_bytes(values, bits, group, 1)
    return {"payload_bytes": values * bits / 8, "total_bytes": total,
            "read_seconds": total / (bandwidth_gb_per_s * 1e9),
            "ratio_to_bf16": 2 * values / total}


@model("kv-record", "4.3.1", "A low-bit record of keys or values with its scales", [
    integer("values", 512, "elements", "values of the record"),
    real("bits", 8, "bit", "bits of a value", high=64), GROUP, SCALE,
], {
    "record_bytes": ("byte", "values and scales"),
    "payload_bytes": ("byte", "values alone"),
    "ratio_to_bf16": ("ratio", "BF16 size over this size"),
})
def kv_record(values: int, bits: float, group: int, scale_bytes: float) -> Results:
    """n b / 8 + (n / g) s: 528 bytes for 512 FP8 values, 288 for FP4 with groups of 16.

    Source: chapter 4.3.1; the scale of FP8 for 32 values is inferred.
    """
    total = grouped_bytes(values, bits, group, scale_bytes)
    return {"record_bytes": total, "payload_bytes": values * bits / 8,
            "ratio_to_bf16": per(2 * values, total)}
