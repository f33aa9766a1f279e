"""Store against a model, every output in every cycle."""

import random
from itertools import product

import pytest
from harness import lockstep
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.commands import Store
from cubewave.rtl.status import StoreStatus
from cubewave.rtl.store import StoreUnit

WATCH = ["i.ready", "o.valid", "o.payload", "read", "bank", "row", "release", "write.valid",
         "write.payload", "status"]
MASK = (1 << 40) - 1


def make(bits=32, cols=2, rows=5):
    return Design(rows=1, cols=cols, accumulator_bits=bits, accumulator_rows=rows,
                  accumulator_banks=2)


def stored_bytes(design, word):
    """What is written for a row of accumulators packed in `word`."""
    bits, size = design.accumulator_bits, -(-design.accumulator_bits // 8)
    data = b""
    for col in range(design.cols):
        value = word >> bits * col & (1 << bits) - 1
        data += (value - (value >> bits - 1 << bits)).to_bytes(size, "little", signed=True)
    return int.from_bytes(data, "little")


class Model:
    """Random legal stimulus, cycle by cycle, and what must come out of it."""

    def __init__(self, design, rng, chances):
        self.design, self.rng = design, rng
        self.chance_ready, self.chance_stays = chances
        self.store, self.read_rows, self.started = None, 0, False
        self.full = 0
        self.written = None  # the row that is on `write` in this cycle

    def _random_store(self):
        rng, design = self.rng, self.design
        rows = rng.randint(1, design.accumulator_rows)
        return Store(bank=rng.randrange(2), acc_row=rng.randint(0, design.accumulator_rows - rows),
                     rows=rows, base=rng.randrange(1 << 40),
                     bytes_per_row=rng.randint(1, design.result_row_bytes),
                     row_stride=rng.randrange(1 << 40))

    def _status(self, starts, full, under_way):
        if starts or self.started:
            return StoreStatus.BUSY
        if self.store is None:
            return StoreStatus.DRAIN if under_way else StoreStatus.IDLE
        return StoreStatus.MEMORY if full else StoreStatus.RESULT

    def cycle(self):
        """The inputs and outputs of one cycle."""
        rng, design = self.rng, self.design
        if self.store is None and rng.random() < 0.7:
            self.store = self._random_store()
        store = self.store
        self.full |= sum(1 << bank for bank in range(2) if rng.random() < 0.2)
        word = rng.getrandbits(design.cols * design.accumulator_bits)
        inputs = {"i.valid": int(store is not None), "banks_full": self.full, "data": word,
                  "i.payload": (store or self._random_store())._asdict(),
                  "o.ready": int(rng.random() < self.chance_ready),
                  "stays": int(rng.random() < self.chance_stays), "under_way": rng.randrange(2)}
        full = store is not None and self.full >> store.bank & 1
        valid = int(bool(full) and not self.started)
        starts = valid and inputs["o.ready"]
        row = self.read_rows
        reads = int((starts or self.started) and row < store.rows)
        releases = int((starts or self.started) and row + reads == store.rows
                       and not inputs["stays"])
        expected = {
            "i.ready": releases, "o.valid": valid, "o.payload": None, "read": reads,
            "bank": store.bank if reads or releases else None,
            "row": store.acc_row + row if reads else None, "release": releases,
            "write.valid": int(self.written is not None), "write.payload": None,
            "status": self._status(starts, full, inputs["under_way"])}
        if valid:
            expected["o.payload"] = {name: getattr(store, name) for name in
                                     ("base", "rows", "bytes_per_row", "row_stride")}
        if self.written is not None:
            address, nbytes = self.written
            expected["write.payload"] = {"address": address, "bytes": nbytes,
                                         "data": stored_bytes(design, word)}
        self.written = ((store.base + row * store.row_stride) & MASK,
                        store.bytes_per_row) if reads else None
        self.read_rows, self.started = row + reads, bool(starts or self.started)
        if releases:
            self.full &= ~(1 << store.bank)
            self.store, self.read_rows, self.started = None, 0, False
        return inputs, expected


def run(design, steps):
    rows = lockstep(StoreUnit(design=design), steps, WATCH)
    for row in rows:
        if not row["o.valid"]:
            row["o.payload"] = None
        if not row["read"]:
            row["row"] = None
        if not row["read"] and not row["release"]:
            row["bank"] = None
        if not row["write.valid"]:
            row["write.payload"] = None
        row["status"] = StoreStatus(row["status"])
    return rows


@settings(max_examples=25, derandomize=True)
@given(bits=st.integers(16, 48), cols=st.integers(1, 3), rows=st.sampled_from([1, 2, 5]),
       chances=st.tuples(st.sampled_from([0.3, 1.0]), st.sampled_from([0.0, 0.3, 0.7])),
       seed=st.integers(0, 999))
def test_any_stimulus(bits, cols, rows, chances, seed):
    design = make(bits, cols, rows)
    model = Model(design, random.Random(seed), chances)
    steps, expected = zip(*(model.cycle() for _ in range(100)))
    for cycle, (got, want) in enumerate(zip(run(design, steps), expected, strict=True)):
        assert got == want, f"cycle {cycle}"


def command(rows=3, bank=0, **fields):
    return Store(**{"bank": bank, "acc_row": 1, "rows": rows, "base": 1000, "bytes_per_row": 8,
                    "row_stride": 64, **fields})._asdict()


def test_one_row_per_cycle_from_the_start():
    steps = [{"i.valid": 1, "i.payload": command(), "banks_full": 1, "o.ready": 1,
              "data": cycle * ((1 << 32) + 1)} for cycle in range(3)] + [{"data": 0}, {}]
    got = run(make(), steps)
    assert [row["o.valid"] for row in got] == [1, 0, 0, 0, 0]
    assert [row["row"] for row in got] == [1, 2, 3, None, None]
    assert [row["release"] for row in got] == [0, 0, 1, 0, 0]
    assert [row["write.payload"] and row["write.payload"]["address"] for row in got] == [
        None, 1000, 1064, 1128, None]
    assert StoreUnit.LATENCY == 0


@pytest.mark.parametrize("rows,occupancy", [(1, 1), (1, 4), (3, 1), (3, 3), (3, 7), (5, 6)])
def test_the_bank_is_freed_when_read_and_left(rows, occupancy):
    """The last cycle of max(rows, occupancy), the start included; the next store follows."""
    length = max(rows, occupancy)
    steps = [{"i.valid": 1, "i.payload": command(rows, acc_row=0), "banks_full": 3, "o.ready": 1,
              "stays": int(cycle + 1 < occupancy)} for cycle in range(length)]
    steps += [{**step, "i.payload": command(rows, bank=1, acc_row=0)} for step in steps]
    got = run(make(), steps)
    assert [row["release"] for row in got] == ([0] * (length - 1) + [1]) * 2
    assert [row["o.valid"] for row in got] == ([1] + [0] * (length - 1)) * 2
    assert [row["read"] for row in got] == ([1] * rows + [0] * (length - rows)) * 2
    assert {row["status"] for row in got} == {StoreStatus.BUSY}


@pytest.mark.parametrize("bits", [17, 18, 24, 25, 32, 47, 48])
@pytest.mark.parametrize("value", [-1, 0, "least", "greatest"])
def test_sign_extension_to_whole_bytes(bits, value):
    half = 1 << bits - 1
    value = {"least": -half, "greatest": half - 1}.get(value, value)
    size = -(-bits // 8)
    for values in ([value, 5], [5, value], [value, value]):
        word = sum((number & (1 << bits) - 1) << bits * col for col, number in enumerate(values))
        steps = [{"i.valid": 1, "i.payload": command(1, bytes_per_row=2 * size), "banks_full": 1,
                  "o.ready": 1}, {"data": word}]
        payload = run(make(bits), steps)[1]["write.payload"]
        assert payload["bytes"] == 2 * size
        assert payload["data"].to_bytes(2 * size, "little") == b"".join(
            number.to_bytes(size, "little", signed=True) for number in values)


@pytest.mark.parametrize("valid,ready,under_way,full", list(product([0, 1], repeat=4)))
def test_status_order(valid, ready, under_way, full):
    """BUSY, then without a command DRAIN or IDLE, with one RESULT, MEMORY."""
    step = {"i.valid": valid, "i.payload": command(bank=1), "banks_full": 2 * full + (1 - full),
            "o.ready": ready, "under_way": under_way}
    order = [(valid and full and ready, "BUSY"), (not valid and under_way, "DRAIN"),
             (not valid, "IDLE"), (not full, "RESULT"), (1, "MEMORY")]
    [row] = run(make(), [step])
    assert row["status"].name == next(name for holds, name in order if holds)
