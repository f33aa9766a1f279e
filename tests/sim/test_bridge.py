"""The bridge to SCALE-Sim: our cycles are its formula plus terms that are named and counted.

Its weight-stationary arrays load, fill and drain every fold by itself, as ours do with
`weight_double_buffer` false: 2 R + C + M - 2 cycles for a fold of R x C weights. Ours add one
constant, `MatrixUnit.REGISTERS`. Its output-stationary ones take K + R + C - 2 for a fold of R x C
results, and ours add nothing. It has no cycles for the first loads and for the last store; ours
are the rest of the run, and follow from the units' counters and from the descriptors.
"""

import itertools

import pytest

from cubewave.rtl import Design
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.rtl.memory_channel import MemoryChannel
from cubewave.rtl.operand_slots import OperandSlots
from cubewave.rtl.output_cell import OutputStationaryCell
from cubewave.rtl.queue import Queue
from cubewave.rtl.store import StoreUnit
from cubewave.rtl.weight_fifo import WeightFifo
from cubewave.sim import simulate
from cubewave.workloads.gemm import RandomGemm

WEIGHT, OUTPUT = "weight_stationary", "output_stationary"
#: Registers between a pair's read and its product; of each run, not of each fold.
PAIR_REGISTERS = OperandSlots.LATENCY + OutputStationaryCell.TRANSPORT


def scale_sim(dataflow, rows, cols, m, k, n):
    """Folds, and SCALE-Sim's cycles of each (its count is the printed one plus 1)."""
    if dataflow == WEIGHT:
        return -(-k // rows) * -(-n // cols), 2 * rows + cols + m - 2
    return -(-m // rows) * -(-n // cols), k + rows + cols - 2


def machine(dataflow, rows, cols, **fields):
    """Unlimited memory, single-buffered cells, room for everything."""
    deep = {"weight_fifo_depth": 1024, "accumulator_banks": 4} if dataflow == OUTPUT else {}
    return Design(**{"rows": rows, "cols": cols, "dataflow": dataflow,
                     "weight_double_buffer": False, "memory_bytes_per_cycle": "unlimited",
                     "memory_latency_cycles": 0, "accumulator_rows": 65536,
                     "slot_bytes": 1 << 26, **deep, **fields})


def first_row(design, workload):
    """The cycle in which the first row enters: all slices of the first slot and a tile are there.

    A slice holds the port for a cycle a row; the tile's load starts after that of the last slice,
    and a weight-stationary array then shifts it.
    """
    tiling, port = workload.tiling(design), design.buffer_port_rows
    slices = min(tiling.slices_per_slot, tiling.slice_count)
    sizes = [part.rows.size for block in range(len(tiling.m_blocks))
             for k in range(len(tiling.k_tiles)) for part in tiling.slices(block, k)][:slices]
    holds = [-(-size // port) for size in sizes]
    latency = design.memory_latency_cycles + MemoryChannel.LATENCY
    operands = Queue.LATENCY + sum(holds) + latency + OperandSlots.ARRIVAL
    weights = (Queue.LATENCY + sum(holds[:-1]) + 1 + -(-tiling.k_tiles[0].size // port) + latency
               + WeightFifo.ARRIVAL)
    return max(operands, weights + (design.rows if design.dataflow == WEIGHT else 0))


def last_store(design, workload):
    """Cycles from the last result in the accumulators to the end."""
    rows = workload.tiling(design).m_blocks[-1].size
    return max(rows + design.memory_latency_cycles, rows + StoreUnit.ROW_LATENCY)


def check(design, m, k, n, level="cycle"):
    """start + folds * period + end = cycles, each of them from the units and from formulas."""
    workload = RandomGemm(m, k, n)
    result = simulate(design, workload, level=level, **({"output": False} if level == "cycle"
                                                        else {}))
    assert result.ok
    array = result.units["array"]
    stalls = {name: cycles for name, cycles in array.stalls.items() if cycles}
    folds, theirs = scale_sim(design.dataflow, design.rows, design.cols, m, k, n)
    start = Queue.LATENCY + stalls.pop("fill")
    end = array.idle - Queue.LATENCY
    assert start == first_row(design, workload) and end == last_store(design, workload)
    if design.dataflow == WEIGHT:
        period = theirs + MatrixUnit.REGISTERS + design.mac_latency - 1
        start -= design.rows  # the first fold begins with the shift of its tile
        streams, drain = m, period - m - design.rows
        waits = {"weight_shift": (folds - 1) * (period - m)}
        items = {"fill": start - Queue.LATENCY, "idle": Queue.LATENCY + end}
    else:
        period = theirs + design.mac_latency - 1
        leave = design.rows + PAIR_REGISTERS
        end += leave  # SCALE-Sim does not shift results out
        streams, drain = k, period - k + leave
        waits = {"output": (folds - 1) * (period - k)}
        items = {"fill": start - Queue.LATENCY, "idle": Queue.LATENCY + end - leave,
                 "drain": leave}
    assert array.busy == folds * streams
    assert stalls == {name: cycles for name, cycles in {**waits, "drain": drain}.items() if cycles}
    assert result.cycles == start + folds * period + end
    assert result.items == {name: cycles for name, cycles in items.items() if cycles}
    return result


ARRAYS = [(1, 1), (1, 4), (4, 4), (3, 5), (8, 2), (16, 16), (31, 32), (128, 128), (256, 256)]
HEIGHTS = [1, 2, 3, 7, 64, 256, 300]


@pytest.mark.parametrize("rows,cols", ARRAYS)
@pytest.mark.parametrize("m", HEIGHTS)
def test_an_added_fold_of_k_costs_scale_sims_and_three_cycles(rows, cols, m):
    """With a fixed start (one slice a slot): the growth itself, for one to five folds."""
    design = machine(WEIGHT, rows, cols, input_slots=8)
    cycles = [simulate(design, RandomGemm(m, rows * folds, cols, slices_per_slot=1),
                       level="cycle", output=False).cycles for folds in range(1, 7)]
    assert MatrixUnit.REGISTERS == 3
    assert {after - before for before, after in itertools.pairwise(cycles)} == {
        2 * rows + cols + m - 2 + 3}


@pytest.mark.parametrize("rows,cols", [array for array in ARRAYS if min(array) > 1])
@pytest.mark.parametrize("k", HEIGHTS)
def test_an_added_fold_of_results_costs_what_scale_sims_does(rows, cols, k):
    design = machine(OUTPUT, rows, cols)
    cycles = [simulate(design, RandomGemm(rows, k, cols * folds), level="cycle",
                       output=False).cycles for folds in range(1, 7)]
    assert {after - before for before, after in itertools.pairwise(cycles)} == {
        k + rows + cols - 2}


@pytest.mark.parametrize("rows,cols", ARRAYS)
@pytest.mark.parametrize("m,k_folds,n_folds", [(1, 1, 1), (5, 3, 1), (300, 2, 3), (64, 7, 2)])
def test_start_folds_and_end_are_all(rows, cols, m, k_folds, n_folds):
    """Whole folds and, in the last of K and N, parts of folds, which cost as much."""
    check(machine(WEIGHT, rows, cols), m, rows * k_folds, cols * n_folds)
    check(machine(WEIGHT, rows, cols, memory_latency_cycles=37, mac_latency=2,
                  buffer_port_rows=3), m, max(1, rows * k_folds - rows // 2),
          max(1, cols * n_folds - cols // 2))


@pytest.mark.parametrize("rows,cols", [array for array in ARRAYS if min(array) > 1])
@pytest.mark.parametrize("m_folds,k,n_folds", [(1, 1, 1), (1, 5, 3), (3, 300, 2), (2, 64, 5)])
def test_start_folds_and_end_are_all_output_stationary(rows, cols, m_folds, k, n_folds):
    check(machine(OUTPUT, rows, cols), rows * m_folds, k, cols * n_folds)
    check(machine(OUTPUT, rows, cols, memory_latency_cycles=37, mac_latency=3,
                  buffer_port_rows=2), rows * m_folds - rows // 2, k, cols * n_folds - cols // 2)


def test_double_buffered_shifts_hide_behind_rows():
    """The bound counts every shift; what the first one keeps waiting is not an item again."""
    rows, cols, m, folds = 8, 4, 3, 5
    design = machine(WEIGHT, rows, cols, weight_double_buffer=True)
    result = simulate(design, RandomGemm(m, rows * folds, cols), level="cycle")
    array = result.units["array"]
    assert array.stalls["weight_shift"] == (folds - 1) * (rows - m)
    assert result.cycles - sum(result.items.values()) == folds * rows
    assert result.items == {"fill": array.stalls["fill"] - (rows - m),
                            "drain": array.stalls["drain"], "idle": array.idle}


@pytest.mark.parametrize("dataflow,rows,cols,shape", [
    (WEIGHT, 4, 4, (5, 12, 8)), (WEIGHT, 3, 5, (7, 8, 9)), (WEIGHT, 1, 1, (3, 2, 2)),
    (WEIGHT, 8, 8, (20, 24, 8)), (OUTPUT, 4, 4, (8, 9, 8)), (OUTPUT, 3, 5, (5, 7, 9)),
    (OUTPUT, 8, 8, (8, 24, 16))])
def test_the_hardware_bridges_too(dataflow, rows, cols, shape):
    fields = {"accumulator_rows": 64, "slot_bytes": 1024, "weight_fifo_depth": 16}
    check(machine(dataflow, rows, cols, **fields), *shape, level="rtl")


@pytest.mark.parametrize("dataflow,name,shape,side,printed_plus_1", [
    (WEIGHT, "Q projection", (256, 4096, 4096), 128, 653_312),
    (WEIGHT, "Q projection", (256, 4096, 4096), 64, 1_826_816),
    (WEIGHT, "Q projection", (256, 4096, 4096), 256, 261_632),
    (WEIGHT, "Q projection", (1, 4096, 4096), 128, 392_192),
    (WEIGHT, "convolution", (3136, 576, 64), 16, 458_208),
    (WEIGHT, "convolution", (3136, 576, 64), 64, 29_934),
    (WEIGHT, "convolution", (3136, 576, 64), 128, 17_590),
    (WEIGHT, "QK", (128, 128, 128), 16, 11_136),
    (WEIGHT, "QK", (128, 128, 128), 64, 1_272),
    (WEIGHT, "QK", (128, 128, 128), 128, 510),
    (WEIGHT, "QK", (128, 128, 128), 256, 894),
    (OUTPUT, "QK", (128, 128, 128), 16, 10_112),
    (OUTPUT, "QK", (128, 128, 128), 128, 382),
])
def test_what_scale_sim_printed(dataflow, name, shape, side, printed_plus_1):
    """Counts of SCALE-Sim 3.0.0 (it prints the last cycle's index, one less) next to ours."""
    folds, period = scale_sim(dataflow, side, side, *shape)
    assert folds * period == printed_plus_1
    result = check(machine(dataflow, side, side), *shape)
    constant = MatrixUnit.REGISTERS if dataflow == WEIGHT else 0
    assert result.cycles - sum(result.items.values()) == printed_plus_1 + constant * folds
