"""What loads of windows charge, and the order in which a program asks for them."""

import random
from dataclasses import replace

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.rtl.commands import Destination, WindowRegister
from cubewave.rtl.window_format import Windows
from cubewave.sim.analytic.conv2d import image_bytes, window_bytes
from cubewave.workloads import RandomConv2d
from cubewave.workloads.conv2d_shape import ConvolutionShape
from cubewave.workloads.conv2d_windows import LineBuffer, reads_of
from cubewave.workloads.tiling import Tile

TINY = Design.preset("tiny")
SMALL = replace(TINY, accumulator_rows=7, slot_bytes=16, input_slots=2)
STATIONARY = ("weight_stationary", "output_stationary")


def window_loads(program, destination=Destination.OPERAND):
    return [load for load in program.loads if load.window and load.destination is destination]


def works():
    """Convolutions of all kinds, with several blocks on SMALL."""
    rng = random.Random(5)
    for _ in range(40):
        groups = rng.choice([1, 1, 2])
        yield RandomConv2d(
            rng.randint(3, 7), rng.randint(3, 7), groups * rng.randint(1, 5), groups * 5,
            (rng.randint(1, 3), rng.randint(1, 3)), stride=(rng.randint(1, 4), rng.randint(1, 4)),
            padding=((rng.randrange(3), rng.randrange(3)), (rng.randrange(3), rng.randrange(3))),
            groups=groups, layout=rng.choice(["NHWC", "NCHW"]))


@pytest.mark.parametrize("dataflow", STATIONARY)
@pytest.mark.parametrize("design", [TINY, SMALL], ids=["tiny", "small"])
def test_loads_have_the_bytes_of_closed_formulas(design, dataflow):
    """With the buffer every byte under a window is read once, without it for every window."""
    design = replace(design, dataflow=dataflow)
    for work in works():
        products = work.shape.products
        loads = window_loads(work.program(design, contents=False))
        read = sum(load.nbytes for load in loads)
        assert read == products * image_bytes(design, work)
        unbuffered = replace(design, im2col_line_buffer=False)
        loads = window_loads(work.program(unbuffered, contents=False))
        read = sum(load.nbytes for load in loads)
        assert read == products * work.tiling(design).a_reads * window_bytes(design, work)


@pytest.mark.parametrize("dataflow", STATIONARY)
def test_loads_address_the_windows(dataflow):
    """Elements of the im2col matrix, through the addresses of the loads."""
    design = replace(SMALL, dataflow=dataflow)
    for work in works():
        x, _w = work.operands(design)
        program = work.program(design)
        memory = np.zeros(program.memory_bytes, np.uint8)
        for image in program.images:
            memory[image.base:image.base + image.data.size] = image.data
        windows = Windows(dataflow == "output_stationary")
        expected = iter(_slices(work, x, design))
        for load in program.loads:
            if load.configure is not WindowRegister.NONE:
                windows.configure(load)
            elif load.window:
                reads = windows.reads(load)
                rows = np.zeros((load.rows, load.bytes_per_row), np.int64)
                for segment in range(load.segments):
                    part = np.arange(reads.size[segment])
                    at = reads.address[:, segment, None] + part
                    real = reads.real[:, segment, None]
                    rows[:, reads.offset[segment] + part] = np.where(
                        real, memory[np.where(real, at, 0)].astype(np.int8), 0)
                assert (rows == next(expected)).all()
        assert next(expected, None) is None


def _slices(work, x, design):
    """The parts of the im2col matrices that a program loads, cut from the whole matrices."""
    shape, tiling = work.shape, work.tiling(design)
    padded = np.pad(x, ((0, 0), *shape.padding, (0, 0)))
    slices = []
    for image in padded:
        for group in range(shape.groups):
            channels = slice(group * shape.group_channels, (group + 1) * shape.group_channels)
            matrix = np.array([
                image[i * shape.stride[0]:i * shape.stride[0] + shape.kernel[0],
                      j * shape.stride[1]:j * shape.stride[1] + shape.kernel[1],
                      channels].reshape(-1)
                for i in range(shape.output[0]) for j in range(shape.output[1])])
            matrix = matrix.T if tiling.output_stationary else matrix
            for part in reads_of(tiling):
                columns = tiling.operand_columns[part.column]
                slices.append(matrix[part.rows.start:part.rows.start + part.rows.size,
                                     columns.start:columns.start + columns.size])
    return slices


def test_segments_of_a_slice():
    """A tile of K crosses taps; channels apart in memory are segments of their own."""
    design = replace(TINY, rows=8, cols=8)
    for layout, segments in (("NHWC", [3, 4, 3, 1]), ("NCHW", [8, 8, 8, 3])):
        work = RandomConv2d(5, 5, 3, 8, 3, layout=layout)
        loads = window_loads(work.program(design, contents=False))
        assert [load.segments for load in loads] == segments
        assert [load.skip for load in loads] == (
            [0, 2, 1, 0] if layout == "NHWC" else [0, 0, 0, 0])


def test_line_buffer_of_a_small_image():
    shape = ConvolutionShape(1, 4, 4, 1, 1, (3, 3), padding=((1, 1), (1, 1)))
    buffer = LineBuffer(shape, 2, True)
    everything, first, second, third = Tile(0, 9), Tile(0, 4), Tile(4, 4), Tile(8, 4)
    assert buffer.read(first, first, everything) == 2 * 8      # two rows of four pixels
    assert buffer.read(first, first, everything) == 0          # again, for other columns
    assert buffer.read(second, second, everything) == 2 * 4    # one row more
    assert buffer.read(third, third, everything) == 2 * 4
    assert buffer.read(first, first, everything) == 2 * 8      # back: from the start
    without = LineBuffer(shape, 2, False)
    assert without.read(first, first, everything) == 2 * (2 * 2 + 2 * 3) * 2
    assert without.read(first, Tile(0, 1), Tile(0, 3)) == 0    # above the image


def test_line_buffer_size():
    """56x56x64, 16 bits, blocks of 512 pixels: at most 12 image rows."""
    design = Design.preset("ascend-910")
    work = RandomConv2d(56, 56, 64, 64, 3, padding=1)
    assert work.line_buffer_bytes(design) == 12 * 56 * 64 * 2
    assert RandomConv2d(4, 4, 3, 1, 3, padding=1).line_buffer_bytes(TINY) == 4 * 4 * 3


def test_geometry_is_set_once():
    program = RandomConv2d(5, 5, 4, 4, 3, batch=2, groups=2).program(TINY, contents=False)
    configuring = [load for load in program.loads if load.configure is not WindowRegister.NONE]
    assert len(configuring) == len(WindowRegister) - 2 == 18
    assert program.loads[:18] == configuring


def test_matrix_in_memory_is_complete_before_it_is_read():
    work = RandomConv2d(5, 6, 3, 4, 3, batch=2, im2col="memory")
    program = work.program(TINY, contents=False)
    waits = [number for number, load in enumerate(program.loads)
             if load.configure is WindowRegister.WAIT]
    expanded = [store for store in program.stores if store.vector]
    assert len(waits) == 1 and program.loads[waits[0]].slot == expanded[-1].bank
    assert all(load.destination is Destination.VECTOR for load in program.loads[:waits[0]])
    assert not any(load.window for load in program.loads[waits[0]:])
    assert sum(store.rows * store.bytes_per_row for store in expanded) == (
        work.shape.expanded_elements)
