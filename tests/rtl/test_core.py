"""The core by itself: command queues, `active`, `count` and `clear`; a memory that never answers.

Whole products with a memory are in `test_machine.py`, exact intervals in `test_tile_interval.py`.
"""

import pytest
from harness import lockstep

from cubewave.rtl import Design
from cubewave.rtl.commands import ArrayJob, Destination, Load, Store
from cubewave.rtl.core import QUEUE_DEPTH, Core
from cubewave.rtl.status import ArrayStatus, LoaderStatus, StoreStatus

DESIGN = Design(rows=2, cols=2, input_slots=1)
LOAD = Load(destination=Destination.OPERAND, base=5, rows=2, bytes_per_row=2, row_stride=2,
            take=1, last=1)._asdict()
JOB = ArrayJob(rows=2, slot=0, row=0, bank=0, acc_row=0, inner=2, outer=2)._asdict()
STORE = Store(bank=0, acc_row=0, rows=2, base=0, bytes_per_row=8, row_stride=8)._asdict()
COMMANDS = {"loads": LOAD, "jobs": JOB, "stores": STORE}


def run(steps, *watch):
    return lockstep(Core(design=DESIGN), steps, list(watch))


@pytest.mark.parametrize("port", COMMANDS)
def test_each_unit_has_its_own_queue(port):
    """A blocked unit takes QUEUE_DEPTH commands; the other queues stay free."""
    steps = [{f"{port}.valid": 1, f"{port}.payload": COMMANDS[port]}] * (QUEUE_DEPTH + 3)
    rows = run(steps, *(f"{name}.ready" for name in COMMANDS))
    assert QUEUE_DEPTH == 4
    assert [row[f"{port}.ready"] for row in rows] == [1] * QUEUE_DEPTH + [0] * 3
    for other in COMMANDS.keys() - {port}:
        assert all(row[f"{other}.ready"] for row in rows)


@pytest.mark.parametrize("port,unit,status", [
    ("loads", "loader", LoaderStatus.PORT), ("jobs", "control", ArrayStatus.FILL),
    ("stores", "store", StoreStatus.RESULT)])
def test_active_while_a_unit_has_a_command(port, unit, status):
    steps = [{}, {f"{port}.valid": 1, f"{port}.payload": COMMANDS[port]}, {}, {}]
    rows = run(steps, "active", f"{unit}.status")
    assert [row["active"] for row in rows] == [0, 0, 1, 1]
    assert rows[-1][f"{unit}.status"] == status


@pytest.mark.parametrize("name", ["loads_under_way", "stores_under_way"])
def test_active_while_data_is_under_way(name):
    rows = run([{}, {f"memory.{name}": 1}, {}], "active", "loader.status", "store.status")
    assert [row["active"] for row in rows] == [0, 1, 0]
    if name == "loads_under_way":
        assert rows[1]["loader.status"] == LoaderStatus.DRAIN
    else:
        assert rows[1]["store.status"] == StoreStatus.DRAIN


@pytest.mark.parametrize("signals,status", [
    ({}, LoaderStatus.PORT), ({"memory.store_next": 1}, LoaderStatus.STORE),
    ({"memory.storing": 1}, LoaderStatus.STORE), ({"memory.loading": 1}, LoaderStatus.BUSY)])
def test_what_the_loader_sees_of_the_channel(signals, status):
    rows = run([{"loads.valid": 1, "loads.payload": LOAD}, signals], "loader.status")
    assert rows[1]["loader.status"] == status


def test_count_and_clear():
    """Counters move with `count` only; `clear` sets them to zero."""
    names = ["cycles", "loader_idle", "memory_busy", "loads", "bytes_read", "transactions"]
    start = {"memory.load.ready": 1, "memory.loading": 1, "memory.request_bytes": 4,
             "memory.request_transactions": 3}
    load = {"loads.valid": 1, "loads.payload": LOAD, "count": 1}
    free = {**LOAD, "take": 0}
    steps = [{**load, "loads.payload": free}, {**start, **load, "loads.payload": free},
             {**start, "count": 0}, {"count": 1, "clear": 1}, {"count": 1}, {}]
    rows = run(steps, *(f"counters.{name}" for name in names))
    assert [tuple(row.values()) for row in rows] == [
        (0, 0, 0, 0, 0, 0), (1, 1, 0, 0, 0, 0), (2, 1, 1, 1, 4, 3), (2, 1, 1, 1, 4, 3),
        (0, 0, 0, 0, 0, 0), (1, 1, 0, 0, 0, 0)]


@pytest.mark.parametrize("first", ["memory.loading", "memory.storing"])
def test_span_begins_with_the_first_start_and_never_ends(first):
    steps = [{"count": 1}, {"count": 1, first: 1}, {"count": 1}, {"count": 1}, {"clear": 1},
             {"count": 1}, {}]
    rows = run(steps, "counters.span", "counters.cycles")
    assert [row["counters.span"] for row in rows] == [0, 0, 1, 2, 3, 0, 0]
    assert [row["counters.cycles"] for row in rows] == [0, 1, 2, 3, 4, 0, 1]


@pytest.mark.parametrize("signals,counted", [
    ({"memory.loads_under_way": 1}, 1), ({"memory.stores_under_way": 1}, 1),
    ({"memory.loads_under_way": 1, "memory.loading": 1}, 0),
    ({"memory.loads_under_way": 1, "memory.storing": 1}, 0), ({}, 0)])
def test_exposed_requests_are_times_in_which_only_latency_passes(signals, counted):
    """One count for each such time, however long it is."""
    wait = {**signals, "count": 1}
    rows = run([{"count": 1}, wait, wait, wait, {"count": 1}, wait, {}],
               "counters.exposed_requests")
    assert [row["counters.exposed_requests"] for row in rows] == [
        0, 0, counted, counted, counted, counted, 2 * counted]


@pytest.mark.parametrize("kind,payload", [("load", {**LOAD, "take": 0}), ("store", STORE)])
def test_only_a_transfer_counts_as_a_start(kind, payload):
    """The channel may be ready for nothing, and a request may wait."""
    ready = {"memory.load.ready": 1, "memory.store.ready": 1, "memory.request_bytes": 4,
             "memory.request_transactions": 2}
    names = ("loads", "stores", "bytes_read", "bytes_written", "transactions")
    idle = run([{"count": 1, **ready}] * 3, *(f"counters.{name}" for name in names))
    assert set(idle[-1].values()) == {0}
    rows = run([{"count": 1, f"{kind}s.valid": 1, f"{kind}s.payload": payload}, {"count": 1},
                {"count": 1}], *(f"counters.{name}" for name in names))
    assert set(rows[-1].values()) == {0}
