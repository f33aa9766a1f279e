"""Loader against a model, every output in every cycle."""

import random
from itertools import product

import pytest
from harness import lockstep
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.commands import WINDOW_FIELDS, Destination, Load, WindowRegister
from cubewave.rtl.loader import Loader
from cubewave.rtl.status import LoaderStatus

DESIGN = Design(rows=3, cols=2, input_slots=3, slot_bytes=21, handoff_slots=2)
WATCH = ["i.ready", "o.valid", "o.payload", "take", "take_slot", "vector_take",
         "vector_take_slot", "reserve", "status"]
SHAPE = ("rows", "bytes_per_row", "row_stride")
WEIGHT, OPERAND, VECTOR = Destination
CONFIGURE = [WindowRegister.NONE, WindowRegister.NONE, WindowRegister.WAIT, WindowRegister.RUNS]


def random_load(rng):
    return Load(destination=rng.choice([WEIGHT, OPERAND, VECTOR]), base=rng.randrange(1 << 40),
                rows=rng.randint(1, 7), bytes_per_row=rng.randint(1, 3),
                row_stride=rng.randrange(1 << 40), keep_shape=rng.randrange(2),
                slot=rng.randrange(3), word=rng.randrange(7), take=rng.randrange(2),
                last=rng.randrange(2), pitch=rng.randrange(32), element_bytes=rng.randrange(8),
                window=rng.randrange(2), configure=rng.choice(CONFIGURE),
                bytes=rng.randrange(16), segments=rng.randrange(4), y=rng.randint(-99, 99),
                x=rng.randint(-99, 99), column=rng.randrange(99), tap=rng.randrange(99),
                run=rng.randrange(99), skip=rng.randrange(99))


def status(load, step, slot_blocked, fifo_blocked):
    if step["loading"]:
        return LoaderStatus.BUSY
    if load is None:
        return LoaderStatus.DRAIN if step["under_way"] else LoaderStatus.IDLE
    if slot_blocked:
        return LoaderStatus.SLOT
    if fifo_blocked:
        return LoaderStatus.FIFO
    return LoaderStatus.STORE if step["storing"] else LoaderStatus.PORT


def expect(step, load, kept):
    """The outputs of one cycle; `kept` (destination to shape) is updated by a start."""
    destination = load and load.destination
    taken = {OPERAND: step["slots_taken"], VECTOR: step["vector_taken"]}.get(destination, 0)
    slot_blocked = load is not None and load.take and taken >> load.slot & 1
    fifo_blocked = destination is WEIGHT and not step["fifo_room"]
    valid = load is not None and not slot_blocked and not fifo_blocked
    starts = int(valid and step["o.ready"])
    request = None
    if valid:
        shape = kept[load.destination] if load.keep_shape else {
            name: getattr(load, name) for name in SHAPE}
        request = {"destination": load.destination, "base": load.base, **shape,
                   "tag": {"slot": load.slot, "word": load.word, "last": load.last,
                           "pitch": load.pitch, "element_bytes": load.element_bytes},
                   **{name: getattr(load, name) for name in WINDOW_FIELDS}}
        if starts:
            kept[load.destination] = shape
    taking = starts and load.take and load.configure is WindowRegister.NONE
    takes, vector_takes = (int(taking and destination is each) for each in (OPERAND, VECTOR))
    return {"i.ready": starts, "o.valid": int(valid), "o.payload": request, "take": takes,
            "take_slot": load.slot if takes else None,
            "vector_take": vector_takes, "vector_take_slot": load.slot if vector_takes else None,
            "reserve": int(starts and destination is WEIGHT),
            "status": status(load, step, slot_blocked, fifo_blocked)}


def run(steps):
    rows = lockstep(Loader(design=DESIGN), steps, WATCH)
    for row in rows:
        if not row["o.valid"]:
            row["o.payload"] = None
        if not row["take"]:
            row["take_slot"] = None
        if not row["vector_take"]:
            row["vector_take_slot"] = None
        row["status"] = LoaderStatus(row["status"])
    return rows


@settings(max_examples=20, derandomize=True)
@given(seed=st.integers(0, 9999), blocked=st.sampled_from([0.1, 0.5]))
def test_any_stimulus(seed, blocked):
    rng = random.Random(seed)
    kept = {destination: dict.fromkeys(SHAPE, 0) for destination in Destination}
    steps, expected, load = [], [], None
    for _ in range(80):
        if load is None and rng.random() < 0.8:
            load = random_load(rng)
        step = {"i.valid": int(load is not None),
                "i.payload": (load or random_load(rng))._asdict(),
                "o.ready": int(rng.random() > blocked),
                "slots_taken": sum(1 << slot for slot in range(3) if rng.random() < blocked),
                "vector_taken": sum(1 << slot for slot in range(7) if rng.random() < blocked),
                "fifo_room": int(rng.random() > blocked), "loading": int(rng.random() < 0.3),
                "storing": rng.randrange(2), "under_way": rng.randrange(2)}
        steps.append(step)
        expected.append(expect(step, load, kept))
        if expected[-1]["i.ready"]:
            load = None
    assert run(steps) == expected


def command(**fields):
    values = {"destination": WEIGHT, "base": 100, "rows": 2, "bytes_per_row": 2,
              "row_stride": 8, **fields}
    return Load(**values)._asdict()


def test_keep_shape_is_kept_per_destination():
    """Only the base is new; the other destination's loads and blocked commands change nothing."""
    loads = [command(rows=3, bytes_per_row=1, row_stride=16),
             command(destination=OPERAND, rows=7, bytes_per_row=3, row_stride=3),
             command(destination=VECTOR, rows=5, bytes_per_row=2, row_stride=9),
             command(base=500, keep_shape=1, rows=0, bytes_per_row=0, row_stride=0),
             command(destination=OPERAND, base=600, keep_shape=1, rows=1),
             command(destination=VECTOR, base=650, keep_shape=1, rows=1),
             command(base=700, keep_shape=1)]
    steps = [{"i.valid": 1, "i.payload": load, "o.ready": 1, "fifo_room": 1} for load in loads]
    steps.insert(3, {"i.valid": 1, "i.payload": command(rows=1), "o.ready": 1, "fifo_room": 0})
    requests = [row["o.payload"] for row in run(steps) if row["o.valid"]]
    assert [(request["base"], *(request[name] for name in SHAPE)) for request in requests] == [
        (100, 3, 1, 16), (100, 7, 3, 3), (100, 5, 2, 9), (500, 3, 1, 16), (600, 7, 3, 3),
        (650, 5, 2, 9), (700, 3, 1, 16)]


@pytest.mark.parametrize("loading,valid,under_way,slot_taken,vector_taken,fifo_room,storing",
                         list(product([0, 1], repeat=7)))
@pytest.mark.parametrize("destination", [WEIGHT, OPERAND, VECTOR])
def test_status_order(loading, valid, under_way, slot_taken, vector_taken, fifo_room, storing,
                      destination):
    """BUSY, then without a command DRAIN or IDLE, with one SLOT, FIFO, STORE, PORT."""
    step = {"i.valid": valid, "i.payload": command(destination=destination, slot=1, take=1),
            "slots_taken": 2 * slot_taken, "vector_taken": 2 * vector_taken,
            "fifo_room": fifo_room, "loading": loading, "storing": storing, "under_way": under_way}
    order = [(loading, "BUSY"), (not valid and under_way, "DRAIN"), (not valid, "IDLE"),
             (destination is OPERAND and slot_taken, "SLOT"),
             (destination is VECTOR and vector_taken, "SLOT"),
             (destination is WEIGHT and not fifo_room, "FIFO"), (storing, "STORE"), (1, "PORT")]
    [row] = run([step])
    assert row["status"].name == next(name for holds, name in order if holds)


@pytest.mark.parametrize("destination,taken", [(OPERAND, "slots_taken"),
                                               (VECTOR, "vector_taken")])
def test_a_later_load_of_a_taken_slot_is_not_blocked(destination, taken):
    steps = [{"i.valid": 1, "i.payload": command(destination=destination, slot=2, take=take),
              taken: 4, "o.ready": 1} for take in (1, 0)]
    assert [(row["o.valid"], row["take"] | row["vector_take"]) for row in run(steps)] == [
        (0, 0), (1, 0)]
    assert Loader.LATENCY == 0


def test_a_waiting_load_leaves_its_slot_free():
    """It is blocked like any that takes the slot, but does not take it."""
    load = command(destination=VECTOR, slot=2, take=1, configure=WindowRegister.WAIT)
    steps = [{"i.valid": 1, "i.payload": load, "vector_taken": taken, "o.ready": 1}
             for taken in (4, 3)]
    assert [(row["o.valid"], row["vector_take"]) for row in run(steps)] == [(0, 0), (1, 0)]
