"""Work, traffic and bounds of attention, from its shape and plan alone."""

from collections import Counter
from collections.abc import Iterable, Iterator

from ...rtl import Design
from ...rtl.commands import Load, Store
from ...rtl.handoff import duration
from ...rtl.matrix_unit import MatrixUnit
from ...rtl.memory_timing import MemoryTiming
from ...rtl.vector_unit import beats
from ...workloads.attention import Attention
from ...workloads.attention_builder import SCORES, VALUES
from ...workloads.attention_plan import AttentionPlan, Item
from ...workloads.ideal import handoff_cycles, job_cycles, vector_job_cycles

__all__ = ["add_attention"]


def add_attention(counts: Counter, resources: Counter, design: Design, job: Attention,
                  timing: str = "rtl") -> None:
    """Add an attention to expected counters and resource times; see :class:`Estimate`.

    Items (a group of rows against a block of keys) of the same sizes have the same commands, so
    each kind is looked at once and counted as often as it occurs. Resources: "array" (one
    activation row per cycle; timing ideal ceil(MACs / (rows * cols)) a job), "weight_shift",
    "memory", "operand_port", "weight_port", "vector" (cycles in which elements enter; pipelined,
    those of the busier kind of operations), "handoff" (cycles that transfers hold the interface).
    """
    plan = job.plan(design)
    builder = job.builder(design)
    loads: Counter = Counter()
    stores: Counter = Counter()
    engines, tiles = [0, 0], 0
    for item, number in _kinds(plan):
        work = builder.work(item, 0)
        jobs = work.jobs[SCORES] + work.jobs[VALUES]
        rows = sum(each.rows for each in jobs)
        tiles += number * len(jobs)
        counts["useful_macs"] += number * sum(each.rows * each.inner * each.outer
                                              for each in jobs)
        counts["activation_rows"] += number * rows
        counts["accumulator_rows"] += number * rows
        resources["array"] += number * (
            sum(job_cycles(design, each) for each in jobs) if timing == "ideal" else rows)
        _add_handoffs(counts, resources, design, work.handoffs.values(), number, timing)
        for commands in work.vectors.values():
            counts["vector_commands"] += number * len(commands)
            for engine, cycles in enumerate(_vector_cycles(design, commands, timing)):
                engines[engine] += number * cycles
        for load in builder.loads(item):
            loads[_shape(load)] += number
        for store in builder.stores(item):
            stores[_shape(store)] += number
    resources["vector"] += max(engines)
    preloaded = builder.build().preload if job.resident else []
    loads.subtract(_shape(load) for load in preloaded)
    shifted = tiles - any(load.destination.name == "WEIGHT" for load in preloaded)
    counts["weight_rows"] += shifted * design.rows
    resources["weight_shift"] += shifted * design.rows
    if not design.weight_double_buffer:
        resources["weight_shift"] += counts["activation_rows"] + tiles * MatrixUnit.latency(design)
    _add_traffic(counts, resources, design, loads, stores)


def _kinds(plan: AttentionPlan) -> Iterator[tuple[Item, int]]:
    """One item of each size and place among the blocks, and how many there are.

    Heads are alike, and so are groups that attend to as many keys.
    """
    heads = plan.shape.heads
    kinds: dict[tuple, tuple[Item, int]] = {}
    for item in plan.items():
        if item.head:
            break
        key = (item.rows.size, item.block.size, item.first, item.last,
               plan.streaming and item.block.start == plan.block_keys)
        first, number = kinds.get(key, (item, 0))
        kinds[key] = first, number + heads
    yield from kinds.values()


def _shape(command: Load | Store) -> tuple[str, int, int, int]:
    kind = "STORE" if isinstance(command, Store) else command.destination.name
    return kind, command.rows, command.bytes_per_row, command.row_stride


def _add_handoffs(counts: Counter, resources: Counter, design: Design, moves: Iterable,
                  number: int, timing: str) -> None:
    staged = design.handoff == "staged"
    for move in moves:
        nbytes = move.rows * move.length * move.element_bytes * (2 if staged else 1)
        counts["handoffs"] += number
        counts["handoff_bytes"] += number * nbytes
        counts["exchange_bytes"] += number * nbytes * staged
        resources["handoff"] += number * (
            handoff_cycles(design, move) if timing == "ideal" else duration(design, move))


def _vector_cycles(design: Design, commands: list, timing: str) -> tuple[int, int]:
    """Cycles of ordinary and of special operations, which only a pipelined unit overlaps."""
    if timing == "ideal":
        return vector_job_cycles(design, commands), 0
    special = sum(beats(design, each) for each in commands if each.op.special)
    ordinary = sum(beats(design, each) for each in commands) - special
    return (ordinary, special) if design.vector_schedule == "pipelined" else (ordinary + special, 0)


def _add_traffic(counts: Counter, resources: Counter, design: Design, loads: Counter,
                 stores: Counter) -> None:
    timing = MemoryTiming.of(design)
    ports = {"OPERAND": "operand_port", "WEIGHT": "weight_port", "VECTOR": "vector_port"}
    for (kind, rows, bytes_per_row, stride), number in (*loads.items(), *stores.items()):
        nbytes = rows * bytes_per_row
        counts["transactions"] += number * timing.transactions(rows, bytes_per_row, stride)
        resources["memory"] += number * timing.occupancy(nbytes)
        if kind == "STORE":
            counts["stores"] += number
            counts["bytes_written"] += number * nbytes
        else:
            counts["loads"] += number
            counts["bytes_read"] += number * nbytes
            resources[ports[kind]] += number * timing.hold(nbytes, rows, kind == "VECTOR")
