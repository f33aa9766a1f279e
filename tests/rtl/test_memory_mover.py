# amaranth: UnusedElaboratable=no
"""The mover against a model: which rows it reads in which cycle, and its beats."""

import random

import pytest
from harness import lockstep
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.commands import Destination
from cubewave.rtl.memory_mover import MemoryMover

WATCH = ["i.ready", "address", "enable", "o.valid", "o.payload", "bytes", "under_way"]
MASK = (1 << 40) - 1
LINE = 4  # bytes that the storage returns


def make(port, row_bits):
    """A mover of `port` lanes; the design's own number of rows a cycle is another."""
    design = Design(rows=7, cols=3, weight_bits=5, buffer_port_rows=5, slot_bytes=150,
                    handoff_slots=1)
    return MemoryMover(design=design, row_bits=row_bits, line_bytes=LINE, lanes=port)


def random_transfer(rng):
    return {"destination": Destination.WEIGHT, "base": rng.randrange(1 << 40),
            "rows": rng.randint(1, 7), "bytes_per_row": rng.randint(1, 2),
            "row_stride": rng.randrange(1 << 40),
            "tag": {"slot": rng.randrange(4), "word": rng.randrange(5),
                    "last": rng.randrange(2), "pitch": rng.randrange(9),
                    "element_bytes": rng.randrange(8)},
            "segments": 1}


class Model:
    """Random transfers, cycle by cycle, and what must come of them."""

    def __init__(self, port, row_bits, rng, late):
        self.port, self.row_bits, self.rng, self.late = port, row_bits, rng, late
        self.head, self.first_at = None, 0
        self.request, self.row = None, 0  # being delivered, and its next row
        self.beat = None

    def _sampled_data(self):
        """What the storage returns, and what of it is real."""
        data = [self.rng.getrandbits(8 * LINE) for _ in range(self.port)]
        if self.beat is None:
            return data, None
        nbytes, beat = self.beat
        mask = (1 << min(8 * nbytes, self.row_bits)) - 1
        rows = [word & mask if lane < beat["count"] else 0 for lane, word in enumerate(data)]
        return data, {"rows": rows, **beat}

    def cycle(self, now):
        """The inputs and outputs of one cycle."""
        rng, port = self.rng, self.port
        if self.head is None and rng.random() < 0.7:
            self.head, self.first_at = random_transfer(rng), now + rng.randint(*self.late)
        data, beat = self._sampled_data()
        head = self.head or random_transfer(rng)
        inputs = {"i.valid": int(self.head is not None), "now": now, "data": data,
                  "i.payload": {"request": head, "first_at": self.first_at}}
        due = int(self.head is not None and self.request is None and now >= self.first_at)
        expected = {"i.ready": due, "o.valid": int(beat is not None), "o.payload": beat,
                    "bytes": beat and self.beat[0],
                    "under_way": int(self.head is not None or self.request is not None
                                     or beat is not None)}
        if due:
            self.request, self.row, self.head = self.head, 0, None
        self.beat, expected["enable"], expected["address"] = None, 0, []
        if self.request is not None:
            request, left = self.request, self.request["rows"] - self.row
            count = min(port, left)
            self.beat = request["bytes_per_row"], {
                "count": count, "first": due, "last": int(left <= port), "tag": request["tag"]}
            expected["enable"] = (1 << count) - 1
            expected["address"] = [
                (request["base"] + (self.row + lane) * request["row_stride"]) & MASK
                for lane in range(count)]
            self.row += count
            if left <= port:
                self.request = None
        return inputs, expected


@settings(max_examples=40, derandomize=True)
@given(port=st.integers(1, 4), row_bits=st.sampled_from([5, 15, 16, 24]),
       late=st.sampled_from([(-3, 0), (0, 5), (2, 2)]), seed=st.integers(0, 999))
@example(port=3, row_bits=15, late=(0, 0), seed=0)
def test_any_transfers(port, row_bits, late, seed):
    model = Model(port, row_bits, random.Random(seed), late)
    steps, expected = zip(*(model.cycle(10 + cycle) for cycle in range(90)))
    mover = make(port, row_bits)
    for cycle, (got, want) in enumerate(zip(lockstep(mover, steps, WATCH), expected)):
        got["address"] = got["address"][:want["enable"].bit_count()]
        if not want["o.valid"]:
            got["o.payload"] = got["bytes"] = None
        assert got == want, f"cycle {cycle}"


@pytest.mark.parametrize("rows,port", [(1, 1), (4, 1), (5, 2), (6, 2), (7, 3)])
def test_latency_and_rate(rows, port):
    """The first beat leaves LATENCY cycles after `first_at`, the others without gaps."""
    request = {**random_transfer(random.Random(0)), "rows": rows}
    steps = [{"i.valid": int(cycle <= 5), "now": cycle,
              "i.payload": {"request": request, "first_at": 5}} for cycle in range(20)]
    mover = make(port, row_bits=15)
    got = lockstep(mover, steps, WATCH)
    beats = -(-rows // port)
    assert [cycle for cycle, row in enumerate(got) if row["o.valid"]] == [
        5 + MemoryMover.LATENCY + beat for beat in range(beats)]
    assert [cycle for cycle, row in enumerate(got) if row["under_way"]] == list(
        range(5 + MemoryMover.LATENCY + beats))


@pytest.mark.parametrize("lanes,error", [
    (0, "lanes must be from 1 to 16, not 0"), (17, "lanes must be from 1 to 16, not 17")])
def test_lanes_are_checked(lanes, error):
    with pytest.raises(ValueError, match=f"^{error}$"):
        make(lanes, row_bits=15)
