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
from cubewave.rtl.vector_commands import (
    vector_element_bits,
    vector_slot_elements,
    vector_slots,
)

WATCH = ["i.ready", "o.valid", "o.payload", "read", "bank", "row", "release", "vector_read",
         "vector_slot", "vector_unit", "vector_address", "use", "vector_release", "write.valid",
         "write.payload", "status"]
MASK = (1 << 40) - 1


def make(bits=32, cols=2, rows=5, units=1):
    return Design(rows=1, cols=cols, accumulator_bits=bits, accumulator_rows=rows,
                  accumulator_banks=2, vector_units=units, handoff_slots=1)


def stored_bytes(design, word):
    """What is written for a row of accumulators packed in `word`."""
    bits, size = design.accumulator_bits, -(-design.accumulator_bits // 8)
    data = b""
    for col in range(design.cols):
        value = word >> bits * col & (1 << bits) - 1
        data += (value - (value >> bits - 1 << bits)).to_bytes(size, "little", signed=True)
    return int.from_bytes(data, "little")


def element_bytes_of(design, elements, size):
    """What is written for elements of `size` bytes, as far as a row goes."""
    data = b"".join((element % (1 << 8 * size)).to_bytes(size, "little") for element in elements)
    return int.from_bytes(data[:design.vector_row_bytes], "little")


class Model:
    """Random legal stimulus, cycle by cycle, and what must come out of it."""

    def __init__(self, design, rng, chances):
        self.design, self.rng = design, rng
        self.chance_ready, self.chance_stays = chances
        self.store, self.read_rows, self.started = None, 0, False
        self.full = 0
        self.read = None     # what is read in the cycle before this one
        self.written = None  # the row that is on `write` in this cycle

    def _random_store(self):
        rng, design = self.rng, self.design
        rows = rng.randint(1, design.accumulator_rows)
        shape = {"rows": rows, "base": rng.randrange(1 << 40),
                 "bytes_per_row": rng.randint(1, design.vector_row_bytes),
                 "row_stride": rng.randrange(1 << 40),
                 "element_bytes": rng.randint(1, 7), "wait": rng.randrange(2),
                 "keep": rng.randrange(2)}
        if rng.random() < 0.5:
            return Store(bank=rng.randrange(2), pitch=rng.randrange(4),
                         acc_row=rng.randint(0, design.accumulator_rows - rows), **shape)
        steps, elements = (rows - 1) // design.vector_units, vector_slot_elements(design)
        pitch = rng.randrange((elements - 1) // steps + 1) if steps else rng.randrange(elements)
        return Store(vector=1, bank=rng.randrange(vector_slots(design)), pitch=pitch,
                     acc_row=rng.randrange(elements - pitch * steps), **shape)

    def _is_there(self, inputs):
        store = self.store
        if store.vector:
            return not store.wait or inputs["results"] >> store.bank & 1
        return self.full >> store.bank & 1

    def _vector(self, row, starts, reads, releases):
        """Outputs to the vector slots; the row's place from its number."""
        store, outputs = self.store, dict.fromkeys(
            ["vector_slot", "vector_unit", "vector_address"])
        units = self.design.vector_units
        if store is None or not store.vector:
            return outputs | dict.fromkeys(["vector_read", "use", "vector_release"], 0)
        outputs |= {"vector_read": reads, "use": int(starts and store.wait),
                    "vector_release": int(releases and not store.keep)}
        if reads or outputs["vector_release"]:
            outputs["vector_slot"] = store.bank
        if reads:
            outputs |= {"vector_unit": row % units,
                        "vector_address": store.acc_row + row // units * store.pitch}
        return outputs

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
                  "stays": int(rng.random() < self.chance_stays), "under_way": rng.randrange(2),
                  "results": rng.getrandbits(vector_slots(design))}
        half = 1 << vector_element_bits(design) - 1
        elements = inputs["vector_data"] = [
            rng.choice([-half, half - 1, rng.randrange(-half, half)]) for _ in range(design.cols)]
        full = store is not None and self._is_there(inputs)
        valid = int(bool(full) and not self.started)
        starts = valid and inputs["o.ready"]
        row = self.read_rows
        reads = int((starts or self.started) and row < store.rows)
        releases = int((starts or self.started) and row + reads == store.rows
                       and not inputs["stays"])
        expected = {
            "i.ready": releases, "o.valid": valid, "o.payload": None, "read": 0, "release": 0,
            "bank": None, "row": None, **self._vector(row, starts, reads, releases),
            "write.valid": int(self.written is not None), "write.payload": None,
            "status": self._status(starts, full, inputs["under_way"])}
        if store is not None and not store.vector:
            expected |= {"read": reads, "release": int(releases and not store.keep),
                         "bank": store.bank if reads or releases and not store.keep else None,
                         "row": store.acc_row + row if reads else None}
        if valid:
            expected["o.payload"] = {name: getattr(store, name) for name in
                                     ("base", "rows", "bytes_per_row", "row_stride")}
        if self.written is not None:
            expected["write.payload"] = self.written
        if self.read is None:
            self.written = None
        else:
            address, nbytes, size = self.read
            self.written = {"address": address, "bytes": nbytes,
                            "data": element_bytes_of(design, elements, size) if size
                            else stored_bytes(design, word)}
        self.read = ((store.base + row * store.row_stride) & MASK, store.bytes_per_row,
                     store.vector and store.element_bytes) if reads else None
        self.read_rows, self.started = row + reads, bool(starts or self.started)
        if releases:
            if not store.vector and not store.keep:
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
        if not row["vector_read"]:
            row["vector_unit"] = row["vector_address"] = None
        if not row["vector_read"] and not row["vector_release"]:
            row["vector_slot"] = None
        if not row["write.valid"]:
            row["write.payload"] = None
        row["status"] = StoreStatus(row["status"])
    return rows


@settings(max_examples=40, derandomize=True)
@given(bits=st.integers(16, 48), cols=st.integers(1, 3), rows=st.sampled_from([1, 2, 5]),
       units=st.integers(1, 2),
       chances=st.tuples(st.sampled_from([0.3, 1.0]), st.sampled_from([0.0, 0.3, 0.7])),
       seed=st.integers(0, 999))
def test_any_stimulus(bits, cols, rows, units, chances, seed):
    design = make(bits, cols, rows, units)
    model = Model(design, random.Random(seed), chances)
    steps, expected = zip(*(model.cycle() for _ in range(100)))
    for cycle, (got, want) in enumerate(zip(run(design, steps), expected, strict=True)):
        assert got == want, f"cycle {cycle}"


def command(rows=3, bank=0, **fields):
    return Store(**{"bank": bank, "acc_row": 1, "rows": rows, "base": 1000, "bytes_per_row": 8,
                    "row_stride": 64, **fields})._asdict()


def test_one_row_per_cycle_from_the_start():
    steps = [{"i.valid": 1, "i.payload": command(), "banks_full": 1, "o.ready": 1,
              "data": cycle * ((1 << 32) + 1)} for cycle in range(3)] + [{"data": 0}, {}, {}]
    got = run(make(), steps)
    assert [row["o.valid"] for row in got] == [1, 0, 0, 0, 0, 0]
    assert [row["row"] for row in got] == [1, 2, 3, None, None, None]
    assert [row["release"] for row in got] == [0, 0, 1, 0, 0, 0]
    assert [row["write.payload"] and row["write.payload"]["address"] for row in got] == [
        None, None, 1000, 1064, 1128, None]
    assert (StoreUnit.LATENCY, StoreUnit.ROW_LATENCY) == (0, 2)


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
                  "o.ready": 1}, {"data": word}, {"data": 0}]
        payload = run(make(bits), steps)[2]["write.payload"]
        assert payload["bytes"] == 2 * size
        assert payload["data"].to_bytes(2 * size, "little") == b"".join(
            number.to_bytes(size, "little", signed=True) for number in values)


@pytest.mark.parametrize("units,places", [(1, [(0, 3), (0, 8), (0, 13)]),
                                          (2, [(0, 3), (1, 3), (0, 8)])])
def test_rows_of_a_vector_slot(units, places):
    """One a cycle, dealt out to the units; use at the start, release at the end, no bank."""
    design = make(cols=3, units=units)
    step = {"i.valid": 1, "o.ready": 1, "results": 4, "vector_data": [1, -2, 3], "i.payload":
            command(bank=2, acc_row=3, vector=1, pitch=5, element_bytes=3, wait=1,
                    bytes_per_row=9)}
    got = run(design, [{**step, "results": 3}, step, {**step, "results": 0}, step, {
        "vector_data": [1, -2, 3]}, {}])
    assert [(row["vector_unit"], row["vector_address"]) for row in got[1:4]] == places
    assert [row["use"] for row in got] == [0, 1, 0, 0, 0, 0]
    assert [row["vector_release"] for row in got] == [0, 0, 0, 1, 0, 0]
    assert not any(row["read"] or row["release"] for row in got)
    assert got[0]["status"] is StoreStatus.RESULT
    assert [row["write.payload"] and row["write.payload"]["data"] for row in got] == [
        None, None, None, *[1 | 0xfffffe << 24 | 3 << 48] * 3]


@pytest.mark.parametrize("size", range(1, 8))
@pytest.mark.parametrize("bits", [16, 32, 48])
def test_elements_of_any_size(size, bits):
    design = make(bits, cols=3)
    half = 1 << vector_element_bits(design) - 1
    for values in ([-half, half - 1, -1], [0, 5, -7]):
        steps = [{"i.valid": 1, "o.ready": 1, "i.payload": command(
            1, vector=1, element_bytes=size, bytes_per_row=design.vector_row_bytes)},
            {"vector_data": values}, {}]
        payload = run(design, steps)[2]["write.payload"]
        assert payload["data"] == element_bytes_of(design, values, size)


@pytest.mark.parametrize("vector", [0, 1])
def test_a_kept_bank_or_slot_is_read_again(vector):
    steps = [{"i.valid": 1, "o.ready": 1, "banks_full": 1, "results": int(cycle == 0),
              "i.payload": command(1, vector=vector, element_bytes=1, wait=int(cycle == 0),
                                   keep=int(cycle == 0))} for cycle in range(2)]
    got = run(make(), steps)
    assert [row["i.ready"] for row in got] == [1, 1]
    assert [row["vector_release" if vector else "release"] for row in got] == [0, 1]
    assert [row["release" if vector else "vector_release"] for row in got] == [0, 0]


@pytest.mark.parametrize("vector,wait,result,full", list(product([0, 1], repeat=4)))
def test_what_a_store_waits_for(vector, wait, result, full):
    step = {"i.valid": 1, "banks_full": 2 * full, "results": 2 * result,
            "i.payload": command(bank=1, vector=vector, wait=wait, element_bytes=1)}
    there = (not wait or result) if vector else full
    [row] = run(make(), [step])
    assert row["o.valid"] == int(there)
    assert row["status"] is (StoreStatus.MEMORY if there else StoreStatus.RESULT)


@pytest.mark.parametrize("valid,ready,under_way,full", list(product([0, 1], repeat=4)))
def test_status_order(valid, ready, under_way, full):
    """BUSY, then without a command DRAIN or IDLE, with one RESULT, MEMORY."""
    step = {"i.valid": valid, "i.payload": command(bank=1), "banks_full": 2 * full + (1 - full),
            "o.ready": ready, "under_way": under_way}
    order = [(valid and full and ready, "BUSY"), (not valid and under_way, "DRAIN"),
             (not valid, "IDLE"), (not full, "RESULT"), (1, "MEMORY")]
    [row] = run(make(), [step])
    assert row["status"].name == next(name for holds, name in order if holds)
