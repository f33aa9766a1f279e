"""Exact cycles of the array in whole machines: tile intervals and the GEMM formula.

Jobs of M rows, one tile each. "Ready" means that weights and operands are there before the first
tile is shifted: the array alone sets the pace. One machine runs all the M of a design.
"""

import numpy as np
import pytest
from harness import MachineBench, TiledProduct

from cubewave.rtl import Design
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.rtl.memory_channel import MemoryChannel
from cubewave.rtl.weight_fifo import WeightFifo


def make(rows, cols, tiles=4, **fields):
    return Design(**{"rows": rows, "cols": cols, "memory_bytes_per_cycle": "unlimited",
                     "memory_latency_cycles": 1, "slot_bytes": 512, "accumulator_banks": tiles,
                     **fields})


def product(design, length, tiles=4, along="n"):
    """`tiles` jobs of `length` rows, side by side along N or accumulating along K."""
    rng = np.random.default_rng(length)
    k, n = (design.rows, design.cols * tiles) if along == "n" else (
        design.rows * tiles, design.cols)
    return TiledProduct(design, rng.integers(-128, 128, (length, k)),
                        rng.integers(-128, 128, (k, n)), stores=False)


def run(programs, ready=True):
    """For each program the cycles of shifts, of first rows entering, and of rows written.

    With `ready` the operands are loaded in a phase before.
    """
    machine = programs[0].machine(*programs[1:])
    core = machine.core
    bench = MachineBench(machine, {
        "shift": core.control.shift, "enter": core.control.enter,
        "written": core.accumulators.written, "accepted": core.control.i.ready})
    phases = []
    for program in programs:
        loads = program.weights if ready else program.loads
        phases += [{"memory": program.contents, "loader": program.operands if ready else ()},
                   {"loader": loads, "array": program.jobs}]
    bench.run(*phases)
    return [cycles(program, log) for program, log in zip(programs, bench.logs[1::2], strict=True)]


def cycles(program, log):
    seen = {name: [cycle for cycle, row in enumerate(log) if row[name]] for name in log[0]}
    length = len(program.a)
    assert len(seen["enter"]) == length * len(program.jobs) == len(seen["written"])
    starts = seen["enter"][::length]
    for start, end in zip(starts, seen["accepted"], strict=True):  # no gaps inside a job
        assert end - start == length - 1
    return seen["shift"], starts, seen["written"]


def run_ready(design, lengths, tiles=4):
    """A whole tile of weights arrives per cycle."""
    return zip(lengths, run([product(design, length, tiles) for length in lengths]), strict=True)


# M below, at and above rows; cols above and below rows; one column.
@pytest.mark.parametrize("rows,cols,lengths,mac_latency", [
    (4, 4, [2, 4, 7], 1), (2, 5, [1, 3], 1), (5, 2, [3, 5, 12], 1), (3, 1, [3], 1),
    (2, 5, [3], 3), (3, 2, [1, 4], 2)])
def test_gemm_formula(rows, cols, lengths, mac_latency):
    tiles = 4
    design = make(rows, cols, tiles, mac_latency=mac_latency, buffer_port_rows=rows)
    for length, (shifts, starts, written) in run_ready(design, lengths):
        interval = max(length, rows)
        assert np.diff(starts).tolist() == [interval] * (tiles - 1)
        assert shifts[1:] == starts[:-1]
        assert written[-1] - shifts[0] + 1 == (
            rows + (tiles - 1) * interval + length + rows + cols - 2 + MatrixUnit.REGISTERS
            + (mac_latency - 1))


def test_one_row_arrays():
    for length, (shifts, starts, written) in run_ready(make(1, 2), [1, 3]):
        assert np.diff(starts).tolist() == [length] * 3
        assert written[-1] - shifts[0] + 1 == 1 + 3 * length + length + 1 + 2 - 2 + 3


@pytest.mark.parametrize("rows,cols,lengths,mac_latency", [
    (4, 4, [1, 7], 1), (2, 5, [1, 2], 2), (5, 2, [3], 1), (1, 1, [1, 2], 1)])
def test_single_buffered_formula(rows, cols, lengths, mac_latency):
    design = make(rows, cols, 3, mac_latency=mac_latency, buffer_port_rows=rows,
                  weight_double_buffer=False)
    for length, (shifts, starts, written) in run_ready(design, lengths, 3):
        tile = rows + length + rows + cols - 2 + MatrixUnit.REGISTERS + (mac_latency - 1)
        assert np.diff(shifts).tolist() == [tile] * 2
        assert [start - shift for start, shift in zip(starts, shifts)] == [rows] * 3
        assert written[-1] - shifts[0] + 1 == 3 * tile


@pytest.mark.parametrize("rows,cols,lengths", [
    (4, 4, [2, 4, 7]), (2, 5, [1, 3]), (5, 2, [3]), (3, 1, [3, 4])])
def test_interval_with_loads_under_way_f003(rows, cols, lengths):
    """FIFO and slots 4 deep, one row per cycle into each buffer, both loaded for every tile."""
    tiles = 8
    design = make(rows, cols, tiles, weight_fifo_depth=4, input_slots=4)
    programs = [product(design, length, tiles, along) for length in lengths for along in "nk"]
    for program, (_shifts, starts, _written) in zip(programs, run(programs, ready=False)):
        assert np.diff(starts).tolist() == [max(len(program.a), rows)] * (tiles - 1)


def test_one_row_arrays_with_two_descriptors_per_tile():
    [(_shifts, starts, _written)] = run([product(make(1, 2, 8), 1, 8)], ready=False)
    assert np.diff(starts).tolist() == [2] * 7


@pytest.mark.parametrize("rows,port,lengths,latency", [
    (4, 1, [1, 9, 10, 11], 0), (4, 1, [1, 13, 15], 4), (5, 2, [3], 1), (1, 1, [1, 4], 0)])
def test_a_fifo_of_one_tile_f052(rows, port, lengths, latency):
    """A place is free when its last row has been shifted; only then the next load may start."""
    design = make(rows, 3, weight_fifo_depth=1, memory_latency_cycles=latency,
                  buffer_port_rows=port)
    load = -(-rows // port) + latency + MemoryChannel.LATENCY + WeightFifo.ARRIVAL
    for length, (_shifts, starts, _written) in run_ready(design, lengths):
        assert np.diff(starts).tolist() == [max(length, rows + load)] * 3


def test_mac_latency_lengthens_the_fill_only_f120():
    lengths = [4, 16, 64]
    spans = [[written[-1] - shifts[0] for _length, (shifts, _starts, written) in run_ready(
        make(4, 4, 1, mac_latency=mac_latency, buffer_port_rows=4), lengths, 1)]
        for mac_latency in (1, 3)]
    assert np.diff(spans, axis=0).tolist() == [[2, 2, 2]]
