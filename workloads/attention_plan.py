"""How attention is cut into row groups and key blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..rtl import Design
from ..rtl.vector_commands import matrix_pieces, vector_slot_elements
from .errors import WorkloadError

__all__ = ["AttentionPlan", "AttentionShape", "Item", "SCRATCH_AREAS", "Span"]


@dataclass(frozen=True)
class AttentionShape:
    """Sizes of an attention: query rows, keys, head dimension, query heads and KV heads."""
    rows: int
    keys: int
    head_dim: int
    heads: int = 1
    kv_heads: int = 1
    causal: bool = False

    def valid(self, row: int) -> int:
        """Keys that a row attends to: all, or with the end-aligned causal mask those up to it."""
        return self.keys if not self.causal else row + 1 + self.keys - self.rows


@dataclass(frozen=True)
class Span:
    """`size` rows or keys from `start` on."""
    start: int
    size: int


@dataclass(frozen=True)
class Item:
    """What passes the hand-off at a time: the rows of a group against a block of keys.

    `group` counts over all heads. `first` and `last`: of the blocks of its group.
    """
    head: int
    group: int
    rows: Span
    block: Span
    first: bool
    last: bool


@dataclass(frozen=True)
class AttentionPlan:
    """Rows of a group and keys of a block, and what follows from them.

    Groups of `group_rows` query rows of a head are worked on one after another. Without
    `streaming` a group's scores are whole rows, which the vector unit normalises; otherwise the
    keys come in blocks of `block_keys` and the result is normalised at the end, so that buffers
    are bounded by the block. Keys that the causal mask hides from all rows of a group are left
    out.

    Defaults: whole rows where the buffers hold those of min(rows, array rows) rows and no
    probability of a uniform row rounds to 0, otherwise blocks; as many rows in a group as fit,
    but without streaming a quarter of the rows, if those fill the array, so that groups overlap.
    """
    design: Design
    shape: AttentionShape
    group_rows: int
    block_keys: int
    streaming: bool

    @classmethod
    def choose(cls, design: Design, shape: AttentionShape, group_rows: int | None = None,
               block_keys: int | None = None) -> "AttentionPlan":
        """The plan for a design.

        Raises
        ------
        WorkloadError
            A choice that does not fit, or a design on which none does.
        """
        _check_design(design)
        if block_keys is not None and block_keys < shape.keys:
            fits = cls._largest(design, shape, block_keys)
            return cls._checked(design, shape, group_rows or fits, block_keys, fits, True)
        fits = cls._largest(design, shape, shape.keys)
        long = shape.keys > cls.longest_row(design)
        if block_keys is not None or (fits >= min(shape.rows, group_rows or design.rows)
                                      and not long):
            if long:
                raise WorkloadError(
                    f"block_keys must be less than keys = {shape.keys}, for rows of more than "
                    f"{cls.longest_row(design)} keys lose small probabilities")
            quarter = max(design.rows, -(-shape.rows // 4))
            return cls._checked(design, shape, group_rows or min(fits, quarter), shape.keys, fits,
                                False)
        return cls._stream(design, shape, group_rows)

    @classmethod
    def _stream(cls, design: Design, shape: AttentionShape,
                group_rows: int | None) -> "AttentionPlan":
        """Blocks as large as fit beside the rows of a group; whole tiles, if those fit."""
        steps = (max(design.rows, design.cols), min(design.rows, design.cols), 1)
        for step in (min(shape.keys, step) for step in steps):
            fits = cls._largest(design, shape, step)
            if fits >= (group_rows or 1):
                break
        rows = group_rows or fits
        block = step
        while rows and block + step <= shape.keys and cls._largest(
                design, shape, block + step) >= rows:
            block += step
        return cls._checked(design, shape, rows, block, fits, True)

    @classmethod
    def _checked(cls, design: Design, shape: AttentionShape, rows: int, block: int, fits: int,
                 streaming: bool) -> "AttentionPlan":
        if fits < 1:
            raise WorkloadError(
                f"attention over {block} keys at a time with head_dim {shape.head_dim} does not "
                f"fit the design: a row needs accumulator_rows of at least "
                f"{max(-(-block // design.cols), -(-shape.head_dim // design.cols))} and slots of "
                f"{max(-(-block // design.rows), -(-shape.head_dim // design.rows))} rows; give "
                f"{'a smaller block_keys or ' if block > 1 else ''}larger buffers")
        if rows > fits:
            raise WorkloadError(f"rows_per_group must be from 1 to {fits} rows on this design, "
                                f"not {rows}")
        return cls(design, shape, min(rows, shape.rows), block, streaming)

    @classmethod
    def _largest(cls, design: Design, shape: AttentionShape, block: int) -> int:
        """The most rows of a group that the buffers hold, up to all."""
        score_tiles, value_tiles = -(-block // design.cols), -(-shape.head_dim // design.cols)
        port = design.buffer_port_rows
        scratch = design.vector_units * (vector_slot_elements(design)
                                         // (SCRATCH_AREAS * design.handoff_slots))
        # Slices of Q begin at a word of the slot, pieces of probabilities see `value_pitch`.
        queries = design.slot_rows // -(-shape.head_dim // design.rows) // port * port
        pieces = -(-block // design.rows)
        values = design.slot_rows // pieces
        if pieces > 1 and matrix_pieces(design) > 1:
            values = (values - 1) // port * port + 1
        return min(shape.rows, design.accumulator_rows // max(score_tiles, value_tiles),
                   queries, values, scratch)

    def value_pitch(self, item: Item) -> int:
        """Slot rows from a piece of an item's probabilities to the next one."""
        rows, port = item.rows.size, self.design.buffer_port_rows
        if item.block.size <= self.design.rows or matrix_pieces(self.design) == 1:
            return rows
        return -(-(rows - 1) // port) * port + 1

    @staticmethod
    def longest_row(design: Design) -> int:
        """Keys above which a probability of 1 / keys rounds to 0 at the array's edge."""
        return 2 * ((1 << min(design.probability_bits, design.activation_bits)) - 1)

    @cached_property
    def groups_of_head(self) -> list[Span]:
        rows, step = self.shape.rows, self.group_rows
        return [Span(start, min(step, rows - start)) for start in range(0, rows, step)]

    def keys_of(self, rows: Span) -> int:
        """Keys that some row of a group attends to; at least 1."""
        valid = self.shape.valid(rows.start + rows.size - 1)
        return max(1, min(self.shape.keys, valid))

    def items_of_head(self) -> Iterator[tuple[int, Span, Span, bool, bool]]:
        """Of the items of one head: group, rows, block, first, last."""
        for group, rows in enumerate(self.groups_of_head):
            keys = self.keys_of(rows)
            starts = range(0, keys, self.block_keys)
            for start in starts:
                block = Span(start, min(self.block_keys, keys - start))
                yield group, rows, block, start == 0, start == starts[-1]

    def items(self) -> Iterator[Item]:
        """All items in their order: heads, groups of rows, blocks of keys."""
        groups = len(self.groups_of_head)
        for head in range(self.shape.heads):
            for group, rows, block, first, last in self.items_of_head():
                yield Item(head, head * groups + group, rows, block, first, last)


#: Areas of a scratch slot for each hand-off slot, each of one element a row.
SCRATCH_AREAS = 4


def _check_design(design: Design) -> None:
    if design.dataflow != "weight_stationary":
        raise WorkloadError('attention needs dataflow "weight_stationary": an output-stationary '
                            "array takes its operands by columns, which the hand-off does not "
                            "write")
    if design.input_slots < 2:
        raise WorkloadError("attention needs input_slots of at least 2: one for Q, one for the "
                            "probabilities")
