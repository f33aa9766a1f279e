"""Sequencer against a model, every output in every cycle."""

import random

import pytest
from amaranth.hdl import signed
from harness import simulate, transfers

from cubewave.rtl.sequencer import Sequencer


def program(depth):
    return [random.Random(depth).randrange(-128, 128) for _ in range(depth)]


def start(ctx, sequencer, words):
    for place, word in enumerate(words):
        ctx.set(sequencer.program[place], word)


@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_any_stimulus(depth, seed):
    rng, words = random.Random(seed), program(depth)
    sequencer = Sequencer(shape=signed(8), depth=depth)

    async def bench(ctx):
        start(ctx, sequencer, words)
        ctx.set(sequencer.rewind, 1)
        await ctx.tick()
        place, length = 0, depth
        for cycle in range(100):
            if cycle % 20 == 0:
                length = rng.randint(0, depth)
            rewind = int(cycle % 20 == 0 or rng.random() < 0.05)
            go, ready = int(rng.random() < 0.8), rng.randrange(2)
            ctx.set(sequencer.rewind, rewind)
            ctx.set(sequencer.go, go and not rewind)
            ctx.set(sequencer.length, length)
            ctx.set(sequencer.o.ready, ready)
            valid, word = (await ctx.tick().sample(sequencer.o.valid, sequencer.o.payload))[2:]
            assert valid == int(go and not rewind and place != length)
            if valid:
                assert word == words[place]
            place = 0 if rewind else place + (valid and ready)
    simulate(sequencer, bench)


def test_one_command_per_cycle_without_latency():
    sequencer, log = Sequencer(shape=signed(8), depth=5), []

    async def bench(ctx):
        start(ctx, sequencer, [5, 6, 7, 8, 9])
        ctx.set(sequencer.length, 4)
        ctx.set(sequencer.rewind, 1)
        await ctx.tick()
        ctx.set(sequencer.rewind, 0)
        ctx.set(sequencer.o.ready, 1)
        ctx.set(sequencer.go, 1)
        for _ in range(8):
            await ctx.tick()
    simulate(sequencer, bench, monitors=[transfers(sequencer.o, log)])
    assert log == [(1, 5), (2, 6), (3, 7), (4, 8)]


def test_rewind_wins_over_a_transfer():
    sequencer, log = Sequencer(shape=signed(8), depth=3), []

    async def bench(ctx):
        start(ctx, sequencer, [5, 6, 7])
        ctx.set(sequencer.length, 3)
        ctx.set(sequencer.rewind, 1)
        ctx.set(sequencer.o.ready, 1)
        await ctx.tick()
        ctx.set(sequencer.go, 1)
        for cycle in range(5):
            ctx.set(sequencer.rewind, int(cycle == 1))
            await ctx.tick()
    simulate(sequencer, bench, monitors=[transfers(sequencer.o, log)])
    assert log == [(1, 5), (2, 6), (3, 5), (4, 6), (5, 7)]


def test_the_program_may_be_larger_than_its_use():
    """Length 0 offers nothing at all."""
    sequencer, log = Sequencer(shape=signed(8), depth=3), []

    async def bench(ctx):
        ctx.set(sequencer.go, 1)
        ctx.set(sequencer.o.ready, 1)
        for _ in range(6):
            await ctx.tick()
    simulate(sequencer, bench, monitors=[transfers(sequencer.o, log)])
    assert log == []
