"""The part of loader and store in the schedule: they share the memory channel."""

from ...rtl.commands import Destination, Load, WindowRegister
from ...workloads.program import Program
from .buffers import BEFORE, Buffers, Time
from .durations import Durations
from .plan import Schedule

__all__ = ["Channel"]


class Channel:
    """Starts the loads and stores, in request order.

    A load that waits for a job, and a job that waits for a load that has not started, are
    unknown. If only one of the next load and the next store is known it starts first, for the
    other depends on it.
    """

    def __init__(self, program: Program, durations: Durations, plan: Schedule, buffers: Buffers):
        self._loads, self._stores, self._durations = program.loads, program.stores, durations
        self._plan, self._buffers = plan, buffers
        design = durations.design
        self._depth, self._latency = design.weight_fifo_depth, design.memory_latency_cycles
        self._free = BEFORE
        self._port_free = [BEFORE] * len(Destination)
        self._store_first = False
        self._store_head = durations.first_command
        self._room = BEFORE
        self._shape: list[tuple[tuple | None, tuple[int, int]]] = [
            (None, (0, 0))] * len(Destination)  # of the last load to each, and its cost
        for load in program.preload:
            self._preload(load)

    def advance(self) -> bool:
        """Start the descriptor that comes next, if that is known; whether one has started."""
        plan = self._plan
        load = self._load_request() if len(plan.load_start) < len(self._loads) else None
        store = self._store_request() if len(plan.store_start) < len(self._stores) else None
        if store is not None and (load is None or self._store_first or store < load):
            self._start_store(store)
        elif load is not None:
            self._start_load(load, store)
        else:
            return False
        return True

    def waiting_load(self) -> str | None:
        """What the load at the head waits for; None without one."""
        if len(self._plan.load_start) == len(self._loads):
            return None
        load = self._loads[len(self._plan.load_start)]
        return {Destination.OPERAND: f"slot {load.slot} to be free",
                Destination.VECTOR: f"vector slot {load.slot} to be free",
                Destination.WEIGHT: "a place in the weight FIFO"}[load.destination]

    def waiting_store(self) -> str | None:
        """What the store at the head waits for; None without one."""
        if len(self._plan.store_start) == len(self._stores):
            return None
        store = self._stores[len(self._plan.store_start)]
        if store.vector:
            return f"vector slot {store.bank} to hold a result"
        return f"accumulator bank {store.bank} to be full"

    # -- loads ---------------------------------------------------------------------------------

    def _preload(self, load: Load) -> None:
        """What is in the buffers before the run."""
        buffers = self._buffers
        if load.destination is Destination.WEIGHT:
            buffers.whole.append(BEFORE)
            return
        operand = load.destination is Destination.OPERAND
        (buffers.slot_free if operand else buffers.group_free)[load.slot] = None
        if load.last:
            (buffers.slot_ready if operand else buffers.filled)[load.slot] = BEFORE

    def _load_request(self) -> Time:
        """From when the next load has room, or None if that is not known yet."""
        plan, buffers = self._plan, self._buffers
        load = self._loads[len(plan.load_start)]
        room: Time = BEFORE
        if load.destination is Destination.WEIGHT:
            before = len(buffers.whole) - self._depth
            if before >= 0:
                room = buffers.left_fifo[before] if before < len(buffers.left_fifo) else None
        elif load.take:
            operand = load.destination is Destination.OPERAND
            room = (buffers.slot_free if operand else buffers.group_free)[load.slot]
        if room is None:
            return None
        self._room = room
        head = plan.load_start[-1] + 1 if plan.load_start else self._durations.first_command
        return max(room, head)

    def _start_load(self, request: int, store: Time) -> None:
        plan, buffers, durations = self._plan, self._buffers, self._durations
        load = self._loads[len(plan.load_start)]
        port = load.destination.value
        shape, cost = self._shape[port]
        now = (load.rows, load.bytes_per_row, load.window, load.bytes, load.segments,
               load.configure)
        if shape != now:
            cost = durations.load(load)
            self._shape[port] = now, cost
        occupancy, hold = cost
        start = max(request, self._free, self._port_free[port])
        self._store_first = store is not None and store <= start
        self._free = start + occupancy
        self._port_free[port] = start + hold
        plan.load_start.append(start)
        plan.load_occupancy.append(occupancy)
        plan.load_hold.append(hold)
        plan.load_room.append(self._room)
        arrived = start + hold + self._latency
        if load.configure is not WindowRegister.NONE:
            return  # nothing arrives, and no slot is taken
        if load.destination is Destination.WEIGHT:
            buffers.whole.append(arrived + durations.weight_arrival)
        elif load.destination is Destination.OPERAND:
            if load.take:
                buffers.slot_free[load.slot] = buffers.slot_ready[load.slot] = None
            if load.last:
                buffers.slot_ready[load.slot] = arrived + durations.operand_arrival
        else:
            if load.take:
                buffers.group_free[load.slot] = None
            if load.last:
                buffers.filled[load.slot] = arrived + durations.vector_arrival

    # -- stores --------------------------------------------------------------------------------

    def _store_request(self) -> Time:
        """From when the next store is requested, or None if that is not known yet."""
        store = self._stores[len(self._plan.store_start)]
        full = self._full(store)
        return None if full is None else max(full, self._store_head)

    def _full(self, store) -> Time:
        if not store.vector:
            return self._buffers.bank_full[store.bank]
        return self._buffers.result[store.bank] if store.wait else BEFORE

    def _start_store(self, request: int) -> None:
        plan, buffers = self._plan, self._buffers
        store = self._stores[len(plan.store_start)]
        occupancy, hold, complete = self._durations.store(store)
        start = max(request, self._free)
        full = self._full(store)
        assert full is not None
        self._store_first = False
        self._free = start + occupancy
        self._store_head = start + hold
        if store.vector and store.wait:
            buffers.result[store.bank] = None
        if not store.keep:
            if not store.vector:
                buffers.bank_full[store.bank] = None
            (buffers.group_free if store.vector else buffers.bank_free)[store.bank] = start + hold
        plan.store_start.append(start)
        plan.store_occupancy.append(occupancy)
        plan.store_hold.append(hold)
        plan.store_full.append(full)
        plan.store_complete.append(start + complete)
