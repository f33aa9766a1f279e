"""What does a change of the design cost or save? A test answers, and keeps answering.

Run it with

    pytest docs/examples/test_design_variant.py

The fixture `simulate` comes with cubewave; nothing has to be imported or configured for it. It is
the function `cubewave.sim.simulate`, and it records a waveform of every run. Break an assertion
to see what for: pytest's report then says where the waveforms of the failing test are kept, and
`cubewave waves FILE.vcd` opens one in GTKWave.
"""

import dataclasses

import pytest

from cubewave.rtl import Design
from cubewave.workloads import QProjection

# A variant is a design with some fields replaced. `cubewave designs tiny` explains every field.
FAST = dataclasses.replace(Design.preset("tiny"), memory_bytes_per_cycle="unlimited")

# A few rows against many weights, as when a language model generates text: 4 x 4 = 16 weight
# tiles on the 4x4 array of `tiny`, each used for m rows.
DECODE = QProjection(m=4, k=16, n=16)
PREFILL = QProjection(m=12, k=16, n=16)


def test_deeper_weight_fifo_hides_memory_latency(simulate):
    """With 40 cycles of latency, FIFO places for 16 tiles save what the array waits with 4."""
    distant = dataclasses.replace(FAST, memory_latency_cycles=40)
    shallow = simulate(distant, DECODE)
    deep = simulate(dataclasses.replace(distant, weight_fifo_depth=16), DECODE)

    # Every run compares its output with numpy, its counters with formulas and its waveform.
    # `ok` says that all of it held.
    assert shallow.ok and deep.ok

    # Where did the cycles go? The array counts the cause of every cycle that it does not work.
    # Four tiles are on their way at a time, then the array waits for the next four.
    assert shallow.units["array"].stalls["weights"] > shallow.cycles // 4
    assert deep.units["array"].stalls["weights"] == 0

    # And nothing else changed: what the deep FIFO saves are those waits and the shifting that
    # they delayed.
    waits = sum(shallow.units["array"].stalls[cause] for cause in ("weights", "weight_shift"))
    assert shallow.cycles - deep.cycles == waits


@pytest.mark.parametrize("workload", [DECODE, PREFILL], ids=["decode", "prefill"])
def test_second_weight_register_saves_a_gap_per_tile(simulate, workload):
    """Without it the array empties before each of the 15 tiles after the first."""
    double = simulate(FAST, workload)
    single = simulate(dataclasses.replace(FAST, weight_double_buffer=False), workload)
    assert double.ok and single.ok

    # With it, tiles follow each other without a gap: all waiting is at the start and the end.
    assert double.units["array"].stalls["weight_shift"] == 0
    assert double.units["array"].busy == workload.shape[0] * 16

    # Without it, each further tile waits for the last row to leave and then for 4 rows of
    # weights: 13 cycles, however many rows were multiplied, so that it hurts `decode` most.
    assert single.units["array"].stalls["weight_shift"] == 15 * 13
    assert single.utilization < double.utilization


def test_bound_says_what_more_bandwidth_can_bring(simulate):
    """The analytic level is instant: use it to decide what is worth simulating."""
    slow = dataclasses.replace(FAST, memory_bytes_per_cycle=4)
    bound = simulate(slow, DECODE, level="analytic")
    assert bound.limited_by == "memory"

    # Nothing but the channel is the limit, so a channel twice as fast moves the bound.
    faster = dataclasses.replace(slow, memory_bytes_per_cycle=8)
    assert simulate(faster, DECODE, level="analytic").cycles < bound.cycles

    # A run is never below its bound, and `items` names every cycle above it.
    run = simulate(slow, DECODE)
    assert run.cycles == bound.cycles + sum(run.items.values())
