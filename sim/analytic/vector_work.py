"""Work, traffic and bounds of workloads of the vector unit alone."""

from collections import Counter

from ...rtl import Design
from ...rtl.commands import Load, Store
from ...rtl.memory_timing import MemoryTiming
from ...rtl.vector_unit import beats
from ...workloads.ideal import vector_job_cycles
from ...workloads.vector_workload import VectorWorkload

__all__ = ["add_vector_workload"]


def add_vector_workload(counts: Counter, resources: Counter, design: Design,
                        job: VectorWorkload, timing: str = "rtl") -> None:
    """Add a workload to expected counters and resource times; see :class:`Estimate`.

    Blocks of one size have the same commands, so each kind is looked at once. Resources:
    "memory", "vector_port", and "vector" (cycles in which elements enter; a pipelined unit
    overlaps nothing, for all operations are ordinary ones).
    """
    memory = MemoryTiming.of(design)
    counts.update(useful_macs=0, activation_rows=0, weight_rows=0, accumulator_rows=0, handoffs=0,
                  handoff_bytes=0, exchange_bytes=0)
    for block, number in job.kinds(design):
        descriptors: list[Load | Store] = [*block.loads, *block.stores]
        for command in descriptors:
            nbytes = command.rows * command.bytes_per_row
            counts["transactions"] += number * memory.transactions(
                command.rows, command.bytes_per_row, command.row_stride)
            resources["memory"] += number * memory.occupancy(nbytes)
        for load in block.loads:
            nbytes = load.rows * load.bytes_per_row
            counts["bytes_read"] += number * nbytes
            resources["vector_port"] += number * memory.hold(nbytes, load.rows, vector=True)
        counts["bytes_written"] += number * sum(store.rows * store.bytes_per_row
                                                for store in block.stores)
        counts.update(loads=number * len(block.loads), stores=number * len(block.stores),
                      vector_commands=number * len(block.vectors))
        resources["vector"] += number * (
            vector_job_cycles(design, block.vectors) if timing == "ideal"
            else sum(beats(design, command) for command in block.vectors))
