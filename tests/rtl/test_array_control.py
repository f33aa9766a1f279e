"""Array control against a model, every output in every cycle; whole machines are elsewhere."""

import random
from itertools import product

import pytest
from harness import lockstep
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.array_control import ArrayControl
from cubewave.rtl.commands import ArrayJob
from cubewave.rtl.status import ArrayStatus

WATCH = ["i.ready", "shift", "enter", "slot", "row", "unsigned", "turn", "release", "take",
         "bank", "take_group", "release_group", "group", "tag", "macs", "running", "status"]
LATENCY = 4  # cycles from a row's entry to its retirement, so also most rows in flight


def make(rows=3, double_buffer=True):
    return Design(rows=rows, cols=2, weight_double_buffer=double_buffer, input_slots=3,
                  slot_bytes=rows * 6, accumulator_banks=2, accumulator_rows=8, handoff_slots=3)


class Fifo:
    """The weight FIFO as control sees it: some tiles, shifted in `rows` cycles each."""

    def __init__(self, rows):
        self.rows, self.tiles, self.row = rows, 0, 0

    def outputs(self, shift):
        reading = shift or self.row != 0
        return {"whole": int(self.tiles > 0), "shifting": int(self.row != 0),
                "shift_ends": int(reading and self.row == self.rows - 1)}

    def step(self, shift):
        self.tiles -= shift
        self.row = (self.row + 1) % self.rows if shift or self.row else 0


class Model:
    """Random legal stimulus, cycle by cycle, and what must come out of it."""

    def __init__(self, design, rng, chance):
        self.design, self.rng, self.chance = design, rng, chance
        self.fifo = Fifo(design.rows)
        self.loaded = self.resident = self.entered = False
        self.job, self.count, self.uses_left = None, 0, 0
        self.in_flight = []  # cycles in which rows retire

    def _random_job(self):
        rng, design = self.rng, self.design
        new = self.uses_left == 0
        if new:
            self.uses_left = rng.randint(1, 3)
        self.uses_left -= 1
        rows = rng.randint(1, design.slot_rows)
        return ArrayJob(
            rows=rows, slot=rng.randrange(3), row=rng.randint(0, design.slot_rows - rows),
            bank=rng.randrange(2), acc_row=rng.randint(0, 8 - rows),
            inner=rng.randint(1, design.rows), outer=rng.randint(1, 2), new_weights=int(new),
            last_use=int(self.uses_left == 0), free_slot=rng.randrange(2),
            unsigned=rng.randrange(2), accumulate=rng.randrange(2), take_bank=rng.randrange(2),
            finish_bank=rng.randrange(2), store=rng.randrange(3),
            group=rng.randrange(3), take_group=rng.randrange(2), free_group=rng.randrange(2))

    def _conditions(self, inputs):
        """Whether the bank, the slot and the weights of the job at the head are there."""
        job = self.job
        bank = not job.take_bank or inputs["banks_free"] >> job.bank & 1
        group = not job.take_group or not inputs["groups_taken"] >> job.group & 1
        return (bank and group,
                inputs["slots_ready"] >> job.slot & 1, not job.new_weights or self.loaded)

    def _status(self, enter, inputs):
        if enter:
            return ArrayStatus.BUSY
        if self.job is None:
            return ArrayStatus.DRAIN if self.in_flight else ArrayStatus.IDLE
        bank_ok, slot_ok, _weights = self._conditions(inputs)
        if not self.entered:
            return ArrayStatus.FILL
        if not bank_ok:
            return ArrayStatus.ACCUMULATOR
        if not slot_ok:
            return ArrayStatus.OPERANDS
        tile = self.fifo.tiles or self.fifo.row
        return ArrayStatus.WEIGHT_SHIFT if tile else ArrayStatus.WEIGHTS

    def _shift(self, turn):
        if not self.fifo.tiles or self.fifo.row:
            return 0
        if self.design.weight_double_buffer:
            return int(not self.loaded or bool(turn))
        return int(not self.resident and not self.in_flight)

    def cycle(self, now):
        """The inputs and outputs of one cycle."""
        rng, double = self.rng, self.design.weight_double_buffer
        self.fifo.tiles += rng.random() < self.chance
        if self.job is None and rng.random() < 0.7:
            self.job, self.count = self._random_job(), 0
        job, first = self.job, self.count == 0
        inputs = {"i.valid": int(job is not None), "clear": int(rng.random() < 0.03),
                  "slots_ready": sum(1 << slot for slot in range(3) if rng.random() < self.chance),
                  "banks_free": sum(1 << bank for bank in range(2) if rng.random() < self.chance),
                  "groups_taken": sum(1 << group for group in range(3)
                                      if rng.random() > self.chance),
                  "retire": int(now in self.in_flight), "i.payload": job and job._asdict()}
        enter = int(job is not None and (not first or all(self._conditions(inputs))))
        last = enter and self.count == job.rows - 1
        if double:
            turn = int(enter and first and job.new_weights)
        else:
            turn = int(last and job.last_use)
        shift = self._shift(turn)
        expected = {
            "i.ready": int(last), "shift": shift, "enter": enter, "turn": turn,
            "release": int(last and job.free_slot),
            "take": int(enter and first and job.take_bank),
            "take_group": int(enter and first and job.take_group),
            "release_group": int(last and job.free_group), "group": None,
            "running": int(bool(self.in_flight)), "status": self._status(enter, inputs),
            "tag": None, "slot": None, "row": None, "unsigned": None, "bank": None, "macs": None}
        if enter:
            expected |= {
                "slot": job.slot, "row": job.row + self.count, "unsigned": job.unsigned,
                "bank": job.bank, "group": job.group, "macs": job.inner * job.outer, "tag": {
                    "valid": 1, "bank": job.bank, "row": job.acc_row + self.count,
                    "accumulate": job.accumulate, "finish": int(last and job.finish_bank),
                    "store": job.store}}
        inputs |= self.fifo.outputs(shift)
        self._step(now, inputs, enter, last, turn, shift)
        return inputs, expected

    def _step(self, now, inputs, enter, last, turn, shift):
        self.in_flight = [at for at in self.in_flight if at != now]
        if enter:
            self.in_flight.append(now + LATENCY)
            if self.count == 0 and self.job.new_weights:
                self.loaded = False
        if turn:
            self.resident = False
        elif shift:
            self.resident = True
        if inputs["shift_ends"]:
            self.loaded = True
        self.entered = (self.entered or bool(enter)) and not inputs["clear"]
        self.fifo.step(shift)
        self.count += enter
        if last:
            self.job = None


def run(design, steps):
    control = ArrayControl(design=design, max_rows_in_flight=LATENCY)
    rows = lockstep(control, steps, WATCH)
    for row in rows:
        row["status"] = ArrayStatus(row["status"])
        if not row["enter"]:
            assert not row["tag"]["valid"]
            row |= dict.fromkeys(["tag", "slot", "row", "unsigned", "bank", "group", "macs"])
    return rows


@pytest.mark.parametrize("double_buffer", [True, False])
@settings(max_examples=20, derandomize=True)
@given(rows=st.integers(1, 4), chance=st.sampled_from([0.2, 0.5, 0.9]), seed=st.integers(0, 999))
@example(rows=1, chance=0.9, seed=0)
@example(rows=4, chance=0.9, seed=0)
def test_any_stimulus(double_buffer, rows, chance, seed):
    design = make(rows, double_buffer)
    model = Model(design, random.Random(seed), chance)
    steps, expected = zip(*(model.cycle(cycle) for cycle in range(150)))
    for cycle, (got, want) in enumerate(zip(run(design, steps), expected, strict=True)):
        assert got == want, f"cycle {cycle}"


def job(rows=1, **fields):
    return ArrayJob(**{"rows": rows, "slot": 1, "row": 0, "bank": 1, "acc_row": 0, "inner": 3,
                       "outer": 2, **fields})._asdict()


READY = {"i.valid": 1, "slots_ready": 7, "banks_free": 3}


@pytest.mark.parametrize("entered,valid,running,bank_free,slot_ready,whole,shifting",
                         list(product([0, 1], repeat=7)))
def test_status_order(entered, valid, running, bank_free, slot_ready, whole, shifting):
    """Without a job DRAIN or IDLE; with one FILL, ACCUMULATOR, OPERANDS, WEIGHT_SHIFT, WEIGHTS."""
    if running and not entered:
        entered_steps = [{**READY, "i.payload": job(new_weights=0)}, {"clear": 1}]
    elif entered:
        entered_steps = [{**READY, "i.payload": job(new_weights=0)}, {"retire": 1 - running}]
    else:
        entered_steps = [{}]
    step = {"i.valid": valid, "i.payload": job(take_bank=1), "slots_ready": 2 * slot_ready,
            "banks_free": 2 * bank_free, "whole": whole, "shifting": shifting}
    order = [(not valid and running, "DRAIN"), (not valid, "IDLE"), (not entered, "FILL"),
             (not bank_free, "ACCUMULATOR"), (not slot_ready, "OPERANDS"),
             (whole or shifting, "WEIGHT_SHIFT"), (1, "WEIGHTS")]
    row = run(make(), [*entered_steps, step])[-1]
    assert row["status"].name == next(name for holds, name in order if holds)


@pytest.mark.parametrize("take_bank,take_group,bank_free,group_taken",
                         list(product([0, 1], repeat=4)))
def test_a_job_needs_its_bank_and_its_group(take_bank, take_group, bank_free, group_taken):
    before = {**READY, "i.payload": job(new_weights=0)}
    step = {"i.valid": 1, "slots_ready": 7, "banks_free": 2 * bank_free,
            "groups_taken": 4 * group_taken + 3,
            "i.payload": job(new_weights=0, take_bank=take_bank, take_group=take_group, group=2,
                             free_group=1)}
    row = run(make(), [before, step])[-1]
    enters = int((not take_bank or bank_free) and not (take_group and group_taken))
    assert row["enter"] == enters and row["take_group"] == (take_group and enters)
    assert row["release_group"] == enters
    assert row["status"].name == ("BUSY" if enters else "ACCUMULATOR")


def test_rows_in_flight_up_to_the_limit():
    """Each row retires LATENCY cycles after its entry; `running` counts them all."""
    steps = [{**READY, "i.valid": int(cycle < 6), "i.payload": job(6, new_weights=0),
              "retire": int(LATENCY <= cycle < LATENCY + 6)} for cycle in range(13)]
    rows = run(make(rows=1), steps)
    assert [row["enter"] for row in rows] == [1] * 6 + [0] * 7
    assert [row["running"] for row in rows] == [0] + [1] * (LATENCY + 5) + [0] * 3
