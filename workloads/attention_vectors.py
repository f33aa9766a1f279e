"""Vector commands of attention: softmax of whole rows, and of rows in blocks.

Each scratch slot has an area for each hand-off slot and each stream (:class:`_Area`), with one
element a row of a group. A stream is a group under way, of which there are as many.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..rtl import Design
from ..rtl.checks import ceil_log2
from ..rtl.vector_commands import (
    Operand,
    VectorCommand,
    VectorOp,
    operand_slot,
    output_slot,
    scratch_slot,
    vector_slot_elements,
)
from .attention_plan import SCRATCH_AREAS, AttentionPlan, Item

__all__ = ["AttentionVectors", "ONE", "OUTPUT_UNITS"]

ONE = 30            # fraction bits of an exponential
OUTPUT_UNITS = 256  # units of V in a streamed output


@dataclass(frozen=True)
class AttentionVectors:
    """Builds the vector jobs of an attention.

    Parameters
    ----------
    plan : AttentionPlan
    multiplier, shift : int
        A score times `multiplier` / 2**`shift` is its logit times log2(e), in units of 2**-16.
    masked : bool
        Each item's mask is in the operand slot of its hand-off slot.
    """
    plan: AttentionPlan
    multiplier: int
    shift: int
    masked: bool

    def job(self, item: Item, slot: int) -> list[VectorCommand]:
        """From scores to what goes back to the array."""
        commands = self._masking(item, slot)
        commands += self._online(item, slot) if self.plan.streaming else _finished(
            self._softmax(item, slot), done=1)
        # Nothing of the jobs before touches this slot or its areas.
        commands[0] = commands[0]._replace(wait_a=1, chain=2)
        return _finished(commands)

    def rescale(self, item: Item, slot: int) -> list[VectorCommand]:
        """Streaming, not the first block: the output so far, rescaled, plus this block's."""
        shape, output = self._output(item), output_slot(self._design, self._stream(item))
        # The first block's result has been moved into the output slot.
        second = item.block.start == self.plan.block_keys
        return _finished([
            VectorCommand(VectorOp.MULTIPLY, output, output, **shape,
                          **self._area(slot, 1, CORRECTION).operand, shift=ONE,
                          wait_a=int(second)),
            VectorCommand(VectorOp.ADD, output, output, **shape, b=Operand.VECTOR, b_slot=slot,
                          b_pitch=self.plan.shape.head_dim, wait_b=1, free_b=1, chain=1)])

    def normalise(self, item: Item, store: bool) -> list[VectorCommand]:
        """Streaming, after the last block: the output over the sum of its weights.

        Its slot is freed by the store or, if there is none, here.
        """
        stream = self._stream(item)
        output = output_slot(self._design, stream)
        return _finished([
            VectorCommand(VectorOp.DIVIDE, output, output, **self._output(item),
                          **self._area(stream, 0, SUM).operand, immediate=OUTPUT_UNITS,
                          wait_a=int(item.first), free_a=int(not store))], done=int(store))

    # -- parts ---------------------------------------------------------------------------------

    @property
    def _design(self) -> Design:
        return self.plan.design

    def _area(self, owner: int, scratch: int, number: int) -> "_Area":
        """Area `number` of a hand-off slot or stream in a scratch slot."""
        areas = SCRATCH_AREAS * self._design.handoff_slots
        size = vector_slot_elements(self._design) // areas
        return _Area(scratch_slot(self._design, scratch),
                     (owner * SCRATCH_AREAS + number) * size)

    def _stream(self, item: Item) -> int:
        """Which of the groups under way an item belongs to."""
        return item.group % self._design.handoff_slots

    def _scores(self, item: Item, slot: int) -> dict[str, Any]:
        """All scores of an item, in place."""
        length = item.block.size
        return {"a_slot": slot, "d_slot": slot, "rows": item.rows.size, "length": length,
                "a_pitch": length, "d_pitch": length, "valid": length}

    def _visible(self, item: Item) -> dict[str, Any]:
        """How many keys of the block each row attends to."""
        shape = self.plan.shape
        return {"valid": shape.valid(item.rows.start) - item.block.start,
                "valid_step": int(shape.causal)}

    def _output(self, item: Item) -> dict[str, Any]:
        length = self.plan.shape.head_dim
        return {"rows": item.rows.size, "length": length, "a_pitch": length, "d_pitch": length,
                "valid": length}

    def _masking(self, item: Item, slot: int) -> list[VectorCommand]:
        if not self.masked:
            return []
        return [VectorCommand(
            VectorOp.MASK, **self._scores(item, slot), b=Operand.VECTOR,
            b_slot=operand_slot(self._design, slot), b_pitch=item.block.size, wait_b=1,
            free_b=1)]

    def _reduce(self, op: VectorOp, item: Item, slot: int, area: "_Area", **fields: Any
                ) -> VectorCommand:
        """A reduction of each row."""
        scores = {**self._scores(item, slot), "d_slot": area.slot, "d_address": area.address,
                  "d_pitch": 0, **fields}
        return VectorCommand(op, **scores, chain=1)

    def _exponentials(self, item: Item, slot: int, maximum: "_Area",
                      chain: int) -> list[VectorCommand]:
        """exp(score - maximum), in place; what a row does not see becomes 0."""
        scores = self._scores(item, slot)
        return [
            VectorCommand(VectorOp.SUBTRACT, **{**scores, **self._visible(item)},
                          **maximum.operand, chain=chain),
            VectorCommand(VectorOp.MULTIPLY, **scores, immediate=self.multiplier,
                          shift=self.shift, chain=1),
            VectorCommand(VectorOp.EXPONENTIAL, **scores, chain=1)]

    def _softmax(self, item: Item, slot: int) -> list[VectorCommand]:
        """Whole rows: 3 n - 1 ordinary operations, n - 1 comparisons, n exponentials and n
        divisions a row (chapter 4.4.3)."""
        shift = ceil_log2(self.plan.shape.keys)
        maximum, total = self._area(slot, 1, MAXIMUM), self._area(slot, 1, CORRECTION)
        return [
            self._reduce(VectorOp.ROW_MAXIMUM, item, slot, maximum, **self._visible(item)),
            *self._exponentials(item, slot, maximum, chain=1),
            self._reduce(VectorOp.ROW_SUM, item, slot, total, shift=shift),
            VectorCommand(VectorOp.DIVIDE, **self._scores(item, slot), **total.operand,
                          immediate=(1 << self._design.probability_bits) - 1, shift=shift,
                          chain=1)]

    def _online(self, item: Item, slot: int) -> list[VectorCommand]:
        """A block: running maximum and sum, and the correction of what came before.

        The running maximum changes its scratch slot with every block.
        """
        stream, number = self._stream(item), item.block.start // self.plan.block_keys
        new, old = (self._area(stream, side, RUNNING) for side in (number % 2, 1 - number % 2))
        total = self._area(stream, 0, SUM)
        bits = min(self._design.probability_bits, self._design.activation_bits)
        if item.first:
            commands = [self._reduce(VectorOp.ROW_MAXIMUM, item, slot, new,
                                     **self._visible(item))]
        else:
            maximum = self._area(slot, number % 2, MAXIMUM)
            commands = [self._reduce(VectorOp.ROW_MAXIMUM, item, slot, maximum,
                                     **self._visible(item)),
                        *self._corrections(item, old, maximum, new,
                                           self._area(slot, 1, CORRECTION))]
        block_total = total if item.first else self._area(slot, 1, MAXIMUM)
        commands += [
            *self._exponentials(item, slot, new, chain=int(item.first)),
            VectorCommand(VectorOp.MULTIPLY, **self._scores(item, slot),
                          immediate=(1 << bits) - 1, shift=ONE, chain=1),
            self._reduce(VectorOp.ROW_SUM, item, slot, block_total)._replace(done=1)]
        if not item.first:
            correction = self._area(slot, 1, CORRECTION)
            commands += [
                _flat(VectorOp.MULTIPLY, item, total, total, correction, shift=ONE),
                _flat(VectorOp.ADD, item, total, total, block_total)]
        return commands

    def _corrections(self, item: Item, old: "_Area", maximum: "_Area", new: "_Area",
                     correction: "_Area") -> list[VectorCommand]:
        """The new running maximum, and exp(old - new)."""
        return [
            _flat(VectorOp.MAXIMUM, item, old, new, maximum),
            _flat(VectorOp.SUBTRACT, item, old, correction, new),
            _flat(VectorOp.MULTIPLY, item, correction, correction, immediate=self.multiplier,
                  shift=self.shift),
            _flat(VectorOp.EXPONENTIAL, item, correction, correction)]


# Areas: of a hand-off slot in either scratch slot, and of a stream.
MAXIMUM, CORRECTION, RUNNING, SUM = range(4)


class _Area(NamedTuple):
    """Where one value of each row of a group lies."""
    slot: int
    address: int

    @property
    def operand(self) -> dict[str, Any]:
        """The values as the y of a command, one a row."""
        return {"b": Operand.ROW, "b_slot": self.slot, "b_address": self.address}


def _flat(op: VectorOp, item: Item, a: _Area, d: _Area, b: _Area | None = None,
          **fields: Any) -> VectorCommand:
    """One operation on a value of each row, element by element."""
    other: dict[str, Any] = {} if b is None else {
        "b": Operand.VECTOR, "b_slot": b.slot, "b_address": b.address}
    return VectorCommand(op, a.slot, d.slot, 1, item.rows.size, a_address=a.address,
                         d_address=d.address, valid=item.rows.size, flat=1, **other, **fields)


def _finished(commands: list[VectorCommand], done: int = 0) -> list[VectorCommand]:
    """The commands as one job; `done`: its end makes a result ready."""
    commands[-1] = commands[-1]._replace(last=1, done=commands[-1].done | done)
    return commands
