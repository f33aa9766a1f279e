"""Builds the commands of an attention."""

from dataclasses import dataclass
from itertools import chain, takewhile

import numpy as np

from ..rtl.accumulator import HANDOFF, NOBODY, STORE
from ..rtl.commands import ArrayJob, Load, Store
from ..rtl.vector_commands import (
    Direction,
    Handoff,
    VectorCommand,
    operand_slot,
    output_slot,
)
from .attention_memory import AttentionMemory
from .attention_plan import AttentionPlan, Item
from .attention_vectors import AttentionVectors
from .errors import WorkloadError
from .gemm_builder import keep_shapes
from .ideal import handoff_cycles, job_cycles, vector_job_cycles
from .pipeline import Start, Step, order
from .program import Program

__all__ = ["AttentionBuilder"]

# Steps of an item. Streaming, the result goes on to the vector unit.
SCORES, TO_SOFTMAX, SOFTMAX, TO_VALUES, VALUES, TO_OUTPUT, RESCALE, NORMALISE = range(8)


@dataclass
class _Work:
    """The commands of an item by step; banks and operand slots come with the order."""
    item: Item
    slot: int
    jobs: dict[int, list[ArrayJob]]
    handoffs: dict[int, Handoff]
    vectors: dict[int, list[VectorCommand]]


class AttentionBuilder:
    """Writes an attention into a program.

    Each item (:class:`Item`) takes these steps: scores on the array, into a bank; over the
    hand-off into a hand-off slot; softmax; probabilities into an operand slot; their product with
    the values, into a bank. Whole rows are stored from there. Streaming, the result of a block
    goes into the hand-off slot, that of the first one into the group's output slot, where the
    vector unit rescales, adds and at last divides, and is stored from there.

    Queues are in the order of :func:`pipeline.order` with ideal durations. Weight tiles, of K
    and of V, are loaded in the order of the jobs that use them; the Q of a group, and the mask of
    an item, `weight_fifo_depth` tiles before the first job, but not before the slot is free.

    Parameters
    ----------
    plan : AttentionPlan
    vectors : AttentionVectors
    score_shift : int
        Bits that scores lose at the hand-off.
    store, resident : bool
        See :class:`Attention`.
    operands : q, k, v, integers, or None
        Without them memory stays empty.
    mask : bool array [rows, keys] or None
    """

    def __init__(self, plan: AttentionPlan, vectors: AttentionVectors, score_shift: int,
                 store: bool, resident: bool, operands: tuple[np.ndarray, ...] | None = None,
                 mask: np.ndarray | None = None):
        self._plan, self._vectors, self._score_shift = plan, vectors, score_shift
        self._store, self._resident = store, resident
        self._design, self._shape = plan.design, plan.shape
        self._program = Program()
        self._tiles: list[Load] = []                 # weight tiles in the order of their jobs
        self._queries: list[Load] = []               # resident
        self._others: list[tuple[int, Load]] = []    # loads, and the tile that they come before
        # Operand slots: the last ones for probabilities, the others for Q.
        self._p_slots = min(2, self._design.input_slots - 1)
        self._q_slots = self._design.input_slots - self._p_slots
        # Tiles without which neither is freed: their loads come before its next one.
        self._slot_freed = [0] * self._q_slots
        self._mask_freed = [0] * self._design.handoff_slots

        self._memory = AttentionMemory(self._program, plan, operands, mask,
                                       masked=vectors.masked, store=store)
        self._place_queries()

    def build(self, groups: int | None = None) -> Program:
        """The program; with `groups` of the first so many groups only."""
        slots = self._design.handoff_slots
        items = takewhile(lambda item: groups is None or item.group < groups, self._plan.items())
        works = [self.work(item, number % slots) for number, item in enumerate(items)]
        for start in order([self._steps(work) for work in works],
                           {"bank": self._design.accumulator_banks, "slot": self._p_slots},
                           slots):
            self._emit(works[start.item], start)
        return self._finish()

    def _finish(self) -> Program:
        """Merge the loads; with resident operands the first ones come before the run."""
        program, tiles, first = self._program, self._tiles, 0
        if self._resident:
            first = self._design.weight_fifo_depth
            program.preload += self._queries + tiles[:first]
        merged = chain(((place, 0, number, load)
                        for number, (place, load) in enumerate(self._others)),
                       ((place, 1, 0, load)
                        for place, load in enumerate(tiles) if place >= first))
        program.loads = keep_shapes([entry[3] for entry in sorted(merged, key=lambda entry:
                                                                  entry[:3])])
        program.preload = keep_shapes(program.preload)
        return program

    # -- operand slots -------------------------------------------------------------------------

    def _place_queries(self) -> None:
        """Q of a group: slot rows of a slice, and groups in a slot (one, unless resident)."""
        port = self._design.buffer_port_rows
        self._slice_rows = -(-self._plan.group_rows // port) * port
        self._group_rows = self._slice_rows * len(self._memory.inner_sizes())
        self._groups_in_slot = 1
        if self._resident:
            groups = len(self._plan.groups_of_head) * self._shape.heads
            self._groups_in_slot = -(-groups // self._q_slots)
            if self._groups_in_slot * self._group_rows > self._design.slot_rows:
                raise WorkloadError(
                    f"resident needs all of Q in {self._q_slots} operand slots: "
                    f"{self._groups_in_slot * self._group_rows} rows each, but they hold "
                    f"{self._design.slot_rows}")

    def _query_slot(self, item: Item) -> tuple[int, int]:
        """Operand slot and first row of a group's Q."""
        filling, place = divmod(item.group, self._groups_in_slot)
        return filling % self._q_slots, place * self._group_rows

    def _load_group(self, item: Item) -> None:
        """Load the Q of a group, which is about to be used."""
        slot, row = self._query_slot(item)
        place = item.group % self._groups_in_slot
        groups = len(self._plan.groups_of_head) * self._shape.heads
        loads = [load._replace(slot=slot, word=(row + part * self._slice_rows)
                               // self._design.buffer_port_rows)
                 for part, load in enumerate(self._memory.query_loads(item))]
        if place == 0:
            loads[0] = loads[0]._replace(take=1)
        if place == self._groups_in_slot - 1 or item.group == groups - 1:
            loads[-1] = loads[-1]._replace(last=1)
        if self._resident:
            self._queries.extend(loads)
        else:
            self._load_before(loads, self._slot_freed[slot])

    def _load_before(self, loads: list[Load], freed: int) -> None:
        """Loads ahead of the next tile by the depth of the FIFO, once their slot is free."""
        ahead = max(freed, len(self._tiles) - self._design.weight_fifo_depth)
        self._others.extend((ahead, load) for load in loads)

    # -- the work of an item -------------------------------------------------------------------

    def loads(self, item: Item) -> list[Load]:
        """Everything that is loaded for an item; slots come with the order."""
        memory = self._memory
        loads = memory.query_loads(item) if item.first else []
        if self._vectors.masked:
            loads += memory.mask_loads(item, 0)
        tiles = memory.key_tiles(item) + memory.value_tiles(item)
        return loads + list(chain.from_iterable(tiles))

    def stores(self, item: Item) -> list[Store]:
        """The stores of a group's result, after its last item."""
        if not (self._store and item.last):
            return []
        return self._result_stores(item, 0)

    def work(self, item: Item, slot: int) -> _Work:
        """The commands of an item in a hand-off slot; banks and slots come with the order."""
        design, plan = self._design, self._plan
        handoffs = {
            TO_SOFTMAX: _handoff(Direction.TO_VECTOR, item, slot, item.block.size,
                                 -(-design.score_bits // 8), shift=self._score_shift, narrow=1),
            TO_VALUES: _handoff(Direction.TO_MATRIX, item, slot, item.block.size,
                                -(-design.probability_bits // 8),
                                narrow=int(not plan.streaming), take=1,
                                piece_pitch=plan.value_pitch(item))}
        vectors = {SOFTMAX: self._vectors.job(item, slot)}
        if plan.streaming:
            to = output_slot(design, item.group % design.handoff_slots) if item.first else slot
            handoffs[TO_OUTPUT] = _handoff(
                Direction.TO_VECTOR, item, to, self._shape.head_dim,
                design.result_element_bytes, take=int(item.first))
            if not item.first:
                vectors[RESCALE] = self._vectors.rescale(item, slot)
            if item.last:
                vectors[RESCALE if item.first else NORMALISE] = self._vectors.normalise(
                    item, self._store)
        jobs = {SCORES: self._score_jobs(item, slot), VALUES: self._value_jobs(item, slot)}
        return _Work(item, slot, jobs, handoffs, vectors)

    def _score_jobs(self, item: Item, slot: int) -> list[ArrayJob]:
        """Q of the group times each tile of the block's K, transposed."""
        rows = item.rows.size
        jobs = [ArrayJob(rows, slot=0, row=part * self._slice_rows, bank=0,
                         acc_row=column * rows, inner=inner, outer=outer,
                         accumulate=int(part > 0), store=HANDOFF)
                for column, outer in enumerate(self._memory.key_sizes(item))
                for part, inner in enumerate(self._memory.inner_sizes())]
        jobs[0] = jobs[0]._replace(take_bank=1, take_group=1, group=slot)
        jobs[-1] = jobs[-1]._replace(finish_bank=1)
        return jobs

    def _value_jobs(self, item: Item, slot: int) -> list[ArrayJob]:
        """Probabilities times each tile of the block's V."""
        rows, pitch = item.rows.size, self._plan.value_pitch(item)
        reader = HANDOFF if self._plan.streaming else STORE if self._store else NOBODY
        jobs = [ArrayJob(rows, slot=0, row=part * pitch, bank=0, acc_row=column * rows,
                         inner=tile.rows, outer=outer, accumulate=int(part > 0), unsigned=1,
                         store=reader)
                for column, (tiles, (_start, outer, _base)) in enumerate(zip(
                    self._memory.value_tiles(item), self._memory.result_places(item)))
                for part, tile in enumerate(tiles)]
        jobs[0] = jobs[0]._replace(take_bank=1)
        # A hand-off slot that a block's result comes back into is freed by the vector unit.
        frees = int(not self._plan.streaming or item.first)
        jobs[-1] = jobs[-1]._replace(finish_bank=1, free_slot=1, group=slot, free_group=frees)
        return jobs

    def _steps(self, work: _Work) -> list[Step]:
        """The item's steps for the rule, with ideal durations."""
        design, streaming = self._design, self._plan.streaming
        matrix = {step: sum(job_cycles(design, job) for job in jobs)
                  for step, jobs in work.jobs.items()}
        moves = {step: handoff_cycles(design, move) for step, move in work.handoffs.items()}
        vectors = {step: vector_job_cycles(design, job) for step, job in work.vectors.items()}
        steps = [Step("array", matrix[SCORES], "bank", TO_SOFTMAX),
                 Step("handoff", moves[TO_SOFTMAX]), Step("vector", vectors[SOFTMAX]),
                 Step("handoff", moves[TO_VALUES], "slot", VALUES),
                 Step("array", matrix[VALUES], "bank", TO_OUTPUT if streaming else VALUES)]
        if streaming:
            steps.append(Step("handoff", moves[TO_OUTPUT]))
            steps += [Step("vector", vectors[step]) for step in (RESCALE, NORMALISE)
                      if step in vectors]
        return steps

    # -- queues --------------------------------------------------------------------------------

    def _emit(self, work: _Work, start: Start) -> None:
        """Append the commands of a step to their queues."""
        step, handoffs = start.step, work.handoffs
        if step == SCORES:
            self._emit_scores(work, start.place)
        elif step == VALUES:
            self._emit_values(work, start.place)
        elif step in handoffs:
            if step == TO_VALUES:
                handoffs[step] = handoffs[step]._replace(buffer=self._q_slots + start.place)
            self._program.handoffs.append(handoffs[step])
        else:
            self._program.vectors.extend(work.vectors[step])
            if step == SOFTMAX:  # after commands that results of other items' tiles come before
                self._mask_freed[work.slot] = len(self._tiles)
            item = work.item
            if self._store and item.last and SOFTMAX < step == max(work.vectors):
                self._program.stores.extend(self._result_stores(item, output_slot(
                    self._design, item.group % self._design.handoff_slots)))

    def _emit_scores(self, work: _Work, bank: int) -> None:
        item, jobs = work.item, work.jobs[SCORES]
        if item.first:
            self._load_group(item)
        if self._vectors.masked:
            self._load_before(
                self._memory.mask_loads(item, operand_slot(self._design, work.slot)),
                self._mask_freed[work.slot])
        slot, row = self._query_slot(item)
        groups = len(self._plan.groups_of_head) * self._shape.heads
        if item.last and (item.group % self._groups_in_slot == self._groups_in_slot - 1
                          or item.group == groups - 1):
            jobs[-1] = jobs[-1]._replace(free_slot=1)
        self._program.jobs.extend(job._replace(bank=bank, slot=slot, row=row + job.row)
                                  for job in jobs)
        self._tiles.extend(chain.from_iterable(self._memory.key_tiles(item)))
        self._slot_freed[slot] = len(self._tiles)
        work.handoffs[TO_SOFTMAX] = work.handoffs[TO_SOFTMAX]._replace(buffer=bank)

    def _emit_values(self, work: _Work, bank: int) -> None:
        item, slot = work.item, work.handoffs[TO_VALUES].buffer
        self._program.jobs.extend(job._replace(bank=bank, slot=slot)
                                  for job in work.jobs[VALUES])
        self._tiles.extend(chain.from_iterable(self._memory.value_tiles(item)))
        if self._plan.streaming:
            work.handoffs[TO_OUTPUT] = work.handoffs[TO_OUTPUT]._replace(buffer=bank)
        elif self._store:
            self._program.stores.extend(self._result_stores(item, bank))

    def _result_stores(self, item: Item, buffer: int) -> list[Store]:
        """Store a group's result from its bank or, streamed, from its output slot."""
        memory, stores = self._memory, []
        places = memory.result_places(item)
        for number, (start, columns, base) in enumerate(places):
            fields = {"acc_row": number * item.rows.size}
            if self._plan.streaming:
                fields = {"acc_row": start, "vector": 1, "pitch": self._shape.head_dim,
                          "element_bytes": memory.element, "wait": int(number == 0)}
            stores.append(Store(
                buffer, rows=item.rows.size, base=base, bytes_per_row=columns * memory.element,
                row_stride=memory.result_stride, keep=int(number < len(places) - 1), **fields))
        return stores


def _handoff(direction: Direction, item: Item, slot: int, length: int, element_bytes: int,
             **fields: int) -> Handoff:
    """A transfer; its bank or operand slot comes later."""
    fields = {"piece_pitch": item.rows.size} | fields
    return Handoff(direction, slot, 0, item.rows.size, length, pitch=length,
                   element_bytes=element_bytes, **fields)
