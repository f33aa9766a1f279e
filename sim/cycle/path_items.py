"""What a critical path takes with one set of durations beyond the same path with another."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from ...workloads.program import Program
from .critical_path import Step, service_cycles, vector_jobs
from .durations import Durations

__all__ = ["OTHER_PATH", "Item", "path_items"]

#: Name of the item by which the longest path with ideal durations differs from this one.
OTHER_PATH = "other path"


class Item(NamedTuple):
    """`times` times `cycles` cycles more than ideal, for one reason.

    Attributes
    ----------
    unit : str
        Of the steps; "" for :data:`OTHER_PATH`.
    name : str
        The step's.
    kind : str
        "service" or "latency".
    cycles, times : int
    """
    unit: str
    name: str
    kind: str
    cycles: int
    times: int

    @property
    def total(self) -> int:
        return self.cycles * self.times


def path_items(path: list[Step], program: Program, ideal: Durations, ideal_span: int
               ) -> list[Item]:
    """Items by which the path is longer than the ideal span; `ideal_span` + their sum = path.

    Every step of the path is compared with what the same step takes ideally: a service its ideal
    duration, the commands of a vector job that the path runs through the duration of the job, and
    a latency nothing, but the memory's. With these the path is one of the ways
    from the start to the end of the program. If another way takes longer ideally, the last item
    says by how much. (It can also take less, where the memory then serves loads and stores in
    another order.)
    """
    differences = Counter(difference for difference in _differences(path, program, ideal)
                          if difference[-1])
    items = [Item(*difference, times) for difference, times in differences.items()]
    ideally = sum(step.cycles for step in path) - sum(item.total for item in items)
    if ideally != ideal_span:
        items.append(Item("", OTHER_PATH, "service", ideally - ideal_span, 1))
    return items


def _differences(path: list[Step], program: Program,
                 ideal: Durations) -> Iterator[tuple[str, str, str, int]]:
    """Unit, name, kind and cycles beyond ideal of each step, and of each visit to a vector job."""
    firsts = vector_jobs(program.vectors)

    def visited(step: Step) -> int:
        return firsts[step.number] if step.unit == "vector" else -1
    for first, steps in groupby(path, visited):
        services = 0
        for step in steps:
            if step.kind == "latency":
                yield (step.unit, step.name, step.kind,
                       step.cycles - _ideal_latency(step, program, ideal))
            elif first >= 0:
                services += step.cycles
            else:
                yield (step.unit, step.name, step.kind,
                       step.cycles - service_cycles(step, program, ideal))
        if first >= 0:
            job = [command for command, start in zip(program.vectors, firsts) if start == first]
            yield "vector", "elements", "service", services - ideal.vector_job(job)


def _ideal_latency(step: Step, program: Program, ideal: Durations) -> int:
    """The memory has its latency, and one request follows another, with any timing."""
    if step.unit == "store":
        _occupancy, hold, complete = ideal.store(program.stores[step.number])
        return complete - hold
    return step.cycles if step.unit == "loader" and step.name in ("memory", "request") else 0
