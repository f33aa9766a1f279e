"""A vector slot, and the ways to the slots of a unit, against a plain array."""

import random

import pytest
from amaranth import Module, Signal
from harness import lockstep, plain, simulate

from cubewave.rtl import Design
from cubewave.rtl.vector_commands import (
    vector_element_bits,
    vector_slot_elements,
    vector_slots,
)
from cubewave.rtl.vector_slot import VectorSlot, from_ring, to_ring, vector_word
from cubewave.rtl.vector_storage import VectorStorage


def make(**fields):
    return Design(**{"rows": 1, "cols": 1, "lanes": 1, "sfu_lanes": 1, "handoff_slots": 1,
                     "accumulator_rows": 21, **fields})


@pytest.mark.parametrize("fields,word", [
    ({}, 1), ({"lanes": 2}, 2), ({"sfu_lanes": 3}, 4), ({"cols": 5}, 8), ({"rows": 8}, 8)])
def test_a_word_holds_any_access(fields, word):
    assert vector_word(make(**fields)) == word


@pytest.mark.parametrize("word", [1, 2, 8])
def test_a_ring_turns(word):
    bits, rng = 5, random.Random(word)
    ring, value = Signal(2 * word * bits), Signal(word * bits)
    offset = Signal(range(2 * word))
    m = Module()

    async def bench(ctx):
        for start in range(2 * word):
            elements = [rng.randrange(1 << bits) for _ in range(2 * word)]
            ctx.set(offset, start)
            ctx.set(ring, sum(each << bits * place for place, each in enumerate(elements)))
            ctx.set(value, sum(each << bits * place
                               for place, each in enumerate(elements[:word])))
            turned = (elements[start:] + elements[:start])[:word]
            placed = elements[:word] + [0] * word
            placed = placed[2 * word - start:] + placed[:2 * word - start]
            assert ctx.get(from_ring(ring, offset, word, bits)) == sum(
                each << bits * place for place, each in enumerate(turned))
            assert ctx.get(to_ring(value, offset, word, bits)) == sum(
                each << bits * place for place, each in enumerate(placed))

    simulate(m, bench)


@pytest.mark.parametrize("lanes,ports", [(1, 1), (2, 2), (4, 1)])
def test_a_slot_reads_and_writes_rings(lanes, ports):
    """Random places of random rings; reads see what was written before their cycle."""
    design, rng = make(lanes=lanes), random.Random(lanes)
    word, elements = vector_word(design), vector_slot_elements(design)
    bits = vector_element_bits(design)
    contents, steps, wanted, expected = {}, [], [], [None] * ports
    for _cycle in range(150):
        step = {"read": rng.getrandbits(ports), "write": [0] * ports,
                "read_address": [rng.randrange(elements - word) for _ in range(ports)],
                "write_address": [rng.randrange(elements - word) for _ in range(ports)],
                "i": [rng.getrandbits(2 * word * bits) for _ in range(ports)]}
        wanted.append(list(expected))
        for port, start in enumerate(step["read_address"]):
            if step["read"] >> port & 1:
                expected[port] = [(place % (2 * word), contents.get(place, 0))
                                  for place in range(start, start + word)]
        written = {}
        for port, start in enumerate(step["write_address"]):
            for place in range(start, start + word):
                at = place % (2 * word)
                if rng.random() < 0.5 and place not in written:
                    step["write"][port] |= 1 << at
                    written[place] = step["i"][port] >> at * bits & (1 << bits) - 1
        contents |= written
        steps.append(step)
    for got, rings in zip(lockstep(VectorSlot(design=design, ports=ports), steps, ["o"]), wanted,
                          strict=True):
        for ring, known in zip(got["o"], rings):
            for place, value in known or ():
                assert ring >> place * bits & (1 << bits) - 1 == value


@pytest.mark.parametrize("engines", [1, 2])
def test_all_ways_at_once(engines):
    """Every reader and writer in every cycle, each with slots of its own."""
    design, rng = make(lanes=4), random.Random(engines)
    elements, slots = vector_slot_elements(design), range(vector_slots(design))
    names = [f"{kind}_{who}" for kind, whos in (
        ("read", [f"{side}_{number}" for number in range(engines) for side in "ab"]
         + ["handoff", "store"]),
        ("write", [*map(str, range(engines)), "handoff", "load"])) for who in whos]
    contents = {}
    storage = VectorStorage(design=design, engines=engines)

    async def bench(ctx):
        expected = {}
        for _cycle in range(150):
            # Slots of their own, except that both engines may read the same one.
            free = {("read", port): rng.sample(slots, len(slots)) for port in range(engines)}
            free |= {("write", port): free_to_write for free_to_write in
                     [rng.sample(slots, len(slots))] for port in range(engines)}
            before, expected, written = expected, {}, {}
            for name in names:
                kind, port = name.split("_")[0], int(name[-1]) if name[-1].isdigit() else 0
                slot, address = free[kind, port].pop(), rng.randrange(elements - 3)
                request = getattr(storage, name)
                ctx.set(request.slot, slot)
                ctx.set(request.address, address)
                if kind == "read":
                    ctx.set(request.en, enabled := rng.randrange(2))
                    if enabled:
                        expected[name] = [contents.get((slot, address + place), 0)
                                          for place in range(4)]
                else:
                    values = [rng.randrange(-1 << 33, 1 << 33) for _ in range(4)]
                    ctx.set(request.count, count := rng.randrange(5))
                    ctx.set(request.data, values)
                    for place, value in enumerate(values[:count]):
                        written[slot, address + place] = value
            readers = [name for name in names if name.startswith("read")]
            values = (await ctx.tick().sample(*(getattr(storage, name).data
                                                for name in readers)))[2:]
            for name, value in zip(readers, values):
                assert name not in before or plain(value) == before[name]
            contents.update(written)

    simulate(storage, bench)
