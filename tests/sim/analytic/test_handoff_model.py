"""The hand-off model against a simulation of the chapter's rule, tick by tick."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.sim import OptionError
from cubewave.sim.analytic.model import find

UNITS = ("matrix", "interface", "vector", "interface", "matrix")


def up(a, b):
    return -(-a // b)


def durations(rows, given):
    """The five jobs of a group of `rows` rows."""
    keys, passes = given["keys"], 2 if given["path"] == "staged" else 1
    alu, sfu, interface = (given[f"{name}_per_cycle"] for name in ("alu", "sfu",
                                                                   "interface_bytes"))
    matrix = up(2 * rows * keys * given["head_dim"], given["flops_per_cycle"])
    softmax = (up(rows * (3 * keys - 1), alu) + up(rows * (keys - 1), alu)
               + up(rows * keys, sfu) + up(rows * keys, sfu))
    return (matrix, passes * up(given["score_bytes"] * rows * keys, interface), softmax,
            passes * up(given["probability_bytes"] * rows * keys, interface), matrix)


def rule(groups, slots):
    """Finish, start of the first and end of the last softmax, by chapter 4.4.3.

    At a tick first all that ends takes effect, then each idle unit starts the ready job of the
    lowest group. A slot is taken at the start of QK and freed at the end of PV.
    """
    done, begun, free = [0] * len(groups), [0] * len(groups), slots
    running, softmaxes, time = {}, [], 0
    while True:
        for unit in [unit for unit, (end, _group) in running.items() if end == time]:
            group = running.pop(unit)[1]
            done[group] += 1
            free += done[group] == 5
        for unit in set(UNITS) - set(running):
            ready = [group for group, step in enumerate(done)
                     if step == begun[group] < 5 and UNITS[step] == unit
                     and (step or (free and 0 not in begun[:group]))]
            if ready:
                group = ready[0]
                step, end = done[group], time + groups[group][done[group]]
                begun[group] += 1
                free -= step == 0
                running[unit] = end, group
                if step == 2:
                    softmaxes.append((time, end))
        if not running:
            return time, softmaxes[0][0], softmaxes[-1][1]
        time = min(end for end, _group in running.values())


studies = st.fixed_dictionaries({
    "rows": st.integers(1, 60), "rows_per_group": st.integers(1, 20),
    "slots": st.integers(1, 6) | st.integers(1, 64), "path": st.sampled_from(("direct", "staged")),
    "keys": st.integers(1, 40), "head_dim": st.integers(1, 40),
    "flops_per_cycle": st.integers(1, 4000), "interface_bytes_per_cycle": st.integers(1, 64),
    "alu_per_cycle": st.integers(1, 64), "sfu_per_cycle": st.integers(1, 16),
    "score_bytes": st.integers(1, 16), "probability_bytes": st.integers(1, 16)})


def groups_of(given):
    full, rest = divmod(given["rows"], given["rows_per_group"])
    sizes = [given["rows_per_group"]] * full + [rest] * (rest > 0)
    return [durations(size, given) for size in sizes]


@given(studies)
@settings(max_examples=300)
def test_the_model_is_the_rule(given):
    results, groups = find("handoff")(**given), groups_of(given)
    cycles, start, end = rule(groups, given["slots"])
    assert (results["cycles"], results["vector_start"], results["vector_end"]) == (
        cycles, start, end)
    assert results["vector_idle_ticks"] == end - start - sum(group[2] for group in groups)
    assert results["groups"] == len(groups)
    names = ("qk", "scores", "softmax", "probabilities", "pv")
    assert tuple(results[f"{name}_ticks"] for name in names) == groups[0]
    assert results["group_cycles"] == sum(groups[0])


@given(studies.filter(lambda given: given["rows"] >= 2))
def test_the_savings_are_those_of_the_rule(given):
    results = find("handoff")(**given)
    ways = {path: groups_of(dict(given, path=path)) for path in ("direct", "staged")}
    finish = {path: rule(groups, given["slots"])[0] for path, groups in ways.items()}
    assert results["direct_saving"] == 1 - finish["direct"] / finish["staged"]
    one_slot = sum(map(sum, ways[given["path"]]))
    assert results["slot_saving"] == 1 - finish[given["path"]] / one_slot
    assert 0 <= results["slot_saving"] < 1


@given(studies, st.integers(40, 64))
def test_neither_banks_nor_operand_slots_bind(given, slots):
    """Many groups of a row each, all in flight at once."""
    given = dict(given, rows=70, rows_per_group=1, slots=slots)
    cycles, start, end = rule(groups_of(given), slots)
    results = find("handoff")(**given)
    assert (results["cycles"], results["vector_start"], results["vector_end"]) == (
        cycles, start, end)


@given(studies)
def test_finish_is_between_the_closed_forms(given):
    """Of groups of one size: never before what each unit has to do, nor after one by one."""
    given = dict(given, rows=given["rows_per_group"] * (1 + given["rows"] // 12))
    bounds = find("handoff-bounds")(
        rows=given["rows"], group=given["rows_per_group"], keys=given["keys"],
        head_dim=given["head_dim"], passes=1 + (given["path"] == "staged"),
        flops_per_tick=given["flops_per_cycle"], bytes_per_tick=given["interface_bytes_per_cycle"],
        lanes=given["alu_per_cycle"], sfu_lanes=given["sfu_per_cycle"],
        score_bytes=given["score_bytes"], probability_bytes=given["probability_bytes"])
    cycles = find("handoff")(**given)["cycles"]
    assert bounds["vector_bound_ticks"] <= cycles <= bounds["one_slot_ticks"]
    assert cycles >= 2 * bounds["groups"] * bounds["matrix_ticks"]
    if given["slots"] == 1:
        assert cycles == bounds["one_slot_ticks"]


def test_more_slots_can_be_later():
    """Not a property of the rule: a younger group's job may get in between."""
    given = dict(rows=20, rows_per_group=5, keys=1, head_dim=3, flops_per_cycle=10,
                 interface_bytes_per_cycle=5, score_bytes=5, probability_bytes=9,
                 alu_per_cycle=2, sfu_per_cycle=5)
    assert durations(5, dict(given, path="direct")) == (3, 5, 7, 9, 3)
    assert [find("handoff")(**given, slots=slots)["cycles"] for slots in (1, 2, 3, 4)] == [
        108, 66, 69, 69]


def test_too_many_groups_are_refused():
    with pytest.raises(OptionError, match="^handoff: rows_per_group must be at least 2 rows, for "
                                          "no more than 10000 groups, not 1$"):
        find("handoff")(rows=10_001, rows_per_group=1)
