"""Counters of a schedule: the same as the counter bank's."""

from collections.abc import Mapping

import numpy as np

from ...rtl.commands import Destination, WindowRegister
from ...rtl.status import UNITS
from ...rtl.window_format import Windows
from ...workloads.program import Program
from .activity import Activity
from .durations import Durations
from .intervals import NEVER, overlap, sweep

__all__ = ["count"]


def count(program: Program, run: Activity, durations: Durations) -> dict[str, int]:
    """Every counter of `rtl/counters.py` for a scheduled run, by its dotted name."""
    counters = {"cycles": run.cycles, "span": run.cycles - run.first_start,
                "exposed_requests": _exposed(run),
                "both_busy": overlap(run.units["array"].get("busy", NEVER),
                                     run.units["vector"].get("busy", NEVER))}
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
    times, levels = sweep([run.moving, run.under_way])
    waits = (levels[0] == 0) & (levels[1] > 0)
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
    staged = design.handoff == "staged"
    handoff_bytes = sum(command.rows * command.length * command.element_bytes
                        for command in program.handoffs) * (2 if staged else 1)
    return {
        "activation_rows": rows,
        "accumulator_rows": accumulator_rows,
        "useful_macs": sum(job.rows * job.inner * job.outer for job in program.jobs),
        "weight_rows": weight_rows,
        "vector_commands": len(program.vectors),
        "handoffs": len(program.handoffs),
        "handoff_bytes": handoff_bytes,
        "exchange_bytes": handoff_bytes if staged else 0,
        "loads": len(program.loads),
        "stores": len(program.stores),
        "bytes_read": sum(load.nbytes for load in program.loads),
        "window_bytes": _window_bytes(program, durations),
        "bytes_written": sum(store.rows * store.bytes_per_row for store in program.stores),
        "transactions": sum(memory.load_transactions(load) for load in program.loads)
        + sum(memory.transactions(store.rows, store.bytes_per_row, store.row_stride)
              for store in program.stores),
    }


def _window_bytes(program: Program, durations: Durations) -> int:
    """Bytes of convolution windows, as the commands set them up."""
    transposed = durations.design.dataflow == "output_stationary"
    windows = {each: Windows(transposed) for each in Destination}
    nbytes = 0
    for load in program.loads:
        if load.configure is not WindowRegister.NONE:
            windows[load.destination].configure(load)
        elif load.window:
            nbytes += windows[load.destination].reads(load).nbytes
    return nbytes
