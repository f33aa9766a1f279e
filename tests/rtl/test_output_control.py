"""Control of an output-stationary array against a model, every output in every cycle."""

import random
from itertools import product

import numpy as np
import pytest
from harness import drive, lockstep, simulate
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.commands import ArrayJob
from cubewave.rtl.output_control import OutputControl, sum_interval, tile_interval
from cubewave.rtl.status import ArrayStatus

WATCH = ["i.ready", "shift", "enter", "slot", "row", "unsigned", "first", "turn", "release", "take",
         "bank", "take_group", "release_group", "group", "tag", "tile_rows", "macs", "running",
         "status"]
OF_A_PAIR = ["slot", "row", "unsigned", "bank", "group", "macs"]  # meaningless in other cycles
LATENCY = 5  # cycles from a tile's last pair to the retirement of its bottom row


def make(rows=3, cols=2, double_buffer=True, mac_latency=1):
    return Design(rows=rows, cols=cols, dataflow="output_stationary", mac_latency=mac_latency,
                  weight_double_buffer=double_buffer, input_slots=3, slot_bytes=rows * 6,
                  accumulator_banks=2, accumulator_rows=8, handoff_slots=3)


def control(design):
    return OutputControl(design=design, max_rows_in_flight=LATENCY + 2 * design.rows)


class Model:
    """Random legal stimulus, cycle by cycle, and what must come out of it."""

    def __init__(self, design, rng, chance):
        self.design, self.rng, self.chance = design, rng, chance
        self.tiles, self.shifting = 0, 0     # whole tiles in the FIFO; rows still to be read
        self.job, self.count, self.jobs_left = None, 0, 0
        self.entered, self.turned = False, None  # `turned`: cycle of the latest tile's last pair
        self.in_flight = []                  # cycles in which rows of results retire

    def _random_job(self):
        rng, design = self.rng, self.design
        take = self.jobs_left == 0
        if take:
            self.jobs_left = rng.randint(1, 3)
        self.jobs_left -= 1
        rows = rng.randint(1, design.rows)
        return ArrayJob(
            rows=rows, slot=rng.randrange(3), row=rng.randint(0, design.slot_rows - rows),
            bank=rng.randrange(2), acc_row=rng.randint(0, 8 - design.rows),
            inner=rng.randint(1, design.rows), outer=rng.randint(1, design.cols),
            new_weights=rng.randrange(2), last_use=rng.randrange(2), free_slot=rng.randrange(2),
            unsigned=rng.randrange(2), accumulate=rng.randrange(2), take_bank=int(take),
            finish_bank=int(self.jobs_left == 0), store=rng.randrange(3),
            group=rng.randrange(3), take_group=rng.randrange(2), free_group=rng.randrange(2))

    def _output_ready(self, now):
        if self.turned is None:
            return True
        last_pair = now + self.job.rows - 1
        return ((not self.job.finish_bank or last_pair >= self.turned + self.design.rows)
                and (not self.job.take_bank
                     or now >= self.turned + sum_interval(self.design)))

    def _status(self, enter, conditions):
        if enter:
            return ArrayStatus.BUSY
        if self.job is None:
            return ArrayStatus.DRAIN if self.in_flight else ArrayStatus.IDLE
        if not self.entered:
            return ArrayStatus.FILL
        causes = (ArrayStatus.ACCUMULATOR, ArrayStatus.OUTPUT, ArrayStatus.OPERANDS,
                  ArrayStatus.WEIGHTS)
        return next(cause for cause, holds in zip(causes, conditions, strict=True) if not holds)

    def _inputs(self, now):
        rng, job = self.rng, self.job
        return {"i.valid": int(job is not None), "clear": int(rng.random() < 0.03),
                "slots_ready": sum(1 << slot for slot in range(3) if rng.random() < self.chance),
                "banks_free": sum(1 << bank for bank in range(2) if rng.random() < self.chance),
                "groups_taken": sum(1 << group for group in range(3)
                                    if rng.random() > self.chance),
                "retire": int(now in self.in_flight), "i.payload": job and job._asdict(),
                "whole": int(self.tiles > 0), "shifting": int(self.shifting > 0)}

    def cycle(self, now):
        """The inputs and outputs of one cycle."""
        rng = self.rng
        self.tiles += rng.random() < self.chance
        if self.job is None and rng.random() < 0.7:
            self.job, self.count = self._random_job(), 0
        job, inputs, conditions = self.job, self._inputs(now), ()
        if job is not None:
            conditions = ((not job.take_bank or inputs["banks_free"] >> job.bank & 1)
                          and not (job.take_group and inputs["groups_taken"] >> job.group & 1),
                          self._output_ready(now), inputs["slots_ready"] >> job.slot & 1,
                          inputs["whole"])
        enter = int(job is not None and (self.count > 0 or all(conditions)))
        begins = enter and self.count == 0
        last = int(enter and self.count == job.rows - 1)
        turn = int(last and job.finish_bank)
        expected = {
            "i.ready": last, "shift": int(begins), "enter": enter, "turn": turn,
            "first": int(begins and job.take_bank), "take": int(begins and job.take_bank),
            "take_group": int(begins and job.take_group),
            "release_group": int(last and job.free_group),
            "release": int(last and job.free_slot), "running": int(bool(self.in_flight)),
            "status": self._status(enter, conditions), "tag": None, "tile_rows": None,
            **dict.fromkeys(OF_A_PAIR)}
        if enter:
            expected |= {"slot": job.slot, "row": job.row + self.count, "unsigned": job.unsigned,
                         "bank": job.bank, "group": job.group, "macs": job.inner * job.outer}
        if turn:
            expected |= {"tile_rows": job.inner, "tag": {
                "valid": 1, "bank": job.bank, "row": job.acc_row, "accumulate": job.accumulate,
                "store": job.store}}
        self._step(now, inputs, enter, begins, last, turn)
        return inputs, expected

    def _step(self, now, inputs, enter, begins, last, turn):
        self.in_flight = [at for at in self.in_flight if at != now]
        if turn:
            self.turned = now
            end = now + LATENCY + self.design.rows
            self.in_flight.extend(range(end - self.job.inner, end))
        self.shifting = self.job.rows - 1 if begins else max(0, self.shifting - 1)
        self.tiles -= bool(begins)
        self.entered = (self.entered or bool(enter)) and not inputs["clear"]
        self.count += enter
        if last:
            self.job = None


def run(design, steps):
    rows = lockstep(control(design), steps, WATCH)
    for row in rows:
        row["status"] = ArrayStatus(row["status"])
        del row["tag"]["finish"]  # DrainTags says which row is the last
        assert row["tag"]["valid"] == row["turn"]
        if not row["turn"]:
            row |= dict.fromkeys(["tag", "tile_rows"])
        if not row["enter"]:
            row |= dict.fromkeys(OF_A_PAIR)
    return rows


@pytest.mark.parametrize("double_buffer", [True, False])
@settings(max_examples=40, derandomize=True)
@given(rows=st.integers(1, 5), cols=st.integers(1, 3), mac_latency=st.integers(1, 3),
       chance=st.sampled_from([0.2, 0.5, 0.95]), seed=st.integers(0, 999))
@example(rows=1, cols=1, mac_latency=1, chance=0.95, seed=0)
@example(rows=4, cols=3, mac_latency=3, chance=0.95, seed=0)
def test_any_stimulus(double_buffer, rows, cols, mac_latency, chance, seed):
    design = make(rows, cols, double_buffer, mac_latency)
    model = Model(design, random.Random(seed), chance)
    steps, expected = zip(*(model.cycle(cycle) for cycle in range(150)))
    for cycle, (got, want) in enumerate(zip(run(design, steps), expected, strict=True)):
        assert got == want, f"cycle {cycle}"


def job(rows=1, **fields):
    return ArrayJob(**{"rows": rows, "slot": 1, "row": 0, "bank": 1, "acc_row": 0, "inner": 1,
                       "outer": 2, "take_bank": 1, "finish_bank": 1, **fields})._asdict()


READY = {"i.valid": 1, "slots_ready": 7, "banks_free": 3, "whole": 1}


@pytest.mark.parametrize("entered,valid,bank_free,output,slot_ready,whole,shifting",
                         list(product([0, 1], repeat=7)))
def test_status_order(entered, valid, bank_free, output, slot_ready, whole, shifting):
    """FILL, ACCUMULATOR, OUTPUT, OPERANDS, then the tile: WEIGHT_SHIFT if it moves, or WEIGHTS."""
    before = {**READY, "i.payload": job()}
    if not entered:
        steps = [before, {"clear": 1}, {}, {}] if output else [before, {"clear": 1}]
    else:
        steps = [before, *[{}] * (3 if output else 1)]
    step = {"i.valid": valid, "i.payload": job(), "slots_ready": 2 * slot_ready,
            "banks_free": 2 * bank_free, "whole": whole, "shifting": shifting}
    ready = bank_free and output and slot_ready and whole
    order = [(not valid, "DRAIN"), (ready, "BUSY"), (not entered, "FILL"),
             (not bank_free, "ACCUMULATOR"), (not output, "OUTPUT"), (not slot_ready, "OPERANDS"),
             (shifting, "WEIGHT_SHIFT"), (1, "WEIGHTS")]
    row = run(make(rows=3), [*steps, step])[-1]
    assert row["status"].name == next(name for holds, name in order if holds)


def pairs(design, jobs, cycles=80):
    """Cycles in which pairs enter and in which tiles end, with everything else always ready."""
    unit, enters, turns = control(design), [], []

    async def bench(ctx):
        await drive(ctx, unit.i, jobs)

    async def watch(ctx):
        for name in ("slots_ready", "banks_free", "whole"):
            ctx.set(getattr(unit, name), READY[name])
        for cycle in range(cycles):
            *_, enter, turn = await ctx.tick().sample(unit.enter, unit.turn)
            enters.extend([cycle] * enter)
            turns.extend([cycle] * turn)

    simulate(unit, bench, watch)
    assert len(enters) == sum(job["rows"] for job in jobs)
    return enters, turns


def test_intervals_of_the_models():
    assert tile_interval(make(5, 3)) == 5
    assert sum_interval(make(5, 3, mac_latency=4)) == 1
    assert sum_interval(make(5, 3, double_buffer=False)) == 5 + 3 - 2 + 1
    assert sum_interval(make(5, 3, double_buffer=False, mac_latency=4)) == 5 + 3 - 2 + 4


@pytest.mark.parametrize("rows,cols", [(1, 1), (4, 2), (3, 5)])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("mac_latency", [1, 3])
def test_tiles_follow_after_rows_cycles(rows, cols, length, mac_latency):
    design = make(rows, cols, mac_latency=mac_latency)
    enters, turns = pairs(design, [job(length)] * 4)
    assert np.diff(turns).tolist() == [max(length, rows)] * 3
    assert enters[:length] == list(range(length))


@pytest.mark.parametrize("rows,cols", [(1, 1), (4, 2), (3, 5)])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("mac_latency", [1, 3])
def test_single_buffered_tiles_begin_after_the_last_product(rows, cols, length, mac_latency):
    design = make(rows, cols, False, mac_latency)
    enters, turns = pairs(design, [job(length)] * 4)
    starts = enters[::length]
    assert [start - turn for start, turn in zip(starts[1:], turns)] == [
        rows + cols - 2 + mac_latency] * 3
    assert np.diff(starts).tolist() == [length + rows + cols - 3 + mac_latency] * 3


@pytest.mark.parametrize("double_buffer", [True, False])
def test_only_the_job_that_ends_a_tile_waits_for_results(double_buffer):
    """Tiles of two jobs, of 1 and 2 pairs, on 6 rows."""
    design = make(6, 2, double_buffer)
    tile = [job(1, finish_bank=0), job(2, take_bank=0)]
    enters, turns = pairs(design, tile * 3)
    if double_buffer:
        assert enters == [0, 1, 2, 3, 7, 8, 9, 13, 14]
    else:  # the first pair 6 + 2 - 2 + 1 cycles after the last one, and then no gap
        assert enters == [0, 1, 2, 9, 10, 11, 18, 19, 20]
    assert turns == enters[2::3]


def test_rows_in_flight_are_the_real_ones():
    """`running` from the tile's last pair to its last row; the pairs before it do not count."""
    steps = [{**READY, "i.payload": job(2, inner=2)}] * 2 + [
        {"retire": int(cycle in (4, 6))} for cycle in range(8)]
    rows = run(make(rows=4), steps)
    assert [row["running"] for row in rows] == [0, 0] + [1] * 7 + [0]
    assert [row["status"].name for row in rows] == ["BUSY"] * 2 + ["DRAIN"] * 7 + ["IDLE"]


def test_a_full_array_of_results():
    """As many rows in flight as the core has room for, then all of them retire."""
    design, tiles = make(rows=5), 3
    steps = [{**READY, "i.valid": int(cycle < 11), "i.payload": job(inner=5),
              "retire": int(13 <= cycle < 13 + 5 * tiles)} for cycle in range(30)]
    rows = run(design, steps)
    assert [cycle for cycle, row in enumerate(rows) if row["turn"]] == [0, 5, 10]
    assert 5 * tiles <= LATENCY + 2 * design.rows
    assert [row["running"] for row in rows] == [0] + [1] * 27 + [0, 0]
