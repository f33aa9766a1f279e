"""Counters of a schedule: the same as the counter bank's, from start times."""

from array import array
from collections.abc import Mapping

import numpy as np

from ...rtl.commands import Destination
from ...workloads.program import Program
from .durations import Durations
from .schedule import Schedule

__all__ = ["Intervals", "count"]

Intervals = np.ndarray  # shape [n, 2]: first cycle and cycle after the last


def _np(values: array) -> np.ndarray:
    return np.frombuffer(values, np.int64) if len(values) else np.zeros(0, np.int64)


def _total(first: np.ndarray, end: np.ndarray) -> int:
    """Cycles of intervals; those that end before they begin are empty."""
    return int(np.maximum(end - first, 0).sum())


class _Machine:
    """Numpy views of a schedule, and what follows from them for a whole run."""

    def __init__(self, program: Program, plan: Schedule, durations: Durations):
        self.durations = durations
        self.latency = durations.design.memory_latency_cycles
        self.load_start, self.load_occupancy = _np(plan.load_start), _np(plan.load_occupancy)
        self.load_hold, self.load_room = _np(plan.load_hold), _np(plan.load_room)
        self.job_start, self.job_end = _np(plan.job_start), _np(plan.job_end)
        self.job_bank, self.job_slot = _np(plan.job_bank), _np(plan.job_slot)
        self.job_output, self.written = _np(plan.job_output), _np(plan.job_written)
        self.job_whole, self.job_weights = _np(plan.job_whole), _np(plan.job_weights)
        self.store_start, self.store_occupancy = _np(plan.store_start), _np(plan.store_occupancy)
        self.store_hold, self.store_full = _np(plan.store_hold), _np(plan.store_full)
        self.load_end = self.load_start + self.load_occupancy
        # Loads under way until their last beat has been delivered; stores until complete.
        delivered = durations.operand_arrival
        self.load_arrived = self.load_start + self.load_hold + self.latency + delivered
        self.store_complete = _np(plan.store_complete)
        self.loads_done = int(self.load_arrived.max(initial=0))
        self.jobs_done = int(self.written[-1]) if len(self.written) else 0
        self.stores_done = int(self.store_complete[-1]) if len(self.store_complete) else 0
        self.cycles = max(self.loads_done, self.jobs_done, self.stores_done)
        self.program = program


def count(program: Program, plan: Schedule, durations: Durations) -> dict[str, int]:
    """Every counter of `rtl/counters.py` for a scheduled run, by its dotted name."""
    machine = _Machine(program, plan, durations)
    cycles = machine.cycles
    counters: dict[str, int] = {"cycles": cycles}
    for unit, busy_and_causes in (("memory", _memory(machine)), ("loader", _loader(machine)),
                                  ("array", _array(machine)), ("store", _store(machine))):
        idle = cycles - sum(busy_and_causes.values())
        for name, value in {**busy_and_causes, "idle": idle}.items():
            counters[f"{unit}.{name}"] = value
    starts = [int(starts[0]) for starts in (machine.load_start, machine.job_start) if len(starts)]
    counters["span"] = cycles - min(starts, default=cycles)
    counters["exposed_requests"] = _exposed(machine)
    counters.update(_work(program, durations))
    return counters


def _memory(machine: _Machine) -> dict[str, int]:
    return {"busy": int(machine.load_occupancy.sum() + machine.store_occupancy.sum())}


def _loader(machine: _Machine) -> dict[str, int]:
    """Between two loads: slot or FIFO, then the store that holds the channel, else the port."""
    start, end = machine.load_start, machine.load_end
    counts = {"busy": int(machine.load_occupancy.sum()), "drain": 0, "slot": 0, "fifo": 0,
              "store": 0, "port": 0}
    if not len(start):
        return counts
    counts["drain"] = max(0, machine.loads_done - int(end[-1]))
    head = np.concatenate(([machine.durations.first_command], end[:-1]))
    asks = np.clip(machine.load_room, head, start)
    operand = np.fromiter((load.destination == Destination.OPERAND
                           for load in machine.program.loads), bool, len(start))
    blocked = asks - head
    counts["slot"] = int(blocked[operand].sum())
    counts["fifo"] = int(blocked[~operand].sum())
    counts["store"] = _covered(asks, start, machine.store_start,
                               machine.store_start + machine.store_occupancy)
    counts["port"] = _total(asks, start) - counts["store"]
    return counts


def _covered(first: np.ndarray, end: np.ndarray, other_first: np.ndarray,
             other_end: np.ndarray) -> int:
    """Cycles of disjoint sorted intervals that other disjoint sorted intervals cover."""
    if not len(other_first):
        return 0
    lengths = np.concatenate(([0], np.cumsum(other_end - other_first)))

    def before(time: np.ndarray) -> np.ndarray:
        index = np.searchsorted(other_first, time, "right")
        inside = np.where(index > 0, np.maximum(other_end[index - 1] - time, 0), 0)
        return lengths[index] - inside
    return int((before(np.maximum(end, first)) - before(first)).sum())


def _array(machine: _Machine) -> dict[str, int]:
    """Before each job, in order: bank, slot, tile not whole, tile not in the cells."""
    start, end = machine.job_start, machine.job_end
    counts = {"busy": int((end - start).sum()), "drain": 0, "fill": 0, "accumulator": 0,
              "output": 0, "operands": 0, "weight_shift": 0, "weights": 0}
    if not len(start):
        return counts
    counts["drain"] = machine.jobs_done - int(end[-1])
    counts["fill"] = int(start[0]) - machine.durations.first_command
    head, start = end[:-1], start[1:]
    for name, until in (("accumulator", machine.job_bank[1:]),
                        ("output", machine.job_output[1:]),
                        ("operands", machine.job_slot[1:]),
                        ("weights", machine.job_whole[1:]),
                        ("weight_shift", machine.job_weights[1:])):
        reached = np.clip(until, head, start)
        counts[name] = int((reached - head).sum())
        head = reached
    return counts


def _store(machine: _Machine) -> dict[str, int]:
    """Before each store: its bank is not full, then the channel is taken."""
    start = machine.store_start
    counts = {"busy": int(machine.store_hold.sum()), "drain": 0, "result": 0, "memory": 0}
    if not len(start):
        return counts
    end = start + machine.store_hold
    counts["drain"] = machine.stores_done - int(end[-1])
    head = np.concatenate(([machine.durations.first_command], end[:-1]))
    full = np.clip(machine.store_full, head, start)
    counts["result"] = int((full - head).sum())
    counts["memory"] = int((start - full).sum())
    return counts


def _exposed(machine: _Machine) -> int:
    """Times in which something is under way in the memory and nothing else happens."""
    moving = [(machine.load_start, machine.load_end),
              (machine.store_start, machine.store_start + machine.store_hold),
              (machine.job_start, machine.written)]
    under_way = [(machine.load_start + 1, machine.load_arrived),
                 (machine.store_start + 1, machine.store_complete)]
    steps = []
    for weight, intervals in ((1 << 32, moving), (1, under_way)):
        for first, end in intervals:
            steps.append(np.stack((first, np.full_like(first, weight)), axis=1))
            steps.append(np.stack((end, np.full_like(end, -weight)), axis=1))
    events = np.concatenate(steps)
    if not len(events):
        return 0
    events = events[np.argsort(events[:, 0], kind="stable")]
    times, places = np.unique(events[:, 0], return_index=True)
    level = np.cumsum(np.add.reduceat(events[:, 1], places))
    waits = (level > 0) & (level < 1 << 32)
    return int((waits & ~np.concatenate(([False], waits[:-1]))).sum())


def _work(program: Program, durations: Durations) -> Mapping[str, int]:
    """Counts that do not depend on time."""
    design, memory = durations.design, durations.memory
    rows = sum(job.rows for job in program.jobs)
    if design.dataflow == "output_stationary":
        weight_rows = rows
        accumulator_rows = sum(job.inner for job in program.jobs if job.finish_bank)
    else:
        # A tile that is in the FIFO before the run is shifted before it.
        preloaded = any(load.destination == Destination.WEIGHT for load in program.preload)
        weight_rows = design.rows * (sum(job.new_weights for job in program.jobs) - preloaded)
        accumulator_rows = rows
    return {
        "activation_rows": rows,
        "accumulator_rows": accumulator_rows,
        "useful_macs": sum(job.rows * job.inner * job.outer for job in program.jobs),
        "weight_rows": weight_rows,
        "loads": len(program.loads),
        "stores": len(program.stores),
        "bytes_read": sum(load.rows * load.bytes_per_row for load in program.loads),
        "bytes_written": sum(store.rows * store.bytes_per_row for store in program.stores),
        "transactions": sum(memory.transactions(load.rows, load.bytes_per_row, load.row_stride)
                            for load in program.loads)
        + sum(memory.transactions(store.rows, store.bytes_per_row, store.row_stride)
              for store in program.stores),
    }
