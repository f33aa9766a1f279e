"""Counters of a schedule: the same as the counter bank's."""

from collections.abc import Mapping

import numpy as np

from ...rtl.commands import Destination
from ...rtl.status import UNITS
from ...workloads.program import Program
from .durations import Durations
from .intervals import Activity

__all__ = ["count"]


def count(program: Program, run: Activity, durations: Durations) -> dict[str, int]:
    """Every counter of `rtl/counters.py` for a scheduled run, by its dotted name."""
    counters = {"cycles": run.cycles, "span": run.cycles - run.first_start,
                "exposed_requests": _exposed(run)}
    for unit, statuses in UNITS.items():
        intervals = run.units[unit]
        idle = run.cycles
        for status in statuses:
            name = status.name.lower()
            cycles = intervals[name].cycles if name in intervals else 0
            counters[f"{unit}.{name}"] = cycles
            idle -= cycles
        counters[f"{unit}.idle"] = idle
    counters.update(_work(program, durations))
    return counters


def _exposed(run: Activity) -> int:
    """Times in which something is under way in the memory and nothing else happens."""
    steps = []
    for weight, intervals in ((1 << 32, run.moving), (1, run.under_way)):
        for part in intervals:
            steps.append(np.stack((part.first, np.full_like(part.first, weight)), axis=1))
            steps.append(np.stack((part.end, np.full_like(part.end, -weight)), axis=1))
    events = np.concatenate(steps)
    if not len(events):
        return 0
    events = events[np.argsort(events[:, 0], kind="stable")]
    _times, places = np.unique(events[:, 0], return_index=True)
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
