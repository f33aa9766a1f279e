"""Unpacking of load data for the vector slots, every output in every cycle."""

import random

import pytest
from harness import lockstep
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.vector_commands import vector_element_bits, vector_slot_elements, vector_slots
from cubewave.rtl.vector_fill import VectorFill

OF_A_ROW = ["load_slot", "load_unit", "load_address", "load_count", "load_data"]
WATCH = ["load_write", *OF_A_ROW, "load_filled", "load_filled_slot"]


def make(cols=4, units=1, accumulator_bits=32, handoff_slots=2):
    return Design(rows=9, cols=cols, weight_bits=4, vector_units=units,
                  accumulator_bits=accumulator_bits, accumulator_rows=8,
                  handoff_slots=handoff_slots)


def run(design, steps):
    rows = lockstep(VectorFill(design=design), steps, WATCH)
    for row in rows:
        if row["load_write"]:
            row["load_data"] = row["load_data"][:row["load_count"]]
        else:
            row |= dict.fromkeys(OF_A_ROW)
        if not row["load_filled"]:
            row["load_filled_slot"] = None
    return rows


def fit(value, bits):
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def load(design, rng):
    """The beats of a load, and what is written for each."""
    size = rng.randint(1, min(7, design.vector_row_bytes))
    count = rng.randint(1, min(design.cols, design.vector_row_bytes // size))
    rows, elements = rng.randint(1, 6), vector_slot_elements(design)
    steps = (rows - 1) // design.vector_units
    pitch = rng.randint(0, (elements - count) // steps) if steps else rng.randint(0, elements)
    tag = {"slot": rng.randrange(vector_slots(design)), "last": rng.randrange(2), "pitch": pitch,
           "word": rng.randint(0, elements - count - pitch * steps), "element_bytes": size}
    nbytes = min(design.vector_row_bytes, count * size + rng.randrange(size))
    for row in range(rows):
        data = rng.randbytes(nbytes)
        values = [fit(int.from_bytes(data[place * size:(place + 1) * size], "little", signed=True),
                      vector_element_bits(design)) for place in range(count)]
        last = int(row == rows - 1)
        yield ({"row": int.from_bytes(data, "little"), "bytes": nbytes, "first": int(row == 0),
                "last": last, "tag": tag},
               {"load_write": 1, "load_slot": tag["slot"], "load_unit": row % design.vector_units,
                "load_address": tag["word"] + row // design.vector_units * pitch,
                "load_count": count, "load_data": values, "load_filled": last & tag["last"],
                "load_filled_slot": tag["slot"] if last & tag["last"] else None})


@settings(max_examples=30, derandomize=True)
@given(cols=st.integers(1, 5), units=st.integers(1, 2),
       accumulator_bits=st.sampled_from([16, 32, 48]), chance=st.sampled_from([0.4, 1.0]),
       handoff_slots=st.integers(1, 2), seed=st.integers(0, 999))
@example(cols=1, units=1, accumulator_bits=16, chance=1.0, handoff_slots=2, seed=0)
@example(cols=3, units=2, accumulator_bits=48, chance=1.0, handoff_slots=1, seed=0)
def test_any_loads(cols, units, accumulator_bits, chance, handoff_slots, seed):
    design, rng = make(cols, units, accumulator_bits, handoff_slots), random.Random(seed)
    quiet = dict.fromkeys(WATCH) | {"load_write": 0, "load_filled": 0}
    steps, expected, beats = [], [quiet], []
    for _ in range(80):
        beats = beats or list(load(design, rng))
        beat, written = beats[0]
        valid = int(rng.random() < chance)
        if valid:
            beats.pop(0)
        steps.append({"i.valid": valid, "i.payload": beat})
        expected.append(written if valid else quiet)
    for cycle, (got, want) in enumerate(zip(run(design, steps), expected)):
        assert got == want, f"cycle {cycle}"


@pytest.mark.parametrize("size,value", [(1, 0x80), (2, 0x8000), (4, 0x7fffffff), (4, 0x80000000)])
def test_sign_and_arrival(size, value):
    beat = {"row": value, "bytes": size, "first": 1, "last": 1, "tag": {
        "slot": 1, "word": 3, "last": 1, "pitch": 0, "element_bytes": size}}
    rows = run(make(), [{}, {"i.valid": 1, "i.payload": beat}, {}, {}])
    assert rows[2]["load_data"] == [fit(value, 8 * size)]
    # The flag is visible in the cycle after `load_filled`.
    assert [row["load_filled"] for row in rows] == [0, 0, 1, 0]
    assert VectorFill.ARRIVAL == 2


def test_the_last_element_of_the_last_slot():
    """Sizes of one more than a power of two: no address is a bit short."""
    design = Design(rows=9, cols=1, accumulator_rows=33, handoff_slots=1)
    assert (vector_slots(design), vector_slot_elements(design)) == (5, 33)
    beat = {"row": 77, "bytes": 1, "first": 1, "last": 1, "tag": {
        "slot": 4, "word": 32, "last": 1, "pitch": 0, "element_bytes": 1}}
    row = run(design, [{"i.valid": 1, "i.payload": beat}, {}])[1]
    assert (row["load_slot"], row["load_address"], row["load_filled_slot"]) == (4, 32, 4)
    assert row["load_data"] == [77]
