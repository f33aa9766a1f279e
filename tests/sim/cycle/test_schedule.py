"""Hand-made programs on the scheduler: data in the buffers before the run, and deadlocks."""

import pytest

from cubewave.rtl import Design
from cubewave.rtl.accumulator import HANDOFF
from cubewave.rtl.commands import ArrayJob, Destination, Load, Store
from cubewave.rtl.vector_commands import Direction, Handoff, Operand, VectorCommand, VectorOp
from cubewave.sim import DeadlockError
from cubewave.sim.backends.pysim import PysimMachine, run_pysim
from cubewave.sim.backends.run import machine_size
from cubewave.sim.cycle import Durations, ScheduleError, run_cycle_model, schedule
from cubewave.workloads.gemm import RandomGemm
from cubewave.workloads.program import Program

SMALL = Design(rows=2, cols=3, weight_fifo_depth=2, input_slots=2, slot_bytes=64,
               accumulator_banks=2)
WEIGHTS = Load(Destination.WEIGHT, base=0, rows=2, bytes_per_row=3, row_stride=3)
OPERANDS = Load(Destination.OPERAND, base=0, rows=4, bytes_per_row=2, row_stride=2, slot=1, take=1,
                last=1)
JOB = ArrayJob(rows=4, slot=1, row=0, bank=1, acc_row=0, inner=2, outer=3)
STORE = Store(bank=1, acc_row=0, rows=4, base=64, bytes_per_row=12, row_stride=12)
ELEMENTS = Load(Destination.VECTOR, base=0, rows=1, bytes_per_row=3, row_stride=3, slot=0, take=1,
                last=1, pitch=3, element_bytes=1)
COMMAND = VectorCommand(VectorOp.ADD, 0, 1, rows=1, length=3, b=Operand.VECTOR, b_slot=1)
SCORES = Handoff(Direction.TO_VECTOR, slot=0, buffer=1, rows=4, length=3, pitch=3)
PROBABILITIES = Handoff(Direction.TO_MATRIX, slot=0, buffer=1, rows=4, length=2, pitch=2)


@pytest.mark.parametrize("ahead", [1, 2, 3])
@pytest.mark.parametrize("fields", [
    {}, {"weight_double_buffer": False}, {"dataflow": "output_stationary"},
    {"dataflow": "output_stationary", "weight_double_buffer": False}])
def test_weights_before_the_run(fields, ahead):
    """Of the tiles in the FIFO a weight-stationary array shifts the first before it, too."""
    design = Design(rows=2, cols=3, weight_fifo_depth=3, memory_bytes_per_cycle=2, **fields)
    program = RandomGemm(2, 6, 6, a_resident=True).program(design)
    loads = program.loads
    program.preload, program.loads = program.preload + loads[:ahead], loads[ahead:]
    model = run_cycle_model(program, Durations.rtl(design)).counters
    assert run_pysim(design, program).counters == model
    assert model["loads"] == len(loads) - ahead


def test_nothing_at_all():
    run = run_cycle_model(Program(memory_bytes=64), Durations.rtl(SMALL))
    assert set(run.counters.values()) == {0}


DEADLOCKS = {
    "slot never loaded": (
        Program(loads=[WEIGHTS], jobs=[JOB]), "array waits for slot 1 to be ready"),
    "slot loaded in part": (
        Program(loads=[WEIGHTS, OPERANDS._replace(last=0)], jobs=[JOB]),
        "array waits for slot 1 to be ready"),
    "slot never freed": (
        Program(loads=[WEIGHTS, OPERANDS, OPERANDS], jobs=[JOB]),
        "loader waits for slot 1 to be free"),
    "slot freed too early": (
        Program(loads=[WEIGHTS, WEIGHTS, OPERANDS], jobs=[JOB._replace(free_slot=1), JOB]),
        "array waits for slot 1 to be ready"),
    "no weights": (
        Program(loads=[WEIGHTS, OPERANDS], jobs=[JOB, JOB]), "array waits for its weight tile"),
    "weights that nothing uses": (
        Program(loads=[WEIGHTS] * 4), "loader waits for a place in the weight FIFO"),
    "bank never stored": (
        Program(loads=[WEIGHTS, WEIGHTS, OPERANDS],
                jobs=[JOB._replace(take_bank=1, finish_bank=1)] * 2),
        "array waits for accumulator bank 1 to be free"),
    "bank never finished": (
        Program(loads=[WEIGHTS, OPERANDS], jobs=[JOB._replace(take_bank=1)], stores=[STORE]),
        "store waits for accumulator bank 1 to be full"),
    "bank stored twice": (
        Program(loads=[WEIGHTS, OPERANDS], jobs=[JOB._replace(take_bank=1, finish_bank=1)],
                stores=[STORE, STORE]),
        "store waits for accumulator bank 1 to be full"),
    "bank not to be stored": (
        Program(loads=[WEIGHTS, OPERANDS],
                jobs=[JOB._replace(take_bank=1, finish_bank=1, store=0)], stores=[STORE]),
        "store waits for accumulator bank 1 to be full"),
    "everything at once": (
        Program(loads=[OPERANDS, OPERANDS], jobs=[JOB._replace(slot=0)], stores=[STORE]),
        "loader waits for slot 1 to be free; array waits for slot 0 to be ready; "
        "store waits for accumulator bank 1 to be full"),
    "vector slot never filled": (
        Program(vectors=[COMMAND._replace(wait_a=1)]),
        "vector waits for vector slot 0 to be filled"),
    "vector slot filled in part": (
        Program(loads=[ELEMENTS._replace(last=0)], vectors=[COMMAND._replace(wait_a=1)]),
        "vector waits for vector slot 0 to be filled"),
    "vector slot used twice": (
        Program(loads=[ELEMENTS], vectors=[COMMAND._replace(wait_a=1)] * 2),
        "vector waits for vector slot 0 to be filled"),
    "neither operand of a command": (
        Program(vectors=[COMMAND, COMMAND._replace(wait_a=1, wait_b=1)]),
        "vector waits for vector slot 0 and 1 to be filled"),
    "vector slot never freed, loader": (
        Program(loads=[ELEMENTS, ELEMENTS]), "loader waits for vector slot 0 to be free"),
    "no scores": (
        Program(handoffs=[SCORES]), "handoff waits for accumulator bank 1 to be full"),
    "scores are for the store": (
        Program(loads=[WEIGHTS, OPERANDS], jobs=[JOB._replace(take_bank=1, finish_bank=1)],
                handoffs=[SCORES]),
        "handoff waits for accumulator bank 1 to be full"),
    "vector slot never freed, hand-off": (
        Program(loads=[ELEMENTS, WEIGHTS, OPERANDS],
                jobs=[JOB._replace(take_bank=1, finish_bank=1, store=HANDOFF)],
                handoffs=[SCORES._replace(take=1)]),
        "handoff waits for vector slot 0 to be free"),
    "no probabilities": (
        Program(vectors=[COMMAND], handoffs=[PROBABILITIES]),
        "handoff waits for vector slot 0 to hold a result"),
    "probabilities used twice": (
        Program(vectors=[COMMAND._replace(done=1)], handoffs=[PROBABILITIES, PROBABILITIES]),
        "handoff waits for vector slot 0 to hold a result"),
    "no slot for probabilities": (
        Program(preload=[OPERANDS], vectors=[COMMAND._replace(done=1)],
                handoffs=[PROBABILITIES._replace(take=1)]),
        "handoff waits for slot 1 to be free"),
    "hand-off slot never freed": (
        Program(loads=[WEIGHTS, WEIGHTS, OPERANDS], jobs=[JOB._replace(take_group=1, group=1)] * 2),
        "array waits for vector slot 1 to be free"),
    "vector slot without a result to store": (
        Program(vectors=[COMMAND], stores=[STORE._replace(vector=1, bank=0, wait=1)]),
        "store waits for vector slot 0 to hold a result"),
    "all five": (
        Program(loads=[OPERANDS, OPERANDS], jobs=[JOB._replace(slot=0)],
                vectors=[COMMAND._replace(wait_b=1)], handoffs=[SCORES], stores=[STORE]),
        "loader waits for slot 1 to be free; array waits for slot 0 to be ready; vector waits for "
        "vector slot 1 to be filled; handoff waits for accumulator bank 1 to be full; store waits "
        "for accumulator bank 1 to be full"),
    "both of bank and slot": (  # the bank is looked at first
        Program(loads=[WEIGHTS, WEIGHTS, OPERANDS], jobs=[
            JOB._replace(take_bank=1, finish_bank=1), JOB._replace(take_bank=1, slot=0)]),
        "array waits for accumulator bank 1 to be free"),
}


@pytest.mark.parametrize("name", DEADLOCKS)
def test_a_program_that_cannot_end_names_who_waits_for_what(name):
    program, reasons = DEADLOCKS[name]
    with pytest.raises(ScheduleError) as caught:
        schedule(program, Durations.rtl(SMALL))
    assert str(caught.value) == f"deadlock: {reasons}"
    assert isinstance(caught.value, DeadlockError)


@pytest.fixture(scope="module")
def machine():
    built = PysimMachine(SMALL, *machine_size(SMALL, Program(memory_bytes=256)))
    built.watchdog_cycles = 300
    return built


@pytest.mark.parametrize("name", DEADLOCKS)
def test_the_hardware_waits_for_the_same(machine, name):
    program, reasons = DEADLOCKS[name]
    with pytest.raises(DeadlockError) as caught:
        machine.run(program)
    assert str(caught.value).partition("; ")[2] == reasons
