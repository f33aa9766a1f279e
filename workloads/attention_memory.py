"""Where the operands and the result of an attention lie in memory."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..rtl import Design
from ..rtl.commands import Destination, Load
from ..rtl.formats import IntegerFormat
from .attention_plan import AttentionPlan, Item
from .gemm_builder import row_bytes
from .program import Output, Program

__all__ = ["AttentionMemory"]

STREAMED_BYTES = 4  # of an element of a streamed output: 24 bits and a sign


class _Piece(NamedTuple):
    """Some columns of a matrix in memory: address in row 0, elements."""
    base: int
    elements: int


@dataclass(frozen=True)
class _Matrix:
    """A matrix whose columns come in parts, each cut into pieces of whole bytes a row."""
    parts: list[list[_Piece]]
    stride: int
    bits: int

    def load(self, destination: Destination, piece: _Piece, first: int, rows: int,
             elements: int) -> Load:
        """Load a piece's first elements in some rows."""
        return Load(destination, piece.base + first * self.stride, rows,
                    row_bytes(elements, self.bits), self.stride)


class AttentionMemory:
    """Puts Q, K transposed (each head, each block by itself), V, the mask and the result there.

    K lies transposed, as the array takes it: head_dim rows of keys.

    Parameters
    ----------
    program : Program
    plan : AttentionPlan
    operands : q, k, v, integers, or None
        Without them memory is reserved only.
    mask : bool array [rows, keys] or None
    masked, store : bool
        A mask, a result in memory.
    """

    def __init__(self, program: Program, plan: AttentionPlan,
                 operands: tuple[np.ndarray, ...] | None, mask: np.ndarray | None, *,
                 masked: bool, store: bool):
        self._program, self._plan = program, plan
        self._design: Design = plan.design
        shape, design, format = plan.shape, plan.design, IntegerFormat.of(plan.design)
        self._format = format
        q, k, v = operands or (None, None, None)
        head = shape.head_dim
        self.queries = self._place(q, shape.rows, shape.heads * [head], design.rows,
                                   format.activation_bits)
        blocks = [min(plan.block_keys, shape.keys - start)
                  for start in range(0, shape.keys, plan.block_keys)]
        across = None if k is None else np.concatenate(np.split(k, shape.kv_heads, axis=1)).T
        self.keys = self._place(across, head, shape.kv_heads * blocks, design.cols,
                                format.weight_bits)
        self.values = self._place(v, shape.keys, shape.kv_heads * [head], design.cols,
                                  format.weight_bits)
        if masked:
            self.mask = (program.place(shape.rows * shape.keys) if mask is None
                         else program.place_image(mask.astype(np.uint8)))
        self.element = STREAMED_BYTES if plan.streaming else design.result_element_bytes
        self.base = 0
        if store:
            columns = shape.heads * head
            self.base = program.place(shape.rows * columns * self.element)
            program.outputs.append(Output(self.base, shape.rows, columns, self.element))

    def _place(self, matrix: np.ndarray | None, rows: int, parts: list[int], width: int,
               bits: int) -> _Matrix:
        """Place a matrix, each part of its columns cut into pieces of `width` columns."""
        sizes = [[min(width, part - start) for start in range(0, part, width)] for part in parts]
        stride = sum(row_bytes(size, bits) for part in sizes for size in part)
        if matrix is None:
            base = self._program.place(rows * stride)
        else:
            column, packed = 0, []
            for size in (size for part in sizes for size in part):
                packed.append(self._format.pack_rows(matrix[:, column:column + size], bits))
                column += size
            base = self._program.place_image(np.concatenate(packed, axis=1))
        pieces: list[list[_Piece]] = []
        for part in sizes:
            pieces.append([])
            for size in part:
                pieces[-1].append(_Piece(base, size))
                base += row_bytes(size, bits)
        return _Matrix(pieces, stride, bits)

    # -- of an item ----------------------------------------------------------------------------

    def _kv_head(self, item: Item) -> int:
        shape = self._plan.shape
        return item.head * shape.kv_heads // shape.heads

    def query_loads(self, item: Item) -> list[Load]:
        """The slices of the group's Q, for operand slots."""
        return [self.queries.load(Destination.OPERAND, piece, item.rows.start, item.rows.size,
                                  piece.elements) for piece in self.queries.parts[item.head]]

    def inner_sizes(self) -> list[int]:
        """Elements of each slice of Q."""
        return [piece.elements for piece in self.queries.parts[0]]

    def key_tiles(self, item: Item) -> list[list[Load]]:
        """Weight tiles of the block's K: for each tile of keys those along head_dim."""
        shape, width = self._plan.shape, self._design.rows
        blocks = len(self.keys.parts) // shape.kv_heads
        pieces = self.keys.parts[self._kv_head(item) * blocks
                                 + item.block.start // self._plan.block_keys]
        left, tiles = item.block.size, []
        for piece in pieces:
            if left > 0:
                elements = min(piece.elements, left)
                tiles.append([
                    self.keys.load(Destination.WEIGHT, piece, start,
                                   min(width, shape.head_dim - start), elements)
                    for start in range(0, shape.head_dim, width)])
            left -= piece.elements
        return tiles

    def key_sizes(self, item: Item) -> list[int]:
        """Keys of each tile of the block."""
        return _sizes(item.block.size, self._design.cols)

    def value_tiles(self, item: Item) -> list[list[Load]]:
        """Weight tiles of the block's V: for each tile along head_dim those of keys."""
        block, width = item.block, self._design.rows
        return [[self.values.load(Destination.WEIGHT, piece, block.start + start,
                                  min(width, block.size - start), piece.elements)
                 for start in range(0, block.size, width)]
                for piece in self.values.parts[self._kv_head(item)]]

    def mask_loads(self, item: Item, slot: int) -> list[Load]:
        """The item's part of the mask, for vector slot `slot`."""
        keys, width = self._plan.shape.keys, self._design.cols
        loads = [Load(Destination.VECTOR,
                      self.mask + item.rows.start * keys + item.block.start + start,
                      item.rows.size, min(width, item.block.size - start), keys, slot=slot,
                      word=start, pitch=item.block.size, element_bytes=1)
                 for start in range(0, item.block.size, width)]
        loads[0] = loads[0]._replace(take=1)
        loads[-1] = loads[-1]._replace(last=1)
        return loads

    def result_places(self, item: Item) -> list[tuple[int, int, int]]:
        """Of each tile of the group's result: first column, columns, address."""
        shape, width = self._plan.shape, self._design.cols
        stride = shape.heads * shape.head_dim * self.element
        base = (self.base + item.rows.start * stride
                + item.head * shape.head_dim * self.element)
        return [(start, min(width, shape.head_dim - start), base + start * self.element)
                for start in range(0, shape.head_dim, width)]

    @property
    def result_stride(self) -> int:
        return self._plan.shape.heads * self._plan.shape.head_dim * self.element


def _sizes(total: int, width: int) -> list[int]:
    return [min(width, total - start) for start in range(0, total, width)]
