"""Exact cycles of the array in whole machines: tile intervals and the GEMM formula.

Jobs of M rows, one tile each. "Ready" means that weights and operands are there before the first
tile is shifted: the array alone sets the pace.
"""

import numpy as np
import pytest
from harness import MachineBench, TiledProduct

from cubewave.rtl import Design
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.rtl.memory_channel import MemoryChannel
from cubewave.rtl.weight_fifo import WeightFifo

# M below, at and above rows; cols above and below rows; one row, one column.
SHAPES = [(4, 4, 2), (4, 4, 4), (4, 4, 7), (2, 5, 1), (2, 5, 3), (5, 2, 3), (3, 1, 3)]


def make(rows, cols, **fields):
    return Design(**{"rows": rows, "cols": cols, "memory_bytes_per_cycle": "unlimited",
                     "memory_latency_cycles": 1, "slot_bytes": 512, "accumulator_banks": 8,
                     **fields})


def product(design, length, tiles, along="n"):
    """`tiles` jobs of `length` rows, side by side along N or accumulating along K."""
    rng = np.random.default_rng(length)
    k, n = (design.rows, design.cols * tiles) if along == "n" else (
        design.rows * tiles, design.cols)
    return TiledProduct(design, rng.integers(-128, 128, (length, k)),
                        rng.integers(-128, 128, (k, n)), stores=False)


def run(program, loads, preload=()):
    """The cycles of shifts, of first rows entering, and of rows written."""
    machine = program.machine()
    core = machine.core
    bench = MachineBench(machine, {
        "shift": core.control.shift, "enter": core.control.enter,
        "written": core.accumulators.written, "accepted": core.control.i.ready})
    bench.run({"loader": list(preload)},
              {"loader": loads, "array": program.jobs}, contents=program.contents)
    seen = {name: [cycle for cycle, row in enumerate(bench.log) if row[name]]
            for name in bench.log[0]}
    length = program.jobs[0].rows
    assert len(seen["enter"]) == length * len(program.jobs)
    starts = seen["enter"][::length]
    for start, end in zip(starts, seen["accepted"]):  # no gaps inside a job
        assert end - start == length - 1
    return seen["shift"], starts, seen["written"]


def run_ready(design, length, tiles, along="n"):
    """Operands are loaded before; a whole tile of weights per cycle."""
    program = product(design, length, tiles, along)
    return run(program, program.weights, preload=program.operands)


@pytest.mark.parametrize("rows,cols,length,mac_latency", [
    *((*shape, 1) for shape in SHAPES), (2, 5, 3, 3), (3, 2, 1, 2)])
def test_gemm_formula(rows, cols, length, mac_latency):
    tiles = 4
    design = make(rows, cols, mac_latency=mac_latency, buffer_port_rows=rows)
    shifts, starts, written = run_ready(design, length, tiles)
    interval = max(length, rows)
    assert np.diff(starts).tolist() == [interval] * (tiles - 1)
    assert shifts[1:] == starts[:-1]
    assert written[-1] - shifts[0] + 1 == (
        rows + (tiles - 1) * interval + length + rows + cols - 2 + MatrixUnit.REGISTERS
        + (mac_latency - 1))


@pytest.mark.parametrize("length", [1, 3])
def test_one_row_arrays(length):
    design = make(1, 2, buffer_port_rows=1)
    shifts, starts, written = run_ready(design, length, 4)
    assert np.diff(starts).tolist() == [length] * 3
    assert written[-1] - shifts[0] + 1 == 1 + 3 * length + length + 1 + 2 - 2 + 3


@pytest.mark.parametrize("rows,cols,length,mac_latency", [
    (4, 4, 7, 1), (2, 5, 1, 2), (5, 2, 3, 1), (1, 1, 1, 1), (1, 3, 2, 3)])
def test_single_buffered_formula(rows, cols, length, mac_latency):
    design = make(rows, cols, mac_latency=mac_latency, buffer_port_rows=rows,
                  weight_double_buffer=False)
    shifts, starts, written = run_ready(design, length, 3)
    tile = rows + length + rows + cols - 2 + MatrixUnit.REGISTERS + (mac_latency - 1)
    assert np.diff(shifts).tolist() == [tile] * 2
    assert [start - shift for start, shift in zip(starts, shifts)] == [rows] * 3
    assert written[-1] - shifts[0] + 1 == 3 * tile


@pytest.mark.parametrize("rows,cols,length,along", [
    *((*shape, "n") for shape in SHAPES), (4, 4, 3, "k"), (2, 5, 5, "k")])
def test_interval_with_loads_under_way_f003(rows, cols, length, along):
    """FIFO and slots 4 deep, one row per cycle into each buffer, both loaded for every tile."""
    tiles = 8
    design = make(rows, cols, weight_fifo_depth=4, input_slots=4)
    program = product(design, length, tiles, along)
    _shifts, starts, _written = run(program, program.loads)
    assert np.diff(starts).tolist() == [max(length, rows)] * (tiles - 1)


def test_one_row_arrays_with_two_descriptors_per_tile():
    design = make(1, 2)
    program = product(design, 1, 8)
    assert np.diff(run(program, program.loads)[1]).tolist() == [2] * 7


@pytest.mark.parametrize("rows,port,length,latency", [
    (4, 1, 1, 0), (4, 1, 9, 0), (4, 1, 12, 1), (4, 1, 13, 4), (5, 2, 3, 1), (1, 1, 1, 0)])
def test_a_fifo_of_one_tile_f052(rows, port, length, latency):
    """A place is free when its last row has been shifted; only then the next load may start."""
    design = make(rows, 3, weight_fifo_depth=1, memory_latency_cycles=latency,
                  buffer_port_rows=port)
    shifts, starts, _written = run_ready(design, length, 4)
    load = -(-rows // port) + latency + MemoryChannel.LATENCY + WeightFifo.ARRIVAL
    assert np.diff(starts).tolist() == [max(length, rows + load)] * 3


@pytest.mark.parametrize("length", [4, 16])
def test_mac_latency_lengthens_the_fill_only_f120(length):
    cycles = []
    for mac_latency in (1, 3):
        shifts, _starts, written = run_ready(
            make(4, 4, mac_latency=mac_latency, buffer_port_rows=4), length, 1)
        cycles.append(written[-1] - shifts[0])
    assert cycles[1] - cycles[0] == 2
