"""Schedules by events: the cycle level's own scheduler, with timing ideal."""

from ....rtl import Design
from ....rtl.commands import ArrayJob, Destination, Load
from ....workloads.program import Program
from ...cycle import Durations, Schedule, schedule
from ...errors import OptionError
from ..model import Results, model
from ..parameters import integer

__all__ = ["input_slots"]


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
