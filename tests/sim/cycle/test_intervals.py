"""Sets of cycles: every question against sets of integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cubewave.sim.cycle.intervals import (
    NEVER,
    Intervals,
    covered,
    merged,
    overlap,
    sweep,
    union,
    without,
)


@st.composite
def disjoint(draw):
    """Disjoint intervals in order; some adjoin, some are empty."""
    edges = sorted(draw(st.lists(st.integers(0, 30), max_size=12)))
    return made(list(zip(edges[::2], edges[1::2])))


#: Any intervals, some of which end before they begin.
anyhow = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=6)


def made(pairs):
    first, end = zip(*pairs) if pairs else ((), ())
    return Intervals(np.array(first, np.int64), np.array(end, np.int64))


def pairs_of(intervals):
    return list(zip(intervals.first.tolist(), intervals.end.tolist()))


def cycles(intervals):
    return {time for first, end in pairs_of(intervals) for time in range(first, end)}


def check_ordered(intervals):
    """Disjoint, in order, none empty, none adjoining the next."""
    edges = [edge for pair in pairs_of(intervals) for edge in pair]
    assert edges == sorted(set(edges))


@given(anyhow)
def test_cycles_are_the_lengths(pairs):
    assert made(pairs).cycles == sum(max(end - first, 0) for first, end in pairs)


@given(disjoint(), disjoint())
def test_overlap(one, other):
    assert overlap(one, other) == overlap(other, one) == len(cycles(one) & cycles(other))


@given(anyhow, disjoint())
def test_covered_of_each_window(windows, others):
    found = covered(made(windows), others)
    assert found.tolist() == [len(cycles(made([window])) & cycles(others)) for window in windows]


@given(disjoint(), disjoint())
def test_merged_keeps_every_interval_in_order(one, other):
    both = merged(one, other)
    assert sorted(pairs_of(both)) == sorted(pairs_of(one) + pairs_of(other))
    assert both.first.tolist() == sorted(both.first.tolist())


@given(st.lists(anyhow, max_size=3))
def test_union(sets):
    joined = union(*map(made, sets))
    assert cycles(joined) == set().union(*(cycles(made(pairs)) for pairs in sets))
    check_ordered(joined)


@given(anyhow, anyhow)
def test_without(windows, others):
    left = without(made(windows), made(others))
    assert cycles(left) == cycles(made(windows)) - cycles(made(others))
    check_ordered(left)


@given(st.lists(st.lists(anyhow, max_size=2), max_size=3))
def test_sweep_counts_what_holds(sets):
    times, levels = sweep([map(made, parts) for parts in sets])
    assert len(levels) == len(sets)
    assert times.tolist() == sorted(set(times.tolist()))
    for parts, level in zip(sets, levels):
        pairs = [pair for part in parts for pair in part]
        for time in range(31):
            place = np.searchsorted(times, time, "right") - 1
            holding = level[place] if place >= 0 else 0
            assert holding == sum(first <= time < end for first, end in pairs)


def test_nothing():
    assert (NEVER.cycles, overlap(NEVER, NEVER)) == (0, 0)
    some = Intervals.one(2, 5)
    assert covered(some, NEVER).tolist() == [0]
    assert pairs_of(union()) == pairs_of(union(NEVER)) == pairs_of(without(NEVER, some)) == []
    assert pairs_of(without(some, NEVER)) == [(2, 5)]
    assert pairs_of(without(some, Intervals.one(3, 4))) == [(2, 3), (4, 5)]
