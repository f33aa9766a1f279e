"""The sum of stored partial results: data that moves, without a product."""

from typing import Any

from .checks import check_integer
from .gemm import Gemm

__all__ = ["Reduction"]


class Reduction:
    """Adds `terms` matrices [m, n] in memory, element by element, and stores the sum.

    Not run on the vector unit: a formula at every level, of its traffic and the time that the
    traffic takes.

    Parameters
    ----------
    terms : int
        Matrices, 2 or more; each element in accumulator_bits, in whole bytes, as it was stored.
    m, n : int
        Rows and columns.
    """

    name = "reduction"
    useful_macs = 0

    def __init__(self, terms: int, m: int, n: int):
        self.terms = check_integer("terms", terms, 2)
        self.m, self.n = check_integer("m", m, 1), check_integer("n", n, 1)

    def parts(self) -> list[Gemm]:
        """No products."""
        return []

    def seeded(self, seed: int) -> "Reduction":
        """Nothing is random."""
        return self

    def describe(self) -> dict[str, Any]:
        """What was run, for reports: JSON-able."""
        return {"name": self.name, "terms": self.terms, "m": self.m, "n": self.n}
