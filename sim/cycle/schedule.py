"""Start times of every command, from the rules of the units."""

from ...workloads.program import Program
from ..errors import DeadlockError
from .array_unit import ArrayUnit
from .buffers import Buffers
from .channel import Channel
from .durations import Durations
from .handoff_unit import HandoffSchedule
from .plan import Schedule
from .vector_unit import VectorSchedule

__all__ = ["Schedule", "ScheduleError", "schedule"]


class ScheduleError(DeadlockError):
    """The program cannot end: a unit waits for something that no command brings."""


def schedule(program: Program, durations: Durations) -> Schedule:
    """Execute the queues of a program.

    Array, hand-off and vector unit advance as far as what is known allows; then the memory
    channel decides which descriptor starts next.

    Raises
    ------
    ScheduleError
        The program cannot end; the message names the blocked units.
    """
    plan, buffers = Schedule(), Buffers(durations.design)
    channel = Channel(program, durations, plan, buffers)
    array = ArrayUnit(program, durations, plan, buffers)
    handoff = HandoffSchedule(program, durations, plan, buffers)
    vector = VectorSchedule(program, durations, plan, buffers)
    meets = bool(program.handoffs or program.vectors)
    moved = True
    while moved:
        array.advance()
        if meets:
            while handoff.advance() | vector.advance():
                array.advance()
        moved = channel.advance()
    waiting = [f"{unit} waits for {what}" for unit, what in (
        ("loader", channel.waiting_load()), ("array", array.waiting()),
        ("vector", vector.waiting()), ("handoff", handoff.waiting()),
        ("store", channel.waiting_store())) if what is not None]
    if waiting:
        raise ScheduleError("deadlock: " + "; ".join(waiting))
    return plan
