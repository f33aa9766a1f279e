"""Sets of cycles as intervals, and what can be asked of them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

__all__ = ["NEVER", "Intervals", "covered", "merged", "overlap", "sweep", "union", "without"]


@dataclass(frozen=True)
class Intervals:
    """Intervals [first, end) in order; those that end before they begin are empty."""
    first: np.ndarray
    end: np.ndarray

    @property
    def cycles(self) -> int:
        return int(np.maximum(self.end - self.first, 0).sum())

    @classmethod
    def one(cls, first: int, end: int) -> "Intervals":
        return cls(np.array([first]), np.array([end]))


NEVER = Intervals(np.zeros(0, np.int64), np.zeros(0, np.int64))


def merged(*parts: Intervals) -> Intervals:
    """Disjoint intervals of several sets in one order."""
    first = np.concatenate([part.first for part in parts])
    order = np.argsort(first, kind="stable")
    return Intervals(first[order], np.concatenate([part.end for part in parts])[order])


def covered(windows: Intervals, others: Intervals) -> np.ndarray:
    """Cycles of each window that other intervals, disjoint and in order, cover."""
    if not len(others.first):
        return np.zeros_like(windows.first)
    lengths = np.concatenate(([0], np.cumsum(others.end - others.first)))

    def before(time: np.ndarray) -> np.ndarray:
        index = np.searchsorted(others.first, time, "right")
        inside = np.where(index > 0, np.maximum(others.end[index - 1] - time, 0), 0)
        return lengths[index] - inside
    return before(np.maximum(windows.end, windows.first)) - before(windows.first)


def overlap(one: Intervals, other: Intervals) -> int:
    """Cycles in both of two sets of disjoint intervals in order."""
    return int(covered(one, other).sum()) if len(one.first) else 0


def sweep(sets: Iterable[Iterable[Intervals]]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Times at which anything changes, and for each set how many of its intervals then hold."""
    sets = [list(parts) for parts in sets]
    times, counts = [], []
    for number, parts in enumerate(sets):
        for part in parts:
            real = part.end > part.first
            for edge, sign in ((part.first[real], 1), (part.end[real], -1)):
                step = np.zeros((len(edge), len(sets)), np.int64)
                step[:, number] = sign
                times.append(edge)
                counts.append(step)
    if not times or not sum(map(len, times)):
        return np.zeros(0, np.int64), [np.zeros(0, np.int64) for _ in sets]
    moments, where = np.unique(np.concatenate(times), return_inverse=True)
    steps = np.zeros((len(moments), len(sets)), np.int64)
    np.add.at(steps, where, np.concatenate(counts))
    levels = np.cumsum(steps, axis=0)
    return moments, [levels[:, number] for number in range(len(sets))]


def union(*parts: Intervals) -> Intervals:
    """The cycles in any of the intervals, which may overlap."""
    times, levels = sweep([parts])
    return _where(times, levels[0] > 0)


def without(windows: Intervals, others: Intervals) -> Intervals:
    """The parts of the windows that the others leave."""
    times, levels = sweep([[windows], [others]])
    return _where(times, (levels[0] > 0) & (levels[1] == 0))


def _where(times: np.ndarray, holds: np.ndarray) -> Intervals:
    """Intervals in which a condition holds that changes at the given times only."""
    if not len(times):
        return NEVER
    before = np.concatenate(([False], holds[:-1]))
    return Intervals(times[holds & ~before], times[~holds & before])
