"""The numpy model of windows against loops over pixels, taps and channels."""

import random

import pytest
from window_cases import MASK, configured, geometry, random_case


def expected(shape, load, output_stationary):
    """(real, address) of every row and segment, by coordinates."""
    columns, taps, runs = shape["columns"], shape["taps"], shape["runs"]
    found = []
    for row in range(load.rows):
        line = []
        for segment in range(load.segments):
            pixel, run = (segment, row) if output_stationary else (row, segment)
            down, column = divmod(load.column + pixel, columns)
            tap, channel = divmod(load.run + run, runs)
            kernel_row, tap = divmod(load.tap + tap, taps)
            y = load.y + down * shape["stride"][0] + kernel_row * shape["dilation"][0]
            x = (load.x + (column - load.column) * shape["stride"][1]
                 + (tap - load.tap) * shape["dilation"][1])
            # Where the pixel is in memory, from where that of the first segment is.
            address = (load.base + (y - load.y) * shape["row_pitch"]
                       + (x - load.x) * shape["pixel_pitch"]
                       + (channel - load.run) * shape["run_pitch"]
                       + (load.skip if segment == 0 else 0))
            line.append((0 <= y < shape["height"] and 0 <= x < shape["width"], address & MASK))
        found.append(line)
    return found


@pytest.mark.parametrize("output_stationary", [False, True])
def test_random_windows(output_stationary):
    for seed in range(200):
        shape, load = random_case(random.Random(seed))
        reads = configured(geometry(**shape), output_stationary).reads(load)
        got = [list(zip(map(bool, real), map(int, address)))
               for real, address in zip(reads.real, reads.address)]
        assert got == expected(shape, load, output_stationary), seed
        assert reads.size.sum() == load.bytes_per_row
        assert (reads.offset[1:] == reads.size.cumsum()[:-1]).all()
        assert reads.size.min() >= 1
        real = sum(count for line in got for (inside, _), count in zip(line, reads.size)
                   if inside)
        assert reads.nbytes == real
