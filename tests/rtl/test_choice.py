"""One of many values by its number."""

import pytest
from amaranth import Module, Signal
from harness import simulate

from cubewave.rtl.choice import chosen


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_every_number(count):
    m, number, out = Module(), Signal(range(count)), Signal(8)
    values = [3 * place + 1 for place in range(count)]
    m.d.comb += out.eq(chosen(values, number))

    async def bench(ctx):
        for place, value in enumerate(values):
            ctx.set(number, place)
            assert ctx.get(out) == value

    simulate(m, bench)
