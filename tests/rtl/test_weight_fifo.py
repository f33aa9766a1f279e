"""Weight FIFO against a model of whole tiles, every output in every cycle."""

import random
from collections import deque

import pytest
from harness import lockstep
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.weight_fifo import WeightFifo

WATCH = ["room", "whole", "shifting", "ends", "valid", "o"]
BITS = 5


def make(depth, rows, cols=2, port=1, dataflow="weight_stationary"):
    return Design(rows=rows, cols=cols, weight_fifo_depth=depth, buffer_port_rows=port,
                  weight_bits=BITS, dataflow=dataflow)


def pack(weights):
    return sum((weight & (1 << BITS) - 1) << BITS * place for place, weight in enumerate(weights))


def beats(design, tile, rng):
    """The beats of a load of the rows of `tile`; rubbish in the lanes that are not real."""
    port = design.buffer_port_rows
    row_bits = design.cols * BITS
    for start in range(0, len(tile), port):
        rows = [pack(row) for row in tile[start:start + port]]
        count = len(rows)
        rows += [rng.randrange(1 << row_bits) for _ in range(port - count)]
        yield {"rows": rows, "count": count, "first": int(start == 0),
               "last": int(start + port >= len(tile))}


class Model:
    """Random legal stimulus, cycle by cycle, and what must come out of it.

    `rates` are the chances of a reservation, a beat and a shift where one is possible. Tiles
    are padded to all rows, but not for an output-stationary array.
    """

    def __init__(self, design, rng, rates):
        self.design, self.rng, self.rates = design, rng, rates
        self.taken, self.row, self.output = 0, 0, None
        self.coming = deque()   # beats of reserved tiles, each with its tile when it is the last
        self.complete = deque()
        self.current = None

    def _happens(self, number):
        return self.rng.random() < self.rates[number]

    def _random_tile(self):
        return [[self.rng.randrange(-16, 16) for _ in range(self.design.cols)]
                for _ in range(self.rng.randint(1, self.design.rows))]

    def cycle(self):
        """The inputs and outputs of one cycle."""
        rows, rng = self.design.rows, self.rng
        expected = {"room": int(self.taken < self.design.weight_fifo_depth),
                    "whole": int(bool(self.complete)), "shifting": int(self.row != 0),
                    "valid": int(self.output is not None), "o": self.output}
        inputs = {"reserve": int(expected["room"] and self._happens(0)), "i.valid": 0,
                  "shift": int(bool(self.complete) and not self.row and self._happens(2)),
                  "i.payload": {"rows": [0] * self.design.buffer_port_rows, "count": 1,
                                "first": rng.randrange(2), "last": rng.randrange(2)}}
        tile = None
        if self.coming and self._happens(1):
            beat, tile = self.coming.popleft()
            inputs.update({"i.valid": 1, "i.payload": beat})
        if inputs["shift"]:
            self.current = self.complete.popleft()
            if self.design.dataflow == "weight_stationary":
                missing = rows - len(self.current)
                self.current = self.current + [[0] * self.design.cols] * missing
        reading = inputs["shift"] or self.row != 0
        expected["ends"] = int(reading and self.row == len(self.current) - 1)
        self.output = self.current[self.row] if reading else None
        self.row = 0 if expected["ends"] else self.row + reading
        self.taken += inputs["reserve"] - expected["ends"]
        if tile is not None:
            self.complete.append(tile)
        if inputs["reserve"]:
            new = self._random_tile()
            data = list(beats(self.design, new, rng))
            self.coming.extend((beat, new if beat["last"] else None) for beat in data)
        return inputs, expected


def run(design, steps):
    rows = lockstep(WeightFifo(design=design), steps, WATCH)
    for row in rows:
        if not row["valid"]:
            row["o"] = None
    return rows


@pytest.mark.parametrize("dataflow", ["weight_stationary", "output_stationary"])
@settings(max_examples=25, derandomize=True)
@given(depth=st.integers(1, 4), rows=st.integers(1, 5), port=st.integers(1, 3),
       rates=st.tuples(*[st.sampled_from([0.2, 0.6, 1.0])] * 3), seed=st.integers(0, 999))
@example(depth=1, rows=1, port=1, rates=(1.0, 1.0, 1.0), seed=0)
@example(depth=4, rows=4, port=1, rates=(1.0, 1.0, 1.0), seed=0)
@example(depth=3, rows=5, port=2, rates=(1.0, 1.0, 1.0), seed=0)
@example(depth=3, rows=5, port=3, rates=(1.0, 1.0, 0.2), seed=0)
@example(depth=2, rows=3, port=3, rates=(1.0, 1.0, 1.0), seed=0)
def test_any_stimulus(dataflow, depth, rows, port, rates, seed):
    design = make(depth, rows, port=port, dataflow=dataflow)
    model = Model(design, random.Random(seed), rates)
    steps, expected = zip(*(model.cycle() for _ in range(100)))
    for cycle, (got, want) in enumerate(zip(run(design, steps), expected, strict=True)):
        assert got == want, f"cycle {cycle}"


def load(design, tile):
    """Reserve in one cycle, beats from the next."""
    return [{"reserve": 1}] + [{"i.valid": 1, "i.payload": beat}
                               for beat in beats(design, tile, random.Random(0))]


@pytest.mark.parametrize("port", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 3, 4])
def test_a_tile_is_offered_when_complete_and_shifted_in_order(rows, port):
    design = make(2, rows, port=port)
    tile = [[row + 1, -row - 1] for row in range(rows)]
    steps = load(design, tile)
    arrived = len(steps) - 1 + WeightFifo.ARRIVAL
    steps += [{"shift": 1}, *[{}] * (rows + 1)]
    got = run(design, steps)
    assert [cycle for cycle, row in enumerate(got) if row["whole"]] == [arrived]
    assert [row["ends"] for row in got].index(1) == arrived + rows - 1
    assert [(cycle, row["o"]) for cycle, row in enumerate(got) if row["valid"]] == [
        (arrived + row + WeightFifo.LATENCY, tile[row]) for row in range(rows)]


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_depth_counts_tiles_f052(depth):
    """Places are taken at the load's start, whatever a tile's rows, and freed by the last row."""
    design = make(depth, 3)
    steps = []
    for _ in range(depth):
        steps += load(design, [[1, 2]])
    got = run(design, steps + [{}, {"shift": 1}, {}, {}, {}])
    reserved = [cycle for cycle, step in enumerate(steps) if step.get("reserve")]
    assert [row["room"] for row in got[:reserved[-1] + 1]] == [1] * (reserved[-1] + 1)
    shift = len(steps) + 1
    assert [row["room"] for row in got[reserved[-1] + 1:shift + 3]] == [0] * (
        shift + 2 - reserved[-1])
    assert got[shift + 3]["room"] == 1


def test_a_partial_tile_is_padded_with_zeros():
    """The missing rows are zero although the place holds an older tile."""
    design = make(1, 4)
    full = [[7, 7]] * 4
    steps = (load(design, full) + [{}, {"shift": 1}, {}, {}, {}, {}]
             + load(design, [[1, -1], [2, -2]]) + [{"shift": 1}, *[{}] * 5])
    shifted = [row["o"] for row in run(design, steps) if row["valid"]]
    assert shifted == full + [[1, -1], [2, -2], [0, 0], [0, 0]]


def test_an_output_stationary_array_takes_real_rows_only():
    """The next tile may follow in the cycle after the last real row."""
    design = make(2, 4, dataflow="output_stationary")
    steps = load(design, [[1, 2], [3, 4]]) + load(design, [[5, 6]])
    steps += [{}, {"shift": 1}, {}, {"shift": 1}, {}, {}]
    got = run(design, steps)
    first = len(steps) - 5
    assert [row["ends"] for row in got[first:]] == [0, 1, 1, 0, 0]
    assert [row["o"] for row in got[first:]] == [None, [1, 2], [3, 4], [5, 6], None]
    assert [row["room"] for row in got[first - 1:]] == [0, 0, 0, 1, 1, 1]
