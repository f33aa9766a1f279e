"""Accumulator memory against a plain list model, every output in every cycle."""

import random

import pytest
from harness import lockstep
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.accumulator import Accumulators
from cubewave.rtl.formats import IntegerFormat

WATCH = ["free", "full", "handoff_full", "o", "handoff_o", "written", "overflow"]
NO_TAG = {"valid": 0}


def make(banks=1, rows=16, cols=1, bits=32, overflow="wrap", array_rows=4, operand_bits=8):
    return Design(rows=array_rows, cols=cols, accumulator_banks=banks, accumulator_rows=rows,
                  accumulator_bits=bits, accumulator_overflow=overflow,
                  activation_bits=operand_bits, weight_bits=operand_bits, slot_bytes=2048)


def run(design, steps):
    dut = Accumulators(design=design, format=IntegerFormat.of(design))
    return lockstep(dut, steps, WATCH)


def fit(value, bits, overflow):
    """The stored value of an exact sum."""
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    if overflow == "saturate":
        return min(max(value, low), high)
    return (value - low) % (1 << bits) + low


class Model:
    """Random legal stimulus, cycle by cycle, and what must come out of it.

    A bank is read while it is full and also, which the core never does, while it is filled: then
    a row that is written in the very cycle of the read still reads as before.
    """

    def __init__(self, design, rng, large, finishes=0.2):
        self.design, self.rng, self.large, self.finishes = design, rng, large, finishes
        banks, rows = design.accumulator_banks, design.accumulator_rows
        self.words = [[[0] * design.cols for _ in range(rows)] for _ in range(banks)]
        self.state = ["free"] * banks
        self.tag, self.overflow = None, 0
        self.output = {"o": None, "handoff_o": None}

    def _sums(self):
        half = 1 << IntegerFormat.of(self.design).sum_shape.width - 1
        if self.rng.random() < self.large:
            return [self.rng.choice([-half, half - 1, self.rng.randrange(-half, half)])
                    for _ in range(self.design.cols)]
        return [self.rng.randrange(-100, 100) for _ in range(self.design.cols)]

    def _update(self, tag, sums, clear):
        """Write the row of last cycle's tag; the sticky flag."""
        row = self.words[tag["bank"]][tag["row"]]
        bits, rule = self.design.accumulator_bits, self.design.accumulator_overflow
        exact = [old * tag["accumulate"] + new for old, new in zip(row, sums)]
        row[:] = [fit(value, bits, rule) for value in exact]
        if any(fit(value, bits, "wrap") != value for value in exact) and not clear:
            self.overflow = 1

    def _read(self, inputs, reader, bank_name, row_name, state, in_use):
        """Perhaps read a bank that nobody else uses, and free it; returns the row."""
        rng = self.rng
        bank, row = rng.randrange(len(state)), rng.randrange(len(self.words[0]))
        if state[bank] == "free" or bank in in_use:
            return None
        in_use.add(bank)
        inputs.update({f"{reader}read": 1, bank_name: bank, row_name: row})
        if state[bank] == f"{reader}full" and rng.random() < 0.4:
            inputs.update({f"{reader}release": 1, f"{reader}release_bank": bank})
            self.state[bank] = "free"
        return list(self.words[bank][row])

    def cycle(self):
        """The inputs and outputs of one cycle."""
        rng, banks, rows = self.rng, len(self.words), len(self.words[0])
        bits = {kind: sum(1 << bank for bank in range(banks) if self.state[bank] == kind)
                for kind in ("free", "full", "handoff_full")}
        expected = {**bits, **self.output, "written": int(self.tag is not None),
                    "overflow": self.overflow}
        inputs = {"tag": NO_TAG, "sums": self._sums(), "take": 0, "take_bank": 0, "read": 0,
                  "release": 0, "release_bank": rng.randrange(banks),
                  "read_bank": rng.randrange(banks), "read_row": rng.randrange(rows),
                  "clear": int(rng.random() < 0.05)}
        state = list(self.state)
        filling = [bank for bank in range(banks) if state[bank] == "filling"]
        tag = None
        if filling and rng.random() < 0.8:
            tag = {"valid": 1, "bank": rng.choice(filling), "row": rng.randrange(min(rows, 3)),
                   "accumulate": rng.randrange(2), "store": rng.randrange(3),
                   "finish": int(rng.random() < self.finishes)}
            inputs["tag"] = tag
            if tag["finish"]:
                self.state[tag["bank"]] = "finishing"
        else:
            inputs["tag"] = {"valid": 0, "bank": rng.randrange(banks), "row": rng.randrange(rows),
                             "finish": 1, "store": rng.randrange(3)}
        bank = rng.randrange(banks)
        if state[bank] == "free":
            inputs.update(take=1, take_bank=bank)
            self.state[bank] = "filling"
        inputs |= {f"handoff_{name}": inputs[old] for name, old in (
            ("read", "read"), ("release", "release"), ("release_bank", "read_bank"),
            ("bank", "release_bank"), ("row", "read_row"))}
        in_use = {tag["bank"]} if tag else set()
        for reader, (bank, row) in (("", ("read_bank", "read_row")),
                                    ("handoff_", ("handoff_bank", "handoff_row"))):
            self.output[f"{reader}o"] = self._read(inputs, reader, bank, row, state, in_use)
        if inputs["clear"]:
            self.overflow = 0
        if self.tag is not None:
            self._update(self.tag, inputs["sums"], inputs["clear"])
            if self.tag["finish"]:
                self.state[self.tag["bank"]] = ("free", "full",
                                                 "handoff_full")[self.tag["store"]]
        self.tag = tag
        return inputs, expected


def check(design, rng, cycles=150, large=0.1, finishes=0.2):
    model = Model(design, rng, large, finishes)
    steps, expected = zip(*(model.cycle() for _ in range(cycles)))
    for cycle, (got, want) in enumerate(zip(run(design, steps), expected, strict=True)):
        for name in ("o", "handoff_o"):
            if want[name] is None:
                got[name] = None
        assert got == want, f"cycle {cycle}"


@settings(max_examples=30, derandomize=True)
@given(banks=st.integers(1, 3), rows=st.integers(1, 5), cols=st.integers(1, 3),
       bits=st.sampled_from([16, 18, 32, 48]), overflow=st.sampled_from(["wrap", "saturate"]),
       operand_bits=st.sampled_from([4, 8, 16]), large=st.sampled_from([0.0, 0.1, 0.7]),
       seed=st.integers(0, 999))
@example(banks=2, rows=4, cols=2, bits=18, overflow="wrap", operand_bits=16, large=0.5, seed=1)
@example(banks=2, rows=4, cols=2, bits=18, overflow="saturate", operand_bits=16, large=0.5,
         seed=2)
@example(banks=1, rows=1, cols=1, bits=16, overflow="wrap", operand_bits=8, large=0.1, seed=3)
def test_any_stimulus(banks, rows, cols, bits, overflow, operand_bits, large, seed):
    design = make(banks, rows, cols, bits, overflow, operand_bits=operand_bits)
    check(design, random.Random(seed), large=large)


@pytest.mark.parametrize("banks", [1, 2])
def test_500_random_accesses_with_collisions_f110(banks):
    check(make(banks, rows=2, cols=2), random.Random(110), cycles=500, finishes=0.02)


def update(bank, row, sums, accumulate=0, finish=0, store=0):
    """The tag in one cycle and its sums in the next."""
    return [{"tag": {"valid": 1, "bank": bank, "row": row, "accumulate": accumulate,
                     "finish": finish, "store": store}}, {"sums": sums}]


def overlap(*pairs):
    """Updates in consecutive cycles, one cycle each."""
    steps = [{} for _ in range(len(pairs) + 1)]
    for cycle, (tag, sums) in enumerate(pairs):
        steps[cycle] |= tag
        steps[cycle + 1] |= sums
    return steps


def readback(bank, rows):
    return [{"read": 1, "read_bank": bank, "read_row": row} for row in rows] + [{}]


def rows_read(got, count):
    return [row["o"] for row in got[-count:]]


@pytest.mark.parametrize("terms", [2, 3, 4])
def test_consecutive_accumulations_into_one_row_f062(terms):
    design = make(rows=8, cols=4)
    steps = overlap(*(update(0, 5, [12] * 4, accumulate=int(number > 0))
                      for number in range(terms)))
    got = run(design, steps + readback(0, [5]))
    assert rows_read(got, 1) == [[12 * terms] * 4]
    assert [row["written"] for row in got] == [0] + [1] * terms + [0] * 2


@pytest.mark.parametrize("gap", [0, 1, 2])
def test_accumulation_after_a_gap(gap):
    first, second = update(0, 1, [5]), update(0, 1, [7], accumulate=1)
    steps = overlap(first, *[({}, {})] * gap, second)
    assert rows_read(run(make(), steps + readback(0, [1])), 1) == [[12]]


def test_the_same_row_of_another_bank_is_not_forwarded():
    steps = overlap(update(0, 1, [5]), update(1, 1, [7], accumulate=1))
    got = run(make(banks=2), steps + readback(0, [1]) + readback(1, [1]))
    assert (got[-3]["o"], got[-1]["o"]) == ([5], [7])


@pytest.mark.parametrize("base", [0, 5])
@pytest.mark.parametrize("length", [1, 2, 4, 8])
def test_overwriting_twice_and_untouched_rows_f064(base, length):
    design = make(rows=16)
    before = overlap(*(update(0, row, [1000 + row]) for row in range(16)))
    job = overlap(*(update(0, base + row, [row - 3]) for row in range(length)))
    got = run(design, before + job + job + readback(0, range(16)))
    assert [value for (value,) in rows_read(got, 16)] == [
        row - base - 3 if base <= row < base + length else 1000 + row for row in range(16)]


def test_one_bank_drains_while_the_other_fills():
    design = make(banks=2, rows=4)
    steps = [{"take": 1, "take_bank": 0}]
    steps += overlap(*(update(0, row, [10 + row], finish=int(row == 3), store=1)
                       for row in range(4)))
    filled = len(steps)
    other = overlap(*(update(1, row, [20 + row], finish=int(row == 3)) for row in range(4)))
    other[0] |= {"take": 1, "take_bank": 1}
    for row in range(4):
        other[row] |= {"read": 1, "read_bank": 0, "read_row": row}
    other[3] |= {"release": 1, "release_bank": 0}
    got = run(design, steps + other + readback(1, range(4)))
    assert [row["o"] for row in got[filled + 1:filled + 5]] == [[10], [11], [12], [13]]
    assert rows_read(got, 4) == [[20], [21], [22], [23]]
    assert [row["free"] for row in got] == [3] + [2] * filled + [0] * 3 + [1] + [3] * 5
    assert [row["full"] for row in got] == [0] * filled + [1] * 4 + [0] * 6


def test_store_hand_off_and_array_at_the_same_time():
    """Three banks: one is stored, one handed off and one filled, a row of each in every cycle."""
    steps = [{}]
    for bank in range(2):
        steps += overlap(*(update(bank, row, [10 * bank + row], finish=int(row == 3),
                                  store=1 + bank) for row in range(4)))
    fill = overlap(*(update(2, row, [20 + row]) for row in range(4)))
    for row in range(4):
        fill[row] |= {"read": 1, "read_bank": 0, "read_row": row, "release": int(row == 3),
                      "handoff_read": 1, "handoff_bank": 1, "handoff_row": 3 - row,
                      "handoff_release": int(row == 3), "handoff_release_bank": 1}
    got = run(make(banks=3, rows=4), steps + fill + readback(2, range(4)))
    together = got[len(steps) + 1:len(steps) + 5]
    assert [row["o"] for row in together] == [[0], [1], [2], [3]]
    assert [row["handoff_o"] for row in together] == [[13], [12], [11], [10]]
    assert rows_read(got, 4) == [[20], [21], [22], [23]]
    assert [row["full"] for row in got[len(steps):]] == [1] * 4 + [0] * 6
    assert [row["handoff_full"] for row in got[len(steps):]] == [2] * 4 + [0] * 6
    assert got[-1]["free"] == 7


@pytest.mark.parametrize("bits", [16, 17, 18, 32, 48])
@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
def test_edges_of_the_range(bits, overflow):
    """The last value that fits does not set the flag, the next one does."""
    design = make(rows=1, bits=bits, overflow=overflow, array_rows=1024, operand_bits=16)
    high = (1 << bits - 1) - 1
    step = min(high, (1 << 41) - 1)
    for sign, edge in ((1, high), (-1, -high - 1)):
        reach = []  # sums that add up to the edge
        while sum(reach) != edge and len(reach) < 80:
            rest = edge - sum(reach)
            reach.append(sign * min(step, abs(rest)))
        steps = overlap(*(update(0, 0, [value], accumulate=int(number > 0))
                          for number, value in enumerate(reach)))
        got = run(design, steps + readback(0, [0]) + overlap(update(0, 0, [sign], 1))
                  + readback(0, [0]) + [{"clear": 1}, {}])
        assert got[len(steps) + 1] | {"handoff_o": None} == {
            "free": 1, "full": 0, "handoff_full": 0, "o": [edge], "handoff_o": None, "written": 0,
            "overflow": 0}
        assert got[-3]["o"] == [edge if overflow == "saturate" else -edge - 1]
        assert [row["overflow"] for row in got[-5:]] == [0, 1, 1, 1, 0]


@pytest.mark.parametrize("overflow,stored", [("saturate", 131071), ("wrap", -131072)])
@pytest.mark.parametrize("sums", [[131072], [65536, 65536]])
def test_18_bits_do_not_wrap_silently_f066(overflow, stored, sums):
    design = make(rows=2, bits=18, overflow=overflow, array_rows=8)
    steps = overlap(*(update(0, 1, [value], accumulate=int(number > 0))
                      for number, value in enumerate(sums)))
    got = run(design, steps + readback(0, [1]))
    assert got[-1]["o"] == [stored] and got[-1]["overflow"] == 1
    wide = make(rows=2, bits=32, overflow=overflow, array_rows=8)
    got = run(wide, steps + readback(0, [1]))
    assert got[-1]["o"] == [131072] and got[-1]["overflow"] == 0


def test_any_column_sets_the_flag():
    for col in range(3):
        sums = [0, 0, 0]
        sums[col] = 1 << 17
        got = run(make(cols=3, bits=18, array_rows=8), overlap(update(0, 0, sums)) + [{}])
        assert got[-1]["overflow"] == 1


def test_clear_wins_over_an_overflow_in_the_same_cycle():
    steps = overlap(update(0, 0, [1 << 17]))
    steps[1]["clear"] = 1
    assert run(make(bits=18, array_rows=8), steps + [{}])[-1]["overflow"] == 0


def test_signed_readback_f123():
    got = run(make(), overlap(update(0, 0, [-7])) + readback(0, [0]))
    assert got[-1]["o"] == [-7]


def test_latencies_are_what_is_measured():
    steps = [*update(0, 3, [9]), {}, *readback(0, [3])]
    got = run(make(), [{}] * 3 + steps)
    written = [cycle for cycle, row in enumerate(got) if row["written"]]
    assert written == [3 + Accumulators.UPDATE] and Accumulators.UPDATE == 1
    shown = [cycle for cycle, row in enumerate(got) if row["o"] == [9]]
    assert shown == [6 + Accumulators.LATENCY] and Accumulators.LATENCY == 1
