"""Arithmetic of Amaranth values, as expressions; widths for packing."""

from amaranth import C, Mux, signed

__all__ = ["quotient", "round_shift", "sign_extended", "times"]


def round_shift(value, shift):
    """`value` / 2**`shift`, rounded half up, in the shape of `value`."""
    rounded = (((value << 1) >> shift) + 1)[1:len(value) + 1]
    return rounded.as_signed() if value.shape().signed else rounded


def sign_extended(value, width):
    """The low `width` bits of a signed value, which may have fewer."""
    return (value | C(0, signed(width)))[:width]


def quotient(value, divisor):
    """An unsigned value by a constant of 1 or more, rounded down: what `//` means, without a
    divider.

    It is (value * factor) >> bits with factor = ceil(2**bits / divisor). With factor * divisor =
    2**bits + error that is right for all values with value * error < 2**bits (Granlund and
    Montgomery 1994, "Division by Invariant Integers using Multiplication").
    """
    bits = next(bits for bits in range(2 * len(value) + divisor.bit_length())
                if -(1 << bits) % divisor * ((1 << len(value)) - 1) < 1 << bits)
    factor = -(-(1 << bits) // divisor)
    terms = [value << place for place in range(factor.bit_length()) if factor >> place & 1]
    return sum(terms) >> bits


def times(value, factor):
    """A product with an unsigned factor of few bits, as sums: FPGAs' multipliers are slower."""
    product = Mux(factor[0], value, 0)
    for place in range(1, len(factor)):
        product += Mux(factor[place], value << place, 0)
    return product
