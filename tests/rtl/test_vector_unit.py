"""The vector unit: every operation against the numpy model, every cycle against the rules."""

import numpy as np
import pytest
from vector_bench import Contents, VectorBench, latency, random_command

from cubewave.rtl import Design
from cubewave.rtl.vector_commands import (
    Operand,
    VectorCommand,
    VectorOp,
    vector_slot_elements,
    vector_slots,
)
from cubewave.rtl.vector_unit import beats, result_latency


def make(lanes=4, sfu_lanes=1, **fields):
    return Design(**{"rows": 2, "cols": 3, "lanes": lanes, "sfu_lanes": sfu_lanes,
                     "accumulator_rows": 20, "handoff_slots": 1, **fields})


@pytest.mark.parametrize("op", list(VectorOp))
@pytest.mark.parametrize("fields", [
    {}, {"vector_units": 2, "lanes": 5, "sfu_lanes": 2},
    {"vector_schedule": "pipelined", "lanes": 1, "sfu_lanes": 3, "accumulator_bits": 48}])
def test_an_operation_computes_what_the_model_does(op, fields):
    design, rng = make(**fields), np.random.default_rng(op.value)
    elements = VectorBench.random_elements(design, rng)
    commands = [random_command(design, rng, op) for _ in range(25)]
    contents = Contents(design, elements.copy())
    for command in commands:
        contents.execute(command)
    bench = VectorBench(design, elements).run(commands)
    assert (bench.elements == contents.elements).all()
    assert bench.overflow == contents.overflow


@pytest.mark.parametrize("op", list(VectorOp))
def test_latencies(op):
    for lanes in (1, 2, 3, 32):
        design = make(lanes=lanes)
        assert result_latency(design, op) == latency(design, op)
    assert beats(design, random_command(design, np.random.default_rng(0), op, rows=3, length=65,
                                        flat=0)) == 3 * (65 if op.special else 3)


def random_program(design, rng, number, chains):
    """Commands of all kinds, with all hand-shakes."""
    ops = list(VectorOp)
    return [random_command(
        design, rng, ops[rng.integers(len(ops))], chain=int(rng.choice(chains)),
        **{name: int(rng.random() < 0.4)
           for name in ("wait_a", "wait_b", "free_a", "free_b", "done")})
        for _ in range(number)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("fields", [
    {"lanes": 3}, {"lanes": 2, "sfu_lanes": 2, "vector_units": 2},
    {"vector_schedule": "pipelined", "lanes": 4, "sfu_lanes": 2},
    {"vector_schedule": "pipelined", "vector_units": 2, "lanes": 1, "sfu_lanes": 1}])
def test_every_cycle_with_gaps_and_late_slots(fields, seed):
    """Acceptance, completion, flags and status; gaps of the source and of the slots' filling."""
    design, rng = make(**fields), np.random.default_rng(seed)
    elements = VectorBench.random_elements(design, rng)
    commands = random_program(design, rng, 40, [0, 1, 2])
    gaps = rng.integers(0, 12, len(commands)) * (rng.random(len(commands)) < seed / 4)
    bench = VectorBench(design, elements).run(
        commands, gaps=gaps.tolist(), fill=1 - seed / 4, seed=seed)
    assert len(bench.accepted) == len(commands)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fields", [{"lanes": 3}, {"vector_schedule": "pipelined", "sfu_lanes": 2,
                                                   "vector_units": 2}])
def test_a_program_computes_what_the_model_does(fields, seed):
    design, rng = make(**fields), np.random.default_rng(seed + 10)
    elements = VectorBench.random_elements(design, rng)
    commands = random_program(design, rng, 40, [0])
    contents = Contents(design, elements.copy())
    for command in commands:
        contents.execute(command)
    bench = VectorBench(design, elements).run(commands, seed=seed)
    assert (bench.elements == contents.elements).all()
    assert bench.overflow == contents.overflow


@pytest.mark.parametrize("schedule", ["sequential", "pipelined"])
def test_the_last_element_of_each_slot(schedule):
    """33 elements, 5 slots: no address is a bit short."""
    design = make(cols=1, accumulator_rows=33, vector_units=2, vector_schedule=schedule)
    assert (vector_slots(design), vector_slot_elements(design)) == (5, 33)
    elements = VectorBench.random_elements(design, np.random.default_rng(0), most=20)
    commands = [VectorCommand(op=op, a_slot=a, b_slot=b, d_slot=d, b=Operand.VECTOR, rows=2,
                              length=1, a_address=32, b_address=32, d_address=32, free_a=1,
                              free_b=1, done=1, wait_a=1)
                for op, a, b, d in ((VectorOp.ADD, 4, 3, 0), (VectorOp.SUBTRACT, 0, 4, 1),
                                    (VectorOp.GELU, 1, 2, 4))]
    contents = Contents(design, elements.copy())
    for command in commands:
        contents.execute(command)
    bench = VectorBench(design, elements).run(commands)
    assert (bench.elements == contents.elements).all()
    assert (bench.elements != elements).any()
