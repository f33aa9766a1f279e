"""Start times of every command, from the rules of the units."""

from array import array
from collections import defaultdict

from ...rtl.commands import ArrayJob, Destination, Load
from ...workloads.program import Program
from ..errors import DeadlockError
from .durations import Durations

__all__ = ["BEFORE", "Schedule", "ScheduleError", "schedule"]

BEFORE = -(1 << 60)  # a time before every run


class ScheduleError(DeadlockError):
    """The program cannot end: a unit waits for something that no command brings."""


class Schedule:
    """When each command starts, and until when it had to wait for what.

    Times are cycles of the run; an end is the cycle after the last one. Arrays of 64-bit
    integers, one entry a command, in queue order.

    Attributes
    ----------
    load_start, load_occupancy, load_hold, load_room : array
        `load_room`: from when the destination has room.
    job_start, job_end, job_written : array
        `job_written`: from when the sums that the job leads to are written.
    job_bank, job_output, job_slot, job_whole, job_weights : array
        From when the job's bank is free, the results before it are out of its way, its slot is
        ready, its tile whole in the FIFO and in the cells (`BEFORE` where it needs none).
    store_start, store_occupancy, store_hold, store_full, store_complete : array
        `store_full`: from when the bank is full; `store_complete`: from when all is written.
    """

    def __init__(self) -> None:
        for name in ("load_start", "load_occupancy", "load_hold", "load_room", "job_start",
                     "job_end", "job_written", "job_bank", "job_output", "job_slot",
                     "job_whole", "job_weights", "store_start", "store_occupancy", "store_hold",
                     "store_full", "store_complete"):
            setattr(self, name, array("q"))

    load_start: array
    load_occupancy: array
    load_hold: array
    load_room: array
    job_start: array
    job_end: array
    job_written: array
    job_bank: array
    job_output: array
    job_slot: array
    job_whole: array
    job_weights: array
    store_start: array
    store_occupancy: array
    store_hold: array
    store_full: array
    store_complete: array


def schedule(program: Program, durations: Durations) -> Schedule:
    """Execute the queues of a program.

    Raises
    ------
    ScheduleError
        The program cannot end; the message names the blocked units.
    """
    return _Scheduler(program, durations).run()


class _Scheduler:
    """Units advance as far as what is known allows; the channel decides who starts next.

    A load that waits for a job, and a job that waits for a load that has not started, are
    unknown. If only one of the next load and the next store is known it starts first, for the
    other depends on it.
    """

    def __init__(self, program: Program, durations: Durations):
        self._program, self._durations = program, durations
        design = durations.design
        self._plan = Schedule()
        self._depth, self._latency = design.weight_fifo_depth, design.memory_latency_cycles
        self._double_buffer = design.weight_double_buffer
        self._output_stationary = design.dataflow == "output_stationary"
        self._last_pair = BEFORE       # output stationary: of the latest tile
        self._channel_free = BEFORE
        self._port_free = [BEFORE, BEFORE]
        self._store_first = False
        # Slots: from when free and from when ready; None while unknown.
        self._slot_free: dict[int, int | None] = defaultdict(lambda: BEFORE)
        self._slot_ready: dict[int, int | None] = defaultdict(lambda: None)
        self._bank_free: dict[int, int | None] = defaultdict(lambda: BEFORE)
        self._bank_full: dict[int, int | None] = defaultdict(lambda: None)
        # Weight tiles in order: whole in the FIFO, in the cells, out of the FIFO.
        self._whole: list[int] = []
        self._shifted: list[int] = []
        self._left_fifo: list[int] = []
        self._may_shift = BEFORE       # from when the cells have room for tile number `_roomy`
        self._roomy = 0
        self._tiles_used = 0
        self._store_head = durations.first_command
        self._shape: list[tuple[int, int, tuple[int, int]]] = [(0, 0, (0, 0))] * 2
        self._preload(program.preload)

    def run(self) -> Schedule:
        plan, program = self._plan, self._program
        loads, stores = len(program.loads), len(program.stores)
        while True:
            self._advance_array()
            load = self._load_request() if len(plan.load_start) < loads else None
            store = self._store_request() if len(plan.store_start) < stores else None
            if load is None and store is None:
                break
            if store is not None and (load is None or self._store_first or store < load):
                self._start_store(store)
            else:
                assert load is not None
                self._start_load(load, store)
        if (len(plan.load_start), len(plan.job_start), len(plan.store_start)) != (
                loads, len(program.jobs), stores):
            raise ScheduleError(self._blocked())
        return plan

    # -- loader --------------------------------------------------------------------------------

    def _preload(self, loads: list[Load]) -> None:
        """What is in the buffers before the run."""
        for load in loads:
            if load.destination == Destination.OPERAND:
                self._slot_free[load.slot] = None
                if load.last:
                    self._slot_ready[load.slot] = BEFORE
            else:
                self._whole.append(BEFORE)

    def _load_request(self) -> int | None:
        """From when the next load has room, or None if that is not known yet."""
        load = self._program.loads[len(self._plan.load_start)]
        if load.destination == Destination.OPERAND:
            room = self._slot_free[load.slot] if load.take else BEFORE
        else:
            before = len(self._whole) - self._depth
            if before < 0:
                room = BEFORE
            elif before < len(self._left_fifo):
                room = self._left_fifo[before]
            else:
                room = None
        if room is None:
            return None
        plan = self._plan
        head = plan.load_start[-1] + 1 if plan.load_start else self._durations.first_command
        self._room = room
        return max(room, head)

    def _start_load(self, request: int, store: int | None) -> None:
        plan = self._plan
        load = self._program.loads[len(plan.load_start)]
        port = int(load.destination == Destination.OPERAND)
        rows, nbytes, cost = self._shape[port]
        if (rows, nbytes) != (load.rows, load.bytes_per_row):
            cost = self._durations.load(load)
            self._shape[port] = load.rows, load.bytes_per_row, cost
        occupancy, hold = cost
        start = max(request, self._channel_free, self._port_free[port])
        self._store_first = store is not None and store <= start
        self._channel_free = start + occupancy
        self._port_free[port] = start + hold
        plan.load_start.append(start)
        plan.load_occupancy.append(occupancy)
        plan.load_hold.append(hold)
        plan.load_room.append(self._room)
        arrived = start + hold + self._latency
        if port:
            if load.take:
                self._slot_free[load.slot] = None
                self._slot_ready[load.slot] = None
            if load.last:
                self._slot_ready[load.slot] = arrived + self._durations.operand_arrival
        else:
            self._whole.append(arrived + self._durations.weight_arrival)

    # -- array ---------------------------------------------------------------------------------

    def _advance_array(self) -> None:
        """Start jobs until one waits for something unknown."""
        plan, jobs, durations = self._plan, self._program.jobs, self._durations
        self._advance_shift()
        number, count = len(plan.job_start), len(jobs)
        head = plan.job_end[-1] if number else durations.first_command
        tiles = self._whole if self._output_stationary else self._shifted
        while number < count:
            job = jobs[number]
            slot = self._slot_ready[job.slot]
            bank = self._bank_free[job.bank] if job.take_bank else BEFORE
            if slot is None or bank is None:
                return
            whole = weights = output = BEFORE
            if job.new_weights:
                if self._tiles_used == len(tiles):
                    return
                whole, weights = self._whole[self._tiles_used], tiles[self._tiles_used]
                self._tiles_used += 1
            if self._output_stationary:
                output = self._output_free(job)
            start = max(head, slot, bank, weights, output)
            head = start + durations.job(job)
            plan.job_written.append(self._finish_job(job, start, head))
            plan.job_start.append(start)
            plan.job_end.append(head)
            plan.job_bank.append(bank)
            plan.job_output.append(output)
            plan.job_slot.append(slot)
            plan.job_whole.append(whole)
            plan.job_weights.append(weights)
            number += 1

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
        tile = len(self._shifted)
        if tile == self._roomy and tile < len(self._whole) and not self._output_stationary:
            shifted = max(self._whole[tile], self._may_shift) + self._durations.shift
            self._shifted.append(shifted)
            self._left_fifo.append(shifted)

    def _make_room(self, time: int) -> None:
        """The cells take the tile after the one in use from `time` on."""
        self._may_shift = max(time, self._shifted[-1])
        self._roomy += 1
        self._advance_shift()

    def _finish_job(self, job: ArrayJob, start: int, end: int) -> int:
        """What the job leaves: cells, slot and bank. From when its sums are written."""
        written = end - 1 + self._durations.result
        if self._output_stationary:
            self._left_fifo.append(end)
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
            self._slot_free[job.slot] = end
            self._slot_ready[job.slot] = None
        if job.take_bank:
            self._bank_free[job.bank] = None
        if job.finish_bank:
            if job.store:
                self._bank_full[job.bank] = written
            else:
                self._bank_free[job.bank] = written
        return written

    # -- store ---------------------------------------------------------------------------------

    def _store_request(self) -> int | None:
        """From when the next store is requested, or None if that is not known yet."""
        full = self._bank_full[self._program.stores[len(self._plan.store_start)].bank]
        return None if full is None else max(full, self._store_head)

    def _start_store(self, request: int) -> None:
        plan = self._plan
        store = self._program.stores[len(plan.store_start)]
        occupancy, hold, complete = self._durations.store(store)
        start = max(request, self._channel_free)
        full = self._bank_full[store.bank]
        assert full is not None
        self._store_first = False
        self._channel_free = start + occupancy
        self._store_head = start + hold
        self._bank_full[store.bank] = None
        self._bank_free[store.bank] = start + hold
        plan.store_start.append(start)
        plan.store_occupancy.append(occupancy)
        plan.store_hold.append(hold)
        plan.store_full.append(full)
        plan.store_complete.append(start + complete)

    def _blocked(self) -> str:
        """One line: the unit at whose command each queue stands."""
        plan, program = self._plan, self._program
        waiting = []
        if len(plan.load_start) < len(program.loads):
            load = program.loads[len(plan.load_start)]
            what = (f"slot {load.slot} to be free" if load.destination == Destination.OPERAND
                    else "a place in the weight FIFO")
            waiting.append(f"loader waits for {what}")
        if len(plan.job_start) < len(program.jobs):
            job = program.jobs[len(plan.job_start)]
            if job.take_bank and self._bank_free[job.bank] is None:
                what = f"accumulator bank {job.bank} to be free"
            elif self._slot_ready[job.slot] is None:
                what = f"slot {job.slot} to be ready"
            else:
                what = "its weight tile"
            waiting.append(f"array waits for {what}")
        if len(plan.store_start) < len(program.stores):
            store = program.stores[len(plan.store_start)]
            waiting.append(f"store waits for accumulator bank {store.bank} to be full")
        return "deadlock: " + "; ".join(waiting)
