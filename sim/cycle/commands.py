"""What each command of a program is, in words and numbers, for a timeline."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from ...rtl.commands import Destination
from ...rtl.vector_commands import Direction, VectorOp
from ...workloads.program import Program

__all__ = ["Commands", "Described"]

#: A name, None if there is nothing to say but that the unit is busy, and what else is known.
Described = tuple[str | None, dict[str, Any]]


class Commands:
    """Describes the commands of a program by queue and number.

    In attention (a program that hands something back to the array) array jobs, transfers and
    vector commands are named after the step and the number of the item, a row group against a
    block of keys: "scores 3", "softmax 3", "probabilities 3", "values 3". Items do not overtake
    each other in any step, so counting is enough.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        preloaded = _weights(program.preload)
        self._tile_of_load = list(accumulate(
            (load.destination is Destination.WEIGHT for load in program.loads),
            initial=preloaded))
        self._tile_of_job = list(accumulate((job.new_weights for job in program.jobs),
                                            initial=-1))[1:]
        attention = any(move.direction is Direction.TO_MATRIX for move in program.handoffs)
        self._jobs = list(_job_steps(program)) if attention else []
        self._moves = list(_transfer_steps(program)) if attention else []
        self._vectors = list(_vector_steps(program)) if attention else []

    def load(self, number: int) -> Described:
        load = self._program.loads[number]
        found = {"load": number, "destination": load.destination.name.lower(),
                 "bytes": load.nbytes}
        if load.destination is Destination.WEIGHT:
            return None, {**found, "tile": self._tile_of_load[number]}
        return None, {**found, "slot": load.slot}

    def job(self, number: int) -> Described:
        job = self._program.jobs[number]
        found = {"job": number, "tile": self._tile_of_job[number], "slot": job.slot,
                 "bank": job.bank, "rows": job.rows}
        if not self._jobs:
            return None, found
        name, slot = self._jobs[number]
        return name, {**found, "handoff_slot": slot}

    def handoff(self, number: int) -> Described:
        move = self._program.handoffs[number]
        to_vector = move.direction is Direction.TO_VECTOR
        buffer = "bank" if to_vector else "slot"
        return self._moves[number] if self._moves else None, {
            "transfer": number, "direction": move.direction.name.lower(),
            "vector_slot": move.slot, buffer: move.buffer, "rows": move.rows,
            "bytes": move.rows * move.length * move.element_bytes}

    def vector(self, number: int) -> Described:
        command = self._program.vectors[number]
        return self._vectors[number] if self._vectors else None, {
            "command": number, "op": VectorOp(command.op).name.lower(),
            "vector_slot": command.a_slot, "result_slot": command.d_slot,
            "rows": command.rows, "length": command.length}

    def store(self, number: int) -> Described:
        store = self._program.stores[number]
        return None, {"store": number, "vector_slot" if store.vector else "bank": store.bank,
                      "bytes": store.rows * store.bytes_per_row}


def _weights(loads) -> int:
    """Weight tiles among loads."""
    return sum(load.destination is Destination.WEIGHT for load in loads)


def _job_steps(program: Program) -> Iterator[tuple[str, int]]:
    """Step and hand-off slot of every job; the jobs of a step fill one bank together."""
    counts = {"scores": -1, "values": -1}
    step, jobs = "values", []
    for job in program.jobs:
        if job.take_bank:
            step = "scores" if job.take_group else "values"
            counts[step] += 1
        jobs.append(job)
        if job.finish_bank:
            # Only the job that takes or frees the slot has its number.
            yield from [(f"{step} {counts[step]}", max(each.group for each in jobs))] * len(jobs)
            jobs = []


def _transfer_steps(program: Program) -> Iterator[str]:
    """Step of every transfer; scores lose bits on their way, outputs do not."""
    counts = {"scores": -1, "probabilities": -1, "output": -1}
    for move in program.handoffs:
        step = ("probabilities" if move.direction is Direction.TO_MATRIX
                else "scores" if move.narrow else "output")
        counts[step] += 1
        yield f"{step} {counts[step]}"


def _vector_steps(program: Program) -> Iterator[str]:
    """Step of every vector command; a job of them is a step.

    Streaming, the output of a group's first block takes an output slot; that of the others is
    added to it, and after the last one the sum is normalised.
    """
    takes = [move.take for move in program.handoffs
             if move.direction is Direction.TO_VECTOR and not move.narrow]
    numbers = {
        "softmax": iter(range(len(program.vectors))),
        "rescale": (item for item, take in enumerate(takes) if not take),
        "normalise": (item for item in range(len(takes)) if all(takes[item + 1:item + 2])),
    }
    job = []
    for command in program.vectors:
        job.append(command.op)
        if command.last:
            step = ("softmax" if VectorOp.EXPONENTIAL in job
                    else "normalise" if VectorOp.DIVIDE in job else "rescale")
            yield from [f"{step} {next(numbers[step])}"] * len(job)
            job = []
