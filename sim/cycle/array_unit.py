"""The array's part of the schedule: jobs in order, tiles shifted ahead."""

from ...rtl.commands import ArrayJob
from ...workloads.program import Program
from .buffers import BEFORE, Buffers
from .durations import Durations
from .plan import Schedule

__all__ = ["ArrayUnit"]


class ArrayUnit:
    """Starts jobs until one waits for something unknown."""

    def __init__(self, program: Program, durations: Durations, plan: Schedule, buffers: Buffers):
        self._jobs, self._durations = program.jobs, durations
        self._plan, self._buffers = plan, buffers
        design = durations.design
        self._double_buffer = design.weight_double_buffer
        self._output_stationary = design.dataflow == "output_stationary"
        self._last_pair = BEFORE       # output stationary: of the latest tile
        self._shifted: list[int] = []  # from when each weight tile, in order, is in the cells
        self._may_shift = BEFORE       # from when the cells have room for tile number `_roomy`
        self._roomy = 0
        self._tiles_used = 0

    def advance(self) -> bool:
        """Start what can be started; whether that was any job."""
        plan, jobs, durations, buffers = self._plan, self._jobs, self._durations, self._buffers
        self._advance_shift()
        first = number = len(plan.job_start)
        count = len(jobs)
        head = plan.job_end[-1] if number else durations.first_command
        tiles = buffers.whole if self._output_stationary else self._shifted
        while number < count:
            job = jobs[number]
            slot = buffers.slot_ready[job.slot]
            bank = buffers.bank_free[job.bank] if job.take_bank else BEFORE
            group = buffers.group_free[job.group] if job.take_group else BEFORE
            if slot is None or bank is None or group is None:
                break
            bank = max(bank, group)
            whole = weights = output = BEFORE
            if job.new_weights:
                if self._tiles_used == len(tiles):
                    break
                whole, weights = buffers.whole[self._tiles_used], tiles[self._tiles_used]
                self._tiles_used += 1
            if self._output_stationary:
                output = self._output_free(job)
            start = max(head, slot, bank, weights, output)
            head = start + durations.job(job)
            plan.job_written.append(self._finish(job, start, head))
            plan.job_start.append(start)
            plan.job_end.append(head)
            plan.job_bank.append(bank)
            plan.job_output.append(output)
            plan.job_slot.append(slot)
            plan.job_whole.append(whole)
            plan.job_weights.append(weights)
            number += 1
        return number > first

    def waiting(self) -> str | None:
        """What the job at the head waits for; None without one."""
        if len(self._plan.job_start) == len(self._jobs):
            return None
        job, buffers = self._jobs[len(self._plan.job_start)], self._buffers
        if job.take_bank and buffers.bank_free[job.bank] is None:
            return f"accumulator bank {job.bank} to be free"
        if job.take_group and buffers.group_free[job.group] is None:
            return f"vector slot {job.group} to be free"
        if buffers.slot_ready[job.slot] is None:
            return f"slot {job.slot} to be ready"
        return "its weight tile"

    def _output_free(self, job: ArrayJob) -> int:
        """From when the results of the tile before do not hinder the job."""
        free = BEFORE
        if job.take_bank:
            free = self._last_pair + self._durations.sum_interval
        if job.finish_bank:
            last = self._durations.job(job) - 1
            free = max(free, self._last_pair + self._durations.tile_interval - last)
        return free

    def _advance_shift(self) -> None:
        """Shift the next tile if it is loaded and known when the cells have room for it."""
        tile, whole = len(self._shifted), self._buffers.whole
        if tile == self._roomy and tile < len(whole) and not self._output_stationary:
            shifted = max(whole[tile], self._may_shift) + self._durations.shift
            self._shifted.append(shifted)
            self._buffers.left_fifo.append(shifted)

    def _make_room(self, time: int) -> None:
        """The cells take the tile after the one in use from `time` on."""
        self._may_shift = max(time, self._shifted[-1])
        self._roomy += 1
        self._advance_shift()

    def _finish(self, job: ArrayJob, start: int, end: int) -> int:
        """What the job leaves: cells, slots and bank. From when its sums are written."""
        buffers = self._buffers
        written = end - 1 + self._durations.result
        if self._output_stationary:
            buffers.left_fifo.append(end)
            if not job.finish_bank:
                written = end
            else:
                self._last_pair = end - 1
        elif self._double_buffer:
            if job.new_weights:
                self._make_room(start)
        elif job.last_use:
            self._make_room(written)
        if job.free_slot:
            buffers.slot_free[job.slot] = end
            buffers.slot_ready[job.slot] = None
        if job.take_bank:
            buffers.bank_free[job.bank] = None
        if job.finish_bank:
            (buffers.bank_free, buffers.bank_full, buffers.bank_handed)[job.store][
                job.bank] = written
        if job.take_group:
            buffers.group_free[job.group] = None
        if job.free_group:
            buffers.group_free[job.group] = end
        return written
