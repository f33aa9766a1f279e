"""Mixture of experts: few rows for each of many experts, padded to the tiles of a matrix unit."""

from fractions import Fraction
from typing import Any

from .batch import Batch
from .checks import LARGEST_SIZE, check_integer
from .errors import WorkloadError
from .gemm import RandomGemm

__all__ = ["MoE"]


class MoE(Batch):
    """One linear layer of the chosen experts of a token batch, expert by expert on one machine.

    Each of `tokens` tokens goes to `top_k` experts: tokens * top_k rows, spread over `experts`
    experts as evenly as whole rows allow, the earlier ones taking the rest. An expert without
    rows is skipped. All experts have the same shape, so that their weight descriptors differ in
    the base address only.

    A matrix unit takes whole tiles of `tile_rows` rows: the rows of each expert are filled up to
    a multiple of it (see :class:`Tiling`). An array streams any number of rows, and with
    tile_rows = 1 none are added; but a weight-stationary one still needs `rows` cycles to shift
    a tile of weights in, so that up to `rows` rows of an expert take the time of `rows`.

    Parameters
    ----------
    tokens, top_k, experts : int
        Rows before routing, experts of each, experts that share the rows.
    k, n : int
        Width of a row, and columns of each expert's weights.
    tile_rows : int
        Rows of a tile of the matrix unit.
    seed : int
        Of the random operands.
    """

    name = "moe"

    def __init__(self, tokens: int = 64, top_k: int = 8, experts: int = 256, k: int = 8,
                 n: int = 8, tile_rows: int = 16, seed: int = 0):
        self.tokens = check_integer("tokens", tokens, 1)
        self.top_k = check_integer("top_k", top_k, 1)
        self.experts = check_integer("experts", experts, 1)
        self.tile_rows = check_integer("tile_rows", tile_rows, 1)
        check_integer("seed", seed, 0, LARGEST_SIZE - self.experts)
        if self.top_k > self.experts:
            raise WorkloadError(f"top_k must be at most experts = {self.experts}, not "
                                f"{self.top_k}: a token goes to different experts")
        self.k, self.n, self.seed = k, n, seed
        super().__init__(RandomGemm(rows, k, n, seed + expert, tile_rows=self.tile_rows)
                         for expert, rows in enumerate(self.rows) if rows)

    @property
    def rows(self) -> list[int]:
        """Rows of each expert."""
        each, more = divmod(self.useful_rows, self.experts)
        return [each + (expert < more) for expert in range(self.experts)]

    @property
    def useful_rows(self) -> int:
        return self.tokens * self.top_k

    @property
    def executed_rows(self) -> int:
        """Rows with those that fill tiles up."""
        return sum(-(-rows // self.tile_rows) * self.tile_rows for rows in self.rows)

    @property
    def padding_factor(self) -> Fraction:
        """Executed over useful rows."""
        return Fraction(self.executed_rows, self.useful_rows)

    def seeded(self, seed: int) -> "MoE":
        return MoE(self.tokens, self.top_k, self.experts, self.k, self.n, self.tile_rows, seed)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "tokens": self.tokens, "top_k": self.top_k,
                "experts": self.experts, "k": self.k, "n": self.n, "tile_rows": self.tile_rows,
                "useful_rows": self.useful_rows, "executed_rows": self.executed_rows,
                "padding_factor": float(self.padding_factor), "seed": self.seed}
