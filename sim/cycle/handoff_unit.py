"""The hand-off's part of the schedule: transfers in order over one interface."""

from ...rtl.vector_commands import Direction
from ...workloads.program import Program
from .buffers import BEFORE, Buffers
from .durations import Durations
from .plan import Schedule

__all__ = ["HandoffSchedule"]


class HandoffSchedule:
    """Starts transfers until one waits for something unknown."""

    def __init__(self, program: Program, durations: Durations, plan: Schedule, buffers: Buffers):
        self._commands, self._durations = program.handoffs, durations
        self._plan, self._buffers = plan, buffers

    def advance(self) -> bool:
        """Start what can be started; whether that was any transfer."""
        plan, buffers, durations = self._plan, self._buffers, self._durations
        first = number = len(plan.handoff_start)
        head = plan.handoff_end[-1] if number else durations.first_command
        while number < len(self._commands):
            command = self._commands[number]
            to_vector = command.direction is Direction.TO_VECTOR
            if to_vector:
                sources, rooms = buffers.bank_handed, buffers.group_free
                source, target = command.buffer, command.slot
            else:
                sources, rooms = buffers.result, buffers.slot_free
                source, target = command.slot, command.buffer
            full = sources[source]
            room = rooms[target] if command.take else BEFORE
            if full is None or room is None:
                break
            start = max(head, full, room)
            head = start + durations.handoff(command)
            arrived = head + durations.handoff_latency
            sources[source] = None
            if command.take:
                rooms[target] = None
            if to_vector:
                buffers.bank_free[source] = head
                if command.last:
                    buffers.filled[target] = arrived
            elif command.last:
                buffers.slot_ready[target] = arrived
            plan.handoff_start.append(start)
            plan.handoff_end.append(head)
            plan.handoff_source.append(full)
            plan.handoff_room.append(room)
            number += 1
        return number > first

    def waiting(self) -> str | None:
        """What the transfer at the head waits for; None without one."""
        if len(self._plan.handoff_start) == len(self._commands):
            return None
        command, buffers = self._commands[len(self._plan.handoff_start)], self._buffers
        if command.direction is Direction.TO_VECTOR:
            if buffers.bank_handed[command.buffer] is None:
                return f"accumulator bank {command.buffer} to be full"
            return f"vector slot {command.slot} to be free"
        if buffers.result[command.slot] is None:
            return f"vector slot {command.slot} to hold a result"
        return f"slot {command.buffer} to be free"
