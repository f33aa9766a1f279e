"""The chapter's table of figures, recomputed by the analytic models.

`data/figures.csv` is the table, `data/figures.map` says which model, parameters and result field
recompute a row. Nothing of the table's formulas is evaluated.
"""

import csv
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .model import find
from .tables import figure_text, look_up, table
from .units import convert

__all__ = ["KNOWN_DISAGREEMENTS", "Comparison", "Recipe", "Row", "compare_all", "recipes",
           "reference_unit", "rows", "sections"]

#: Rows whose printed number does not follow from the chapter's own inputs, and why.
KNOWN_DISAGREEMENTS = {
    "fold-npu-v-times-f": "product of the already rounded 0.42 and 0.37",
    "cap-hmma-overhead-share": "quoted from a talk; fits neither overhead / operation (27.3) nor "
                               "overhead / both (21.4)",
    "apple-m4max-m1ultra-diff": "difference of the rounded 29.94 and 20.43",
    "energy-rtx-m1": "42.9 us is rounded; 25.8 needs at least 42.917 us",
}
ENDINGS = {"_gb_per_s": "GB/s", "_tflops_per_s": "TFLOP/s", "_gb": "GB", "_watts": "W"}
EXACT = 1e-12  # relative: the last bits of a double


@dataclass(frozen=True)
class Row:
    """A row of the table; `printed` is None where the chapter implies a number only."""
    id: str
    section: str
    system: str
    quantity: str
    formula: str
    value: float
    printed: float | None
    unit: str
    tolerance: float
    kind: str

    @property
    def is_computed(self) -> bool:
        return self.kind != "measured"


@dataclass(frozen=True)
class Recipe:
    """How a row is recomputed: `model`.`field` of `parameters`, or a number of a data table."""
    model: str
    field: str
    parameters: tuple[tuple[str, str], ...] = ()
    times: int = 1
    reference: str = ""

    @property
    def source(self) -> str:
        """The model and its field, or the number of a data table."""
        return f"@{self.reference}" if self.reference else f"{self.model}.{self.field}"

    def compute(self, unit: str) -> float:
        """The number in this unit."""
        if self.reference:
            return convert(look_up(self.reference), reference_unit(self.reference) or unit, unit)
        model = find(self.model)
        given = {name: look_up(text[1:]) if text.startswith("@") else model.parse(name, text)
                 for name, text in self.parameters}
        values = model.values(given)
        if self.field in values:
            value, field_unit = values[self.field], model.parameter(self.field).unit
        else:
            value, field_unit = model.evaluate(values)[self.field], model.field(self.field).unit
        if not isinstance(value, int | float):
            raise ValueError(f"{self.model}.{self.field} is {value!r}, not a number")
        return convert(value, field_unit, unit) * self.times


def reference_unit(reference: str) -> str:
    """The unit of a data table's number: of its own entry, or from the ending of its name."""
    kind, _, rest = reference.partition(".")
    name, _, key = rest.rpartition(".")
    if key == "value":
        return str(table(kind)[name]["unit"])
    return next((unit for ending, unit in ENDINGS.items() if key.endswith(ending)), "")


@dataclass(frozen=True)
class Comparison:
    """A row and what became of it.

    `status` is "ok", "known" (one of the known disagreements), "differs" or "missing".
    """
    row: Row
    recipe: Recipe | None
    computed: float | None
    status: str
    note: str = ""


@functools.cache
def rows() -> tuple[Row, ...]:
    """The table."""
    return tuple(Row(
        line["id"], line["section"], line["system"], line["quantity"], line["formula"],
        float(line["value"]), float(line["printed"]) if line["printed"] else None, line["unit"],
        float(line["rel_tol"] or 0), line["kind"])
        for line in csv.DictReader(figure_text("figures.csv").splitlines()))


def sections() -> list[str]:
    """Sections in the table's order."""
    return list(dict.fromkeys(row.section for row in rows()))


@functools.cache
def recipes() -> dict[str, Recipe]:
    """Recipes by row."""
    found = {}
    for line in figure_text("figures.map").splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        row, target, *parameters = words
        if row in found:
            raise ValueError(f"figures.map: {row} is there twice")
        if target.startswith("@"):
            found[row] = Recipe("", "", reference=target[1:])
            continue
        times = int(parameters.pop()[1:]) if parameters and "=" not in parameters[-1] else 1
        name, _, field = target.partition(".")
        pairs = tuple((key, value) for key, _, value in (word.partition("=")
                                                         for word in parameters))
        found[row] = Recipe(name, field, pairs, times)
    for name in table("measured"):
        found.setdefault(name, Recipe("", "", reference=f"measured.{name}.value"))
    return found


def compare_all(chosen: Iterable[Row] | None = None) -> Sequence[Comparison]:
    """Recompute rows, all unless told, and compare them."""
    return [_compare(row) for row in (rows() if chosen is None else chosen)]


def _compare(row: Row) -> Comparison:
    recipe = recipes().get(row.id)
    if recipe is None:
        return Comparison(row, None, None, "missing", "no model computes it")
    computed = recipe.compute(row.unit)
    same = abs(computed - row.value) <= EXACT * abs(row.value)
    near = row.printed is None or _within(computed, row.printed, row.tolerance)
    if same and near:
        return Comparison(row, recipe, computed, "ok")
    if same and row.id in KNOWN_DISAGREEMENTS:
        return Comparison(row, recipe, computed, "known", KNOWN_DISAGREEMENTS[row.id])
    note = "differs from what is printed" if same else f"differs from the value {row.value:.15g}"
    return Comparison(row, recipe, computed, "differs", note)


def _within(value: float, printed: float, tolerance: float) -> bool:
    """Within the relative tolerance of the printed number, and the last bits of a double."""
    return abs(value - printed) <= (tolerance + EXACT) * abs(printed)
