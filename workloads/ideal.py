"""Ideal durations: what a unit's service alone takes (chapter 4.4.2, 4.4.3).

The order of a program is fixed with these, and timing `ideal` of the cycle level uses them.
"""

from collections.abc import Iterable

from ..rtl import Design
from ..rtl.commands import ArrayJob
from ..rtl.vector_commands import Handoff, VectorCommand, VectorOp

__all__ = ["handoff_cycles", "job_cycles", "vector_job_cycles"]


def job_cycles(design: Design, job: ArrayJob) -> int:
    """Cycles of a matrix job: MACs / (rows * cols), rounded up."""
    return -(-job.rows * job.inner * job.outer // design.macs_per_cycle)


def handoff_cycles(design: Design, command: Handoff) -> int:
    """Cycles of a transfer: bytes / bandwidth, rounded up; twice when staged."""
    nbytes = command.rows * command.length * command.element_bytes
    once = -(-nbytes // design.handoff_bytes_per_cycle)
    return 2 * once if design.handoff == "staged" else once


def vector_job_cycles(design: Design, commands: Iterable[VectorCommand]) -> int:
    """Cycles of a vector job, of the unit with the most rows.

    The operations of each kind over their rate, each rounded up on its own, then added. The
    kinds: elementwise operations and sums together; maxima; exponentials; divisions; table
    look-ups. A reduction of n elements has n - 1 operations; the rounds of its tree do not
    count. A pipelined unit overlaps ordinary and special operations. Source: chapter 4.4.3.
    """
    operations: dict[VectorOp, int] = {}
    for command in commands:
        rows, length = -(-command.rows // design.vector_units), command.length
        if command.flat:
            rows, length = 1, -(-command.length // design.vector_units)
        kind = command.op
        if not kind.special and kind is not VectorOp.ROW_MAXIMUM:
            kind = VectorOp.ADD
        count = rows * (length - 1 if command.op.reduces else length)
        operations[kind] = operations.get(kind, 0) + count
    ordinary = special = 0
    for kind, count in operations.items():
        if kind.special:
            special += -(-count // design.sfu_lanes)
        else:
            ordinary += -(-count // design.lanes)
    if design.vector_schedule == "pipelined":
        return max(ordinary, special)
    return ordinary + special
