"""Choice of one of many values, as an expression."""

from amaranth import Mux

__all__ = ["chosen"]


def chosen(values, number):
    """The value of this number: a tree of choices between two, of which FPGAs have multiplexers.

    A switch of as many cases becomes a comparison with each of them.
    """
    values = list(values)
    for bit in number:
        pairs = [values[at:at + 2] for at in range(0, len(values), 2)]
        values = [Mux(bit, pair[1], pair[0]) if len(pair) == 2 else pair[0] for pair in pairs]
    return values[0]
