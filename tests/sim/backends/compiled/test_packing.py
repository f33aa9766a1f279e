"""The conversions of packed values in kernel.h against Python's integers."""

import ctypes
import random

import pytest

from cubewave.sim.backends.compiled.build import COMMON
from cubewave.sim.backends.compiled.compiler import find_compiler
from cubewave.sim.backends.compiled.sources import source_folder

CODE = """#include "kernel.h"
extern "C" {
void unpack(int64_t *to, const uint8_t *from, int count, int width) {
  kernel_unpack(to, from, count, width);
}
void pack(uint8_t *to, const int64_t *from, int count, int width) {
  kernel_pack(to, from, count, width);
}
void resize(uint8_t *to, int to_width, const uint8_t *from, int from_width, int count) {
  kernel_resize(to, to_width, from, from_width, count);
}
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packing")
    (folder / "packing.cc").write_text(CODE, encoding="utf-8")
    process = find_compiler().start([*COMMON, "-shared", f"-I{source_folder()}", "packing.cc",
                                     "-o", "packing.so"], folder)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return ctypes.CDLL(str(folder / "packing.so"))


def signed(bits, width):
    return bits - (1 << width) if bits >> (width - 1) else bits


def packed(values, width):
    return sum((value & (1 << width) - 1) << place * width for place, value in enumerate(values))


def case(rng, width):
    """Values and their bytes, as few as there can be."""
    values = [signed(rng.getrandbits(width), width) for _ in range(rng.randrange(1, 20))]
    return values, packed(values, width).to_bytes((len(values) * width + 7) // 8, "little")


@pytest.mark.parametrize("width", [1, 5, 8, 20, 24, 33, 57, 58, 61, 64])
def test_values_are_packed_and_unpacked(library, width):
    rng = random.Random(width)
    for _ in range(20):
        values, data = case(rng, width)
        words = (ctypes.c_int64 * len(values))()
        library.unpack(words, data, len(values), width)
        assert list(words) == values
        noise = [value ^ rng.getrandbits(63) >> width << width for value in values]
        words[:] = [signed(value & (1 << 64) - 1, 64) for value in noise]
        before = rng.randbytes(len(data) + 9)
        buffer = ctypes.create_string_buffer(before, len(before))
        library.pack(buffer, words, len(values), width)
        free = len(values) * width
        expected = int.from_bytes(before, "little") >> free << free | packed(values, width)
        assert int.from_bytes(buffer.raw, "little") == expected


@pytest.mark.parametrize("to_width", [8, 20, 34, 56])
@pytest.mark.parametrize("width", [1, 8, 20, 32, 57])
def test_values_are_resized(library, width, to_width):
    rng = random.Random(width)
    for _ in range(20):
        values, data = case(rng, width)
        free = len(values) * to_width
        before = rng.randbytes(free // 8 + 9)
        buffer = ctypes.create_string_buffer(before, len(before))
        library.resize(buffer, to_width, data, width, len(values))
        expected = int.from_bytes(before, "little") >> free << free | packed(values, to_width)
        assert int.from_bytes(buffer.raw, "little") == expected
