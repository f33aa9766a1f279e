"""Arithmetic of Amaranth values, as expressions; widths for packing."""

from amaranth import C, Mux, signed

__all__ = ["round_shift", "sign_extended", "times"]


def round_shift(value, shift):
    """`value` / 2**`shift`, rounded half up, in the shape of `value`."""
    rounded = (((value << 1) >> shift) + 1)[1:len(value) + 1]
    return rounded.as_signed() if value.shape().signed else rounded


def sign_extended(value, width):
    """The low `width` bits of a signed value, which may have fewer."""
    return (value | C(0, signed(width)))[:width]


def times(value, factor):
    """A product with an unsigned factor of few bits, as sums: FPGAs' multipliers are slower."""
    product = Mux(factor[0], value, 0)
    for place in range(1, len(factor)):
        product += Mux(factor[place], value << place, 0)
    return product
