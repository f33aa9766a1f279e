"""Timing ideal: the rules of the chapter, without what real hardware adds.

The input-slot study is 4.4.2's: four blocks, each a transfer of 64 ticks, a wait of 128 and a
computation of 128 (64 with twice the columns), on an 8x8 array: M = N = 16, K = 32.
"""

import dataclasses
import itertools

import pytest

from cubewave.rtl import Design
from cubewave.rtl.commands import ArrayJob, Destination, Load
from cubewave.sim import simulate
from cubewave.sim.backends.pysim import run_pysim
from cubewave.sim.cycle import Durations, run_cycle_model, schedule
from cubewave.workloads.gemm import RandomGemm
from cubewave.workloads.program import Program

BLOCKS, M, K, N = 4, 16, 32, 16
TRANSFER, WAIT = 64, 128


def study(design):
    """Blocks of operands and weights; no result is stored.

    All loads of a block are one group: its first takes the slot, its last, an operand load too,
    makes the slot ready, and the weights are in between.
    """
    program, port = Program(memory_bytes=1024), design.buffer_port_rows
    k_tiles, n_tiles = K // design.rows, N // design.cols
    for block in range(BLOCKS):
        slot = block % design.input_slots
        operands = [Load(Destination.OPERAND, base=0, rows=M, bytes_per_row=design.rows,
                         row_stride=design.rows, slot=slot, word=k * M // port,
                         take=int(k == 0), last=int(k == k_tiles - 1)) for k in range(k_tiles)]
        weights = [Load(Destination.WEIGHT, base=0, rows=design.rows, bytes_per_row=design.cols,
                        row_stride=design.cols)] * (k_tiles * n_tiles)
        program.loads += [operands[0], *weights, *operands[1:]]
        for n, k in itertools.product(range(n_tiles), range(k_tiles)):
            program.jobs.append(ArrayJob(
                rows=M, slot=slot, row=k * M, bank=(block * n_tiles + n) % 2, acc_row=0,
                inner=design.rows, outer=design.cols, accumulate=int(k > 0),
                take_bank=int(k == 0), finish_bank=int(k == k_tiles - 1), store=0,
                free_slot=int((n, k) == (n_tiles - 1, k_tiles - 1))))
    return program


def events(slots, compute):
    """Issue, ready, start and end of every block by the rule in words.

    A block is issued when the one before has been transferred and a slot is free, ready a wait
    after its transfer, and starts when it is ready and the matrix unit free.
    """
    rows = []
    for block in range(BLOCKS):
        before = rows[-1] if rows else (-TRANSFER, 0, 0, 0)
        issue = max(before[0] + TRANSFER, rows[block - slots][3] if block >= slots else 0)
        ready = issue + TRANSFER + WAIT
        start = max(ready, before[3])
        rows.append((issue, ready, start, start + compute))
    return rows


def machine(slots, cols=8):
    return dataclasses.replace(Design.preset("chapter"), input_slots=slots, cols=cols)


@pytest.mark.parametrize("slots,cols,span", [
    (1, 8, 1280), (2, 8, 768), (3, 8, 704), (4, 8, 704), (3, 16, 512), (4, 16, 448)])
def test_the_input_slot_table(slots, cols, span):
    design = machine(slots, cols)
    program = study(design)
    run = run_cycle_model(program, Durations.ideal(design))
    assert run.counters["span"] == run.counters["cycles"] == span
    assert run.counters["useful_macs"] == BLOCKS * M * K * N


@pytest.mark.parametrize("slots", [1, 2, 3, 4])
@pytest.mark.parametrize("cols", [8, 16])
def test_every_event_of_the_input_slot_study(slots, cols):
    design = machine(slots, cols)
    program = study(design)
    plan = schedule(program, Durations.ideal(design))
    loads, jobs = len(program.loads) // BLOCKS, len(program.jobs) // BLOCKS
    got = [(plan.load_start[block * loads], plan.job_slot[block * jobs],
            plan.job_start[block * jobs], plan.job_end[(block + 1) * jobs - 1])
           for block in range(BLOCKS)]
    assert got == events(slots, compute=1024 // cols)


@pytest.mark.long
def test_the_study_runs_on_the_hardware_too():
    """The same program; what the RTL adds to the 704 ticks are its pipeline's registers."""
    design = machine(3)
    program = study(design)
    counters = run_pysim(design, program).counters
    assert counters == run_cycle_model(program, Durations.rtl(design)).counters
    assert 704 < counters["span"] < 704 + 3 * (design.rows + design.cols)


@pytest.mark.parametrize("m,k,n,array", [
    (16, 32, 16, 128), (1, 8, 8, 1), (5, 9, 10, 5 + 1 + 2 + 1), (3, 4, 4, 1), (7, 8, 9, 7 + 1)])
def test_array_time_is_the_textbooks(m, k, n, array):
    """Each tile's job takes ceil(MACs / 64) cycles."""
    design = dataclasses.replace(machine(4), memory_bytes_per_cycle="unlimited",
                                 memory_latency_cycles=0)
    result = simulate(design, RandomGemm(m, k, n), level="cycle", timing="ideal")
    assert result.ok
    assert result.units["array"].busy == array


def test_nothing_but_service_times():
    """One tile: a transfer of weights and operands side by side, the job, the transfer back."""
    design = dataclasses.replace(Design.preset("tiny"), memory_bytes_per_cycle=4)
    result = simulate(design, RandomGemm(4, 4, 4), level="cycle", timing="ideal")
    loads, latency, job, store = 4 + 4, design.memory_latency_cycles, 4, 16
    assert result.cycles == result.span == loads + latency + job + store + latency
    assert result.units["array"].stalls["weight_shift"] == 0
    assert result.units["array"].stalls["drain"] == 0


@pytest.mark.parametrize("dataflow", ["weight_stationary", "output_stationary"])
@pytest.mark.parametrize("double_buffer", [True, False])
def test_ideal_is_never_slower(dataflow, double_buffer):
    design = Design(rows=4, cols=3, dataflow=dataflow, weight_double_buffer=double_buffer)
    for shape in itertools.product((1, 5, 9), (1, 4, 11), (1, 3, 8)):
        real, ideal = (simulate(design, RandomGemm(*shape), level="cycle", timing=timing)
                       for timing in ("rtl", "ideal"))
        assert ideal.ok and ideal.cycles < real.cycles
        assert ideal.bytes_read == real.bytes_read
