"""The order in which the units of a pipeline serve items: oldest first (chapter 4.4.3)."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Start", "Step", "order"]


class Step(NamedTuple):
    """One job of an item.

    `unit` serves it for `cycles` cycles (1 or more). It takes a place of the resource `takes` at
    its start; the place is free again at the end of the item's step number `until`.
    """
    unit: str
    cycles: int
    takes: str = ""
    until: int = 0


class Start(NamedTuple):
    """A step as it was started: its item, its number in the item, when, and the place it took."""
    item: int
    step: int
    time: int
    place: int


def order(items: Sequence[Sequence[Step]], places: dict[str, int], slots: int) -> list[Start]:
    """All steps in the order of their starts.

    The steps of an item follow each other, each when the whole step before has ended. A unit
    serves one step at a time, is never idle while a step that could use it is ready, and takes
    the one of the oldest item. Item k takes slot k % `slots` at the start of its first
    step, when item k - `slots` has ended: slots are freed in order. Items do not overtake each
    other in any step. At a tick, first all that ends then takes effect.

    Parameters
    ----------
    items : sequence of sequences of Step
        In their order. Items with fewer steps than others have them at the front.
    places : dict of str to int
        Places of each resource.
    slots : int
        Items under way at a time.
    """
    pipeline = _Pipeline(items, places, slots)
    starts = []
    while (start := pipeline.next()) is not None:
        starts.append(start)
    return starts


class _Pipeline:
    def __init__(self, items: Sequence[Sequence[Step]], places: dict[str, int], slots: int):
        self._items, self._slots = items, slots
        depth = max(map(len, items), default=0)
        # The item whose step comes next, for each step.
        self._next = [self._following(-1, step) for step in range(depth)]
        self._ends: list[list[int]] = [[] for _ in items]
        self._free: dict[str, int] = {}                # units: from when
        # Of each resource: (free from, place), and the places held: (item, step) -> place.
        self._places = {name: [(0, place) for place in range(count)]
                        for name, count in places.items()}
        self._held: dict[tuple[int, int], list[tuple[str, int]]] = {}

    def next(self) -> Start | None:
        """The step that starts next."""
        best: tuple[int, int, int] | None = None
        for step, item in enumerate(self._next):
            ready = self._ready(item, step)
            if ready is not None and (best is None or (ready, item) < best[:2]):
                best = ready, item, step
        if best is None:
            return None
        time, item, step = best
        return self._start(time, item, step)

    def _ready(self, item: int, step: int) -> int | None:
        """The earliest start of a step; None if that depends on one that has not started."""
        if item == len(self._items):
            return None
        work, ends = self._items[item][step], self._ends[item]
        if len(ends) < step:
            return None
        ready = ends[step - 1] if step else 0
        if step == 0 and item >= self._slots:
            before = item - self._slots
            if len(self._ends[before]) < len(self._items[before]):
                return None
            ready = self._ends[before][-1]
        if work.takes:
            free = self._places[work.takes]
            if not free:
                return None
            ready = max(ready, min(free)[0])
        return max(ready, self._free.get(work.unit, 0))

    def _start(self, time: int, item: int, step: int) -> Start:
        work, end, place = self._items[item][step], 0, 0
        end = time + work.cycles
        self._free[work.unit] = end
        self._ends[item].append(end)
        if work.takes:
            free = self._places[work.takes]
            chosen = min(entry for entry in free if entry[0] <= time)
            free.remove(chosen)
            place = chosen[1]
            if work.until == step:
                free.append((end, place))
            else:
                self._held.setdefault((item, work.until), []).append((work.takes, place))
        for name, held in self._held.pop((item, step), ()):
            self._places[name].append((end, held))
        self._next[step] = self._following(item, step)
        return Start(item, step, time, place)

    def _following(self, item: int, step: int) -> int:
        """The next item that has this step."""
        item += 1
        while item < len(self._items) and len(self._items[item]) <= step:
            item += 1
        return item
