# amaranth: UnusedElaboratable=no
"""The counter bank: each status and event counted once, clear, enable, widths."""

import random

import pytest
from amaranth.hdl import Shape
from harness import lockstep

from cubewave.rtl.counters import (
    COUNTER_BITS,
    COUNTERS,
    EVENTS,
    CounterBank,
    CounterNumber,
)
from cubewave.rtl.status import UNITS

NAMES = [name.replace(".", "_") for name in COUNTERS]
ADDS = {f"add_{event}": event for event in EVENTS if event != "cycles"}

# What counts only in cycles with one of these.
WITH = {"add_bytes_read": ["add_loads"], "add_bytes_written": ["add_stores"],
        "add_transactions": ["add_loads", "add_stores"]}


def run(steps):
    return lockstep(CounterBank(), steps, NAMES)


def test_random_events_are_counted_and_partition_the_run():
    rng = random.Random(1)
    members = CounterBank().signature.members
    widths = {name: Shape.cast(members[name].shape).width for name in ADDS}
    counts, steps, expected = dict.fromkeys(NAMES, 0), [], []
    for cycle in range(150):
        step = {"enable": int(rng.random() < 0.8), "clear": int(cycle in (60, 61))}
        step |= {f"status_{unit}": rng.choice(list(statuses)) for unit, statuses in UNITS.items()}
        step |= {name: rng.choice([0, rng.getrandbits(width)]) for name, width in widths.items()}
        steps.append(step)
        expected.append(dict(counts))
        if step["enable"]:
            counts["cycles"] += 1
            for unit in UNITS:
                counts[f"{unit}_{step[f'status_{unit}'].name.lower()}"] += 1
            for name, event in ADDS.items():
                if any(step[each] for each in WITH.get(name, [name])):
                    counts[event] += step[name]
        if step["clear"]:
            counts = dict.fromkeys(NAMES, 0)
    got = run(steps)
    assert got == expected
    for row in got:
        for unit, statuses in UNITS.items():
            assert sum(row[f"{unit}_{status.name.lower()}"] for status in statuses) == \
                row["cycles"]


@pytest.mark.parametrize("name", [f"status_{unit}" for unit in UNITS])
def test_each_status_has_its_counter(name):
    unit = name.removeprefix("status_")
    for status in UNITS[unit]:
        row = run([{"enable": 1, name: status}, {}])[1]
        others = {other for other, value in row.items() if value and other.startswith(f"{unit}_")}
        assert others == {f"{unit}_{status.name.lower()}"} and row["cycles"] == 1


@pytest.mark.parametrize("name,least", [
    ("add_useful_macs", 1024 * 1024), ("add_bytes_read", (1 << 40) - 1),
    ("add_bytes_written", (1 << 40) - 1), ("add_transactions", (1 << 40) - 1)])
def test_wide_events_are_not_cut_f057(name, least):
    happens = {each: 1 for each in WITH.get(name, [])}
    row = run([{"enable": 1, name: least, **happens}] * 3 + [{}])[3]
    assert row[ADDS[name]] == 3 * least


def test_any_counter_can_be_read_by_its_number():
    """As it was in the cycle before, in the order of the list."""
    count = {"enable": 1, "add_transactions": 3, "add_loads": 1, "status_store": 1}
    steps = [count] * 5 + [{"select": number} for number in CounterNumber]
    got = lockstep(CounterBank(), [*steps, {}], [*NAMES, "selected"])
    assert [number.name.lower() for number in CounterNumber] == NAMES
    for number, row in zip(CounterNumber, got[6:], strict=True):
        assert row["selected"] == row[number.name.lower()]
    assert {row["selected"] for row in got[6:]} == {0, 5, 15}
    rising = lockstep(CounterBank(), [{**count, "select": CounterNumber.TRANSACTIONS}] * 4,
                      ["selected", "transactions"])
    assert [tuple(row.values()) for row in rising] == [(0, 0), (0, 3), (3, 6), (6, 9)]


def test_counters_are_wide_enough_f057():
    bank = CounterBank()
    assert COUNTER_BITS >= 48
    for name in COUNTERS:
        assert len(bank.counter(name)) == COUNTER_BITS


def test_every_counter_is_documented_once_f118():
    assert set(COUNTERS) == {*EVENTS, *(f"{unit}.{status.name.lower()}"
                                        for unit, statuses in UNITS.items()
                                        for status in statuses)}
    assert all(COUNTERS.values()) and len(set(COUNTERS.values())) == len(COUNTERS)
    for event in EVENTS.values():
        assert event.unit in {*UNITS, "core"} and event.unit_of_count
