"""Hand-off against a model written from its formulas, every output in every cycle."""

import random
from fractions import Fraction
from itertools import product

import pytest
from harness import lockstep
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.handoff import HandoffUnit, duration
from cubewave.rtl.status import HandoffStatus
from cubewave.rtl.vector_commands import (
    Direction,
    Handoff,
    matrix_pieces,
    vector_element_bits,
    vector_slot_elements,
    vector_slots,
)

TO_VECTOR, TO_MATRIX = Direction.TO_VECTOR, Direction.TO_MATRIX
#: Outputs that mean something only beside a 1 of another one.
BESIDE = {
    "read": ["row"], "release": [],
    "vector_read": ["vector_read_slot", "vector_read_unit", "vector_read_address"],
    "vector_write": ["vector_slot", "vector_unit", "vector_address", "vector_count",
                     "vector_data"],
    "vector_take": ["vector_take_slot"], "vector_filled": ["vector_filled_slot"],
    "vector_use": ["vector_use_slot"],
    "operand_write": ["operand_slot", "operand_row", "operand_data"],
    "operand_take": ["operand_take_slot"], "operand_ready": ["operand_ready_slot"]}
WATCH = ["i.ready", "bytes", "status", "bank", *BESIDE, *sum(BESIDE.values(), [])]


def make(rows=3, cols=2, **fields):
    return Design(**{
        "rows": rows, "cols": cols, "accumulator_bits": 18, "score_bits": 10,
        "accumulator_banks": 3, "accumulator_rows": 9, "input_slots": 2, "slot_bytes": 8 * rows,
        "handoff_slots": 2, "handoff_bytes_per_cycle": 5, **fields})


def beat_elements(design, direction):
    return design.cols if direction is TO_VECTOR else design.rows * matrix_pieces(design)


def half_up(value):
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def score(design, accumulator, command):
    element = half_up(Fraction(accumulator, 1 << command.shift))
    high = (1 << design.score_bits - 1) - 1
    return min(max(element, -high), high) if command.narrow else element


def activation(design, element, command):
    code_bits, bits = design.probability_bits, design.activation_bits
    if not command.narrow:
        return element % (1 << bits)
    return half_up(Fraction(element % (1 << code_bits) * ((1 << bits) - 1), (1 << code_bits) - 1))


class Model:
    """Random legal stimulus, cycle by cycle, and what must come out of it."""

    def __init__(self, design, rng, chance=0.7, commands=None):
        self.design, self.rng, self.chance = design, rng, chance
        self.commands = commands              # those that follow; None: random ones
        self.command = None
        self.ends_at, self.quiet_at = None, 0  # last cycle of a transfer; first one after DRAIN
        self.expected = {}                    # cycle -> outputs
        self.sources = {}                     # cycle -> inputs
        self.staged = design.handoff == "staged"

    def _random_command(self):
        rng, design = self.rng, self.design
        direction = rng.choice([TO_VECTOR, TO_MATRIX])
        to_vector = direction is TO_VECTOR
        room = design.accumulator_rows if to_vector else design.slot_rows
        piece = design.cols if to_vector else design.rows
        pieces = rng.randint(1, min(room, 6))
        rows = rng.randint(1, max(1, room // pieces))
        spare, port = room - rows, 1 if to_vector else design.buffer_port_rows
        piece_pitch = rng.randint(0, room) if pieces == 1 else rng.choice([
            pitch for pitch in range(spare // (pieces - 1) + 1) if pitch % port == 1 % port])
        used = piece_pitch * (pieces - 1) + rows
        length = rng.randint(piece * (pieces - 1) + 1, piece * pieces)
        steps = (rows - 1) // design.vector_units
        elements = vector_slot_elements(design)
        pitch = rng.randint(0, (elements - length) // steps) if steps else rng.randint(0, elements)
        return Handoff(
            direction=direction, slot=rng.randrange(vector_slots(design)),
            buffer=rng.randrange(design.accumulator_banks if to_vector else design.input_slots),
            rows=rows, length=length, row=rng.randint(0, room - used), piece_pitch=piece_pitch,
            address=rng.randint(0, elements - length - pitch * steps), pitch=pitch,
            element_bytes=rng.randint(1, 7), shift=rng.choice([0, 1, 2, 7, 17, 18, 40, 63]),
            narrow=rng.randrange(2), take=rng.randrange(2), last=rng.randrange(2))

    def _numbers(self, bits, count):
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        return [self.rng.choice([low, high, self.rng.randint(low, high), self.rng.randint(-9, 9)])
                for _ in range(count)]

    def _beats(self, command):
        """First element, row and elements of each beat, in their order."""
        size = beat_elements(self.design, command.direction)
        for first in range(0, command.length, size):
            for row in range(command.rows):
                yield first, row, min(size, command.length - first)

    def _hold(self, command):
        """Cycles of one pass, by adding up."""
        moved, cycles, sizes = 0, 0, [count * command.element_bytes
                                      for *_, count in self._beats(command)]
        total = sum(sizes)
        while sizes or moved < total:
            cycles += 1
            moved += self.design.handoff_bytes_per_cycle
            sizes = sizes[1:]
        return cycles

    def _start(self, now):
        command, design, events = self.command, self.design, self.expected
        to_vector = command.direction is TO_VECTOR
        hold = self._hold(command)
        total = 2 * hold + 2 if self.staged else hold
        assert total == duration(design, command)
        self.ends_at, self.quiet_at = now + total - 1, now + total + 3
        if not to_vector:
            self._add(now, vector_use=1, vector_use_slot=command.slot)
        if command.take:
            self._add(now, **({"vector_take": 1, "vector_take_slot": command.slot} if to_vector
                              else {"operand_take": 1, "operand_take_slot": command.buffer}))
        self._add(self.ends_at, **{"i.ready": 1, "release": int(to_vector)})
        if command.last:
            self._add(now + total + 2, **(
                {"vector_filled": 1, "vector_filled_slot": command.slot} if to_vector
                else {"operand_ready": 1, "operand_ready_slot": command.buffer}))
        for cycle in range(now, now + total):
            self._add(cycle, bank=command.buffer if to_vector else None)
        delay = hold + 2 if self.staged else 0
        for number, beat in enumerate(self._beats(command)):
            self._beat(now + number, delay, command, *beat)
        assert all(cycle >= now for cycle in events)

    def _beat(self, now, delay, command, first, row, count):
        design, units = self.design, self.design.vector_units
        nbytes = count * command.element_bytes
        place = {"slot": command.slot, "unit": row % units,
                 "address": command.address + row // units * command.pitch + first}
        if command.direction is TO_VECTOR:
            values = self._numbers(design.accumulator_bits, design.cols)
            self._add(now, bytes=nbytes, read=1, row=(
                command.row + first // design.cols * command.piece_pitch + row))
            self.sources.setdefault(now + 1, {})["data"] = values
            written = [score(design, value, command) for value in values]
            arrival = {"vector_write": 1, "vector_count": count, "vector_data": written[:count],
                       **{f"vector_{name}": value for name, value in place.items()}}
        else:
            values = self._numbers(vector_element_bits(design),
                                   beat_elements(design, TO_MATRIX))
            self._add(now, bytes=nbytes, vector_read=1,
                      **{f"vector_read_{name}": value for name, value in place.items()})
            self.sources.setdefault(now + 1, {})["vector_read_data"] = values
            rows, words = [], []
            for start in range(0, count, design.rows):
                rows.append(command.row + row + (
                    (first + start) // design.rows * command.piece_pitch))
                words.append(sum(
                    activation(design, value, command) << design.activation_bits * lane
                    for lane, value in enumerate(values[start:count][:design.rows])))
            assert len({row % design.buffer_port_rows for row in rows}) == len(rows)
            arrival = {"operand_write": (1 << len(rows)) - 1, "operand_slot": command.buffer,
                       "operand_row": rows, "operand_data": words}
        if delay:
            self._add(now + delay, bytes=nbytes)
        self._add(now + delay + 3, **arrival)

    def _add(self, cycle, **outputs):
        self.expected.setdefault(cycle, {}).update(outputs)

    def _next(self):
        if self.commands is None:
            return self._random_command() if self.rng.random() < self.chance else None
        return self.commands.pop(0) if self.commands else None

    def _status(self, now, source, sink):
        if self.ends_at is not None:
            return HandoffStatus.BUSY
        if self.command is None:
            return HandoffStatus.DRAIN if now < self.quiet_at else HandoffStatus.IDLE
        to_vector = self.command.direction is TO_VECTOR
        assert not (source and sink)
        if not source:
            return HandoffStatus.SCORES if to_vector else HandoffStatus.PROBABILITIES
        return HandoffStatus.SLOT if to_vector else HandoffStatus.OPERANDS

    def cycle(self, now):
        """The inputs and outputs of one cycle."""
        rng, design = self.rng, self.design
        if self.command is None:
            self.command = self._next()
        command = self.command

        def bits(count):
            return sum(1 << bit for bit in range(count) if rng.random() < self.chance)
        inputs = {
            "i.valid": int(command is not None),
            "i.payload": (command or self._random_command())._asdict(),
            "banks_full": bits(design.accumulator_banks),
            "results": bits(vector_slots(design)),
            "vector_taken": bits(vector_slots(design)) ^ (1 << vector_slots(design)) - 1,
            "slots_taken": bits(design.input_slots) ^ (1 << design.input_slots) - 1,
            "data": self._numbers(design.accumulator_bits, design.cols),
            "vector_read_data": self._numbers(vector_element_bits(design),
                                              beat_elements(design, TO_MATRIX))}
        inputs |= self.sources.pop(now, {})
        source = sink = None
        if command is not None and self.ends_at is None:
            to_vector = command.direction is TO_VECTOR
            source = (inputs["banks_full"] >> command.buffer if to_vector
                      else inputs["results"] >> command.slot) & 1
            sink = not command.take or not (
                inputs["vector_taken"] >> command.slot if to_vector
                else inputs["slots_taken"] >> command.buffer) & 1
            if source and sink:
                self._start(now)
        status = self._status(now, source, sink)
        expected = dict.fromkeys(WATCH) | dict.fromkeys(["i.ready", "bytes", *BESIDE], 0)
        expected |= self.expected.pop(now, {}) | {"status": status}
        if self.ends_at == now:
            self.ends_at = self.command = None
        return inputs, expected


def run(design, steps):
    rows = lockstep(HandoffUnit(design=design), steps, WATCH)
    for row in rows:
        row["status"] = HandoffStatus(row["status"])
        for name, others in BESIDE.items():
            if not row[name]:
                row |= dict.fromkeys(others)
        if row["vector_write"]:
            row["vector_data"] = row["vector_data"][:row["vector_count"]]
        for name in ("operand_row", "operand_data"):
            if row["operand_write"]:
                row[name] = row[name][:row["operand_write"].bit_length()]
    return rows


def check(model, cycles):
    """Play the model; returns what the hardware did."""
    steps, expected = zip(*(model.cycle(now) for now in range(cycles)))
    rows = run(model.design, steps)
    for cycle, (got, want) in enumerate(zip(rows, expected, strict=True)):
        if want["bank"] is None:
            got["bank"] = None
        assert got == want, f"cycle {cycle}"
    return rows


@pytest.mark.parametrize("handoff", ["direct", "staged"])
@settings(max_examples=20, derandomize=True)
@given(rows=st.integers(1, 4), cols=st.integers(1, 4), port=st.integers(1, 4),
       units=st.integers(1, 2), rate=st.sampled_from([1, 5, 8, 100]),
       bits=st.sampled_from([(16, 8), (8, 16), (8, 8)]),
       chance=st.sampled_from([0.4, 0.8, 1.0]), seed=st.integers(0, 999))
@example(rows=1, cols=1, port=1, units=1, rate=100, bits=(16, 8), chance=1.0, seed=0)
@example(rows=3, cols=2, port=2, units=2, rate=5, bits=(16, 8), chance=1.0, seed=1)
@example(rows=1, cols=4, port=3, units=2, rate=100, bits=(8, 16), chance=1.0, seed=2)
def test_any_transfers(handoff, rows, cols, port, units, rate, bits, chance, seed):
    design = make(rows, cols, vector_units=units, handoff_bytes_per_cycle=rate, handoff=handoff,
                  probability_bits=bits[0], activation_bits=bits[1], slot_bytes=32 * rows,
                  buffer_port_rows=port)
    check(Model(design, random.Random(seed), chance), 250)


@pytest.mark.parametrize("handoff", ["direct", "staged"])
def test_the_smallest_design(handoff):
    design = make(1, 1, accumulator_banks=1, accumulator_rows=1, input_slots=1, slot_bytes=1,
                  handoff_slots=1, handoff_bytes_per_cycle=1, handoff=handoff)
    check(Model(design, random.Random(0), 0.8), 200)


def transfer(direction=TO_VECTOR, **fields):
    return Handoff(**{"direction": direction, "slot": 1, "buffer": 1, "rows": 2, "length": 4,
                      "piece_pitch": 2, "pitch": 4, **fields})


@pytest.mark.parametrize("handoff", ["direct", "staged"])
def test_the_last_place_of_everything(handoff):
    """Sizes of one more than a power of two: no address is a bit short."""
    design = make(1, 1, accumulator_rows=33, slot_bytes=33, input_slots=3, handoff_slots=1,
                  vector_units=2, handoff=handoff)
    assert (vector_slots(design), vector_slot_elements(design), design.slot_rows) == (5, 33, 33)
    last = {"slot": 4, "buffer": 2, "row": 31, "length": 1, "address": 32, "take": 1, "last": 1}
    check(Model(design, random.Random(0), 1.0, [
        transfer(direction, **last) for direction in (TO_VECTOR, TO_MATRIX)]), 40)


def column(rows, name):
    return [cycle for cycle, row in enumerate(rows) if row[name]]


@pytest.mark.parametrize("handoff", ["direct", "staged"])
@pytest.mark.parametrize("direction", [TO_VECTOR, TO_MATRIX])
@pytest.mark.parametrize("rate,element_bytes,hold", [
    (100, 4, 4), (8, 4, 4), (7, 4, 5), (1, 1, 8), (2, 4, 16)])
def test_duration(handoff, direction, rate, element_bytes, hold):
    """Beats or bytes, whichever last longer; staged twice, with a turnaround between."""
    design = make(2, 2, handoff=handoff, handoff_bytes_per_cycle=rate)
    command = transfer(direction, element_bytes=element_bytes)
    rows = check(Model(design, random.Random(0), 1.0, [command] * 2), 90)
    total = hold if handoff == "direct" else 2 * hold + HandoffUnit.TURNAROUND
    assert duration(design, command) == total
    assert column(rows, "i.ready") == [total - 1, 2 * total - 1]
    assert [row["status"].name for row in rows[:2 * total + 4]] == [
        *["BUSY"] * 2 * total, *["DRAIN"] * 3, "IDLE"]
    read, write, flag = (("read", "vector_write", "vector_filled") if direction is TO_VECTOR
                         else ("vector_read", "operand_write", "operand_ready"))
    beats = [start + beat for start in (0, total) for beat in range(4)]
    assert column(rows, read) == beats
    delay = total - hold + HandoffUnit.LATENCY
    assert column(rows, write) == [beat + delay for beat in beats]
    # Visible in the cycle after, which is LATENCY after the end of the duration.
    assert column(rows, flag) == [total + HandoffUnit.LATENCY - 1,
                                  2 * total + HandoffUnit.LATENCY - 1]


@pytest.mark.parametrize("direction,element_bytes,ticks", [(TO_VECTOR, 4, 128),
                                                           (TO_MATRIX, 2, 64)])
def test_ticks_of_the_chapter_and_staged_twice_that(direction, element_bytes, ticks):
    command = transfer(direction, rows=8, length=128, piece_pitch=9, element_bytes=element_bytes)
    chapter = Design.preset("chapter")
    assert duration(chapter, command) == ticks
    staged = Design.from_dict({**chapter.to_dict(), "handoff": "staged"})
    assert duration(staged, command) == 2 * ticks + HandoffUnit.TURNAROUND


def test_pieces_of_a_row():
    """Row by row within a piece; the last piece is shorter; units by turns."""
    design = make(2, 2, vector_units=2)
    rows = check(Model(design, random.Random(0), 1.0, [
        transfer(rows=3, length=3, row=1, piece_pitch=3, address=5, pitch=7),
        transfer(TO_MATRIX, rows=3, length=3, row=1, piece_pitch=3, address=5, pitch=7)]), 30)
    places = [(row["vector_unit"], row["vector_address"], row["vector_count"])
              for row in rows if row["vector_write"]]
    assert places == [(0, 5, 2), (1, 5, 2), (0, 12, 2), (0, 7, 1), (1, 7, 1), (0, 14, 1)]
    assert [row["row"] for row in rows if row["read"]] == [1, 2, 3, 4, 5, 6]
    written = [(*row["operand_row"], *row["operand_data"]) for row in rows if row["operand_write"]]
    assert [row for row, _data in written] == [1, 2, 3, 4, 5, 6]
    assert [data >> 8 for _row, data in written][3:] == [0, 0, 0]


def test_two_pieces_of_a_row_at_a_time():
    """All first and second pieces, then the third ones; nothing is written beyond the last."""
    design = make(2, 2, buffer_port_rows=2, slot_bytes=32)
    rows = check(Model(design, random.Random(0), 1.0, [
        transfer(TO_MATRIX, rows=2, length=5, row=1, piece_pitch=3, address=5, pitch=7,
                 element_bytes=1)]), 12)
    assert [row["vector_read_address"] for row in rows[:5]] == [5, 12, 9, 16, None]
    assert [row["bytes"] for row in rows[:5]] == [4, 4, 1, 1, 0]
    assert [(row["operand_write"], row["operand_row"]) for row in rows[3:8]] == [
        (3, [1, 4]), (3, [2, 5]), (1, [7]), (1, [8]), (0, None)]


@pytest.mark.parametrize("valid,full,result,vector_taken,operand_taken,take",
                         list(product([0, 1], repeat=6)))
@pytest.mark.parametrize("direction", [TO_VECTOR, TO_MATRIX])
def test_status_order(direction, valid, full, result, vector_taken, operand_taken, take):
    """Without a command IDLE; SCORES before SLOT, PROBABILITIES before OPERANDS."""
    step = {"i.valid": valid, "i.payload": transfer(direction, take=take)._asdict(),
            "banks_full": 2 * full, "results": 2 * result, "vector_taken": 2 * vector_taken,
            "slots_taken": 2 * operand_taken}
    if direction is TO_VECTOR:
        waits = [(not full, "SCORES"), (take and vector_taken, "SLOT")]
    else:
        waits = [(not result, "PROBABILITIES"), (take and operand_taken, "OPERANDS")]
    [row] = run(make(), [step])
    assert row["status"].name == next(
        name for holds, name in [(not valid, "IDLE"), *waits, (1, "BUSY")] if holds)
