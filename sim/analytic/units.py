"""Units of parameters, results and figures, and the conversion between them."""

__all__ = ["UNITS", "UnitError", "convert"]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

#: Unit: what it measures, and its size in the base unit of that. Everything that is merely
#: counted (rows, tiles, cycles, requests) is a "count" of size 1.
UNITS: dict[str, tuple[str, float]] = {
    "byte": ("data", 1), "KiB": ("data", KIB), "MiB": ("data", MIB), "GiB": ("data", GIB),
    "KB": ("data", 1e3), "MB": ("data", 1e6), "GB": ("data", 1e9), "TB": ("data", 1e12),
    "bit": ("bits", 1),
    "ns": ("time", 1e-9), "us": ("time", 1e-6), "ms": ("time", 1e-3), "s": ("time", 1),
    "year": ("time", 365 * 86400), "day": ("time", 86400),
    "FLOP": ("work", 1), "MFLOP": ("work", 1e6), "GFLOP": ("work", 1e9), "TFLOP": ("work", 1e12),
    "ops": ("operations", 1), "Mop": ("operations", 1e6), "Gop": ("operations", 1e9),
    "GB/s": ("bandwidth", 1e9), "TB/s": ("bandwidth", 1e12), "byte/s": ("bandwidth", 1),
    "TFLOP/s": ("rate", 1e12), "GFLOP/s": ("rate", 1e9), "FLOP/s": ("rate", 1),
    "Gbit/s": ("line rate", 1e9), "Hz": ("frequency", 1), "MHz": ("frequency", 1e6),
    "GHz": ("frequency", 1e9), "token/s": ("token rate", 1),
    "FLOP/byte": ("intensity", 1), "op/byte": ("operations per byte", 1),
    "pJ": ("energy", 1e-12), "nJ": ("energy", 1e-9), "mJ": ("energy", 1e-3), "J": ("energy", 1),
    "W": ("power", 1), "W/mm2": ("power density", 1), "mm2": ("area", 1), "V": ("voltage", 1),
    "pJ/byte": ("energy per byte", 1), "pJ/bit": ("energy per bit", 1),
    "pJ/FLOP": ("energy per work", 1), "pJ/op": ("energy per operation", 1),
    "USD": ("money", 1), "MUSD": ("money", 1e6), "USD/h": ("cost rate", 1),
    "token": ("count", 1), "1e13 token": ("count", 1e13),
    "op/cycle": ("count", 1), "FLOP/cycle": ("work per cycle", 1),
    "byte/cycle": ("data per cycle", 1), "byte/tick": ("data per cycle", 1),
    "ratio": ("ratio", 1), "percent": ("ratio", 0.01), "thirds": ("ratio", 1 / 3),
    "value": ("ratio", 1), "1e-38": ("ratio", 1e-38), "1e-5": ("ratio", 1e-5),
    "1e-8": ("ratio", 1e-8), "text": ("text", 1), "": ("count", 1),
}


class UnitError(ValueError):
    """Two units do not measure the same."""


def convert(value: float, unit: str, wanted: str) -> float:
    """A value in `unit` as a value in `wanted`."""
    if unit == wanted:
        return value
    what, size = UNITS.get(unit, ("count", 1))
    asked, wanted_size = UNITS.get(wanted, ("count", 1))
    if what != asked:
        raise UnitError(f"{unit} is a {what}, {wanted} a {asked}")
    if size == wanted_size:
        return value
    if size >= wanted_size and float(size / wanted_size).is_integer():
        return value * (size / wanted_size)
    return value / (wanted_size / size)
