"""Numbers as a person reads them: with separators, prefixes and units."""

from fractions import Fraction

__all__ = ["bar", "byte_size", "count", "integer_format", "percent", "quantity", "rate", "seconds",
           "si"]

_PREFIXES = ((12, "T"), (9, "G"), (6, "M"), (3, "k"), (0, ""))
_SMALL = ((0, ""), (-3, "m"), (-6, "u"), (-9, "n"), (-12, "p"))
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def count(value: int) -> str:
    """An integer with separators: 1,234,567."""
    return f"{value:,}"


def number(value: float | Fraction) -> str:
    """Four digits: 3.659, 36.59, 365.9, 3,659."""
    value = float(value)
    digits = max(0, 4 - len(str(int(abs(value)))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def si(value: float | Fraction, unit: str) -> str:
    """With a prefix from k to T: 1.6 GMAC/s."""
    for power, prefix in _PREFIXES:
        if value >= 10 ** power or power == 0:
            return f"{number(value / 10 ** power)} {prefix}{unit}"
    raise AssertionError("unreachable")


def seconds(value: float | Fraction) -> str:
    """A time from picoseconds to seconds: 1.23 us."""
    for power, prefix in _SMALL:
        if value >= Fraction(10) ** power or power == -12:
            return f"{number(Fraction(value) / Fraction(10) ** power)} {prefix}s"
    raise AssertionError("unreachable")


def rate(value: Fraction | None, unit: str) -> str:
    """A bandwidth in the given unit, or "unlimited"."""
    return "unlimited" if value is None else f"{number(value)} {unit}"


def percent(part: float | Fraction, whole: float | Fraction = 1) -> str:
    """One decimal; something is never shown as 0.0 % or as 100.0 % when it is less."""
    share = 100 * part / whole
    text = f"{float(share):.1f}"
    if text == "0.0" and share > 0:
        return "<0.1 %"
    if text == "100.0" and share < 100:
        return ">99.9 %"
    return f"{text} %"


def byte_size(value: int) -> str:
    """A size of memory: 1 KiB, 24 MiB, 100 bytes."""
    for power, prefix in ((20, "MiB"), (10, "KiB")):
        if value >= 1 << power and value % (1 << power) == 0:
            return f"{value >> power:,} {prefix}"
    return f"{value:,} bytes"


def integer_format(activation_bits: int, weight_bits: int, accumulator_bits: int) -> str:
    """The operand formats: int8 x int8 -> int32."""
    return f"int{activation_bits} x int{weight_bits} -> int{accumulator_bits}"


def bar(share: float, width: int, unicode: bool) -> str:
    """A bar of `width` characters at share 1; anything above 0 is visible."""
    if not unicode:
        return "#" * (max(1, round(share * width)) if share > 0 else 0)
    eighths = max(1, round(share * width * 8)) if share > 0 else 0
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def quantity(value: int | float | str | None, unit: str) -> str:
    """A number with a prefix that suits it and its unit: 33.3 us, 32 MiB, 8.59 GFLOP."""
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    if unit in ("s", "J", "W") and value:
        usual = 1e-12 <= value < 1e6
        return seconds(value)[:-1] + unit if usual else f"{value:.4g} {unit}"
    if unit == "byte":
        return _bytes(value)
    if unit in ("FLOP", "ops", "MACs") and not (isinstance(value, int) and value < 100_000):
        return si(value, {"ops": "op", "MACs": "MAC"}.get(unit, unit))
    if isinstance(value, int) or (abs(value) < 1e15 and value.is_integer()):
        text = count(int(value))
    else:
        text = f"{value:.4g}" if abs(value) < 0.1 or abs(value) >= 1e15 else number(value)
    return text if unit in ("ratio", "value", "") else f"{text} {unit}"


def _bytes(value: int | float) -> str:
    """Bytes in the largest binary unit of which they have one at least."""
    for power, prefix in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if abs(value) >= 1 << power:
            return f"{number(value / (1 << power))} {prefix}"
    return f"{number(value)} bytes"
