"""Operand slots against a model of slots, rows and bits, every output in every cycle."""

import random
from collections import deque

import pytest
from harness import lockstep
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.operand_slots import OperandSlots
from cubewave.rtl.vector_commands import matrix_pieces

WATCH = ["taken", "ready", "o"]


def make(slots, port, rows=3):
    return Design(rows=rows, input_slots=slots, slot_bytes=rows * (7 if port == 1 else 6) + 1,
                  buffer_port_rows=port)


def beats(design, rows, slot, word, last, rng):
    """The beats of a load; rubbish in the lanes that are not real."""
    port = design.buffer_port_rows
    for start in range(0, len(rows), port):
        lanes = rows[start:start + port]
        count = len(lanes)
        lanes = lanes + [rng.randrange(1 << 24) for _ in range(port - count)]
        yield {"rows": lanes, "count": count, "first": int(start == 0),
               "last": int(start + port >= len(rows)),
               "tag": {"slot": slot, "word": word, "last": int(last)}}


class Model:
    """Random legal stimulus, cycle by cycle, and what must come out of it.

    A slot is filled by one load or two, each beginning at a word of its own, or by hand-offs of
    some rows, of which the last makes it ready.
    """

    def __init__(self, design, rng, rates):
        self.design, self.rng, self.rates = design, rng, rates
        self.rows = [{} for _ in range(design.input_slots)]  # row number -> contents
        self.taken, self.ready = set(), set()
        self.second = []        # loads that still have to follow: slot, word
        self.coming = deque()   # beats, each with what it makes known when it has been written
        self.handed_off = None  # slot that the hand-off fills
        self.output = None

    def _happens(self, number):
        return self.rng.random() < self.rates[number]

    def _load(self, slot, word, last):
        design, port = self.design, self.design.buffer_port_rows
        room = design.slot_rows - word * port - (0 if last else port)
        rows = [self.rng.randrange(1 << 24) for _ in range(self.rng.randint(1, room))]
        data = list(beats(design, rows, slot, word, last, self.rng))
        for number, beat in enumerate(data):
            first_row = (word + number) * port
            self.coming.append((beat, slot, {
                first_row + lane: beat["rows"][lane] for lane in range(beat["count"])}))
        if not last:
            self.second.append((slot, word + len(data)))

    def _issue(self, inputs):
        """Start a load: the second of a slot, or the first of a free one, which takes it."""
        free = [slot for slot in range(self.design.input_slots) if slot not in self.taken]
        if self.second and self._happens(0):
            self._load(*self.second.pop(0), True)
        elif free and self._happens(0):
            slot = self.rng.choice(free)
            inputs.update(take=1, take_slot=slot)
            two = self.design.slot_rows > self.design.buffer_port_rows and self.rng.random() < 0.5
            self.rows[slot] = {}
            self._load(slot, 0, not two)

    def _hand_off(self, inputs):
        """Take a slot, write a row to it, or make it ready; returns the slot made ready."""
        rng, slots = self.rng, self.design.input_slots
        free = [slot for slot in range(slots)
                if slot not in self.taken and not (inputs["take"] and inputs["take_slot"] == slot)]
        if self.handed_off is None:
            if free and rng.random() < 0.3:
                self.handed_off = slot = rng.choice(free)
                self.rows[slot] = {}
                self.taken.add(slot)
                inputs.update(handoff_take=1, handoff_take_slot=slot)
            return None
        slot, rows = self.handed_off, self.rows[self.handed_off]
        if self._happens(1):
            port, most = self.design.buffer_port_rows, matrix_pieces(self.design)
            lanes = rng.sample(range(port), most)
            places = [rng.randrange(lane, self.design.slot_rows, port) for lane in lanes]
            contents = [rng.randrange(1 << 24) for _ in lanes]
            write = rng.randrange(1, 1 << most)
            inputs.update(handoff_write=write, handoff_slot=slot, handoff_row=places,
                          handoff_data=contents)
            rows.update((row, value) for number, (row, value) in enumerate(zip(places, contents))
                        if write >> number & 1)
        if rows and rng.random() < 0.3:
            self.handed_off = None
            inputs.update(handoff_ready=1, handoff_ready_slot=slot)
            return slot
        return None

    def cycle(self):
        """The inputs and outputs of one cycle."""
        rng = self.rng
        expected = {"taken": sum(1 << slot for slot in self.taken),
                    "ready": sum(1 << slot for slot in self.ready), "o": self.output}
        inputs = {"take": 0, "take_slot": rng.randrange(self.design.input_slots), "read": 0,
                  "read_slot": rng.randrange(self.design.input_slots), "read_row": 0,
                  "release": 0, "release_slot": rng.randrange(self.design.input_slots),
                  "i.valid": 0, "i.payload": {
                      "rows": [1] * self.design.buffer_port_rows, "count": 1, "first": 1,
                      "last": 1, "tag": {"slot": 0, "word": 0, "last": 1}}}
        arrived, released = None, None
        self.output = None
        if self.ready and self._happens(2):
            slot = rng.choice(sorted(self.ready))
            row = rng.choice(sorted(self.rows[slot]))
            inputs.update(read=1, read_slot=slot, read_row=row)
            self.output = self.rows[slot][row]
            if rng.random() < 0.3:
                released = slot
                inputs.update(release=1, release_slot=slot)
        if self.coming and self._happens(1):
            beat, slot, written = self.coming.popleft()
            inputs.update({"i.valid": 1, "i.payload": beat})
            self.rows[slot].update(written)
            arrived = slot if beat["last"] and beat["tag"]["last"] else None
        self._issue(inputs)
        slots = self.design.input_slots
        inputs |= {"handoff_take": 0, "handoff_take_slot": rng.randrange(slots),
                   "handoff_ready": 0, "handoff_ready_slot": rng.randrange(slots),
                   "handoff_write": 0, "handoff_slot": rng.randrange(slots),
                   "handoff_row": [0] * matrix_pieces(self.design),
                   "handoff_data": [5] * matrix_pieces(self.design)}
        ready = self._hand_off(inputs)
        if ready is not None:
            self.ready.add(ready)
        if inputs["take"]:
            self.taken.add(inputs["take_slot"])
        self.taken.discard(released)
        self.ready.discard(released)
        if arrived is not None:
            self.ready.add(arrived)
        return inputs, expected


@settings(max_examples=20, derandomize=True)
@given(slots=st.integers(1, 4), port=st.integers(1, 3),
       rates=st.tuples(*[st.sampled_from([0.3, 0.7, 1.0])] * 3), seed=st.integers(0, 999))
@example(slots=1, port=1, rates=(1.0, 1.0, 1.0), seed=0)
@example(slots=3, port=2, rates=(1.0, 1.0, 0.7), seed=1)
@example(slots=3, port=3, rates=(1.0, 1.0, 0.7), seed=2)
def test_any_stimulus(slots, port, rates, seed):
    design = make(slots, port)
    model = Model(design, random.Random(seed), rates)
    steps, expected = zip(*(model.cycle() for _ in range(120)))
    for cycle, (got, want) in enumerate(zip(lockstep(OperandSlots(design=design), steps, WATCH),
                                            expected, strict=True)):
        if want["o"] is None:
            got["o"] = None
        assert got == want, f"cycle {cycle}"


@pytest.mark.parametrize("port", [1, 2, 3])
def test_two_slices_in_one_slot(port):
    """Ready with the last beat of the load that is marked last, not before."""
    design = make(2, port)
    rng = random.Random(5)
    first = [rng.randrange(1 << 24) for _ in range(3)]
    second = [rng.randrange(1 << 24) for _ in range(2)]
    word = -(-len(first) // port)
    data = [*beats(design, first, 1, 0, False, rng), *beats(design, second, 1, word, True, rng)]
    steps = [{"take": 1, "take_slot": 1}] + [{"i.valid": 1, "i.payload": beat} for beat in data]
    arrived = len(steps) - 1
    places = [*range(3), *range(word * port, word * port + 2)]
    steps += [{"read": 1, "read_slot": 1, "read_row": row} for row in places]
    steps += [{"release": 1, "release_slot": 1}, {}]
    got = lockstep(OperandSlots(design=design), steps, WATCH)
    ready = arrived + OperandSlots.ARRIVAL
    assert [row["ready"] for row in got] == [0] * ready + [2] * 6 + [0]
    assert [row["taken"] for row in got] == [0] + [2] * (len(got) - 2) + [0]
    read = got[ready + OperandSlots.LATENCY:][:5]
    assert [row["o"] for row in read] == first + second


@pytest.mark.parametrize("port", [1, 2, 3])
def test_a_load_and_a_hand_off_in_the_same_cycles(port):
    """To different slots; a row of the hand-off leaves the others of its word alone."""
    design = make(2, port)
    rows = design.slot_rows
    loaded = [100 + row for row in range(rows)]
    data = list(beats(design, loaded, 0, 0, True, random.Random(0)))
    order = [row for first in range(2) for row in range(first, rows, 2)]
    others = [0] * (port - 1)
    steps = [{"handoff_write": 1, "handoff_slot": 1, "handoff_row": [row, *others],
              "handoff_data": [row + 7, *others]} for row in order]
    for step, beat in zip(steps, data):
        step |= {"i.valid": 1, "i.payload": beat}
    steps[0] |= {"take": 1, "take_slot": 0, "handoff_take": 1, "handoff_take_slot": 1}
    steps[-1] |= {"handoff_ready": 1, "handoff_ready_slot": 1}
    written = len(steps)
    steps += [{"read": 1, "read_slot": slot, "read_row": row}
              for slot in range(2) for row in range(rows)] + [{}]
    got = lockstep(OperandSlots(design=design), steps, WATCH)
    assert [row["taken"] for row in got] == [0] + [3] * (len(steps) - 1)
    assert [row["ready"] >> 1 for row in got] == [0] * written + [1] * (len(steps) - written)
    read = got[written + OperandSlots.LATENCY:]
    assert [row["o"] for row in read] == loaded + [row + 7 for row in range(rows)]


def test_the_last_row_of_a_full_slot():
    design = make(3, 1)
    assert design.slot_rows == 7
    rows = [100 + row for row in range(7)]
    data = list(beats(design, rows, 2, 0, True, random.Random(0)))
    steps = [{"take": 1, "take_slot": 2}] + [{"i.valid": 1, "i.payload": beat} for beat in data]
    steps += [{"read": 1, "read_slot": 2, "read_row": 6}, {}]
    assert lockstep(OperandSlots(design=design), steps, WATCH)[-1] == {
        "taken": 4, "ready": 4, "o": 106}
