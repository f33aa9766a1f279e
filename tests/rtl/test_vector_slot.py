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
from cubewave.rtl.vector_slot import VectorSlot, from_ring, place, to_ring, vector_word
from cubewave.rtl.vector_storage import VectorStorage


def make(**fields):
    return Design(**{"rows": 1, "cols": 1, "lanes": 1, "sfu_lanes": 1, "handoff_slots": 1,
                     "accumulator_rows": 21, **fields})


@pytest.mark.parametrize("fields,word", [
    ({}, 1), ({"lanes": 2}, 2), ({"sfu_lanes": 3}, 4), ({"cols": 5}, 8), ({"rows": 8}, 8),
    ({"rows": 3, "buffer_port_rows": 3}, 16)])
def test_a_word_holds_any_access(fields, word):
    assert vector_word(make(**fields)) == word


@pytest.mark.parametrize("word", [1, 2, 8])
def test_a_ring_turns(word):
    bits, rng, m = 5, random.Random(word), Module()
    ring, value, address = Signal(2 * word * bits), Signal(word * bits), Signal(9)
    even, odd, offset = place(m, address, word, "there")
    turned = from_ring(m, ring, offset, word, bits, "out")
    placed = to_ring(m, value, offset, word, bits, "in")

    def packed(elements):
        return sum(each << bits * at for at, each in enumerate(elements))

    async def bench(ctx):
        for start in range(8 * word):
            elements = [rng.randrange(1 << bits) for _ in range(2 * word)]
            ctx.set(address, start)
            ctx.set(ring, packed(elements))
            ctx.set(value, packed(elements[:word]))
            assert (ctx.get(even), ctx.get(odd)) == ((start // word + 1) // 2, start // word // 2)
            at = start % (2 * word)
            assert ctx.get(turned) == packed((elements[at:] + elements[:at])[:word])
            padded = [0] * at + elements[:word] + [0] * word
            wrapped = padded[2 * word:] + padded[len(padded[2 * word:]):2 * word]
            assert ctx.get(placed) == packed(wrapped)

    simulate(m, bench)


@pytest.mark.parametrize("lanes,ports", [(1, 1), (2, 2), (4, 1)])
def test_a_slot_reads_and_writes_words_of_each_half(lanes, ports):
    """Reads see what was written before their cycle."""
    design, rng = make(lanes=lanes), random.Random(lanes)
    word, bits = vector_word(design), vector_element_bits(design)
    depth = -(-vector_slot_elements(design) // word) // 2 + 1
    contents, steps, wanted, watch = {}, [], [], []
    for port in range(ports):
        watch += [f"read_{port}_even_data", f"read_{port}_odd_data"]
    expected = dict.fromkeys(watch)
    for _cycle in range(150):
        step, written = {}, {}
        wanted.append(dict(expected))
        for port in range(ports):
            step[f"read_{port}_en"] = reading = rng.randrange(2)
            for half in ("even", "odd"):
                row = step[f"read_{port}_{half}"] = rng.randrange(depth)
                if reading:
                    expected[f"read_{port}_{half}_data"] = sum(
                        contents.get((half, row, at), 0) << at * bits
                        for at in range(word))
                # The rows of the ports differ: two writes to one element mean nothing.
                row = step[f"write_{port}_{half}"] = rng.randrange(port, depth, ports)
                enabled = step[f"write_{port}_{half}_en"] = rng.getrandbits(word)
                value = step[f"write_{port}_{half}_data"] = rng.getrandbits(word * bits)
                for at in range(word):
                    if enabled >> at & 1:
                        written[half, row, at] = value >> at * bits & (1 << bits) - 1
        contents |= written
        steps.append(step)
    for got, want in zip(lockstep(VectorSlot(design=design, ports=ports), steps, watch), wanted,
                         strict=True):
        assert all(value is None or got[name] == value for name, value in want.items())


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
