"""Tags of an output tile's rows: directed cases, then a model under random stimulus."""

import pytest
from harness import lockstep
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.drain_tags import DrainTags, tile_tag

NO_TILE = {"row_0": {"valid": 0, "bank": 0, "row": 0, "accumulate": 0, "finish": 0, "store": 0},
           "rows": 0}


def make(rows, accumulator_rows=64):
    return Design(rows=rows, cols=2, dataflow="output_stationary", accumulator_banks=3,
                  accumulator_rows=accumulator_rows)


def tile(rows, row=0, valid=1, **fields):
    return {"i": {"row_0": {**NO_TILE["row_0"], "valid": valid, "row": row, **fields},
                  "rows": rows}}


def run(design, steps):
    return [row["o"] for row in lockstep(DrainTags(design=design), steps, ["o"])]


def valid_rows(tags):
    """Cycle, row and whether it is the last one, of each valid tag."""
    return [(cycle, tag["row"], tag["finish"]) for cycle, tag in enumerate(tags) if tag["valid"]]


def test_the_bottom_row_leaves_first_and_row_0_finishes():
    tags = run(make(4), [{}, tile(4, row=8), {}, {}, {}, {}, {}])
    assert valid_rows(tags) == [(1, 11, 0), (2, 10, 0), (3, 9, 0), (4, 8, 1)]


@pytest.mark.parametrize("real", [1, 2, 3])
def test_rows_that_are_not_real_get_no_valid_tag(real):
    """They leave first, for they are the lower ones; the real rows come in the last cycles."""
    tags = run(make(4), [tile(real, row=5), {}, {}, {}, {}, {}])
    assert valid_rows(tags) == [(3 - row, 5 + row, int(row == 0)) for row in reversed(range(real))]


def test_tiles_follow_after_rows_cycles():
    tags = run(make(3), [tile(3), {}, {}, tile(2, row=3), {}, {}, tile(3, row=6), {}, {}, {}])
    assert valid_rows(tags) == [(0, 2, 0), (1, 1, 0), (2, 0, 1), (4, 4, 0), (5, 3, 1), (6, 8, 0),
                                (7, 7, 0), (8, 6, 1)]


def test_one_row():
    tags = run(make(1), [tile(1, row=3), tile(1, row=2), {}, tile(1, row=7), {}])
    assert valid_rows(tags) == [(0, 3, 1), (1, 2, 1), (3, 7, 1)]


def test_fields_of_the_tile_are_those_of_its_rows():
    fields = {"bank": 2, "accumulate": 1, "store": 1}
    tags = run(make(2), [tile(2, **fields), tile(0, valid=0, bank=1, row=40), {}])
    assert [tag["valid"] for tag in tags] == [1, 1, 0]
    for tag in tags[:2]:
        assert {name: tag[name] for name in fields} == fields


def test_the_layout_counts_every_row():
    """`rows` of them are a number of their own, not 0."""
    assert tile_tag(make(4))["rows"].shape.stop == 5
    assert valid_rows(run(make(4), [tile(4), *[{}] * 5]))[0] == (0, 3, 0)


@settings(max_examples=60, derandomize=True)
@given(rows=st.integers(1, 5), gaps=st.lists(st.sampled_from([0, 0, 1, 2, 5]), max_size=8),
       data=st.data())
@example(rows=4, gaps=[0, 0, 0], data=None)
def test_any_tiles(rows, gaps, data):
    """Between tiles the input is rubbish without a valid bit."""
    design, steps, expected = make(rows), [], []

    def draw(low, high):
        return high if data is None else data.draw(st.integers(low, high))

    for gap in gaps:
        real = draw(1, rows)
        fields = {"bank": draw(0, 2), "accumulate": draw(0, 1), "store": draw(0, 1)}
        row = draw(0, 64 - rows)
        for cycle in range(rows + gap):
            steps.append(tile(real, row, **fields, finish=draw(0, 1)) if cycle == 0 else tile(
                draw(0, rows), draw(0, 63), valid=0, bank=draw(0, 2)))
            place = rows - 1 - cycle
            expected.append({"valid": 1, "row": row + place, "finish": int(place == 0), **fields}
                            if 0 <= place < real else None)
    tags = run(design, [*steps, {}])[:-1]
    assert [tag if tag["valid"] else None for tag in tags] == expected
