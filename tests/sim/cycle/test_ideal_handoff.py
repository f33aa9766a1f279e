"""Timing ideal: the hand-off of row groups (chapter 4.4.3), and attention's two units at once."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.accumulator import HANDOFF, NOBODY
from cubewave.rtl.commands import ArrayJob, Destination, Load
from cubewave.rtl.vector_commands import Direction, Handoff, VectorCommand, VectorOp
from cubewave.sim.cycle import Durations, run_cycle_model, schedule
from cubewave.sim.cycle.activity import activity
from cubewave.sim.cycle.counters import count
from cubewave.workloads.attention import RandomAttention
from cubewave.workloads.program import Program

#: Path, groups, slots; start of the vector unit, finish.
TABLE = [("staged", 1, 1, 1536, 5118), ("staged", 4, 1, 384, 5120), ("staged", 4, 2, 384, 3200),
         ("direct", 4, 2, 256, 3008), ("direct", 4, 4, 256, 3008)]
#: Rows, keys and head dimension that give these ticks.
SHAPES = {"b200-sm": (128, 128, 128), "chapter": (32, 128, 8)}


def study(preset, path, groups, slots):
    """The study's machine and program: Q and the first weight tiles resident, nothing stored."""
    rows, keys, head_dim = SHAPES[preset]
    design = dataclasses.replace(Design.preset(preset), handoff=path, handoff_slots=slots)
    attention = RandomAttention(rows, keys, head_dim, rows_per_group=rows // groups,
                                resident=True, store_output=False)
    return design, attention.program(design, contents=False)


@pytest.mark.parametrize("preset", SHAPES)
@pytest.mark.parametrize("path,groups,slots,vector_start,finish", TABLE)
def test_the_hand_off_table(preset, path, groups, slots, vector_start, finish):
    design, program = study(preset, path, groups, slots)
    durations = Durations.ideal(design)
    plan = schedule(program, durations)
    assert (plan.vector_start[0], plan.job_end[-1]) == (vector_start, finish)
    counters = run_cycle_model(program, durations).counters
    assert counters["span"] == counters["cycles"] == finish


@pytest.mark.parametrize("preset", SHAPES)
def test_two_staged_slots_have_no_slack(preset):
    """Scores of groups 2 and 3 arrive on the tick on which the vector unit becomes free."""
    design, program = study(preset, "staged", 4, 2)
    plan = schedule(program, Durations.ideal(design))
    filled = [time for command, time in zip(program.vectors, plan.vector_filled)
              if command.wait_a]
    starts = sorted(set(plan.vector_from))
    assert filled[2:] == starts[2:] == [1664, 2304]
    assert starts == [384, 1024, 1664, 2304]


# F082: eight iterations, a hand-off of no cycles.

ITERATIONS, QK, SOFTMAX, PV = 8, 10, 15, 10
EXPECTED = [(1, 280, 0), (2, 170, 110), (3, 160, 120)]


def in_flight_order(count):
    """QK(0) to QK(count - 1), PV(0), QK(count), PV(1), ...: (kind, iteration)."""
    jobs = [("qk", iteration) for iteration in range(count)]
    for iteration in range(ITERATIONS):
        jobs.append(("pv", iteration))
        if iteration + count < ITERATIONS:
            jobs.append(("qk", iteration + count))
    return jobs


def iterations(order, in_flight):
    """Machine and program: the matrix jobs in this order, transfers of no bytes."""
    design = Design(rows=1, cols=1, input_slots=1 + ITERATIONS, slot_bytes=1, lanes=1,
                    accumulator_banks=ITERATIONS, handoff_slots=in_flight)
    program = Program(preload=[Load(Destination.OPERAND, base=0, rows=1, bytes_per_row=1,
                                    row_stride=1, slot=0, take=1, last=1)])
    for kind, iteration in order:
        slot, operands = iteration % in_flight, 1 + iteration
        job = ArrayJob(rows=QK, slot=0, row=0, bank=iteration, acc_row=0, inner=1, outer=1,
                       new_weights=0, last_use=0, take_bank=1, finish_bank=1, group=slot)
        if kind == "qk":
            program.jobs.append(job._replace(store=HANDOFF, take_group=1))
            program.handoffs.append(
                Handoff(Direction.TO_VECTOR, slot, iteration, rows=1, length=0))
            program.vectors.append(VectorCommand(VectorOp.ADD, slot, slot, rows=1, length=SOFTMAX,
                                                 wait_a=1, done=1, last=1))
        else:
            program.handoffs.append(
                Handoff(Direction.TO_MATRIX, slot, operands, rows=1, length=0, take=1))
            program.jobs.append(job._replace(rows=PV, slot=operands, free_slot=1, store=NOBODY,
                                             free_group=1))
    return design, program


def run(order, in_flight):
    """Cycles, and those in which array and vector unit are both busy.

    Without the check of programs, for transfers of nothing are none of this hardware.
    """
    design, program = iterations(order, in_flight)
    durations = Durations.ideal(design)
    counters = count(program, activity(program, schedule(program, durations), durations),
                     durations)
    return counters["cycles"], counters["both_busy"]


@pytest.mark.parametrize("in_flight,cycles,both", EXPECTED)
def test_f082_iterations_in_flight(in_flight, cycles, both):
    """F082: Matrix and vector units run one after the other in attention."""
    assert run(in_flight_order(in_flight), in_flight) == (cycles, both)


@given(st.integers(1, ITERATIONS), st.randoms(use_true_random=False))
def test_f082_any_legal_order_is_between_serial_and_a_matrix_unit_always_busy(in_flight, random):
    """F082: 280, serial, and 160, the matrix jobs alone."""
    order, scores, values = [], 0, 0
    while values < ITERATIONS:
        may_score = scores < ITERATIONS and scores - values < in_flight
        if may_score and (scores == values or random.random() < 0.5):
            order.append(("qk", scores))
            scores += 1
        else:
            order.append(("pv", values))
            values += 1
    cycles, both = run(order, in_flight)
    work = ITERATIONS * (QK + SOFTMAX + PV)
    assert ITERATIONS * (QK + PV) <= cycles <= work
    assert cycles == work - both  # with transfers of no cycles one unit is always busy
