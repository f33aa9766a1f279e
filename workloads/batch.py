"""Products on one machine, all of whose results are the output."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..rtl import Design
from .errors import WorkloadError
from .gemm import Gemm, Sequence, reference
from .program import Output, Program

__all__ = ["Batch"]


@dataclass(frozen=True)
class _Stacked(Output):
    """Result matrices in memory, in the order of their addresses, as one matrix."""
    pieces: tuple[Output, ...] = ()

    @classmethod
    def of(cls, pieces: Iterable[Output]) -> "_Stacked":
        pieces = tuple(pieces)
        first = pieces[0]
        return cls(first.base, sum(piece.rows for piece in pieces), first.cols,
                   first.element_bytes, pieces)

    @property
    def nbytes(self) -> int:
        """Bytes from the first to the last, what lies between them included."""
        last = self.pieces[-1]
        return last.base + last.nbytes - self.base

    def decode(self, data: np.ndarray) -> np.ndarray:
        return np.concatenate([
            piece.decode(data[piece.base - self.base:][:piece.nbytes]) for piece in self.pieces])


class Batch(Sequence):
    """Products one after another on one machine; the output is their results, stacked.

    Parameters
    ----------
    jobs : iterable of Gemm
        One or more, of the same N, each of which stores its result.
    """

    name = "batch"

    def __init__(self, jobs: Iterable[Gemm]):
        super().__init__(jobs)
        for job in self._jobs:
            if not job.store_output or job.accumulate:
                raise WorkloadError("each product of a batch stores a result of its own: "
                                    "store_output must be true and accumulate false")
        widths = {job.shape[2] for job in self._jobs}
        if len(widths) > 1:
            raise WorkloadError(f"the products of a batch must have the same n, not "
                                f"{', '.join(map(str, sorted(widths)))}")

    def program(self, design: Design, contents: bool = True) -> Program:
        program = super().program(design, contents)
        program.outputs = [_Stacked.of(program.outputs)]
        return program

    def reference(self, design: Design) -> tuple[np.ndarray | None, bool]:
        results, overflow = [], False
        for job in self._jobs:
            result, overflows = reference(design, [job])
            results.append(result)
            overflow |= overflows
        return np.concatenate(results), overflow  # type: ignore[arg-type]  # each is stored
