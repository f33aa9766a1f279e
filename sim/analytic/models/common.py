"""Parameters and small functions that several models share."""

from collections.abc import Mapping

from ..parameters import Parameter, Value, integer, real

__all__ = ["BANDWIDTH", "CAPACITY", "DEVICE", "ENERGIES", "MATRIX_RATE", "WORKSPACE", "ceil_div",
           "longest", "per", "product_bytes", "shape"]

DEVICE = {"device": "devices:rtx4090"}
ENERGIES = {"energies": "energies:chapter"}

BANDWIDTH = real("bandwidth_gb_per_s", None, "GB/s", "bandwidth of the device's memory",
                 source="device.bandwidth_gb_per_s")
MATRIX_RATE = real("matrix_tflops_per_s", None, "TFLOP/s", "dense rate of the matrix units",
                   source="device.matrix_tflops_per_s")
CAPACITY = real("capacity_gb", None, "GB", "memory of the device",
                source="device.capacity_gb")
WORKSPACE = real("workspace_gib", 2, "GiB", "memory kept for everything else", above=False)


def shape(m: int = 1, k: int = 4096, n: int = 4096) -> list[Parameter]:
    """Parameters of a product [m, k] x [k, n]."""
    return [integer("m", m, "rows", "rows of the input and of the output", high=1 << 30),
            integer("k", k, "elements", "inner dimension", high=1 << 30),
            integer("n", n, "columns", "columns of the weights and of the output",
                    high=1 << 30)]


def ceil_div(a: int, b: int) -> int:
    """The quotient rounded up, exact for integers of any size."""
    return -(-a // b)


def product_bytes(m: int, k: int, n: int, element_bytes: float) -> float:
    """Bytes of a product whose three matrices each cross the memory interface once."""
    return element_bytes * (m * k + k * n + m * n)


def longest(times: Mapping[str, float]) -> str:
    """The resource that takes longest; of equals the first."""
    return max(times, key=lambda name: times[name])


def per(value: float, divisor: float) -> Value:
    """A quotient, or None where it does not exist."""
    return value / divisor if divisor else None
