"""The chapter's figures: the mapping is complete and every row is what the table says."""

import pytest

from cubewave.sim.analytic.figures import (
    KNOWN_DISAGREEMENTS,
    Row,
    compare_all,
    recipes,
    reference_unit,
    rows,
    sections,
)
from cubewave.sim.analytic.model import find, registry
from cubewave.sim.analytic.tables import figure_text, look_up


def test_the_table_is_whole():
    assert len(rows()) == 684 and len({row.id for row in rows()}) == 684
    assert sum(row.is_computed for row in rows()) == 518
    assert sum(row.is_computed and row.printed is not None for row in rows()) == 457
    assert sections()[0] == "4.0" and sections()[-1] == "4.8.4"


def test_every_row_has_a_recipe_and_every_recipe_a_row():
    assert {row.id for row in rows()} == set(recipes())


def test_every_row_is_recomputed():
    statuses = {item.row.id: item.status for item in compare_all()}
    assert {row for row, status in statuses.items() if status != "ok"} == set(KNOWN_DISAGREEMENTS)
    assert {statuses[row] for row in KNOWN_DISAGREEMENTS} == {"known"}


def test_rows_of_the_hand_off_scheduler_are_the_models():
    scheduled = {row.id for row in rows() if "handoff(" in row.formula}
    assert len(scheduled) == 19
    assert scheduled == {name for name, recipe in recipes().items() if recipe.model == "handoff"}


def test_measured_rows_are_numbers_of_data_tables():
    for row in rows():
        recipe = recipes()[row.id]
        assert bool(recipe.reference) == (not row.is_computed), row.id
        if recipe.reference:
            assert reference_unit(recipe.reference) or look_up(recipe.reference) == row.value


def test_recipes_use_models_and_no_formulas():
    known = {model.name for model in registry()}
    for name, recipe in recipes().items():
        if not recipe.reference:
            model = find(recipe.model)
            assert recipe.model in known, name
            assert set(dict(recipe.parameters)) <= set(model.names), name
    used = {recipe.model for recipe in recipes().values()}
    assert len(used) > 60


@pytest.mark.parametrize("change,status", [
    (dict(value=71.0), "differs"), (dict(printed=72.0), "differs"),
    (dict(printed=72.0, tolerance=0.03), "ok"), (dict(printed=None), "ok"),
    (dict(id="no-such-row"), "missing")])
def test_a_row_that_is_not_what_the_table_says_is_seen(change, status):
    row = next(row for row in rows() if row.id == "amdahl-open-total-2x")
    changed = Row(**{**{name: getattr(row, name) for name in row.__dataclass_fields__},
                     **change})
    assert compare_all([changed])[0].status == status


def test_the_map_is_text_that_a_person_reads():
    for line in figure_text("figures.map").splitlines():
        assert line == line.rstrip() and "(" not in line.split("#")[0]
