"""Programs of the vector unit: softmax, its neighbours' hand-shakes, waiting results, idleness."""

import random
import re

import numpy as np
import pytest
from harness import plain, simulate
from vector_bench import Contents, VectorBench

from cubewave.rtl import Design
from cubewave.rtl.status import VectorStatus
from cubewave.rtl.vector_commands import (
    Operand,
    VectorCommand,
    VectorOp,
    output_slot,
    scratch_slot,
    vector_element_bits,
    vector_slot_elements,
    vector_slots,
)
from cubewave.rtl.vector_unit import ACCEPT, VectorUnit, beats, result_latency


def make(**fields):
    return Design(**{"rows": 2, "cols": 3, "lanes": 4, "sfu_lanes": 1, "accumulator_rows": 20,
                     "handoff_slots": 1, **fields})


def softmax(design, rows, length, pitch, multiplier, shift, chain=0):
    """Commands of a softmax of hand-off slot 0 into its output slot."""
    scores, scratch, output = 0, scratch_slot(design, 0), output_slot(design, 0)
    row_shift = (length - 1).bit_length()
    common = {"rows": rows, "length": length, "a_slot": scores, "a_pitch": pitch,
              "d_pitch": pitch, "valid": length}
    value = {"b": Operand.ROW, "b_slot": scratch}
    half = vector_slot_elements(design) // 2
    return [VectorCommand(**{**common, "chain": chain, **fields}) for fields in (
        {"op": VectorOp.ROW_MAXIMUM, "d_slot": scratch},
        {"op": VectorOp.SUBTRACT, "d_slot": scores, **value},
        {"op": VectorOp.MULTIPLY, "d_slot": scores, "immediate": multiplier, "shift": shift},
        {"op": VectorOp.EXPONENTIAL, "d_slot": scores},
        {"op": VectorOp.ROW_SUM, "d_slot": scratch, "d_address": half, "shift": row_shift},
        {"op": VectorOp.DIVIDE, "d_slot": output, **value, "b_address": half, "last": 1,
         "immediate": (1 << 16) - 1, "shift": row_shift, "done": 1})]


def test_softmax_of_five_equal_scores():
    """Lanes beyond the row are not part of it: five fifths, of exact sum within rounding."""
    design = make()
    elements = np.zeros((1, vector_slots(design), vector_slot_elements(design)), dtype=np.int64)
    elements[0, 0, :5] = -10
    bench = VectorBench(design, elements).run(softmax(design, 1, 5, 5, 94548, 0))
    codes = bench.elements[0, output_slot(design, 0), :5].tolist()
    assert codes == [13107] * 5
    assert sum(codes) == (1 << 16) - 1


@pytest.mark.parametrize("fields", [
    {"vector_schedule": "sequential"}, {"vector_schedule": "pipelined"},
    {"vector_schedule": "pipelined", "vector_units": 2, "sfu_lanes": 2}])
def test_softmax_row_after_row(fields):
    """Chained by rows the numbers are the same, and a pipelined unit needs fewer cycles."""
    design, rng = make(**fields), np.random.default_rng(3)
    rows, length, pitch = 5, 7, 8
    shape = (design.vector_units, vector_slots(design), vector_slot_elements(design))
    elements = rng.integers(-1000, 1000, shape)
    ends = []
    for chain in (0, 1):
        commands = softmax(design, rows, length, pitch, 94548, 7, chain)
        contents = Contents(design, elements.copy())
        for command in commands:
            contents.execute(command)
        bench = VectorBench(design, elements).run(commands)
        assert (bench.elements == contents.elements).all()
        ends.append(max(complete for _accepted, complete in bench.accepted))
        results = bench.elements[:, output_slot(design, 0)]
        codes = [results[row % shape[0], row // shape[0] * pitch:][:length].sum()
                 for row in range(rows)]
        assert all(abs(total - 65535) <= length / 2 for total in codes)
    assert ends[1] < ends[0] if fields["vector_schedule"] == "pipelined" else ends[1] == ends[0]


def test_cycles_of_a_sequential_program():
    """Each command takes its beats and the latency of its result, from the cycle accepted."""
    design = make()
    commands = softmax(design, 3, 9, 9, 94548, 7)
    elements = np.zeros((1, vector_slots(design), vector_slot_elements(design)), dtype=np.int64)
    bench = VectorBench(design, elements).run(commands, cycles_after=2)
    cycle = 0
    for command, (accepted, complete) in zip(commands, bench.accepted, strict=True):
        assert accepted == cycle
        assert complete == (accepted + ACCEPT + beats(design, command) - 1
                            + result_latency(design, command.op))
        cycle = complete - ACCEPT
    assert bench.statuses.count(VectorStatus.BUSY) == sum(
        beats(design, command) for command in commands)
    assert bench.statuses[-2:] == [VectorStatus.IDLE] * 2


def test_overflow_stays_until_cleared():
    design = make()
    unit = VectorUnit(design=design)
    command = VectorCommand(op=VectorOp.ADD, a_slot=0, d_slot=1, rows=1, length=1, immediate=5)
    seen = []

    async def bench(ctx):
        most = (1 << vector_element_bits(design) - 1) - 1
        ctx.set(unit.lanes[0].storage.slots[0].banks[0][0], most)
        for clear, valid in [(0, 1), *[(0, 0)] * 9, (1, 0), (0, 0)]:
            ctx.set(unit.clear, clear)
            ctx.set(unit.i.valid, valid)
            ctx.set(unit.i.payload, command._asdict())
            seen.append((await ctx.tick().sample(unit.overflow))[-1])

    simulate(unit, bench)
    assert seen == [0] * 7 + [1] * 4 + [0]  # complete, and written, from cycle 7 on


@pytest.mark.parametrize("cols", [3, 4])
def test_neighbours_write_and_read_any_unit(cols):
    """Hand-off, load and store, all in each cycle, at any address of slots of their own.

    One that does nothing in a cycle points at any slot, that of another too.
    """
    design, rng = make(cols=cols, vector_units=2, handoff_slots=2), random.Random(4)
    unit, bits = VectorUnit(design=design), vector_element_bits(design)
    last = vector_slot_elements(design) - 4
    contents = {}

    def place():
        return rng.randrange(2), rng.randrange(last)

    def choose(ctx, name, slot, where, first=""):
        ctx.set(getattr(unit, f"{name}{first}_slot"), slot)
        ctx.set(getattr(unit, f"{name}{first}_unit"), where[0])
        ctx.set(getattr(unit, f"{name}{first}_address"), where[1])

    async def bench(ctx):
        expected = [{} for _ in range(VectorUnit.LATENCY)]
        for _cycle in range(300):
            slots, before, now = rng.sample(range(vector_slots(design)), 4), expected.pop(0), {}
            expected.append(now)
            for who, slot in zip(("handoff", "store"), slots):
                where, read = place(), rng.randrange(2)
                choose(ctx, who, slot if read else rng.choice(slots), where, "_read")
                ctx.set(getattr(unit, f"{who}_read"), read)
                if read:
                    now[who] = [contents.get((slot, where[0], where[1] + each), 0)
                                for each in range(4)]
            written = {}
            for who, slot in zip(("handoff", "load"), slots[2:]):
                where, count, write = place(), rng.randint(0, cols), rng.randrange(2)
                values = [rng.randrange(-1 << bits - 1, 1 << bits - 1) for _ in range(cols)]
                choose(ctx, who, slot if write else rng.choice(slots), where)
                ctx.set(getattr(unit, f"{who}_write"), write)
                ctx.set(getattr(unit, f"{who}_count"), count)
                ctx.set(getattr(unit, f"{who}_data"), values)
                for each in range(count * write):
                    written[slot, where[0], where[1] + each] = values[each]
            values = (await ctx.tick().sample(unit.handoff_read_data, unit.store_read_data))[2:]
            for who, value in zip(("handoff", "store"), values):
                assert who not in before or plain(value) == before[who]
            contents.update(written)

    simulate(unit, bench)


@pytest.mark.parametrize("reader", ["handoff", "store"])
@pytest.mark.parametrize("writer", ["handoff", "load"])
def test_neighbours_reach_the_last_element(writer, reader):
    """33 elements, 5 slots: no address is a bit short."""
    unit = VectorUnit(design=make(cols=1, accumulator_rows=33, vector_units=2))
    place = {"slot": 4, "unit": 1, "address": 32}

    async def bench(ctx):
        for name, value in {"write": 1, "count": 1, "data": [77], **place}.items():
            ctx.set(getattr(unit, f"{writer}_{name}"), value)
        await ctx.tick()
        ctx.set(getattr(unit, f"{writer}_write"), 0)
        ctx.set(getattr(unit, f"{reader}_read"), 1)
        for name, value in place.items():
            ctx.set(getattr(unit, f"{reader}_read_{name}"), value)
        await ctx.tick().repeat(VectorUnit.LATENCY)
        assert plain(ctx.get(getattr(unit, f"{reader}_read_data")))[0] == 77

    simulate(unit, bench)


def jobs_through(delays, words=10):
    """Load, add 1, and take the results, `words` at a time, after delays of the consumer."""
    design = make()
    unit, results, output = VectorUnit(design=design), [], output_slot(design, 0)
    command = VectorCommand(op=VectorOp.ADD, a_slot=0, d_slot=output, rows=1, length=words,
                            immediate=1, wait_a=1, free_a=1, done=1)

    async def source(ctx):
        ctx.set(unit.i.payload, command._asdict())
        for number in range(len(delays)):
            while ctx.get(unit.taken) or ctx.get(unit.results):
                await ctx.tick()
            ctx.set(unit.load_take, 1)
            for start in range(0, words, 2):
                ctx.set(unit.load_write, 1)
                ctx.set(unit.load_count, 2)
                ctx.set(unit.load_address, start)
                ctx.set(unit.load_data, [number * words + start + each for each in range(3)])
                ctx.set(unit.load_filled, start + 2 == words)
                await ctx.tick()
                ctx.set(unit.load_take, 0)
            ctx.set(unit.load_write, 0)
            ctx.set(unit.load_filled, 0)
            ctx.set(unit.i.valid, 1)
            while not (await ctx.tick().sample(unit.i.ready))[-1]:
                pass
            ctx.set(unit.i.valid, 0)

    async def consumer(ctx):
        ctx.set(unit.store_read_slot, output)
        for delay in delays:
            while not ctx.get(unit.results):
                await ctx.tick()
            looks = [await look(ctx) for _ in range(delay + 1)]
            assert all(each == looks[0] for each in looks)
            results.extend(looks[0])
            ctx.set(unit.store_use, 1)
            ctx.set(unit.store_use_slot, command.a_slot)
            await ctx.tick()
            ctx.set(unit.store_use, 0)

    async def look(ctx):
        found = []
        ctx.set(unit.store_read, 1)
        for start in range(0, words, 2):
            ctx.set(unit.store_read_address, start)
            await ctx.tick().repeat(VectorUnit.LATENCY)
            assert ctx.get(unit.results) == 1 << command.a_slot
            found += plain(ctx.get(unit.store_read_data))[:2]
        ctx.set(unit.store_read, 0)
        return found

    simulate(unit, source, consumer, max_cycles=5_000)
    return results


def test_a_waiting_result_does_not_change():
    """Results of 200 words wait for a consumer that is 0 to 20 looks late; nothing hangs."""
    rng = random.Random(58)
    late = jobs_through([rng.randint(0, 20) for _ in range(20)])
    assert late == jobs_through([0] * 20) == list(range(1, 201))


@pytest.mark.parametrize("schedule", ["sequential", "pipelined"])
def test_an_idle_unit_is_still(schedule, tmp_path):
    """When all is written no signal but the clock and the bench's counter changes."""
    design, rng = make(vector_schedule=schedule), np.random.default_rng(1)
    path = tmp_path / "idle.vcd"
    commands = softmax(design, 3, 9, 9, 94548, 7)
    bench = VectorBench(design, VectorBench.random_elements(design, rng))
    bench.run(commands, neighbours=0, cycles_after=60, vcd=path)
    names, changes, time = {}, {}, 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\$var \w+ \d+ (\S+) (\S+)", line):
            names.setdefault(match[1], match[2])
        elif match := re.match(r"#(\d+)", line):
            time = int(match[1])
        elif match := re.match(r"(?:[01xz]|[bs]\S+ )(\S+)", line):
            changes[match[1]] = time
    quiet_from = time * (1 - 40 / len(bench.statuses))
    assert {names[code] for code, last in changes.items()
            if last > quiet_from} <= {"clk", "cycle"}
    assert len(names) > 100
