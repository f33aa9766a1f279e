"""Split-K: the inner dimension cut into parts, whose partial results are added."""

import copy
from collections.abc import Iterator

import numpy as np

from ..rtl import Design
from .batch import Batch
from .checks import check_integer
from .errors import WorkloadError
from .gemm import Gemm, RandomGemm, Sequence
from .network import Layer, Network
from .reduction import Reduction

__all__ = ["REDUCTIONS", "SplitK"]

#: Where partial results are added.
REDUCTIONS = ("memory", "accumulators")


class SplitK(Network):
    """The product [m, k] x [k, n] with K cut into `splits` parts of nearly equal size.

    reduction "memory", as libraries for GPUs do it: one kernel computes the partial results of
    all parts and stores each, accumulator_bits wide in whole bytes, which is the width of the
    partial results; a second kernel adds them. The products run on the core. The second kernel
    is a formula (:class:`Reduction`), not yet a program of the vector unit.

    reduction "accumulators": the parts add up in the accumulators and the result is stored once,
    in one kernel. On one core this is what every product does with its tiles of K; it is refused
    when the accumulators cannot hold the whole result.

    Parameters
    ----------
    m, k, n : int
    splits : int or None
        Parts of K. None: 1 for a single row, which runs as one kernel, otherwise 2.
    reduction : str
        "memory" or "accumulators".
    seed : int
        Of the random operands.
    """

    def __init__(self, m: int = 16, k: int = 64, n: int = 16, splits: int | None = None,
                 reduction: str = "memory", seed: int = 0):
        self.whole = RandomGemm(m, k, n, seed)
        self.splits = check_integer("splits", (1 if m == 1 else min(2, k)) if splits is None
                                    else splits, 1, k)
        if reduction not in REDUCTIONS:
            raise WorkloadError(f"reduction must be one of {', '.join(REDUCTIONS)}, not "
                                f"{reduction!r}")
        stored = reduction == "memory"
        parts = [_Part(self.whole, start, end, accumulate=not stored and number > 0,
                       store_output=stored or number == self.splits - 1)
                 for number, (start, end) in enumerate(self._cuts(k))]
        layers = [Layer("products", (_Stored if stored else _Added)(parts))]
        notes = []
        if stored and self.splits > 1:
            layers.append(Layer("reduction", Reduction(self.splits, m, n)))
            notes.append("reduction: the time its traffic takes, by formula; adding is "
                         "not run on the vector unit")
        super().__init__("split-k", layers, {
            "m": m, "k": k, "n": n, "splits": self.splits, "reduction": reduction,
            "kernels": len(layers), "seed": seed}, notes)

    def seeded(self, seed: int) -> "SplitK":
        other = super().seeded(seed)
        assert isinstance(other, SplitK)
        other.whole = self.whole.seeded(seed)
        return other

    @property
    def kernels(self) -> int:
        """Programs that run one after another."""
        return len(self.layers())

    def _cuts(self, k: int) -> Iterator[tuple[int, int]]:
        """First element of each part of K, and the one after its last."""
        for number in range(self.splits):
            yield number * k // self.splits, (number + 1) * k // self.splits


class _OneSeed(Sequence):
    """Parts of one product, whose operands have one seed."""

    def seeded(self, seed: int) -> "_OneSeed":
        other = copy.copy(self)
        other._jobs = [job.seeded(seed) for job in self._jobs]
        return other


class _Stored(_OneSeed, Batch):
    """The output is all partial results."""


class _Added(_OneSeed):
    """The output is the sum."""


class _Part(RandomGemm):
    """The columns `start` to `end` of a, and these rows of b, of a product."""

    def __init__(self, whole: Gemm, start: int, end: int, **choices: bool):
        m, _, n = whole.shape
        super().__init__(m, end - start, n, **choices)
        self._whole, self._start, self._end = whole, start, end

    def seeded(self, seed: int) -> "_Part":
        other = copy.copy(self)
        other._whole = self._whole.seeded(seed)
        return other

    def operands(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        a, b = self._whole.operands(design)
        return a[:, self._start:self._end], b[self._start:self._end]
