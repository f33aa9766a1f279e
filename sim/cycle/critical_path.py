"""The critical path of a schedule: from its end back to its first start, without a gap.

Every command starts when the last of its conditions is met, at the very time at which another
command has met it. From one such condition to the next the path goes back; what it passes are
services (a command has a unit to itself) and latencies.
"""

from typing import NamedTuple

from ...rtl.commands import Destination
from ...rtl.handoff import HandoffUnit
from ...rtl.vector_commands import Direction, VectorCommand, VectorOp
from ...workloads.program import Program
from .durations import Durations
from .path_events import Event, Key, Producers, VectorRows
from .plan import Schedule

__all__ = ["Step", "critical_path", "service_cycles", "vector_jobs"]


class Step(NamedTuple):
    """A piece of the path.

    Attributes
    ----------
    unit : str
        "loader", "array", "vector", "handoff" or "store".
    number : int
        Of the command in the unit's queue.
    kind : str
        "service" or "latency".
    name : str
        What it is; services are in :func:`service_cycles`.
    cycles : int
    """
    unit: str
    number: int
    kind: str
    name: str
    cycles: int


def critical_path(program: Program, plan: Schedule, durations: Durations) -> list[Step]:
    """Steps in the order of time; their cycles add up to the span of the run.

    Where several conditions are met last, the path goes through a service before a latency.

    Raises
    ------
    ValueError
        The plan is not that of this program with these durations.
    """
    return _Walk(program, plan, durations).path()


def service_cycles(step: Step, program: Program, durations: Durations) -> int:
    """Cycles of the service of a step, of any unit but the vector unit, with other durations."""
    if step.unit == "array":
        return durations.job(program.jobs[step.number])
    if step.unit == "handoff":
        return _transfer(durations, program, step.number)
    if step.unit == "store":
        occupancy, hold, _complete = durations.store(program.stores[step.number])
    else:
        occupancy, hold = durations.load(program.loads[step.number])
    return occupancy if step.name == "channel" else hold


def vector_jobs(commands: list[VectorCommand]) -> list[int]:
    """The first command of each command's job."""
    firsts, first = [], 0
    for number, command in enumerate(commands):
        firsts.append(first)
        if command.last:
            first = number + 1
    return firsts


def _transfer(durations: Durations, program: Program, number: int) -> int:
    """Cycles of a transfer without the turnaround of a staged one."""
    return durations.handoff(program.handoffs[number]) - _turnaround(durations)


def _turnaround(durations: Durations) -> int:
    staged = durations.design.handoff == "staged" and not durations.textbook
    return HandoffUnit.TURNAROUND if staged else 0


Before = tuple[Event | None, list[Step]]  # an event before, and the steps from there, last first


class _Walk:
    """Goes back from event to event."""

    def __init__(self, program: Program, plan: Schedule, durations: Durations):
        self._program, self._plan, self._durations = program, plan, durations
        self._producers = Producers(program, plan, durations)
        design = durations.design
        self._output_stationary = design.dataflow == "output_stationary"
        self._by_rows = design.vector_schedule == "pipelined" and not durations.textbook
        self._rows = VectorRows(program, plan, durations, self._by_rows)
        self._job_first = vector_jobs(program.vectors)
        descriptors = [(start, Event("load", number))
                       for number, start in enumerate(plan.load_start)]
        descriptors += [(start, Event("store", number))
                        for number, start in enumerate(plan.store_start)]
        self._channel = dict(zip((event for _start, event in sorted(descriptors)[1:]),
                                 (event for _start, event in sorted(descriptors))))
        self._latest_load: list[int | None] = []   # to the same destination, before each load
        latest: dict[Destination, int] = {}
        for number, load in enumerate(program.loads):
            self._latest_load.append(latest.get(load.destination))
            latest[load.destination] = number

    def path(self) -> list[Step]:
        first = self._first_start()
        time, event = max(self._ends(), key=lambda end: end[0], default=(first, None))
        steps: list[Step] = []
        if event is not None and event.kind == "load_done":  # counted as if to an operand slot
            load = self._program.loads[event.number]
            more = self._durations.operand_arrival - self._producers.arrival(load)
            steps += [self._latency("loader", event.number, "operand arrival", more)]
            time -= more
        while time > first:
            if event is None:
                raise ValueError(f"nothing explains what starts in cycle {time}")
            event, taken = getattr(self, f"_before_{event.kind}")(event)
            steps += taken
            time -= sum(step.cycles for step in taken)
        if time != first:
            raise ValueError(f"the path begins in cycle {time}, the run in cycle {first}")
        return [step for step in reversed(steps) if step.cycles]

    def _first_start(self) -> int:
        plan = self._plan
        return min((int(times[0]) for times in (
            plan.load_start, plan.job_start, plan.vector_from, plan.handoff_start) if len(times)),
            default=0)

    def _ends(self) -> list[tuple[int, Event]]:
        """The last end of every unit."""
        plan, durations, ends = self._plan, self._durations, []
        for kind, times, more in (
                ("job_written", plan.job_written, 0), ("store_done", plan.store_complete, 0),
                ("vector_done", plan.vector_complete, 0),
                ("transfer_done", plan.handoff_end, durations.handoff_latency)):
            if len(times):
                last = max(range(len(times)), key=times.__getitem__)
                ends.append((times[last] + more, Event(kind, last)))
        arrived = [start + hold for start, hold in zip(plan.load_start, plan.load_hold)]
        if arrived:
            last = max(range(len(arrived)), key=arrived.__getitem__)
            ends.append((arrived[last] + durations.design.memory_latency_cycles
                         + durations.operand_arrival, Event("load_done", last)))
        return ends

    # -- steps ---------------------------------------------------------------------------------

    def _service(self, unit: str, number: int, name: str) -> Step:
        step = Step(unit, number, "service", name, 0)
        return step._replace(cycles=service_cycles(step, self._program, self._durations))

    def _latency(self, unit: str, number: int, name: str, cycles: int) -> Step:
        return Step(unit, number, "latency", name, cycles)

    # -- memory --------------------------------------------------------------------------------

    def _before_load(self, event: Event) -> Before:
        number, plan = event.number, self._plan
        start, load = plan.load_start[number], self._program.loads[number]
        channel = self._behind_channel(event, start)
        if channel is not None:
            return channel
        latest = self._latest_load[number]
        if latest is not None and plan.load_start[latest] + plan.load_hold[latest] == start:
            return Event("load", latest), [self._service("loader", latest, "port")]
        if plan.load_room[number] == start:
            if load.destination is Destination.WEIGHT:
                tile = (self._producers.tile_of_load[number]
                        - self._durations.design.weight_fifo_depth)
                kind = "job_end" if self._output_stationary else "shifted"
                return Event(kind, self._producers.job_of_tile[tile]), []
            operand = load.destination is Destination.OPERAND
            return self._found(start, [("slot_free" if operand else "group_free", load.slot)])
        if number and plan.load_start[number - 1] + 1 == start:
            return Event("load", number - 1), [self._latency("loader", number, "request", 1)]
        return None, []

    def _behind_channel(self, event: Event, start: int) -> Before | None:
        """The descriptor before, if its occupancy ends when this one starts."""
        before = self._channel.get(event)
        if before is None:
            return None
        unit = "loader" if before.kind == "load" else "store"
        starts = self._plan.load_start if before.kind == "load" else self._plan.store_start
        step = self._service(unit, before.number, "channel")
        if starts[before.number] + step.cycles != start:
            return None
        return before, [step]

    def _before_load_done(self, event: Event) -> Before:
        number = event.number
        load = self._program.loads[number]
        return Event("load", number), [
            self._latency("loader", number, f"{load.destination.name.lower()} arrival",
                          self._producers.arrival(load)),
            self._latency("loader", number, "memory",
                          self._durations.design.memory_latency_cycles),
            self._service("loader", number, "port")]

    def _before_store(self, event: Event) -> Before:
        number, plan = event.number, self._plan
        start, store = plan.store_start[number], self._program.stores[number]
        channel = self._behind_channel(event, start)
        if channel is not None:
            return channel
        if number and plan.store_start[number - 1] + plan.store_hold[number - 1] == start:
            return Event("store_read", number - 1), []
        return self._found(start, [("result" if store.vector else "bank_full", store.bank)])

    def _before_store_read(self, event: Event) -> Before:
        return (Event("store", event.number),
                [self._service("store", event.number, "read")])

    def _before_store_done(self, event: Event) -> Before:
        number, plan = event.number, self._plan
        after = plan.store_complete[number] - plan.store_start[number] - plan.store_hold[number]
        return (Event("store_read", number),
                [self._latency("store", number, "write", after)])

    def _found(self, time: int, keys: list[Key]) -> Before:
        return self._producers.find(time, keys), []

    # -- array ---------------------------------------------------------------------------------

    def _before_job(self, event: Event) -> Before:
        number, plan = event.number, self._plan
        start, job = plan.job_start[number], self._program.jobs[number]
        if number and plan.job_end[number - 1] == start:
            return Event("job_end", number - 1), []
        if job.new_weights and plan.job_weights[number] == start:
            if not self._output_stationary:
                return Event("shifted", number), []
            load = self._producers.load_of_tile[self._producers.tile_of_job[number]]
            return None if load is None else Event("load_done", load), []
        if plan.job_slot[number] == start:
            return self._found(start, [("slot_ready", job.slot)])
        if plan.job_bank[number] == start:
            return self._found(start, [("bank_free", job.bank)] * job.take_bank
                               + [("group_free", job.group)] * job.take_group)
        if plan.job_output[number] == start:
            before = max(place for place, other in enumerate(self._program.jobs[:number])
                         if other.finish_bank)
            return Event("job_end", before), [self._latency(
                "array", number, "output interval", start - plan.job_end[before])]
        return None, []

    def _before_job_end(self, event: Event) -> Before:
        return Event("job", event.number), [self._service("array", event.number, "rows")]

    def _before_job_written(self, event: Event) -> Before:
        number = event.number
        after = self._plan.job_written[number] - self._plan.job_end[number]
        return Event("job_end", number), [self._latency("array", number, "result", after)]

    def _before_shifted(self, event: Event) -> Before:
        """The tile of a job is in the cells: its shift, then its load or the tile before."""
        number, plan, producers = event.number, self._plan, self._producers
        shift = self._latency("array", number, "weight shift", self._durations.shift)
        tile = producers.tile_of_job[number]
        load = producers.load_of_tile[tile]
        if load is not None and plan.job_whole[number] + shift.cycles == plan.job_weights[number]:
            return Event("load_done", load), [shift]
        if self._durations.design.weight_double_buffer:
            return Event("job", producers.job_of_tile[tile - 1]), [shift]
        before = max(place for place, other in enumerate(self._program.jobs[:number])
                     if other.last_use)
        return Event("job_written", before), [shift]

    # -- hand-off ------------------------------------------------------------------------------

    def _before_transfer(self, event: Event) -> Before:
        number, plan = event.number, self._plan
        start, move = plan.handoff_start[number], self._program.handoffs[number]
        if number and plan.handoff_end[number - 1] == start:
            return Event("transfer_end", number - 1), []
        to_vector = move.direction is Direction.TO_VECTOR
        if plan.handoff_source[number] == start:
            return self._found(start, [("bank_handed", move.buffer) if to_vector
                                       else ("result", move.slot)])
        return self._found(start, [("group_free", move.slot) if to_vector
                                   else ("slot_free", move.buffer)])

    def _before_transfer_end(self, event: Event) -> Before:
        number = event.number
        return Event("transfer", number), [
            self._latency("handoff", number, "turnaround", _turnaround(self._durations)),
            self._service("handoff", number, "transfer")]

    def _before_transfer_done(self, event: Event) -> Before:
        return Event("transfer_end", event.number), [self._latency(
            "handoff", event.number, "arrival", self._durations.handoff_latency)]

    # -- vector unit ---------------------------------------------------------------------------

    def _before_vector_done(self, event: Event) -> Before:
        number = event.number
        if self._durations.textbook:
            first = self._job_first[number]
            cycles = self._plan.vector_complete[first] - self._plan.vector_start[first]
            return Event("vector", first), [Step("vector", first, "service", "job", cycles)]
        command = self._program.vectors[number]
        if self._by_rows:
            rows, _beats = self._durations.vector_shape(command)
            return self._row_complete(number, rows - 1)
        beats = self._durations.vector_beats(command)
        return Event("vector", number), [
            self._result(number), Step("vector", number, "service", "elements", beats)]

    def _row_complete(self, number: int, row: int) -> Before:
        _rows, beats = self._durations.vector_shape(self._program.vectors[number])
        return Event("vector_row", number, row), [
            self._result(number), Step("vector", number, "service", "elements", beats)]

    def _result(self, number: int) -> Step:
        """From the end of elements' entry to their results: the latency counts the last cycle."""
        command = self._program.vectors[number]
        return self._latency("vector", number, f"result {VectorOp(command.op).name}",
                             self._durations.vector_latency(command) - 1)

    def _before_vector_row(self, event: Event) -> Before:
        number, row = event.number, event.row
        _rows, beats = self._durations.vector_shape(self._program.vectors[number])
        cause = self._rows.cause(number, row)
        if cause is None:
            return Event("vector", number), [
                Step("vector", number, "service", "elements", row * beats)]
        late, known = cause
        before, steps = self._row_complete(number - 1, known)
        return before, [Step("vector", number, "service", "elements", (row - late) * beats),
                        *steps]

    def _before_vector(self, event: Event) -> Before:
        number, plan, durations = event.number, self._plan, self._durations
        start, command = plan.vector_start[number], self._program.vectors[number]
        for before in self._engines_before(number):
            if plan.vector_complete[before] == start:
                return Event("vector_done", before), []
        accept = self._latency("vector", number, "acceptance", durations.vector_accept)
        commands = [command]
        if durations.textbook:
            commands = [other for other, first in zip(self._program.vectors, self._job_first)
                        if first == number]
        for other in commands:
            found = self._producers.find(
                start - accept.cycles, [("filled", other.a_slot)] * other.wait_a
                + [("filled", other.b_slot)] * other.wait_b)
            if found is not None:
                return found, [accept]
        if number and plan.vector_start[number - 1] + 1 == start:
            return Event("vector", number - 1), [
                self._latency("vector", number, "next command", 1)]
        return None, [accept]

    def _engines_before(self, number: int) -> list[int]:
        """The last commands of the engines before this one that have to be complete."""
        if not number:
            return []
        if not self._by_rows:
            return [number - 1]
        commands = self._program.vectors
        latest: dict[bool, int] = {}
        for place in range(number - 1, -1, -1):
            latest.setdefault(VectorOp(commands[place].op).special, place)
            if len(latest) == 2:
                break
        if commands[number].chain:
            special = VectorOp(commands[number].op).special
            return [latest[special]] if special in latest else []
        return list(latest.values())
