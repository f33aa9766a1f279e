"""Schedules by events: the cycle level's own scheduler, with timing ideal."""

from typing import NamedTuple

from ....rtl import Design
from ....rtl.accumulator import HANDOFF, NOBODY
from ....rtl.commands import ArrayJob, Destination, Load
from ....rtl.vector_commands import Direction, Handoff, VectorCommand, VectorOp
from ....workloads.pipeline import Start, Step, order
from ....workloads.program import Program
from ...cycle import Durations, Schedule, schedule
from ...errors import OptionError
from ..model import Results, model
from ..parameters import choice, integer
from .common import ceil_div, longest
from .vector import softmax_ticks

__all__ = ["handoff", "input_slots"]

# The hand-off study's machine. Q is in operand slot 0, probabilities go to the others; a group
# has at most one bank and one operand slot, so neither binds.
BANKS = 64
SLOTS = 64
MOST_GROUPS = 10_000
SCORES, TO_SOFTMAX, SOFTMAX, TO_VALUES, VALUES = range(5)


@model("input_slots", "4.4.2", "Input slots: when each block is loaded and computed", [
    integer("blocks", 4, "blocks", "blocks to load and compute", high=10_000),
    integer("transfer", 64, "tick", "channel time of a block", high=1 << 16),
    integer("wait", 128, "tick", "latency after the transfer", low=0, high=(1 << 16) - 1),
    integer("compute", 128, "tick", "matrix time of a block", high=1 << 20),
    integer("slots", 2, "slots", "input slots", high=64),
    integer("block", 1, "block", "a block, counted from 1; at most `blocks`", high=10_000),
], {
    "cycles": ("tick", "end of the last block"),
    "saved_ticks": ("tick", "less than with one slot fewer; none with 1"),
    "issue_tick": ("tick", "start of the block's transfer"),
    "ready_tick": ("tick", "all of the block has arrived"),
    "start_tick": ("tick", "start of the block's computing"),
    "end_tick": ("tick", "its end, which frees the slot"),
    "gap_ticks": ("tick", "matrix unit idle right before the block"),
})
def input_slots(blocks: int, transfer: int, wait: int, compute: int, slots: int, block: int
                ) -> Results:
    """A block is issued when the channel and a slot are free, computed when it has arrived.

    Refused: a block beyond `blocks`. The times are those of the cycle level: a machine of one
    cell and one byte per cycle runs the blocks as a program of one load and one job each.
    Source: chapter 4.4.2.
    """
    if block > blocks:
        raise OptionError(f"input_slots: block must be from 1 to blocks = {blocks}, not {block}")
    plan = _plan(blocks, transfer, wait, compute, slots)
    place = block - 1
    saved = None
    if slots > 1:
        saved = _plan(blocks, transfer, wait, compute, slots - 1).job_end[-1] - plan.job_end[-1]
    return {"cycles": plan.job_end[-1], "saved_ticks": saved,
            "issue_tick": plan.load_start[place], "ready_tick": plan.job_slot[place],
            "start_tick": plan.job_start[place], "end_tick": plan.job_end[place],
            "gap_ticks": plan.job_start[place] - (plan.job_end[place - 1] if place else 0)}


def _plan(blocks: int, transfer: int, wait: int, compute: int, slots: int) -> Schedule:
    """The cycle level's schedule of blocks on a machine with these times."""
    design = Design(rows=1, cols=1, input_slots=slots, slot_bytes=transfer,
                    memory_bytes_per_cycle=1, memory_transaction_bytes=1,
                    memory_latency_cycles=wait, memory_outstanding=1 << 16)
    program = Program()
    for block in range(blocks):
        slot = block % slots
        program.loads.append(Load(Destination.OPERAND, base=0, rows=transfer, bytes_per_row=1,
                                  row_stride=1, slot=slot, take=1, last=1))
        program.jobs.append(ArrayJob(rows=compute, slot=slot, row=0, bank=0, acc_row=0, inner=1,
                                     outer=1, new_weights=0, last_use=0, free_slot=1))
    return schedule(program, Durations.ideal(design))


@model("handoff", "4.4.3", "Row groups between matrix and vector unit: the schedule", [
    integer("rows", 128, "rows", "query rows", high=1 << 16),
    integer("keys", 128, "keys", "keys", high=1 << 20),
    integer("head_dim", 128, "elements", "head dimension", high=1 << 20),
    integer("rows_per_group", 32, "rows", "rows of a group; the last one may have fewer",
            high=1 << 16),
    integer("slots", 2, "slots", "hand-off slots", high=64),
    choice("path", ("direct", "staged"), "direct path, or write to a memory and read back"),
    integer("flops_per_cycle", 8192, "FLOP/cycle", "matrix rate", high=1 << 40),
    integer("interface_bytes_per_cycle", 128, "byte/tick", "interface, both directions together",
            high=1 << 20),
    integer("alu_per_cycle", 128, "op/cycle", "ordinary vector operations per tick",
            high=1 << 20),
    integer("sfu_per_cycle", 16, "op/cycle", "exponentials or divisions per tick", high=1 << 20),
    integer("score_bytes", 4, "byte", "bytes of a score", high=16),
    integer("probability_bytes", 2, "byte", "bytes of a probability", high=16),
], {
    "cycles": ("tick", "end of the last group"),
    "vector_start": ("tick", "start of the first softmax"),
    "vector_end": ("tick", "end of the last softmax"),
    "vector_idle_ticks": ("tick", "vector unit idle between these"),
    "groups": ("groups", "row groups"),
    "group_cycles": ("tick", "the five jobs of a full group, one after another"),
    "qk_ticks": ("tick", "queries times keys, of a full group"),
    "scores_ticks": ("tick", "its scores over the interface"),
    "softmax_ticks": ("tick", "its softmax"),
    "probabilities_ticks": ("tick", "its probabilities over the interface"),
    "pv_ticks": ("tick", "probabilities times values"),
    "slot_saving": ("ratio", "part of the time with one slot that these slots save"),
    "direct_saving": ("ratio", "part of the staged time that the direct path saves"),
    "limited_by": ("text", "what sets the interval of groups: vector, matrix, interface or slots"),
})
def handoff(rows: int, keys: int, head_dim: int, rows_per_group: int, slots: int, path: str,
            flops_per_cycle: int, interface_bytes_per_cycle: int, alu_per_cycle: int,
            sfu_per_cycle: int, score_bytes: int, probability_bytes: int) -> Results:
    """QK, scores, softmax, probabilities, PV of each group, oldest group first on every unit.

    A slot is taken at the start of a group's QK and freed at the end of its PV. Every duration,
    and each of the four terms of a softmax, is rounded up on its own; `staged` takes each
    transfer twice. Refused: more than 10,000 groups. The times are those of the cycle level: a
    machine of one cell, one lane and one byte per cycle runs a group as one command a job, in the
    order that programs of attention have. Source: chapter 4.4.3.
    """
    least = ceil_div(rows, MOST_GROUPS)
    if rows_per_group < least:
        raise OptionError(f"handoff: rows_per_group must be at least {least} rows, for no more "
                          f"than {MOST_GROUPS} groups, not {rows_per_group}")

    def jobs(group: int) -> _Group:
        return _Group(ceil_div(2 * group * keys * head_dim, flops_per_cycle),
                      ceil_div(group * keys * score_bytes, interface_bytes_per_cycle),
                      sum(softmax_ticks(group, keys, alu_per_cycle, sfu_per_cycle).values()),
                      ceil_div(group * keys * probability_bytes, interface_bytes_per_cycle))

    full, rest = divmod(rows, rows_per_group)
    groups = [jobs(rows_per_group)] * full + [jobs(rest)] * (rest > 0)
    plan = _handoff_plan(groups, slots, path)
    cycles, first = plan.job_end[-1], groups[0].ticks(path)
    one_slot = cycles if slots == 1 else _handoff_plan(groups, 1, path).job_end[-1]
    other = _handoff_plan(groups, slots, "staged" if path == "direct" else "direct").job_end[-1]
    direct, staged = (cycles, other) if path == "direct" else (other, cycles)
    start, end = plan.vector_start[0], plan.vector_end[-1]
    idle = end - start - sum(group.softmax for group in groups)
    return {"cycles": cycles, "vector_start": start, "vector_end": end, "vector_idle_ticks": idle,
            "groups": len(groups), "group_cycles": sum(first), "qk_ticks": first[SCORES],
            "scores_ticks": first[TO_SOFTMAX], "softmax_ticks": first[SOFTMAX],
            "probabilities_ticks": first[TO_VALUES], "pv_ticks": first[VALUES],
            "slot_saving": 1 - cycles / one_slot, "direct_saving": 1 - direct / staged,
            "limited_by": longest({
                "vector": first[SOFTMAX], "matrix": first[SCORES] + first[VALUES],
                "interface": first[TO_SOFTMAX] + first[TO_VALUES], "slots": sum(first) / slots})}


class _Group(NamedTuple):
    """Ticks of a group's matrix jobs, of its softmax, and of its transfers over one path."""
    matrix: int
    scores: int
    softmax: int
    probabilities: int

    def ticks(self, path: str) -> list[int]:
        """Ticks of the five jobs."""
        passes = 2 if path == "staged" else 1
        return [self.matrix, passes * self.scores, self.softmax, passes * self.probabilities,
                self.matrix]


def _handoff_plan(groups: list[_Group], slots: int, path: str) -> Schedule:
    """The cycle level's schedule of groups on a machine with these times."""
    design = Design(rows=1, cols=1, input_slots=SLOTS, slot_bytes=1, accumulator_banks=BANKS,
                    lanes=1, sfu_lanes=1, handoff=path, handoff_slots=slots,
                    handoff_bytes_per_cycle=1)
    program = Program(preload=[Load(Destination.OPERAND, base=0, rows=1, bytes_per_row=1,
                                    row_stride=1, slot=0, take=1, last=1)])
    items = [[Step("matrix", qk, "bank", TO_SOFTMAX), Step("interface", scores),
              Step("vector", softmax), Step("interface", probabilities, "operands", VALUES),
              Step("matrix", pv, "bank", VALUES)]
             for qk, scores, softmax, probabilities, pv in (group.ticks(path) for group in groups)]
    places = [[0] * len(item) for item in items]
    for start in order(items, {"bank": BANKS, "operands": SLOTS - 1}, slots):
        places[start.item][start.step] = start.place
        _emit(program, start, groups[start.item], places[start.item], start.item % slots)
    return schedule(program, Durations.ideal(design))


def _emit(program: Program, start: Start, group: _Group, places: list[int], slot: int) -> None:
    """Append the one command of a job; `places`: banks and operand slots of the group's steps."""
    step, operands = start.step, 1 + places[TO_VALUES]
    if step == SCORES:
        program.jobs.append(ArrayJob(
            rows=group.matrix, slot=0, row=0, bank=start.place, acc_row=0, inner=1, outer=1,
            new_weights=0, last_use=0, take_bank=1, finish_bank=1, store=HANDOFF,
            group=slot, take_group=1))
    elif step == TO_SOFTMAX:
        program.handoffs.append(Handoff(Direction.TO_VECTOR, slot, places[SCORES], rows=1,
                                        length=group.scores))
    elif step == SOFTMAX:
        program.vectors.append(VectorCommand(VectorOp.ADD, slot, slot, rows=1,
                                             length=group.softmax, wait_a=1, done=1, last=1))
    elif step == TO_VALUES:
        program.handoffs.append(Handoff(Direction.TO_MATRIX, slot, operands, rows=1,
                                        length=group.probabilities, take=1))
    else:
        program.jobs.append(ArrayJob(
            rows=group.matrix, slot=operands, row=0, bank=start.place, acc_row=0, inner=1, outer=1,
            new_weights=0, last_use=0, free_slot=1, take_bank=1, finish_bank=1, store=NOBODY,
            group=slot, free_group=1))
