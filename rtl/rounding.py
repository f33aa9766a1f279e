"""Rounding and saturation of Amaranth values, as expressions; widths for packing."""

from amaranth import C, Mux, signed

__all__ = ["round_shift", "saturate", "sign_extended"]


def round_shift(value, shift):
    """`value` / 2**`shift`, rounded half up, in the shape of `value`."""
    rounded = (((value << 1) >> shift) + 1)[1:len(value) + 1]
    return rounded.as_signed() if value.shape().signed else rounded


def saturate(value, low, high):
    """`value`, or the bound that it is beyond."""
    return Mux(value > high, high, Mux(value < low, low, value))


def sign_extended(value, width):
    """The low `width` bits of a signed value, which may have fewer."""
    return (value | C(0, signed(width)))[:width]
