"""The chapter's two studies: printed ticks, ideal timing and hardware, every tick between named.

The input-slot study (4.4.2) has four products one after another, each with operands and weights
of its own, and 1 to 4 input slots; the hand-off study (4.4.3) an attention whose row groups pass
between matrix and vector unit, staged or direct. Neither stores its result.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from ..rtl import Design
from ..rtl.commands import Destination
from ..workloads import RandomAttention, Sequence
from ..workloads.gemm import RandomGemm
from ..workloads.gemm_builder import keep_shapes
from ..workloads.program import Program
from .analytic.figures import rows as figure_rows
from .backends.choice import Backend
from .backends.run import Progress
from .checks import check, model_checks
from .cycle import CycleRun, Durations, run_cycle_model
from .cycle.critical_path import Step, critical_path
from .cycle.path_items import Item, path_items
from .result import SCHEMA, Check

__all__ = ["DESIGNS", "STUDIES", "StudyCase", "StudyRow", "cases", "run_case", "study_document"]

#: The studies, and the workload that each one is about.
STUDIES = {"handoff": "attention", "slots": "gemm", "im2col": "conv2d"}

#: Presets with the machine of the chapter's tables.
DESIGNS = ("chapter", "b200-sm")

BLOCKS = 4  # products, and row groups
#: Rows, inner dimension and columns of a product; rows, keys and head dimension.
PRODUCTS = {"chapter": (16, 32, 16), "b200-sm": (64, 128, 64)}
ATTENTIONS = {"chapter": (32, 128, 8), "b200-sm": (128, 128, 128)}
#: Path, groups, slots; the groups of the figures' names are of 128 rows.
HANDOFFS = (("staged", 1, 1), ("staged", BLOCKS, 1), ("staged", BLOCKS, 2), ("direct", BLOCKS, 2),
            ("direct", BLOCKS, 4))
#: Slots, and the factor of the matrix rate.
SLOTS = ((1, 1), (2, 1), (3, 1), (4, 1), (3, 2), (4, 2))


@dataclass(frozen=True)
class StudyCase:
    """A row of a study: what runs, and on which machine.

    Attributes
    ----------
    name : str
    design : Design
    groups : int
        Blocks or row groups.
    program : callable
        The program; with True also the operands.
    span, vector_start : int
        Of the chapter; `vector_start` None where there is no vector unit.
    """
    name: str
    design: Design
    groups: int
    program: Callable[[bool], Program]
    span: int
    vector_start: int | None = None


@dataclass(frozen=True)
class StudyRow:
    """What came out.

    Attributes
    ----------
    case : StudyCase
    level, backend : str
        "rtl" and its simulator, or "cycle" and "".
    ideal, span : int
        Ticks from the first start to the last end, with timing ideal and of the hardware.
    ideal_vector_start, vector_start : int or None
        Ticks from the first start to the vector unit's first elements; of the hardware as its
        schedule has it.
    items : list of Item
        `ideal` + the sum of their totals = `span`.
    path : list of Step
        The hardware's critical path.
    checks : list of dict
    """
    case: StudyCase
    level: str
    backend: str
    ideal: int
    span: int
    ideal_vector_start: int | None
    vector_start: int | None
    items: list[Item]
    path: list[Step] = field(repr=False)
    checks: list[Check] = field(repr=False)

    @property
    def beyond(self) -> int:
        """Ticks beyond ideal."""
        return self.span - self.ideal

    def to_dict(self) -> dict[str, Any]:
        """The entry of this row in the JSON's `rows`."""
        case = self.case
        return {"name": case.name, "design": case.design.to_dict(), "groups": case.groups,
                "level": self.level, "backend": self.backend,
                "span": {"chapter": case.span, "ideal": self.ideal, self.level: self.span},
                "vector_start": None if case.vector_start is None else {
                    "chapter": case.vector_start, "ideal": self.ideal_vector_start,
                    self.level: self.vector_start},
                "items": [{**item._asdict(), "total": item.total} for item in self.items],
                "path": [step._asdict() for step in self.path]}


def cases(study: str, design_name: str = "chapter") -> Iterator[StudyCase]:
    """The rows of a study on one of :data:`DESIGNS`, in the chapter's order."""
    design = Design.preset(design_name)
    printed = {row.id: int(row.value) for row in figure_rows()
               if row.id.startswith(f"{study}-") and row.id.endswith(("-finish", "-start"))}
    if study == "slots":
        for slots, rate in SLOTS:
            row = f"slots-{slots}-finish" if rate == 1 else f"slots-2xrate-{slots}-finish"
            machine = replace(design, input_slots=slots, cols=rate * design.cols)
            yield StudyCase(f"{_counted(slots, 'slot')}" + (", double rate" if rate > 1 else ""),
                            machine, BLOCKS, _Products(machine, PRODUCTS[design_name]),
                            printed[row])
        return
    rows, keys, head_dim = ATTENTIONS[design_name]
    for path, groups, slots in HANDOFFS:
        machine = replace(design, handoff=path, handoff_slots=slots)
        attention = RandomAttention(rows, keys, head_dim, rows_per_group=rows // groups,
                                    block_keys=keys, resident=True, store_output=False)
        row = f"handoff-{path}-{128 // groups}x{slots}"
        yield StudyCase(f"{path}, {_counted(groups, 'group')}, {_counted(slots, 'slot')}",
                        machine, groups, _Attention(machine, attention),
                        printed[f"{row}-finish"], printed[f"{row}-vector-start"])


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number > 1)


@dataclass(frozen=True)
class _Attention:
    """The program of the hand-off study."""
    design: Design
    attention: RandomAttention

    def __call__(self, contents: bool) -> Program:
        return self.attention.program(self.design, contents)


@dataclass(frozen=True)
class _Products:
    """The program of the input-slot study: a sequence whose blocks load as one group each.

    The first load of a block takes its slot and the last one makes it ready; its weights come in
    between, so that they, too, wait for the slot and are there when the block is ready. Sums go
    to the banks in turn: those of the last block hinder none.
    """
    design: Design
    shape: tuple[int, int, int]

    def __call__(self, contents: bool) -> Program:
        design, (m, k, n) = self.design, self.shape
        program = Sequence(
            RandomGemm(m, k, n, seed=block, store_output=False, m_tile=m,
                       slices_per_slot=k // design.rows)
            for block in range(BLOCKS)).program(design, contents)
        tile = accumulate((job.take_bank for job in program.jobs), initial=-1)
        next(tile)
        program.jobs = [job._replace(bank=number % design.accumulator_banks)
                        for job, number in zip(program.jobs, tile)]
        operands = [load for load in program.loads if load.destination is Destination.OPERAND]
        weights = [load for load in program.loads if load.destination is Destination.WEIGHT]
        slices, tiles = len(operands) // BLOCKS, len(weights) // BLOCKS   # of a block
        program.loads = keep_shapes([
            load for block in range(BLOCKS)
            for load in (operands[block * slices], *weights[block * tiles:][:tiles],
                         *operands[block * slices + 1:][:slices - 1])])
        return program


def run_case(case: StudyCase, level: str = "rtl", backend: Backend | None = None,
             progress: Progress | None = None) -> StudyRow:
    """Run a row: with ideal timing, on the cycle model and, at level rtl, on the hardware.

    Parameters
    ----------
    case : StudyCase
    level : str
        "rtl" or "cycle".
    backend : Backend
        Of level rtl; that of short runs unless given.
    progress : callable
        See :func:`simulate`.
    """
    design = case.design
    program = case.program(level == "rtl")
    ideal, real = Durations.ideal(design), Durations.rtl(design)
    ideal_run, run = (run_cycle_model(program, timing) for timing in (ideal, real))
    path = critical_path(program, run.plan, real)
    items = path_items(path, program, ideal, ideal_run.counters["span"])
    counters, used = run.counters, ""
    checks: list[Check] = []
    if level == "rtl":
        say = getattr(progress, "say", None)
        backend, _line = (backend or Backend()).choose(design, counters["cycles"], None)
        raw = backend.run(design, program, progress=progress, say=say)
        counters, used = raw.counters, backend.name
        checks = model_checks(raw.counters, run.counters)
    row = StudyRow(case, level, used, ideal_run.counters["span"], counters["span"],
                   _vector_start(ideal_run), _vector_start(run), items, path, checks)
    checks += [check("ideal_span", case.span, row.ideal),
               check("items", row.span, row.ideal + sum(item.total for item in items))]
    if case.vector_start is not None:
        checks.append(check("ideal_vector_start", case.vector_start, row.ideal_vector_start))
    for each in checks:
        each["name"] = f"{case.name}: {each['name']}"
    return row


def _vector_start(run: CycleRun) -> int | None:
    if not len(run.plan.vector_from):
        return None
    return run.plan.vector_from[0] - run.activity.first_start


def study_document(study: str, design_name: str, rows: Iterable[StudyRow]) -> dict[str, Any]:
    """The JSON document of a study."""
    rows = list(rows)
    return {"schema": SCHEMA, "study": study, "design": design_name,
            "rows": [row.to_dict() for row in rows],
            "checks": [each for row in rows for each in row.checks]}
