"""How a matrix product is cut into tiles, in which order, and where operands stay."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..rtl import Design
from ..rtl.formats import OUTPUT_STATIONARY_TERMS
from .errors import WorkloadError

__all__ = ["ORDERS", "Slice", "Tile", "Tiling", "cut"]

#: Loop orders of the output tiles, outer loop first; K is always the innermost.
ORDERS = ("mn", "nm")


class Tile(NamedTuple):
    """Part of one dimension: first element and count."""
    start: int
    size: int


class Slice(NamedTuple):
    """Rows of the operand in memory that one job streams, and the index of their column tile."""
    rows: Tile
    column: int


def cut(total: int, step: int) -> list[Tile]:
    """Parts of a dimension, the last of which may be smaller."""
    return [Tile(start, min(step, total - start)) for start in range(0, total, step)]


@dataclass(frozen=True)
class Tiling:
    """The tiles of a product [M, K] x [K, N] on a design, and the rule that chose them.

    * M is cut into blocks of `m_tile` rows, by default as many as a bank holds
      (`accumulator_rows`). A block's sums stay in one bank while all of K is added.
    * K and N are cut into tiles of `rows` and `cols`, the array's size; the last may be smaller.
    * A slice is the part [`slice_rows`, rows] of A that one job streams; a block taller than a
      slot is cut into several, which use the same weight tile one after another.
    * Output stationary: a block of M is no taller than the array, and a slice is a tile of K
      (no longer than a slot has rows) of the block, transposed: one row of it for each element
      of K.
    * `tile_rows`, 1 unless chosen, is the row count of a matrix unit that takes only whole tiles
      of M: the last block is filled up to a multiple of it with rows that are executed, but
      neither loaded nor stored nor useful. `m_tile` is then a multiple of it. Output stationary,
      the array itself does so with its `rows`.
    * `slices_per_slot` slices share a slot: as many as fit, but no more than spread all of A's
      slices evenly over the slots. A slice starts at a multiple of `buffer_port_rows`.
    * Output tiles follow `order`: "mn" (all N of a block of M, then the next block) or "nm".
    * A stays in the slots, and is read once, if all of it fits; with "mn" a block of A stays for
      all its N if the block fits. Otherwise A is read again for every output tile. Weights are
      read once for every block of M, so each operand is read once if A fits into the slots and
      M into a bank.
    """
    m: int
    k: int
    n: int
    rows: int
    cols: int
    m_tile: int
    k_tile: int
    slice_rows: int
    slices_per_slot: int
    slots: int
    order: str
    output_stationary: bool
    tile_rows: int = 1

    @classmethod
    def choose(cls, design: Design, m: int, k: int, n: int, *, m_tile: int | None = None,
               order: str = "mn", slices_per_slot: int | None = None,
               tile_rows: int | None = None) -> "Tiling":
        """The tiling by the rule above, or with the caller's choices.

        Raises
        ------
        WorkloadError
            A choice out of its range; the message names it and the range.
        """
        if order not in ORDERS:
            raise WorkloadError(f"order must be one of {', '.join(ORDERS)}, not {order!r}")
        output_stationary = design.dataflow == "output_stationary"
        tile_rows = _choice("tile_rows", tile_rows, 1, design.accumulator_rows)
        limit = min(m + -m % tile_rows, design.accumulator_rows // tile_rows * tile_rows)
        k_tile = design.rows
        if output_stationary:
            if tile_rows not in (1, design.rows):
                raise WorkloadError(f"tile_rows must be 1 or {design.rows}, the rows of the array, "
                                    f"with dataflow output_stationary, not {tile_rows}")
            limit, tile_rows = min(m, design.accumulator_rows, design.rows), 1
            k_tile = min(k_tile, design.slot_rows)
            if k > OUTPUT_STATIONARY_TERMS:
                raise WorkloadError(f"k must be from 1 to {OUTPUT_STATIONARY_TERMS} with "
                                    f"dataflow output_stationary, not {k}")
        m_tile = _choice("m_tile", m_tile, limit, limit)
        if m_tile % tile_rows:
            raise WorkloadError(f"m_tile must be a multiple of tile_rows = {tile_rows}, not "
                                f"{m_tile}")
        slice_rows = min(k, k_tile) if output_stationary else min(m_tile, m, design.slot_rows)
        port = design.buffer_port_rows
        capacity = design.slot_rows // (-(-slice_rows // port) * port)
        parts = [1 if output_stationary else -(-block.size // slice_rows)
                 for block in cut(m, m_tile)]
        slices = -(-k // k_tile) * sum(parts)
        even = min(capacity, -(-slices // design.input_slots))
        slices_per_slot = _choice("slices_per_slot", slices_per_slot, even, capacity)
        return cls(m, k, n, design.rows, design.cols, m_tile, k_tile, slice_rows,
                   slices_per_slot, design.input_slots, order, output_stationary, tile_rows)

    @cached_property
    def m_blocks(self) -> list[Tile]:
        return cut(self.m, self.m_tile)

    @cached_property
    def k_tiles(self) -> list[Tile]:
        return cut(self.k, self.k_tile)

    @cached_property
    def n_tiles(self) -> list[Tile]:
        return cut(self.n, self.cols)

    @cached_property
    def update_tiles(self) -> list[Tile]:
        """Parts of K after each of which the accumulators are updated."""
        return [Tile(0, self.k)] if self.output_stationary else self.k_tiles

    @cached_property
    def operand_columns(self) -> list[Tile]:
        """Tiles across the rows of the operand in memory: of K, or of M for A transposed."""
        return self.m_blocks if self.output_stationary else self.k_tiles

    @property
    def executed_rows(self) -> int:
        """Rows of M that the array executes, those that only fill tiles up included."""
        if self.output_stationary:
            return len(self.m_blocks) * self.rows
        return self.m + -self.m % self.tile_rows

    def padding(self, block_index: int) -> int:
        """Rows executed after those of a block to fill up its last tile of M."""
        last = block_index == len(self.m_blocks) - 1
        return -self.m % self.tile_rows if last else 0

    def slices(self, block_index: int, k_index: int) -> list["Slice"]:
        """What the jobs of a block and a tile of K stream."""
        block, inner = self.m_blocks[block_index], self.k_tiles[k_index]
        if self.output_stationary:
            return [Slice(inner, block_index)]
        return [Slice(Tile(block.start + part.start, part.size), k_index)
                for part in cut(block.size, self.slice_rows)]

    def output_tiles(self) -> Iterator[tuple[int, int]]:
        """Indices of M block and N tile of every output tile, in program order."""
        blocks, tiles = range(len(self.m_blocks)), range(len(self.n_tiles))
        if self.order == "mn":
            yield from ((i, j) for i in blocks for j in tiles)
        else:
            yield from ((i, j) for j in tiles for i in blocks)

    def _fits(self, slices: int) -> bool:
        return slices <= self.slots * self.slices_per_slot

    @cached_property
    def slice_count(self) -> int:
        """Slices of all of A."""
        return len(self.k_tiles) * sum(len(self.slices(index, 0))
                                       for index in range(len(self.m_blocks)))

    @cached_property
    def a_stays(self) -> str:
        """What of A stays in the slots: "all", "block" (one block of M for all N) or "none"."""
        if self._fits(self.slice_count):
            return "all"
        if self.order == "mn" and self._fits(len(self.k_tiles) * len(self.slices(0, 0))):
            return "block"
        return "none"

    @property
    def a_reads(self) -> int:
        """How often every element of A is read from memory."""
        return len(self.n_tiles) if self.a_stays == "none" else 1

    @property
    def b_reads(self) -> int:
        """How often every element of B is read from memory."""
        return len(self.m_blocks)


def _choice(name: str, value: int | None, default: int, limit: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= limit:
        raise WorkloadError(f"{name} must be an integer from 1 to {limit}, not {value!r}")
    return value
