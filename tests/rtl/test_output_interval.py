"""Exact cycles of an output-stationary array in whole machines.

An output tile of `rows` x `cols` takes K pairs; "ready" means that weights and operands are in
the buffers before the run. The results of a tile, real rows or not, take `rows` cycles to leave.
"""

import numpy as np
import pytest
from harness import MachineBench, TiledProduct

from cubewave.rtl import Design
from cubewave.rtl.matrix_unit import MatrixUnit


def make(rows, cols, **fields):
    return Design(**{"rows": rows, "cols": cols, "dataflow": "output_stationary",
                     "memory_bytes_per_cycle": "unlimited", "memory_latency_cycles": 1,
                     "slot_bytes": 512, "accumulator_banks": 8, "input_slots": 24,
                     "weight_fifo_depth": 24, **fields})


def product(design, height, k, tiles, **choices):
    """`tiles` output tiles of `height` real rows side by side."""
    rng = np.random.default_rng(k)
    return TiledProduct(design, rng.integers(-128, 128, (height, k)),
                        rng.integers(-128, 128, (k, design.cols * tiles)), **choices)


def run(programs, ready=True):
    """For each program the cycles in which pairs enter, of which those that end a tile, and rows
    are written; and the counters. With `ready` all loads come in a phase before."""
    machine = programs[0].machine(*programs[1:])
    core = machine.core
    bench = MachineBench(machine, {
        "enter": core.control.enter, "turn": core.control.turn,
        "written": core.accumulators.written})
    phases = []
    for program in programs:
        phases += [{"memory": program.contents, "loader": program.loads if ready else ()},
                   {"loader": () if ready else program.loads, "array": program.jobs}]
    bench.run(*phases)
    for log, counters in zip(bench.logs[1::2], bench.all_counters[1::2], strict=True):
        yield *([cycle for cycle, row in enumerate(log) if row[name]] for name in log[0]), counters


# K below, at and above rows, a multiple of it or not; cols above and below rows; one row, column.
@pytest.mark.parametrize("rows,cols,lengths,mac_latency", [
    (4, 4, [2, 4, 7], 1), (2, 5, [1, 5], 1), (5, 2, [3], 1), (3, 1, [6], 1), (1, 1, [3], 1),
    (4, 4, [2], 3), (2, 5, [5], 2)])
def test_tiles_follow_after_k_or_rows(rows, cols, lengths, mac_latency):
    tiles = 4
    design = make(rows, cols, mac_latency=mac_latency)
    programs = [product(design, rows, k, tiles, stores=False) for k in lengths]
    for k, (enters, turns, written, counters) in zip(lengths, run(programs), strict=True):
        interval = max(k, rows)
        assert np.diff(turns).tolist() == [interval] * (tiles - 1)
        assert written == [last + MatrixUnit.latency(design) + row
                           for last in turns for row in range(rows)]
        assert len(enters) == k * tiles
        # What is not busy: results in the way, before the pairs of each tile's last K tile.
        assert counters["array.output"] == (tiles - 1) * (interval - k)
        assert counters["array.drain"] == MatrixUnit.latency(design) + rows - 1
        assert counters["cycles"] == 1 + k + (tiles - 1) * interval + counters["array.drain"]


@pytest.mark.parametrize("rows,cols,lengths,mac_latency", [
    (4, 4, [2, 4, 7], 1), (2, 5, [1, 5], 1), (5, 2, [3], 1), (1, 1, [3], 1), (2, 5, [5], 2)])
def test_single_buffered_tiles_wait_for_the_last_product(rows, cols, lengths, mac_latency):
    tiles = 4
    design = make(rows, cols, mac_latency=mac_latency, weight_double_buffer=False)
    programs = [product(design, rows, k, tiles, stores=False) for k in lengths]
    for k, (enters, turns, written, counters) in zip(lengths, run(programs), strict=True):
        interval = k + rows + cols - 2 + mac_latency - 1
        assert np.diff(turns).tolist() == np.diff(enters[::k]).tolist() == (
            [interval] * (tiles - 1))
        assert written[-1] == turns[-1] + MatrixUnit.latency(design) + rows - 1
        assert counters["array.output"] == (tiles - 1) * (interval - k)


@pytest.mark.parametrize("double_buffer", [True, False])
def test_rows_that_are_not_real_are_never_written(double_buffer):
    """The real rows are the upper ones, which leave last: the tile takes as long as a full one."""
    design = make(4, 2, weight_double_buffer=double_buffer)
    programs = [product(design, height, 3, 3, stores=False) for height in (1, 2, 3)]
    for height, (_enters, turns, written, counters) in enumerate(run(programs), 1):
        assert np.diff(turns).tolist() == [4 if double_buffer else 3 + 4 + 2 - 2] * 2
        assert written == [last + MatrixUnit.latency(design) + row
                           for last in turns for row in range(4 - height, 4)]
        assert counters["accumulator_rows"] == 3 * height
        assert counters["useful_macs"] == height * 3 * design.cols * 3


@pytest.mark.parametrize("rows,cols,lengths", [(4, 4, [4, 6, 8]), (2, 5, [2, 4]), (5, 2, [5])])
def test_interval_with_loads_under_way(rows, cols, lengths):
    """FIFO and slots 4 deep, one row per cycle into each buffer, both loaded for every job."""
    tiles = 6
    design = make(rows, cols, weight_fifo_depth=4, input_slots=4)
    programs = [product(design, rows, k, tiles, stores=False) for k in lengths]
    for k, (_enters, turns, _written, _counters) in zip(lengths, run(programs, ready=False)):
        assert np.diff(turns).tolist() == [max(k, rows)] * (tiles - 1)


@pytest.mark.parametrize("rows,cols,fields", [
    (1, 1, {}), (2, 5, {"weight_double_buffer": False}), (3, 2, {"mac_latency": 3}),
    (4, 4, {"accumulator_banks": 1}), (3, 4, {"accumulator_banks": 2, "input_slots": 1}),
    (4, 3, {"activation_bits": 5, "weight_bits": 7, "buffer_port_rows": 2})])
def test_the_stored_product(rows, cols, fields):
    """Two blocks of rows, the second not full, and K and N not whole tiles."""
    design = make(rows, cols, accumulator_rows=rows, **fields)
    half = 1 << min(design.activation_bits, design.weight_bits) - 1
    rng = np.random.default_rng(rows)
    program = TiledProduct(design, rng.integers(-half, half, (2 * rows - rows // 2, 7)),
                           rng.integers(-half, half, (7, 2 * cols - cols // 2)))
    bench = MachineBench(program.machine()).run(program.commands, contents=program.contents)
    assert program.stored(bench.memory).tolist() == program.exact.tolist()
    assert not bench.overflow
