"""Whole small products on the machine: results, counters recomputed from signals, phases."""

from fractions import Fraction

import numpy as np
import pytest
from harness import MachineBench, TiledProduct

from cubewave.rtl import Design
from cubewave.rtl.memory_channel import MemoryChannel
from cubewave.rtl.memory_timing import MemoryTiming
from cubewave.rtl.status import (
    UNITS,
    ArrayStatus,
    HandoffStatus,
    LoaderStatus,
    MemoryStatus,
    StoreStatus,
    VectorStatus,
)


def operands(design, m, k, n, seed=0, unsigned=False):
    rng = np.random.default_rng(seed)
    half = 1 << design.activation_bits - 1
    low, high = (0, 2 * half) if unsigned else (-half, half)
    half = 1 << design.weight_bits - 1
    return rng.integers(low, high, (m, k)), rng.integers(-half, half, (k, n))


def watched(machine):
    core, memory = machine.core, machine.core.memory
    signals = {f"{kind}.{name}": getattr(getattr(memory, kind), name)
               for kind in ("load", "store") for name in ("valid", "ready")}
    signals |= {name: getattr(memory, name) for name in (
        "loading", "storing", "loads_under_way", "stores_under_way", "request_bytes",
        "request_transactions")}
    signals |= {name: getattr(core.control, name) for name in (
        "enter", "macs", "shift", "shifting", "running")}
    signals |= {"written": core.accumulators.written, "row": memory.rows.valid,
                "loader": core.loader.status, "array": core.control.status,
                "store": core.store.status, "vector": core.vector.status,
                "handoff": core.handoff.status, "handoff_bytes": core.handoff.bytes,
                "vector_command": core.vector.i.valid & core.vector.i.ready,
                "transfer": core.handoff.i.valid & core.handoff.i.ready}
    return signals


def run(program, *phases):
    machine = program.machine()
    bench = MachineBench(machine, watched(machine))
    return bench.run(*(phases or [program.commands]), contents=program.contents)


def expected_counters(log):
    """Every counter from the logged signals, by the definitions of `counters.py`."""
    counts = {f"{unit}.{status.name.lower()}": 0 for unit, statuses in UNITS.items()
              for status in statuses}
    counts |= dict.fromkeys(("loads", "stores", "bytes_read", "bytes_written", "transactions",
                             "span", "useful_macs", "exposed_requests"), 0)
    exposed_before = False
    for row in log:
        status = {"memory": MemoryStatus(row["loading"] | row["storing"]),
                  "loader": LoaderStatus(row["loader"]), "array": ArrayStatus(row["array"]),
                  "vector": VectorStatus(row["vector"]),
                  "handoff": HandoffStatus(row["handoff"]), "store": StoreStatus(row["store"])}
        for unit, value in status.items():
            counts[f"{unit}.{value.name.lower()}"] += 1
        for kind, nbytes in (("load", "bytes_read"), ("store", "bytes_written")):
            if row[f"{kind}.valid"] and row[f"{kind}.ready"]:
                counts[f"{kind}s"] += 1
                counts[nbytes] += row["request_bytes"]
                counts["transactions"] += row["request_transactions"]
        counts["useful_macs"] += row["macs"] if row["enter"] else 0
        moves = row["loading"] or row["storing"] or row["enter"]
        counts["span"] += bool(counts["span"] or moves)
        exposed = (row["loads_under_way"] or row["stores_under_way"]) and not (
            moves or row["running"] or status["store"] is StoreStatus.BUSY)
        counts["exposed_requests"] += bool(exposed and not exposed_before)
        exposed_before = exposed
    counts["cycles"] = len(log)
    counts["activation_rows"] = sum(row["enter"] for row in log)
    counts["weight_rows"] = sum(row["shift"] | row["shifting"] for row in log)
    counts["accumulator_rows"] = sum(row["written"] for row in log)
    counts["vector_commands"] = sum(row["vector_command"] for row in log)
    counts["handoffs"] = sum(row["transfer"] for row in log)
    counts["handoff_bytes"] = sum(row["handoff_bytes"] for row in log)
    # Products leave vector unit and hand-off alone.
    counts["both_busy"] = counts["exchange_bytes"] = counts["window_bytes"] = 0
    return counts


def check_counters(program, bench):
    counters, design, jobs = bench.counters, program.design, program.jobs
    assert counters == expected_counters(bench.log)
    for unit, statuses in UNITS.items():
        assert sum(counters[f"{unit}.{status.name.lower()}"] for status in statuses) == \
            counters["cycles"]
    loads, stores = program.loads, program.stores
    timing = MemoryTiming.of(design)
    assert counters["loads"] == len(loads) and counters["stores"] == len(stores)
    assert counters["bytes_read"] == sum(load.rows * load.bytes_per_row for load in loads)
    assert counters["bytes_written"] == sum(st.rows * st.bytes_per_row for st in stores)
    assert counters["transactions"] == sum(
        timing.transactions(each.rows, each.bytes_per_row, each.row_stride)
        for each in [*loads, *stores])
    assert counters["useful_macs"] == program.exact.size * program.a.shape[1]
    entered = sum(job.rows for job in jobs)
    assert counters["array.busy"] == counters["activation_rows"] == entered
    if design.dataflow == "weight_stationary":
        assert counters["accumulator_rows"] == entered
        assert counters["weight_rows"] == design.rows * len(jobs)
    else:
        assert counters["accumulator_rows"] == sum(st.rows for st in stores)
        assert counters["weight_rows"] == entered
    assert sum(row["row"] for row in bench.log) == sum(store.rows for store in stores)


DESIGNS = {
    "1x1": {"rows": 1, "cols": 1},
    "2x5": {"rows": 2, "cols": 5, "memory_bytes_per_cycle": 1},
    "3x2": {"rows": 3, "cols": 2, "accumulator_banks": 1, "memory_latency_cycles": 9,
            "memory_outstanding": 1, "memory_transaction_bytes": 3},
    "4x4": {"memory_bytes_per_cycle": "unlimited", "memory_latency_cycles": 0},
    "fraction": {"rows": 2, "cols": 2, "memory_bytes_per_cycle": Fraction(340, 7),
                 "buffer_port_rows": 3},
    "single": {"rows": 3, "cols": 3, "weight_double_buffer": False, "mac_latency": 3},
    "shallow": {"rows": 2, "cols": 3, "weight_fifo_depth": 1, "input_slots": 1,
                "accumulator_banks": 3},
    "narrow": {"rows": 3, "cols": 5, "activation_bits": 5, "weight_bits": 4,
               "accumulator_bits": 17, "buffer_port_rows": 2},
    "wide": {"rows": 2, "cols": 2, "activation_bits": 16, "weight_bits": 12,
             "accumulator_bits": 48},
    "output": {"rows": 4, "cols": 3, "dataflow": "output_stationary"},
    "output single": {"rows": 3, "cols": 2, "dataflow": "output_stationary", "mac_latency": 3,
                      "weight_double_buffer": False, "memory_latency_cycles": 0},
    "output 1x1": {"rows": 1, "cols": 1, "dataflow": "output_stationary", "weight_fifo_depth": 1},
}


@pytest.mark.parametrize("name", DESIGNS)
def test_products_and_counters(name):
    """Sizes that no tile divides; K accumulates on chip; every stored byte is right."""
    design = Design(**DESIGNS[name])
    program = TiledProduct(design, *operands(design, 5, 7, 6))
    bench = run(program)
    assert (program.stored(bench.memory) == program.exact).all()
    assert bench.overflow == 0
    check_counters(program, bench)


def test_unsigned_activations_f080():
    design = Design(rows=2, cols=2)
    program = TiledProduct(design, [[255, 0, 255]], [[1, -128], [77, 77], [0, -128]],
                           unsigned=True)
    assert program.exact.tolist() == [[255, 2 * -32640]]
    assert program.stored(run(program).memory).tolist() == [[255, 2 * -32640]]


@pytest.mark.parametrize("overflow,value", [("wrap", -131072), ("saturate", 131071)])
def test_overflow_is_reported_f066(overflow, value):
    design = Design(accumulator_bits=18, accumulator_overflow=overflow)
    program = TiledProduct(design, [[-128] * 8], [[-128]] * 8)
    bench = run(program)
    assert program.stored(bench.memory).tolist() == [[value]] and bench.overflow == 1


def test_each_phase_begins_with_clear_counters_and_flags():
    """Overflow, counters and the status FILL of a run say nothing of the run before."""
    design = Design(accumulator_bits=18)
    program = TiledProduct(design, [[-128] * 8], [[-128]] * 8)
    once = run(program).counters
    assert once["array.fill"] > 0 and once["span"] < once["cycles"]
    twice = run(program, program.commands, program.commands)
    assert twice.counters == once and twice.overflow == 1
    nothing = run(program, program.commands, {})
    assert nothing.overflow == 0 and set(nothing.counters.values()) == {0} and nothing.log == []


def test_preloaded_data_is_not_counted():
    design = Design(rows=3, cols=2, memory_latency_cycles=20)
    program = TiledProduct(design, *operands(design, 4, 6, 2))
    bench = run(program, {"loader": program.loads},
                {"array": program.jobs, "store": program.stores})
    assert (program.stored(bench.memory) == program.exact).all()
    assert bench.counters["loads"] == bench.counters["bytes_read"] == 0
    assert bench.log[1]["enter"] == 1  # the first job is in its queue after one cycle
    assert bench.counters["cycles"] == len(bench.log)


@pytest.mark.parametrize("banks", [1, 2, 3])
def test_the_array_waits_for_banks_that_are_stored_slowly(banks):
    """No bank is filled again before its result has been read."""
    design = Design(rows=2, cols=2, accumulator_bits=48, accumulator_banks=banks, input_slots=6,
                    weight_fifo_depth=6, memory_bytes_per_cycle=1)
    program = TiledProduct(design, *operands(design, 3, 2, 12))
    bench = run(program, {"loader": program.loads},
                {"array": program.jobs, "store": program.stores})
    assert (program.stored(bench.memory) == program.exact).all()
    assert bench.counters["array.accumulator"] > 100
    assert bench.counters == expected_counters(bench.log)


def test_the_run_ends_after_the_last_write():
    """Also without latency, where nothing but the row itself is still under way."""
    for latency in (0, 1, 3):
        design = Design(rows=1, cols=1, memory_bytes_per_cycle="unlimited",
                        memory_latency_cycles=latency)
        program = TiledProduct(design, [[3], [4], [5]], [[2]])
        bench = run(program)
        rows = [cycle for cycle, row in enumerate(bench.log) if row["row"]]
        assert len(rows) == 3
        assert rows[-1] == len(bench.log) - 1 if latency < 2 else rows[-1] < len(bench.log) - 1


def test_nothing_to_do_is_done_at_once():
    program = TiledProduct(Design(rows=1, cols=1), [[3]], [[2]])
    bench = run(program, {})
    assert bench.log == [] and bench.counters["cycles"] == 0


def test_done_waits_for_data_under_way():
    design = Design(rows=2, cols=2, memory_latency_cycles=11, memory_bytes_per_cycle=4)
    program = TiledProduct(design, *operands(design, 2, 2, 2))
    bench = run(program, {"loader": program.weights})
    start, hold = 1, 2  # in its queue after cycle 0; two rows
    assert len(bench.log) - 1 == start + hold + 11 + MemoryChannel.LATENCY
    assert bench.counters["loader.busy"] == 1 and bench.counters["loader.drain"] == 14
