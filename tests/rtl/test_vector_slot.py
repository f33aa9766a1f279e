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
from cubewave.rtl.vector_slot import VectorSlot, bank_rows, rotated, vector_word
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
def test_elements_are_rotated(word):
    bits, rng, m = 5, random.Random(word), Module()
    value, places = Signal(word * bits), Signal(range(word))
    turned = rotated(m, value, places, bits, "out")

    def packed(elements):
        return sum(each << bits * at for at, each in enumerate(elements))

    async def bench(ctx):
        for first in range(word):
            elements = [rng.randrange(1 << bits) for _ in range(word)]
            ctx.set(places, first)
            ctx.set(value, packed(elements))
            assert ctx.get(turned) == packed(elements[first:] + elements[:first])

    simulate(m, bench)


@pytest.mark.parametrize("lanes,ports,elements", [(1, 1, 21), (2, 2, 21), (4, 1, 21), (1, 1, 33)])
def test_a_slot_reads_and_writes_any_elements_in_a_row(lanes, ports, elements):
    """In the order of the banks; reads see what was written before their cycle.

    The last of 33 elements has an address of a bit more.
    """
    def rows(first):
        """The row of each bank for the elements from `first` on."""
        row_of = {at % word: at // word for at in range(first, first + word)}
        return [row_of[bank] % bank_rows(design) for bank in range(word)]

    design, rng = make(lanes=lanes, accumulator_rows=elements), random.Random(lanes)
    word, bits = vector_word(design), vector_element_bits(design)
    last = vector_slot_elements(design) - word
    contents, steps, wanted = {}, [], []
    watch = [f"read_{port}_data" for port in range(ports)]
    expected = dict.fromkeys(watch)
    for _cycle in range(300):
        step, written = {}, {}
        wanted.append(dict(expected))
        # The elements written at the ports differ: two writes to one element mean nothing.
        first, free = rng.randrange(last + 1), [rng.getrandbits(word)]
        free.append(~free[0])
        for port in range(ports):
            step[f"read_{port}_en"] = reading = rng.randrange(2)
            read = rng.randrange(last + 1)
            step[f"read_{port}_rows"] = rows(read)
            if reading:
                expected[f"read_{port}_data"] = sum(
                    contents.get(at, 0) << at % word * bits for at in range(read, read + word))
            step[f"write_{port}_rows"] = rows(first)
            enabled = step[f"write_{port}_en"] = rng.getrandbits(word) & free[port]
            value = step[f"write_{port}_data"] = rng.getrandbits(word * bits)
            for at in range(first, first + word):
                if enabled >> at % word & 1:
                    written[at] = value >> at % word * bits & (1 << bits) - 1
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
        expected = [{} for _ in range(VectorStorage.LATENCY)]
        for _cycle in range(150):
            # Slots of their own, except that both engines may read the same one.
            free = {("read", port): rng.sample(slots, len(slots)) for port in range(engines)}
            free |= {("write", port): free_to_write for free_to_write in
                     [rng.sample(slots, len(slots))] for port in range(engines)}
            before, now, written = expected.pop(0), {}, {}
            expected.append(now)
            for name in names:
                kind, port = name.split("_")[0], int(name[-1]) if name[-1].isdigit() else 0
                slot, address = free[kind, port].pop(), rng.randrange(elements - 3)
                request = getattr(storage, name)
                ctx.set(request.slot, slot)
                ctx.set(request.address, address)
                if kind == "read":
                    ctx.set(request.en, enabled := rng.randrange(2))
                    if enabled:
                        now[name] = [contents.get((slot, address + place), 0)
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
