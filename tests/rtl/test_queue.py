# amaranth: UnusedElaboratable=no
"""Queue against a Python deque, cycle by cycle."""

from collections import deque

import pytest
from amaranth.hdl import signed, unsigned
from amaranth.lib import data
from harness import drive, lockstep, simulate, transfers
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.rtl.queue import Queue

WATCH = ["i.ready", "o.valid", "o.payload", "level"]
DEPTHS = [1, 2, 3, 4, 16]


def expected(steps, depth):
    """The outputs in every cycle; the payload is None where nothing is offered."""
    entries, rows = deque(), []
    for step in steps:
        ready = int(len(entries) < depth or step["o.ready"])
        rows.append({"i.ready": ready, "o.valid": int(bool(entries)),
                     "o.payload": entries[0] if entries else None, "level": len(entries)})
        if entries and step["o.ready"]:
            entries.popleft()
        if step["i.valid"] and ready:
            entries.append(step["i.payload"])
    return rows


def run(steps, depth, shape=8):
    rows = lockstep(Queue(shape=shape, depth=depth), steps, WATCH)
    for row in rows:
        if not row["o.valid"]:
            row["o.payload"] = None
    return rows


@pytest.mark.parametrize("depth", DEPTHS)
@settings(max_examples=25, derandomize=True)
@given(steps=st.lists(st.fixed_dictionaries({
    "i.valid": st.booleans(), "i.payload": st.integers(0, 255), "o.ready": st.booleans()}),
    min_size=1, max_size=60))
def test_any_stimulus(depth, steps):
    assert run(steps, depth) == expected(steps, depth)


@pytest.mark.parametrize("depth", DEPTHS)
def test_fills_and_drains_with_a_right_level_f055(depth):
    push = [{"i.valid": 1, "i.payload": 100 + i, "o.ready": 0} for i in range(depth + 2)]
    pop = [{"i.valid": 0, "i.payload": 0, "o.ready": 1} for _ in range(depth + 1)]
    rows = run(push + pop, depth)
    assert [row["level"] for row in rows] == [
        *range(depth + 1), depth, *range(depth, -1, -1)]
    assert [row["i.ready"] for row in rows[:depth + 2]] == [1] * depth + [0, 0]
    assert [row["o.payload"] for row in rows[depth + 2:]] == [
        *range(100, 100 + depth), None]


@pytest.mark.parametrize("depth", DEPTHS)
def test_full_rate_at_every_depth_f052(depth):
    queue, log = Queue(shape=8, depth=depth), []

    async def source(ctx):
        await drive(ctx, queue.i, range(50))
        await ctx.tick()

    async def sink(ctx):
        ctx.set(queue.o.ready, 1)
        await ctx.tick()
    simulate(queue, source, sink, monitors=[transfers(queue.o, log)])
    assert log == [(cycle + Queue.LATENCY, cycle) for cycle in range(50)]


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_full_queue_keeps_the_rate(depth):
    fill = [{"i.valid": 1, "i.payload": i, "o.ready": 0} for i in range(depth)]
    flow = [{"i.valid": 1, "i.payload": depth + i, "o.ready": 1} for i in range(20)]
    rows = run(fill + flow, depth)[depth:]
    assert [(row["i.ready"], row["level"], row["o.payload"]) for row in rows] == [
        (1, depth, i) for i in range(20)]


@pytest.mark.parametrize("depth", DEPTHS)
def test_payload_is_stable_while_stalled_f058(depth):
    stalls = [0, 1, 3, 20, 2, 0, 7]
    steps = []
    for stall in stalls:
        steps += [{"o.ready": 0}] * stall + [{"o.ready": 1}]
    steps = [{**step, "i.valid": 1, "i.payload": 50 + i} for i, step in enumerate(steps)]
    rows = run(steps, depth)
    for before, after, step in zip(rows, rows[1:], steps):
        if before["o.valid"] and not step["o.ready"]:
            assert after["o.valid"] and after["o.payload"] == before["o.payload"]
    assert rows == expected(steps, depth)


def test_entries_of_any_shape():
    shape = data.StructLayout({"a": signed(5), "b": data.ArrayLayout(unsigned(3), 2)})
    entry = {"a": -16, "b": [7, 1]}
    for depth in (1, 2):
        rows = run([{"i.valid": 1, "i.payload": entry, "o.ready": 0},
                    {"i.valid": 0, "o.ready": 1}], depth, shape)
        assert rows[1]["o.payload"] == entry


def test_depth_is_readable():
    assert Queue(shape=1, depth=3).depth == 3


@pytest.mark.parametrize("depth,error,message", [
    (0, ValueError, r"^depth must be from 1 to 16777216, not 0$"),
    (1 << 25, ValueError, r"^depth must be from 1 to 16777216, not 33554432$"),
    (True, TypeError, r"^depth must be an integer, not True$"),
    (1.0, TypeError, r"^depth must be an integer, not 1.0$"),
])
def test_refused_depth(depth, error, message):
    with pytest.raises(error, match=message):
        Queue(shape=8, depth=depth)
