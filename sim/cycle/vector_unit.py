"""The vector unit's part of the schedule: commands in order, one after another or by rows."""

import numpy as np

from ...rtl.vector_commands import VectorCommand
from ...workloads.program import Program
from .buffers import BEFORE, Buffers
from .durations import Durations
from .plan import Schedule

__all__ = ["VectorSchedule"]


class VectorSchedule:
    """Accepts commands until one waits for something unknown.

    With timing ideal a job, all commands up to the last one, is one uninterrupted command
    (chapter 4.4.3): its first command takes the time of all.
    """

    def __init__(self, program: Program, durations: Durations, plan: Schedule, buffers: Buffers):
        self._commands, self._durations = program.vectors, durations
        self._plan, self._buffers = plan, buffers
        self._by_rows = (durations.design.vector_schedule == "pipelined"
                         and not durations.textbook)
        self._free = [BEFORE, BEFORE]       # of each engine: its last command is complete
        self._rows = np.zeros(0, np.int64)  # when the rows of the latest command are complete
        self._head = durations.first_command

    def advance(self) -> bool:
        """Accept what can be accepted; whether that was any command."""
        accept = self._accept_job if self._durations.textbook else self._accept
        first = len(self._plan.vector_head)
        while len(self._plan.vector_head) < len(self._commands) and accept():
            pass
        return len(self._plan.vector_head) > first

    def waiting(self) -> str | None:
        """What the command at the head waits for; None without one."""
        for number in range(len(self._plan.vector_head), len(self._commands)):
            command = self._commands[number]
            slots = [str(slot) for waits, slot in ((command.wait_a, command.a_slot),
                                                   (command.wait_b, command.b_slot))
                     if waits and self._buffers.filled[slot] is None]
            if slots:
                return f"vector slot {' and '.join(slots)} to be filled"
        return None

    def _filled(self, command: VectorCommand) -> int | None:
        """From when the slots that the command waits for are filled."""
        filled, until = self._buffers.filled, BEFORE
        for waits, slot in ((command.wait_a, command.a_slot), (command.wait_b, command.b_slot)):
            if waits:
                time = filled[slot]
                if time is None:
                    return None
                until = max(until, time)
        return until

    def _accept(self) -> bool:
        plan, durations = self._plan, self._durations
        command = self._commands[len(plan.vector_head)]
        filled = self._filled(command)
        if filled is None:
            return False
        engine = int(command.op.special) if self._by_rows else 0
        chain = command.chain if self._by_rows else 0
        ready = self._free[engine] if chain else max(self._free)
        accepted = max(self._head, filled, ready - durations.vector_accept)
        begin = accepted + durations.vector_accept
        latency = durations.vector_latency(command)
        if self._by_rows:
            end = self._enter_rows(command, begin, latency, chain)
        else:
            end = begin + durations.vector_beats(command)
            plan.vector_from.append(begin)
            plan.vector_until.append(end)
        complete = end - 1 + latency
        self._free[engine] = complete
        self._record(command, self._head, filled, begin, end, complete)
        self._head = accepted + 1
        return True

    def _enter_rows(self, command: VectorCommand, begin: int, latency: int, chain: int) -> int:
        """Rows one after another, each when the command before has completed it; the end."""
        rows, beats = self._durations.vector_shape(command)
        least = begin + np.arange(rows) * beats
        if chain == 1 and len(self._rows):
            known = np.minimum(np.arange(rows), len(self._rows) - 1)
            # A row cannot begin before those before it have entered.
            late = np.maximum.accumulate(self._rows[known] - least)
            least = least + np.maximum(late, 0)
        breaks = np.flatnonzero(np.diff(least) > beats)
        self._plan.vector_from.extend(least[np.concatenate(([0], breaks + 1))].tolist())
        self._plan.vector_until.extend(
            (least[np.concatenate((breaks, [rows - 1]))] + beats).tolist())
        self._rows = least + (beats - 1 + latency)
        return int(least[-1]) + beats

    def _accept_job(self) -> bool:
        """All commands of the job at the head, with timing ideal."""
        plan, first = self._plan, len(self._plan.vector_head)
        job = []
        start = self._head
        for number in range(first, len(self._commands)):
            command = self._commands[number]
            filled = self._filled(command)
            if filled is None:
                return False
            job.append((command, filled))
            start = max(start, filled)
            if command.last:
                break
        end = start + self._durations.vector_job([command for command, _filled in job])
        plan.vector_from.append(start)
        plan.vector_until.append(end)
        for number, (command, filled) in enumerate(job):
            self._record(command, self._head, filled, start if number == 0 else end, end, end)
            self._head = end
        return True

    def _record(self, command: VectorCommand, head: int, filled: int, begin: int, end: int,
                complete: int) -> None:
        """Times of a command, and what it leaves."""
        plan, buffers = self._plan, self._buffers
        if command.wait_a:
            buffers.filled[command.a_slot] = None
        if command.wait_b:
            buffers.filled[command.b_slot] = None
        if command.free_a:
            buffers.group_free[command.a_slot] = complete
        if command.free_b:
            buffers.group_free[command.b_slot] = complete
        if command.done:
            buffers.result[command.a_slot] = complete
        plan.vector_head.append(head)
        plan.vector_filled.append(filled)
        plan.vector_start.append(begin)
        plan.vector_end.append(end)
        plan.vector_complete.append(complete)
