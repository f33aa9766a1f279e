"""The rule "oldest first" against a simulation of it tick by tick, and what chapter 4.4.3 pins."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.workloads.pipeline import Step, order

UNITS = ("matrix", "interface", "vector")
ROWS = 128
#: QK (and PV), scores and probabilities over the direct path, softmax, of groups of 32 and 128.
TICKS = {32: (128, 128, 640, 64), 128: (512, 512, 2558, 256)}
#: Path, rows of a group, slots; start of the vector unit, finish.
TABLE = [("staged", 128, 1, 1536, 5118), ("staged", 32, 1, 384, 5120), ("staged", 32, 2, 384, 3200),
         ("direct", 32, 2, 256, 3008), ("direct", 32, 4, 256, 3008)]
FINISH = [row[-1] for row in TABLE]


def tick_by_tick(items, places, slots):
    """(item, step, time) of every start: at each tick what ends takes effect, then units start.

    Item i has slot i % slots, which is the one that is free first if all items have all steps.
    """
    ended, started = [0] * len(items), [0] * len(items)
    running, taken = {}, {name: [] for name in places}  # unit: (end, item); resource: (item, until)
    time, starts = 0, []

    def may_start(item):
        step = started[item]
        if step == len(items[item]) or ended[item] < step or items[item][step].unit in running:
            return False
        if any(started[older] <= step < len(items[older]) for older in range(item)):
            return False
        before, takes = item - slots, items[item][step].takes
        has_slot = step > 0 or before < 0 or ended[before] == len(items[before])
        return has_slot and (not takes or len(taken[takes]) < places[takes])

    while True:
        for unit in [unit for unit, (end, _item) in running.items() if end == time]:
            item = running.pop(unit)[1]
            for name in taken:
                taken[name] = [hold for hold in taken[name] if hold != (item, ended[item])]
            ended[item] += 1
        while ready := [item for item in range(len(items)) if may_start(item)]:
            item, step = ready[0], started[ready[0]]
            work = items[item][step]
            running[work.unit] = time + work.cycles, item
            if work.takes:
                taken[work.takes].append((item, work.until))
            started[item] += 1
            starts.append((item, step, time))
        if not running:
            return starts
        time = min(end for end, _item in running.values())


@st.composite
def pipelines(draw):
    """Items that go through the same steps, the younger ones perhaps through fewer, each faster
    or slower; resources of 1 to 3 places."""
    depth = draw(st.integers(1, 5))
    shape = [(draw(st.sampled_from(UNITS)), draw(st.sampled_from(("", "", "bank", "operands"))),
              draw(st.integers(step, depth - 1))) for step in range(depth)]
    items = []
    for _item in range(draw(st.integers(1, 7))):
        length = draw(st.integers(1, depth)) if draw(st.booleans()) else depth
        items.append([Step(unit, draw(st.integers(1, 9)), takes, min(until, length - 1))
                      for unit, takes, until in shape[:length]])
    places = {name: draw(st.integers(1, 3)) for name in ("bank", "operands")}
    return items, places, draw(st.integers(1, 4))


@given(pipelines())
@settings(max_examples=400)
def test_order_is_the_rule(pipeline):
    """Also where the resources do not suffice and not all steps start."""
    starts = order(*pipeline)
    assert [(start.item, start.step, start.time) for start in starts] == tick_by_tick(*pipeline)


def test_nothing_to_do():
    assert order([], {}, 1) == []


@given(pipelines())
def test_steps_follow_each_other_and_items_do_not_overtake(pipeline):
    items, _places, _slots = pipeline
    starts = order(*pipeline)
    times = {(start.item, start.step): start.time for start in starts}
    assert [start.time for start in starts] == sorted(times.values())
    for (item, step), time in times.items():
        if step:
            assert time >= times[item, step - 1] + items[item][step - 1].cycles
        older = [times[i, step] for i in range(item) if step < len(items[i])]
        assert all(time > other for other in older)


def holds(items, starts):
    """Of each resource and place the times [from, until) in which an item has it, in order."""
    ends = {(start.item, start.step): start.time + items[start.item][start.step].cycles
            for start in starts}
    found = {}
    for start in starts:
        work = items[start.item][start.step]
        if work.takes:
            until = ends.get((start.item, work.until), float("inf"))
            found.setdefault((work.takes, start.place), []).append((start.time, until))
    return found


@given(pipelines())
def test_a_place_belongs_to_one_item_at_a_time(pipeline):
    items, places, _slots = pipeline
    for (name, place), times in holds(items, order(*pipeline)).items():
        assert 0 <= place < places[name]
        assert all(before[1] <= after[0] for before, after in zip(times, times[1:]))


@given(pipelines())
def test_no_more_items_than_slots_and_one_step_of_a_unit_at_a_time(pipeline):
    items, _places, slots = pipeline
    starts = order(*pipeline)
    ends = {(start.item, start.step): start.time + items[start.item][start.step].cycles
            for start in starts}
    for start in starts:
        begun = {other.item for other in starts if other.time <= start.time}
        assert sum(ends.get((item, len(items[item]) - 1), float("inf")) > start.time
                   for item in begun) <= slots
        unit = items[start.item][start.step].unit
        assert sum(items[other.item][other.step].unit == unit
                   and other.time <= start.time < ends[other.item, other.step]
                   for other in starts) == 1


@given(pipelines())
def test_a_step_waits_for_something(pipeline):
    """Non-delay: it starts when its unit, its step before, a slot or a place becomes free."""
    items, _places, _slots = pipeline
    starts = order(*pipeline)
    ends = {start.time + items[start.item][start.step].cycles for start in starts}
    assert all(start.time == 0 or start.time in ends for start in starts)


# Chapter 4.4.3


def five_steps(path, rows):
    """The jobs of a group."""
    matrix, scores, softmax, probabilities = TICKS[rows]
    passes = 2 if path == "staged" else 1
    return [Step("matrix", matrix), Step("interface", passes * scores), Step("vector", softmax),
            Step("interface", passes * probabilities), Step("matrix", matrix)]


def in_two(steps, path):
    """With the transfers of the staged path as two jobs, the write and the read."""
    return [part for step in steps for part in (
        [step._replace(cycles=step.cycles // 2)] * 2
        if path == "staged" and step.unit == "interface" else [step])]


def finish(item, count, slots, places=None):
    last = order([item] * count, places or {}, slots)[-1]
    return last.time + item[last.step].cycles


def finishes(change):
    """What becomes of the table when a group is `change(steps, path)` instead."""
    return [finish(change(five_steps(path, rows), path), ROWS // rows, slots)
            for path, rows, slots, _start, _finish in TABLE]


@pytest.mark.parametrize("path,rows,slots,vector_start,end", TABLE)
def test_the_table(path, rows, slots, vector_start, end):
    item = five_steps(path, rows)
    starts = order([item] * (ROWS // rows), {}, slots)
    assert next(start.time for start in starts if start.step == 2) == vector_start
    assert starts[-1].time + item[-1].cycles == end


def test_pinned_two_staged_slots_have_no_slack():
    item = five_steps("staged", 32)
    starts = {(start.item, start.step): start.time for start in order([item] * 4, {}, 2)}
    for group, time in ((2, 1664), (3, 2304)):
        assert starts[group, 1] + item[1].cycles == starts[group, 2] == time
        assert starts[group - 1, 2] + item[2].cycles == time


@pytest.mark.parametrize("step,until,end", [
    (0, 4, 5120), (1, 4, 4736), (0, 2, 4352), (0, 1, 3200), (0, 3, 5120)])
def test_pinned_a_slot_is_held_from_the_start_of_qk(step, until, end):
    """One slot, taken at the start of `step`, freed at the end of `until`. Freeing it with the
    probabilities, not PV, makes no difference."""
    item = five_steps("staged", 32)
    item[step] = item[step]._replace(takes="slot", until=until)
    assert finish(item, 4, slots=4, places={"slot": 1}) == end


def test_pinned_a_job_starts_on_the_tick_on_which_the_one_before_ends():
    """A dead tick before each job, write and read being two, gives other numbers."""
    assert finishes(lambda item, path: [step._replace(cycles=step.cycles + 1)
                                        for step in in_two(item, path)]) == [
        5125, 5148, 3220, 3016, 3016]


def test_not_pinned_write_and_read_as_two_jobs():
    assert finishes(in_two) == FINISH


def test_not_pinned_that_both_directions_share_the_interface():
    assert finishes(lambda item, _path: [*item[:3], item[3]._replace(unit="back"), item[4]]) == (
        FINISH)


def test_a_softmax_of_four_jobs_still_takes_3200_if_the_oldest_is_first():
    item = five_steps("staged", 32)
    item[2:3] = [Step("vector", cycles) for cycles in (96, 32, 256, 256)]
    assert finish(item, 4, slots=2) == 3200


times = st.integers(1, 60)


@given(times, times, times, times, st.integers(1, 9), st.integers(1, 10))
def test_finish_is_between_the_closed_forms(matrix, scores, softmax, probabilities, count, slots):
    """Of each unit: before its first job, all its jobs, after its last one; of the slots: an
    item has one for its whole time. Some unit always works, so it is never later than one by
    one, which is what one slot gives."""
    item = [Step("matrix", matrix), Step("interface", scores), Step("vector", softmax),
            Step("interface", probabilities), Step("matrix", matrix)]
    alone = sum(step.cycles for step in item)
    end = finish(item, count, slots)
    assert end >= matrix + scores + count * softmax + probabilities + matrix
    assert end >= matrix + count * (scores + probabilities) + matrix
    assert end >= 2 * count * matrix
    assert end * min(slots, count) >= count * alone
    assert end <= count * alone
    if slots == 1 or count == 1:
        assert end == count * alone


def test_more_slots_can_be_later():
    """Not a property of the rule: with a slot more a younger item's job gets in between. The
    bounds, and that one slot is the slowest, hold."""
    item = [Step("matrix", 3), Step("interface", 5), Step("vector", 7), Step("interface", 9),
            Step("matrix", 3)]
    assert [finish(item, 4, slots) for slots in (1, 2, 3, 4)] == [108, 66, 69, 69]


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20), st.integers(0, 99),
       st.integers(1, 9), st.integers(2, 9))
def test_closed_form_of_a_vector_unit_that_never_waits(matrix, scores, probabilities, more, count,
                                                       slots):
    """A softmax as long as the other jobs together, with the waits for one another."""
    softmax = 4 * matrix + 3 * scores + 3 * probabilities + more
    item = [Step("matrix", matrix), Step("interface", scores), Step("vector", softmax),
            Step("interface", probabilities), Step("matrix", matrix)]
    assert finish(item, count, slots) == (
        2 * matrix + scores + count * softmax + probabilities)
