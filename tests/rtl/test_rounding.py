"""Arithmetic as expressions."""

import pytest
from amaranth import Module, Signal, signed
from harness import simulate

from cubewave.rtl.rounding import quotient, round_shift, sign_extended, times


def test_all_of_a_few_bits():
    m, x, y = Module(), Signal(signed(4)), Signal(3)
    product, rounded, wide = Signal(8), Signal(signed(4)), Signal(6)
    m.d.comb += [product.eq(times(x[:3], y)), rounded.eq(round_shift(x, y)),
                 wide.eq(sign_extended(x, 6))]

    async def bench(ctx):
        for value in range(-8, 8):
            for other in range(8):
                ctx.set(x, value)
                ctx.set(y, other)
                assert ctx.get(product) == value % 8 * other
                assert ctx.get(rounded) == (2 * value >> other) + 1 >> 1
                assert ctx.get(wide) == value % 64

    simulate(m, bench)


@pytest.mark.parametrize("bits", [1, 2, 5, 9])
def test_quotients_of_all_values(bits):
    """Also by a divisor that is greater than every value."""
    m, x = Module(), Signal(bits)
    divisors = [1, 2, 3, 5, 6, 7, 11, 100, 511, 600]
    quotients = [Signal(bits, name=f"by_{divisor}") for divisor in divisors]
    m.d.comb += [into.eq(quotient(x, divisor))
                 for into, divisor in zip(quotients, divisors, strict=True)]

    async def bench(ctx):
        for value in range(1 << bits):
            ctx.set(x, value)
            assert [ctx.get(each) for each in quotients] == [value // each for each in divisors]

    simulate(m, bench)
