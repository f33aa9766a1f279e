"""Which command makes each buffer free, ready, full or filled, and when: the links of a path."""

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ...rtl.accumulator import HANDOFF, STORE
from ...rtl.commands import Destination, Load
from ...rtl.vector_commands import Direction
from ...workloads.program import Program
from .durations import Durations
from .plan import Schedule

__all__ = ["Event", "Producers", "VectorRows"]

Key = tuple[str, int]  # a flag, and the number of its buffer


class Event(NamedTuple):
    """A moment in the life of a command: `kind`, its number in its queue, a row.

    Kinds: `load` and `load_done` (start, data in its buffer), `job`, `job_end` and `job_written`,
    `shifted` (the job's weight tile is in the cells), `transfer`, `transfer_end` and
    `transfer_done`, `vector` and `vector_done` (first elements enter, complete), `vector_row` (the
    first elements of the row enter), `store`, `store_read` and `store_done`.
    """
    kind: str
    number: int
    row: int = 0


class Producers:
    """Finds the command that has set a flag at a time, and the loads and jobs of weight tiles."""

    def __init__(self, program: Program, plan: Schedule, durations: Durations):
        self._program, self._plan, self._durations = program, plan, durations
        self._events: dict[tuple[str, int, int], Event] = {}
        self._add_loads()
        self._add_jobs()
        self._add_transfers()
        self._add_vectors()
        self._add_stores()
        preloaded = sum(load.destination is Destination.WEIGHT for load in program.preload)
        weights = [number for number, load in enumerate(program.loads)
                   if load.destination is Destination.WEIGHT]
        #: The load of each weight tile; None for one that is in the FIFO before the run.
        self.load_of_tile: list[int | None] = [None] * preloaded + weights
        #: The tile of each load, for loads of weights the one that it brings.
        self.tile_of_load = list(accumulate(
            (load.destination is Destination.WEIGHT for load in program.loads),
            initial=preloaded))
        #: The job that uses each tile first, and the tile of each job.
        self.job_of_tile = [number for number, job in enumerate(program.jobs) if job.new_weights]
        self.tile_of_job = list(accumulate((job.new_weights for job in program.jobs),
                                           initial=-1))[1:]

    def find(self, time: int, keys: Iterable[Key]) -> Event | None:
        """What has set one of the flags at this time."""
        for key in keys:
            if (*key, time) in self._events:
                return self._events[(*key, time)]
        return None

    def arrival(self, load: Load) -> int:
        """From the end of a load's port time and latency to its data being in the buffer."""
        return {Destination.WEIGHT: self._durations.weight_arrival,
                Destination.OPERAND: self._durations.operand_arrival,
                Destination.VECTOR: self._durations.vector_arrival}[load.destination]

    def _add(self, flag: str, buffer: int, time: int, event: Event) -> None:
        self._events[flag, buffer, time] = event

    def _add_loads(self) -> None:
        plan, latency = self._plan, self._durations.design.memory_latency_cycles
        for number, load in enumerate(self._program.loads):
            if load.last and load.destination is not Destination.WEIGHT:
                operand = load.destination is Destination.OPERAND
                self._add("slot_ready" if operand else "filled", load.slot,
                          plan.load_start[number] + plan.load_hold[number] + latency
                          + self.arrival(load), Event("load_done", number))

    def _add_jobs(self) -> None:
        plan = self._plan
        for number, job in enumerate(self._program.jobs):
            end = plan.job_end[number]
            if job.free_slot:
                self._add("slot_free", job.slot, end, Event("job_end", number))
            if job.free_group:
                self._add("group_free", job.group, end, Event("job_end", number))
            if job.finish_bank:
                flag = {STORE: "bank_full", HANDOFF: "bank_handed"}.get(job.store, "bank_free")
                self._add(flag, job.bank, plan.job_written[number], Event("job_written", number))

    def _add_transfers(self) -> None:
        for number, move in enumerate(self._program.handoffs):
            end = self._plan.handoff_end[number]
            done = end + self._durations.handoff_latency
            to_vector = move.direction is Direction.TO_VECTOR
            if to_vector:
                self._add("bank_free", move.buffer, end, Event("transfer_end", number))
            if move.last:
                flag, buffer = ("filled", move.slot) if to_vector else ("slot_ready", move.buffer)
                self._add(flag, buffer, done, Event("transfer_done", number))

    def _add_vectors(self) -> None:
        for number, command in enumerate(self._program.vectors):
            complete, event = self._plan.vector_complete[number], Event("vector_done", number)
            for frees, slot in ((command.free_a, command.a_slot), (command.free_b, command.b_slot)):
                if frees:
                    self._add("group_free", slot, complete, event)
            if command.done:
                self._add("result", command.a_slot, complete, event)

    def _add_stores(self) -> None:
        for number, store in enumerate(self._program.stores):
            if not store.keep:
                self._add("group_free" if store.vector else "bank_free", store.bank,
                          self._plan.store_start[number] + self._plan.store_hold[number],
                          Event("store_read", number))


class VectorRows:
    """When the rows of vector commands enter, where a row may wait for the command before.

    Parameters
    ----------
    by_rows : bool
        The unit is pipelined, and its timing that of the hardware.
    """

    def __init__(self, program: Program, plan: Schedule, durations: Durations, by_rows: bool):
        self._durations, self._commands = durations, program.vectors
        self._cause: list[tuple[np.ndarray, np.ndarray] | None] = []
        complete = np.zeros(0, np.int64)  # when the rows of the command before are complete
        for number, command in enumerate(program.vectors if by_rows else ()):
            rows, beats = durations.vector_shape(command)
            least = plan.vector_start[number] + np.arange(rows) * beats
            cause = None
            if command.chain == 1 and len(complete):
                known = np.minimum(np.arange(rows), len(complete) - 1)
                waits = complete[known] - least
                late = np.maximum.accumulate(waits)
                # The first row that waits as long as this one or a row before it has to.
                first = np.searchsorted(late, late)
                cause = np.where(late > 0, first, -1), known
                least = least + np.maximum(late, 0)
            self._cause.append(cause)
            complete = least + beats - 1 + durations.vector_latency(command)

    def cause(self, number: int, row: int) -> tuple[int, int] | None:
        """Of a row: the row at or before it that had to wait, and for which of the command before.

        None if all rows up to this one follow the first one without a gap.
        """
        cause = self._cause[number] if self._cause else None
        if cause is None or cause[0][row] < 0:
            return None
        first = int(cause[0][row])
        return first, int(cause[1][first])
