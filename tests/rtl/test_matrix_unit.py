"""Mesh with skew, de-skew and tags: random products against numpy, exact cycles.

The schedule is the one of the GEMM formula: a tile's rows are on `weights` in the cycles after
its shift starts, and the shift of the next tile starts with the first activation row.
"""

import numpy as np
import pytest
from harness import lockstep, simulate

from cubewave.rtl import Design, mesh
from cubewave.rtl.mac import WeightStationaryCell
from cubewave.rtl.matrix_unit import MatrixUnit

SHAPES = [(1, 1), (2, 5), (3, 2), (4, 4), (5, 3)]


def schedule(design, tiles, unsigned=False):
    """What is valid on the inputs in which cycle, and each entering row's sums and tag.

    `tiles` are pairs of an activation and a weight matrix.
    """
    rows, bits = design.rows, design.activation_bits
    weights, entering, words, results = {}, {}, {}, {}
    shift, free = 0, 0  # first cycles in which the next tile may be shifted, may enter
    for number, (a, w) in enumerate(tiles):
        for row, values in enumerate(w.tolist()):
            weights[shift + 1 + row] = {"weights": values, "weights_valid": 1}
        first = max(shift + rows, free)
        free = first + len(a)
        shift = first if design.weight_double_buffer else free + MatrixUnit.latency(design)
        for row, values in enumerate(a.tolist()):
            last = row == len(a) - 1
            turn = row == 0 if design.weight_double_buffer else last
            tag = {"valid": 1, "bank": number % 2, "row": row, "accumulate": number // 2 % 2,
                   "finish": int(last), "store": 1}
            entering[first + row] = {"enter": 1, "turn": int(turn), "unsigned": int(unsigned),
                                     "tag": tag}
            words[first + row + 1] = {"activations": sum(
                (value & (1 << bits) - 1) << bits * place for place, value in enumerate(values))}
            results[first + row] = ((values @ w.astype(object)).tolist(), tag)
    return (weights, entering, words), results


def inputs(design, timetables, cycles, rng):
    """The inputs of each cycle: rubbish on the operands where nothing is valid."""
    return [{"weights": rng.integers(-8, 8, design.cols).tolist(), "weights_valid": 0,
             "activations": int(rng.integers(1 << min(design.rows * design.activation_bits, 60))),
             "unsigned": int(rng.integers(2)), "enter": 0, "turn": 0, "tag": None,
             **{name: value for timetable in timetables
                for name, value in timetable.get(cycle, {}).items()}}
            for cycle in range(cycles)]


def check(design, tiles, seed=0, unsigned=False):
    """In every cycle the sums are those of the row that is due, or zero; tags come one before."""
    timetables, results = schedule(design, tiles, unsigned)
    latency = MatrixUnit.latency(design)
    steps = inputs(design, timetables, max(results) + latency + 3, np.random.default_rng(seed))
    got = lockstep(MatrixUnit(design=design), steps, ["sums", "tag_out"])
    no_sums = [0] * design.cols
    no_tag = dict.fromkeys(("valid", "bank", "row", "accumulate", "finish", "store"), 0)
    for cycle, row in enumerate(got):
        assert row["sums"] == results.get(cycle - latency, (no_sums,))[0], f"cycle {cycle}"
        assert row["tag_out"] == results.get(cycle - latency + 1, (0, no_tag))[1], f"{cycle}"


def random_tiles(design, lengths, rng, unsigned=False):
    low, high = (0, 1 << design.activation_bits) if unsigned else (
        -(1 << design.activation_bits - 1), 1 << design.activation_bits - 1)
    half = 1 << design.weight_bits - 1
    return [(rng.integers(low, high, (length, design.rows)),
             rng.integers(-half, half, (design.rows, design.cols))) for length in lengths]


@pytest.mark.parametrize("rows,cols", SHAPES)
@pytest.mark.parametrize("mac_latency", [1, 2, 3])
@pytest.mark.parametrize("double_buffer", [True, False])
def test_products_latency_and_tags(rows, cols, mac_latency, double_buffer):
    design = Design(rows=rows, cols=cols, mac_latency=mac_latency,
                    weight_double_buffer=double_buffer)
    assert MatrixUnit.latency(design) == rows + cols + mac_latency
    lengths = [rows, 1, rows + 3, max(1, rows - 1), 2]
    check(design, random_tiles(design, lengths, np.random.default_rng(rows)), seed=cols)


@pytest.mark.parametrize("activation_bits,weight_bits", [(4, 4), (5, 7), (4, 16), (16, 8)])
@pytest.mark.parametrize("unsigned", [False, True])
def test_operand_widths(activation_bits, weight_bits, unsigned):
    design = Design(rows=3, cols=2, activation_bits=activation_bits, weight_bits=weight_bits)
    tiles = random_tiles(design, [3, 4, 2], np.random.default_rng(weight_bits), unsigned)
    check(design, tiles, unsigned=unsigned)


@pytest.mark.parametrize("bits", [4, 8, 16])
@pytest.mark.parametrize("rows,cols", [(1, 1), (3, 2), (5, 1), (8, 2)])
def test_wide_sums_do_not_overflow(bits, rows, cols):
    design = Design(rows=rows, cols=cols, activation_bits=bits, weight_bits=bits)
    least, greatest = -(1 << bits - 1), (1 << bits - 1) - 1
    signed = [(np.full((2, rows), a), np.full((rows, cols), w))
              for a in (least, greatest) for w in (least, greatest)]
    check(design, signed)
    unsigned = [(np.full((2, rows), (1 << bits) - 1), np.full((rows, cols), w))
                for w in (least, greatest)]
    check(design, unsigned, unsigned=True)


def test_unsigned_activations_f080():
    design = Design(rows=1, cols=1)
    check(design, [(np.array([[255]]), np.array([[1]])), (np.array([[255]]), np.array([[-128]]))],
          unsigned=True)


def test_registers_are_those_of_the_formula():
    assert MatrixUnit.REGISTERS == 3
    design = Design(rows=1, cols=1, mac_latency=1)
    assert MatrixUnit.latency(design) == MatrixUnit.REGISTERS


def output_schedule(design, tiles, unsigned=False):
    """As :func:`schedule`, for pairs of a[M, K] and w[K, cols] of an output-stationary array.

    Tiles follow each other as soon as they may; results are due one row per cycle, the bottom
    row first, M rows of them real.
    """
    rows, bits = design.rows, design.activation_bits
    weights, entering, words, results = {}, {}, {}, {}
    free, last = 0, -rows
    for number, (a, w) in enumerate(tiles):
        length = a.shape[1]
        first = max(free, last + rows - length + 1)
        free, last = first + length, first + length - 1
        product = (a.astype(object) @ w).tolist()
        for k in range(length):
            tag = {"valid": int(k == length - 1), "bank": number % 2, "row": number,
                   "accumulate": number % 2, "finish": 1, "store": 1}
            entering[first + k] = {"enter": 1, "first": int(k == 0), "turn": tag["valid"],
                                   "unsigned": int(unsigned), "tag": tag,
                                   "tile_rows": len(a)}
            weights[first + k + 1] = {"weights": w[k].tolist()}
            words[first + k + 1] = {"activations": sum(
                (value & (1 << bits) - 1) << bits * place
                for place, value in enumerate(a[:, k].tolist()))}
        for row, values in enumerate(product):
            results[last + rows - 1 - row] = (values, {**tag, "row": number + row,
                                                       "finish": int(row == 0)})
    return (weights, entering, words), results


def check_output(design, tiles, rng, unsigned=False):
    """Results are due exactly latency cycles after the last pair and in the cycles after."""
    timetables, results = output_schedule(design, tiles, unsigned)
    latency = MatrixUnit.latency(design)
    steps = inputs(design, timetables, max(results) + latency + 3, rng)
    for step in steps:
        step.setdefault("tile_rows", 0)
        step.setdefault("first", 0)
    got = lockstep(MatrixUnit(design=design), steps, ["sums", "tag_out"])
    for cycle, (row, after) in enumerate(zip(got, got[1:])):
        sums, tag = results.get(cycle - latency + 1, (None, None))
        assert row["tag_out"]["valid"] == int(tag is not None), f"cycle {cycle}"
        if tag is not None:
            assert row["tag_out"] == tag and after["sums"] == sums, f"cycle {cycle}"


@pytest.mark.parametrize("rows,cols", SHAPES)
@pytest.mark.parametrize("mac_latency", [1, 2, 3])
@pytest.mark.parametrize("double_buffer", [True, False])
def test_output_stationary(rows, cols, mac_latency, double_buffer):
    """Tiles that end `rows` cycles after each other or later, some with rows that are not real."""
    design = Design(rows=rows, cols=cols, mac_latency=mac_latency, dataflow="output_stationary",
                    weight_double_buffer=double_buffer)
    rng = np.random.default_rng(cols)
    tiles = [(rng.integers(-128, 128, (height, length)), rng.integers(-128, 128, (length, cols)))
             for height, length in ((rows, rows), (1, 1), (rows, rows + 3), (max(1, rows - 1), 2),
                                    (rows, 2 * rows))]
    check_output(design, tiles, rng)


@pytest.mark.parametrize("activation_bits,weight_bits", [(4, 4), (5, 7), (4, 16), (16, 16)])
@pytest.mark.parametrize("unsigned", [False, True])
def test_output_stationary_operand_widths(activation_bits, weight_bits, unsigned):
    """Extremes in every place; unsigned activations use the sign bit of memory as a value."""
    design = Design(rows=3, cols=2, activation_bits=activation_bits, weight_bits=weight_bits,
                    dataflow="output_stationary")
    least, half = (0 if unsigned else -(1 << activation_bits - 1)), 1 << weight_bits - 1
    most = least + (1 << activation_bits) - 1
    tiles = [(np.full((3, 4), a), np.full((4, 2), w))
             for a in (least, most) for w in (-half, half - 1)]
    rng = np.random.default_rng(weight_bits)
    tiles.append((rng.integers(least, most, (3, 5), endpoint=True),
                  rng.integers(-half, half, (5, 2))))
    check_output(design, tiles, rng, unsigned)


@pytest.mark.parametrize("rows,cols,length", [(4, 4, 4), (3, 5, 2), (2, 1, 7), (1, 1, 1)])
def test_wavefront_length_f001(monkeypatch, rows, cols, length):
    """From the first activation in row 0's register to the last multiply in the corner."""
    cells = []

    class Recorded(WeightStationaryCell):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            cells.append(self)
    monkeypatch.setattr(mesh, "WeightStationaryCell", Recorded)

    design = Design(rows=rows, cols=cols)
    ones = np.ones((length, rows), int), np.ones((rows, cols), int)
    timetables, results = schedule(design, [ones])
    steps = inputs(design, timetables, max(results) + 30, np.random.default_rng(0))
    unit, seen = MatrixUnit(design=design), []

    async def bench(ctx):
        for step in steps:
            for name, value in step.items():
                ctx.set(getattr(unit, name), {} if value is None else value)
            registers = cells[0].activation_out, cells[-1].activation_out
            seen.append((await ctx.tick().sample(*registers))[2:])
    simulate(unit, bench)
    assert len(cells) == rows * cols
    first = min(cycle for cycle, (left, _right) in enumerate(seen) if left)
    last = max(cycle for cycle, (_left, right) in enumerate(seen) if right)
    assert last - first + 1 == length + rows + cols - 2
    # Registers before and after: the read of the slot and row 0's own, then the sum's.
    assert first == min(results) + 2
    assert last + 1 == max(results) + MatrixUnit.latency(design)
