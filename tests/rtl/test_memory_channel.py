"""The memory channel against a model of descriptors and bytes, every output in every cycle."""

import random
from fractions import Fraction

import pytest
from harness import lockstep
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.commands import Destination
from cubewave.rtl.memory_channel import MemoryChannel
from cubewave.rtl.memory_timing import MemoryTiming
from cubewave.rtl.store import StoreUnit

WEIGHT, OPERAND, VECTOR = Destination
LINES, LINE_BYTES = 16, 16
STATE = ["loading", "storing", "store_next", "store_stays", "loads_under_way",
         "stores_under_way"]
WATCH = [f"core.{name}" for name in (
    *STATE, "load.ready", "store.ready", "request_bytes", "request_transactions",
    "weights.valid", "weights.payload", "operands.valid", "operands.payload", "vectors.valid",
    "vectors.payload")]


def make(bandwidth="unlimited", latency=2, port=1, outstanding=16, transaction=64, **fields):
    return Design(**{
        "rows": 5, "cols": 3, "accumulator_bits": 16, "accumulator_rows": 4, "slot_bytes": 35,
        "memory_bytes_per_cycle": bandwidth, "memory_latency_cycles": latency,
        "buffer_port_rows": port, "memory_outstanding": outstanding,
        "memory_transaction_bytes": transaction, **fields})


class Model:
    """The channel as DESIGN describes it: descriptors in request order, bytes in a bytearray.

    `cycle` takes the requests that wait (each with the cycle of its arrival) and a result row,
    and returns the outputs and the kind of the request that starts, if any.
    """

    def __init__(self, design, contents):
        self.design, self.timing = design, MemoryTiming.of(design)
        self.memory = bytearray(contents)
        self.now, self.free_at, self.last_kind = 0, 0, None
        self.port_free_at = dict.fromkeys(Destination, 0)
        self.reads = {}      # cycle -> destination -> read of that cycle
        self.beats = {}      # cycle -> destination -> beat of that cycle
        self.under_way = {"load": -1, "store": -1}  # last cycle with data under way

    def cycle(self, load, store, row):
        now = self.now
        head = None
        if load or store:
            head = "load" if not store or (load and load[1] <= store[1]) else "store"
        ready = {"load": 0, "store": 0}
        if head == "load":
            port = self.port_free_at[load[0]["destination"]]
            ready["load"] = int(now >= self.free_at and now >= port)
        elif head == "store":
            ready["store"] = int(now >= self.free_at)
        starts = head if head and ready[head] else None
        out = {"load.ready": ready["load"] if load else None,
               "store.ready": ready["store"] if store else None,
               "loads_under_way": int(now <= self.under_way["load"]),
               "stores_under_way": int(now <= self.under_way["store"]),
               "store_next": int(head == "store")}
        if starts:
            self._start(starts, (load if starts == "load" else store)[0], out)
        else:
            out |= {"request_bytes": None, "request_transactions": None}
        occupied = self.last_kind if now < self.free_at else None
        out |= {"loading": int(occupied == "load"), "storing": int(occupied == "store"),
                "store_stays": int(occupied == "store" and now + 1 < self.free_at)}
        for name, destination in (("weights", WEIGHT), ("operands", OPERAND),
                                  ("vectors", VECTOR)):
            beat = self.beats.get(now, {}).get(destination)
            out |= {f"{name}.valid": int(beat is not None), f"{name}.payload": beat}
        self._move(row)
        self.now += 1
        return {f"core.{name}": value for name, value in out.items()}, starts

    def _start(self, kind, request, out):
        rows, nbytes = request["rows"], request["bytes_per_row"]
        occupancy = self.timing.occupancy(rows * nbytes)
        latency = self.design.memory_latency_cycles
        self.free_at, self.last_kind = self.now + occupancy, kind
        out |= {"request_bytes": rows * nbytes, "request_transactions":
                self.timing.transactions(rows, nbytes, request["row_stride"])}
        if kind == "store":
            self.under_way["store"] = self.now - 1 + max(
                occupancy + latency, rows + max(latency, StoreUnit.ROW_LATENCY))
            return
        port = 1 if request["destination"] is VECTOR else self.design.buffer_port_rows
        beats = -(-rows // port)
        hold = max(occupancy, beats)
        complete = self.now + hold + latency + MemoryChannel.LATENCY
        self.port_free_at[request["destination"]] = self.now + hold
        self.under_way["load"] = max(self.under_way["load"], complete)
        for beat in range(beats):
            at = complete - beats + 1 + beat
            count = min(port, rows - beat * port)
            self.reads.setdefault(at - 1, []).append((at, request, beat * port, count, {
                "count": count, "first": int(beat == 0), "last": int(beat == beats - 1),
                "tag": request["tag"]}))

    def _move(self, row):
        """Read what is due in this cycle, then write the result row."""
        size = len(self.memory)
        for at, request, first, count, beat in self.reads.pop(self.now, ()):
            rows = []
            vector = request["destination"] is VECTOR
            for lane in range(1 if vector else self.design.buffer_port_rows):
                start = request["base"] + (first + lane) * request["row_stride"]
                rows.append(sum(self.memory[(start + place) % size] << 8 * place
                                for place in range(request["bytes_per_row"]))
                            if lane < count else 0)
            if vector:
                data = {"row": rows[0], "bytes": request["bytes_per_row"],
                        **{name: beat[name] for name in ("first", "last", "tag")}}
            else:
                data = {"rows": rows, **beat}
            self.beats.setdefault(at, {})[request["destination"]] = data
        if row:
            for place, byte in enumerate(row["data"].to_bytes(6, "little")[:row["bytes"]]):
                self.memory[(row["address"] + place) % size] = byte


def random_request(kind, rng, design):
    request = {"base": rng.randrange(200), "row_stride": rng.randint(0, 12)}
    if kind == "store":
        return request | {"rows": rng.randint(1, 4), "bytes_per_row": rng.randint(1, 6)}
    destination = rng.choice([WEIGHT, OPERAND, VECTOR])
    most_rows, most_bytes = {WEIGHT: (5, 3), OPERAND: (7, 5), VECTOR: (15, 12)}[destination]
    return request | {
        "destination": destination, "rows": rng.randint(1, most_rows),
        "bytes_per_row": rng.randint(1, most_bytes),
        "tag": {"slot": rng.randrange(4), "word": rng.randrange(2), "last": rng.randrange(2),
                "pitch": rng.randrange(9), "element_bytes": rng.randrange(8)}}


def play(design, model, arrivals, cycles, rng=None):
    """Inputs and outputs of each cycle.

    `arrivals(kind, now)` is the request of that kind that arrives in this cycle, or None; asked
    while none waits, for a store also not before the last one has been read.
    """
    rng = rng or random.Random(0)
    waiting = {"load": None, "store": None}
    rows, next_store = {}, 0
    steps, expected = [], []
    for now in range(cycles):
        for kind in waiting:
            if waiting[kind] is None and (kind == "load" or now >= next_store):
                request = arrivals(kind, now)
                waiting[kind] = request and (request, now)
        row = rows.pop(now, None)
        step = {"core.rows.valid": int(row is not None), "core.rows.payload":
                row or {"address": 3, "bytes": 6, "data": 7}}
        for kind in waiting:
            step[f"core.{kind}.valid"] = int(waiting[kind] is not None)
            step[f"core.{kind}.payload"] = (waiting[kind][0] if waiting[kind]
                                            else random_request(kind, rng, design))
        out, starts = model.cycle(waiting["load"], waiting["store"], row)
        steps.append(step)
        expected.append(out)
        if starts:
            request, waiting[starts] = waiting[starts][0], None
        if starts == "store":
            for number in range(request["rows"]):
                rows[now + 1 + number] = {
                    "address": request["base"] + number * request["row_stride"],
                    "bytes": request["bytes_per_row"], "data": rng.getrandbits(48)}
            next_store = now + max(request["rows"], model.free_at - now)
    return steps, expected


def run(design, contents, steps):
    """The outputs of each cycle, None where they mean nothing."""
    channel = MemoryChannel(design=design, lines=LINES)
    size = channel.storage.line_bytes
    assert size == LINE_BYTES
    for line in range(LINES):
        channel.storage.halves[line & 1].init[line >> 1] = int.from_bytes(
            contents[line * size:(line + 1) * size], "little")
    rows = lockstep(channel, steps, WATCH)
    for row, step in zip(rows, steps):
        starts = 0
        for kind in ("load", "store"):
            starts |= step[f"core.{kind}.valid"] & row[f"core.{kind}.ready"]
            if not step[f"core.{kind}.valid"]:
                row[f"core.{kind}.ready"] = None
        if not starts:
            row["core.request_bytes"] = row["core.request_transactions"] = None
        for name in ("weights", "operands", "vectors"):
            if not row[f"core.{name}.valid"]:
                row[f"core.{name}.payload"] = None
    return rows


def check(design, arrivals, cycles, rng):
    contents = rng.randbytes(LINE_BYTES * LINES)
    steps, expected = play(design, Model(design, contents), arrivals, cycles, rng)
    for cycle, (got, want) in enumerate(zip(run(design, contents, steps), expected, strict=True)):
        assert got == want, f"cycle {cycle}"


@settings(max_examples=15, derandomize=True)
@given(bandwidth=st.sampled_from(["unlimited", 1, 3, 16, Fraction(340, 7), Fraction(1, 2)]),
       latency=st.integers(0, 6), port=st.integers(1, 3), outstanding=st.sampled_from([1, 2, 16]),
       transaction=st.sampled_from([4, 7, 64]), chance=st.sampled_from([0.2, 0.7, 1.0]),
       seed=st.integers(0, 999))
@example(bandwidth="unlimited", latency=0, port=3, outstanding=1, transaction=64, chance=1.0,
         seed=0)
@example(bandwidth="unlimited", latency=6, port=3, outstanding=1, transaction=64, chance=1.0,
         seed=0)
@example(bandwidth=Fraction(340, 7), latency=3, port=1, outstanding=1, transaction=7, chance=0.7,
         seed=0)
def test_any_requests(bandwidth, latency, port, outstanding, transaction, chance, seed):
    design = make(bandwidth, latency, port, outstanding, transaction)
    rng = random.Random(seed)
    check(design, lambda kind, _now: random_request(kind, rng, design)
          if rng.random() < chance else None, 100, rng)


def load(destination=WEIGHT, rows=1, nbytes=2, base=0):
    return {"destination": destination, "base": base, "rows": rows, "bytes_per_row": nbytes,
            "row_stride": nbytes,
            "tag": {"slot": 0, "word": 0, "last": 1, "pitch": 2, "element_bytes": 1}}


def store(rows=1, nbytes=6):
    return {"base": 64, "rows": rows, "bytes_per_row": nbytes, "row_stride": 8}


def starts(design, requests, cycles=40):
    """The cycle in which each request starts; `requests` are (arrival, kind, request).

    A kind's requests are offered from their arrival on, one after another. The hardware is
    checked against the model on the way.
    """
    pending = {kind: [(at, request) for at, k, request in requests if k == kind]
               for kind in ("load", "store")}

    def arrivals(kind, now):
        if pending[kind] and pending[kind][0][0] <= now:
            return pending[kind].pop(0)[1]
        return None
    contents = bytes(range(LINE_BYTES * LINES))
    steps, expected = play(design, Model(design, contents), arrivals, cycles)
    got = run(design, contents, steps)
    assert got == expected
    return [[cycle for cycle, (row, step) in enumerate(zip(got, steps))
             if step[f"core.{kind}.valid"] and row[f"core.{kind}.ready"]]
            for kind in ("load", "store")], got


def column(rows, name):
    return [cycle for cycle, row in enumerate(rows) if row[f"core.{name}"]]


def test_unlimited_bandwidth_starts_one_descriptor_per_cycle():
    requests = [(0, "load", load(destination)) for destination in [WEIGHT, OPERAND] * 4]
    assert starts(make(), requests)[0] == [list(range(8)), []]


@pytest.mark.parametrize("latency", [0, 1, 7])
@pytest.mark.parametrize("bandwidth,rows,port,hold", [
    ("unlimited", 1, 1, 1), ("unlimited", 5, 1, 5), ("unlimited", 5, 2, 3), (2, 5, 1, 5),
    (1, 5, 1, 10), (Fraction(3, 2), 5, 3, 7)])
def test_data_is_complete_latency_after_the_hold(latency, bandwidth, rows, port, hold):
    (began, _), got = starts(make(bandwidth, latency, port), [(3, "load", load(rows=rows))])
    assert began == [3]
    beats = -(-rows // port)
    complete = 3 + hold + latency + MemoryChannel.LATENCY
    assert column(got, "weights.valid") == list(range(complete - beats + 1, complete + 1))
    assert column(got, "loads_under_way") == list(range(4, complete + 1))


@pytest.mark.parametrize("port", [1, 3])
@pytest.mark.parametrize("bandwidth,rows,hold", [("unlimited", 5, 5), (2, 3, 3), (1, 4, 8)])
def test_rows_for_the_vector_slots_come_one_a_cycle(bandwidth, rows, hold, port):
    """As many rows as it takes cycles, however many the other ports take."""
    requests = [(3, "load", load(VECTOR, rows=rows)), (3, "load", load(VECTOR, rows=1))]
    (began, _), got = starts(make(bandwidth, 2, port), requests)
    assert began == [3, 3 + hold]
    complete = 3 + hold + 2 + MemoryChannel.LATENCY
    assert column(got, "vectors.valid")[:rows] == list(range(complete - rows + 1, complete + 1))


def test_the_vector_port_is_a_port_of_its_own():
    requests = [(0, "load", load(VECTOR, rows=5)), (1, "load", load(rows=5)),
                (2, "load", load(OPERAND, rows=5)), (3, "load", load(VECTOR))]
    assert starts(make(), requests)[0] == [[0, 1, 2, 5], []]


def test_a_load_goes_first_in_a_tie():
    requests = [(2, "store", store()), (2, "load", load())]
    assert starts(make(), requests)[0] == [[2], [3]]


def test_an_earlier_store_goes_first():
    busy = (0, "load", load(OPERAND, rows=1, nbytes=5))
    requests = [busy, (2, "store", store()), (3, "load", load())]
    # Occupancies at one byte a cycle: 5 from cycle 0, then the store's 6, then the load.
    assert starts(make(1), requests)[0] == [[0, 11], [5]]


def test_a_store_is_not_overtaken_twice():
    requests = [(2, "store", store()), (2, "load", load()), (3, "load", load(OPERAND))]
    assert starts(make(), requests)[0] == [[2, 4], [3]]


def test_a_load_that_waits_for_its_port_blocks_a_later_store():
    requests = [(0, "load", load(rows=5)), (1, "load", load(rows=2)), (2, "store", store())]
    assert starts(make(), requests)[0] == [[0, 5], [6]]


def test_the_other_port_is_free():
    requests = [(0, "load", load(rows=5)), (1, "load", load(OPERAND, rows=2))]
    assert starts(make(), requests)[0] == [[0, 1], []]


@pytest.mark.parametrize("rows,bandwidth,occupancy", [(1, 6, 1), (1, 1, 6), (4, 1, 24)])
def test_store_occupies_and_stays(rows, bandwidth, occupancy):
    got = starts(make(bandwidth, latency=2), [(1, "store", store(rows=rows))])[1]
    assert column(got, "storing") == list(range(1, 1 + occupancy))
    assert column(got, "store_stays") == list(range(1, occupancy))
    assert column(got, "stores_under_way") == list(range(2, 1 + max(occupancy, rows) + 2))


def test_a_store_is_under_way_until_its_last_row_is_written():
    """Without latency and with unlimited bandwidth the last row comes after the occupancy."""
    got = starts(make(latency=0), [(1, "store", store(rows=3))])[1]
    assert column(got, "stores_under_way") == [2, 3, 4, 5]


def test_a_stored_row_is_loaded_again():
    request = {**store(rows=2), "row_stride": 6}
    requests = [(0, "store", request), (4, "load", {**load(OPERAND, rows=2, nbytes=5, base=65)})]
    got = starts(make(latency=0), requests)[1]
    rows = [row["core.operands.payload"]["rows"][0] for row in got if row["core.operands.valid"]]
    assert len(rows) == 2 and rows[0] != int.from_bytes(range(65, 70), "little")


@pytest.mark.parametrize("fields,rows,nbytes", [
    ({"slot_bytes": 160}, 32, 5), ({"accumulator_rows": 20}, 20, 6),
    ({"rows": 16, "cols": 1, "slot_bytes": 112}, 7, 16), ({"rows": 1, "cols": 4}, 4, 16)])
def test_the_largest_descriptor_of_either_kind(fields, rows, nbytes):
    """Loads may have more rows or longer ones than stores, and the other way round."""
    design = make(bandwidth=4, **fields)
    if "slot_bytes" in fields:
        request = (1, "load", load(OPERAND, rows, nbytes))
    else:
        request = (1, "store", store(rows, nbytes))
    got = starts(design, [request], cycles=10)[1]
    assert got[1]["core.request_bytes"] == rows * nbytes
