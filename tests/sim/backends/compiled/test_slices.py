"""Slices and concatenations in the generated C++ against Python's integers."""

import random
import subprocess

from cubewave.sim.backends.compiled.compiler import find_compiler, runtime_folder
from cubewave.sim.backends.compiled.runtime import write_runtime

WIDTHS = (1, 7, 31, 32, 33, 64, 65, 96, 100, 257)
HEAD = """#include <cxxrtl/cxxrtl.h>
#include <iostream>
using namespace cxxrtl;
int main() {
"""


class Code:
    """C++ lines that print values, and what they are."""

    def __init__(self, rng):
        self._rng, self._names = rng, 0
        self.lines, self.expected = [], []

    def variable(self, width):
        """A variable of random bits: its name and number."""
        number = self._rng.getrandbits(width)
        chunks = ",".join(f"{number >> place & 0xffffffff:#x}u" for place in range(0, width, 32))
        self._names += 1
        self.lines.append(f"value<{width}> v{self._names}{{{chunks}}};")
        return f"v{self._names}", number

    def ends(self, width):
        """First and last bit of a slice."""
        return sorted(self._rng.randrange(width) for _ in range(2))

    def show(self, text, number):
        self.lines.append(f"std::cout << {text} << std::endl;")
        self.expected.append(number)


def bits(number, first, last):
    return number >> first & (1 << last - first + 1) - 1


def read_slice(code, width):
    name, number = code.variable(width)
    first, last = code.ends(width)
    code.show(f"{name}.slice<{last},{first}>().val()", bits(number, first, last))
    inner = code.ends(last - first + 1)
    code.show(f"{name}.slice<{last},{first}>().slice<{inner[1]},{inner[0]}>().val()",
              bits(number, first + inner[0], first + inner[1]))


def write_slice(code, width):
    name, number = code.variable(width)
    first, last = code.ends(width)
    part, bits_ = code.variable(last - first + 1)
    mask = (1 << last - first + 1) - 1 << first
    code.lines.append(f"{name}.slice<{last},{first}>() = {part};")
    number = number & ~mask | bits_ << first
    code.show(name, number)
    start, stop = code.ends(last - first + 1)
    part, bits_ = code.variable(stop - start + 1)
    mask = (1 << stop - start + 1) - 1 << first + start
    code.lines.append(f"{name}.slice<{last},{first}>().slice<{stop},{start}>() = {part};")
    code.show(name, number & ~mask | bits_ << first + start)


def concatenate(code, width):
    high, low, wide = code.variable(3), code.variable(width), code.variable(70)
    first, last = code.ends(width)
    part = bits(low[1], first, last)
    code.show(f"{high[0]}.concat({low[0]}.slice<{last},{first}>()).concat({wide[0]}).val()",
              (high[1] << last - first + 1 | part) << 70 | wide[1])
    code.show(f"{wide[0]}.concat({high[0]}.concat({low[0]})).val()",
              (wide[1] << 3 | high[1]) << width | low[1])
    whole = code.variable(width + 3)
    code.lines.append(f"{high[0]}.concat({low[0]}) = {whole[0]};")
    code.show(high[0], whole[1] >> width)
    code.show(low[0], bits(whole[1], 0, width - 1))


def test_slices_and_concatenations_equal_integers(tmp_path):
    code = Code(random.Random(1))
    for width in WIDTHS:
        for check in (read_slice, write_slice, concatenate):
            for _ in range(3):
                check(code, width)
    write_runtime(tmp_path, delta=True)
    (tmp_path / "slices.cc").write_text("\n".join([HEAD, *code.lines, "}\n"]), encoding="utf-8")
    process = find_compiler().start(
        ["-std=c++17", "-O0", "-w", "-I.", f"-I{runtime_folder()}", "slices.cc", "-o", "slices"],
        tmp_path)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    shown = subprocess.run([tmp_path / "slices"], text=True, capture_output=True, check=True)
    got = [int(line.split("'")[1], 16) for line in shown.stdout.splitlines()]
    assert got == code.expected and len(got) == 10 * 3 * 8
