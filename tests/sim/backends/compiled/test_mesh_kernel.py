# amaranth: UnusedElaboratable=no
"""The mesh kernel against the netlist of the same mesh: every register in every cycle, and every
signal that a waveform can show."""

import ctypes
import dataclasses
import random

import pytest
from amaranth.hdl import Elaboratable, Fragment, Module, Signal, Value
from amaranth.sim import Simulator

from cubewave.rtl import Design
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.sim.backends.compiled.array_shown import SCOPE, ArrayShown
from cubewave.sim.backends.compiled.build import COMMON, KERNEL_FLAGS
from cubewave.sim.backends.compiled.compiler import find_compiler
from cubewave.sim.backends.compiled.mesh_kernel import MeshKernel
from cubewave.sim.backends.compiled.sources import source_folder
from cubewave.sim.backends.compiled.statements import Block
from cubewave.sim.waves.hierarchy import Depth, traces

TINY = Design.preset("tiny")
DESIGNS = {
    "3x5": {"rows": 3, "cols": 5},
    "1x1": {"rows": 1, "cols": 1},
    "1x4 latency 3": {"rows": 1, "cols": 4, "mac_latency": 3},
    "4x1 single buffer": {"rows": 4, "cols": 1, "weight_double_buffer": False},
    "5x7 of 16 bits": {"rows": 5, "cols": 7, "activation_bits": 16, "weight_bits": 16,
                       "accumulator_bits": 48},
    "3x3 of 5 and 7 bits": {"rows": 3, "cols": 3, "activation_bits": 5, "weight_bits": 7,
                            "mac_latency": 2},
    "output 4x3": {"dataflow": "output_stationary", "rows": 4, "cols": 3},
    "output 2x6 latency 3": {"dataflow": "output_stationary", "rows": 2, "cols": 6,
                             "mac_latency": 3},
    "output 3x3 of 16 bits": {"dataflow": "output_stationary", "rows": 3, "cols": 3,
                              "activation_bits": 16, "weight_bits": 16, "accumulator_bits": 48},
    "8x20": {"rows": 8, "cols": 20},
}


class Array(Elaboratable):
    """The array of a matrix unit alone."""

    def __init__(self, design):
        self.unit = MatrixUnit(design=design)
        self.entering, self.unsigned, self.mark = (Signal(name=name) for name in (
            "entering", "unsigned", "mark"))
        self.marks = Signal(2 if design.dataflow == "output_stationary" else 1)

    def elaborate(self, platform):
        m = Module()
        self.unit.elaborate_array(m, self.entering, self.unsigned, self.marks, self.mark)
        return m


class Inputs(ctypes.Structure):
    _fields_ = [("activations", ctypes.c_char_p), ("weights", ctypes.c_char_p),
                *((name, ctypes.c_uint32) for name in ("entering", "unsigned", "marks", "mark")),
                ("capture", ctypes.c_void_p)]


class Capture(ctypes.Structure):
    _fields_ = [("requests", ctypes.c_void_p), ("count", ctypes.c_uint32),
                ("words", ctypes.c_void_p)]


class Register(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("offset", ctypes.c_size_t),
                ("bytes", ctypes.c_size_t)]


class Kernel:
    """The compiled kernel of a unit."""

    def __init__(self, unit, rows, cols, folder):
        (folder / "kernel.cc").write_text(MeshKernel(unit, rows, cols).source())
        (folder / "kernel.h").write_bytes((source_folder() / "kernel.h").read_bytes())
        process = find_compiler().start([*COMMON, *KERNEL_FLAGS, "-shared", "kernel.cc",
                                         "-o", "kernel.so"], folder)
        output, _ = process.communicate()
        assert process.returncode == 0, output
        self._library = ctypes.CDLL(str(folder / "kernel.so"))
        size = ctypes.c_size_t.in_dll(self._library, "kernel_size").value
        self._memory = ctypes.create_string_buffer(size + 64)
        address = (ctypes.addressof(self._memory) + 63) // 64 * 64
        self._offset = address - ctypes.addressof(self._memory)
        self._state = ctypes.c_void_p(address)
        self._cells = rows * cols
        self._sums = ctypes.create_string_buffer(4096)
        self._library.kernel_reset(self._state)
        table = (Register * 64).in_dll(self._library, "kernel_registers")
        self.registers = []
        for entry in table:
            if entry.name is None:
                break
            self.registers.append((entry.name.decode(), entry.offset, entry.bytes))

    def watch(self, requests):
        """From now on take these requests' words in every step; of the step, `words`."""
        self._requests = (ctypes.c_uint32 * (4 * len(requests)))(
            *(number for request in requests for number in request))
        self._words = ctypes.create_string_buffer(16 * len(requests))
        self._capture = Capture(ctypes.addressof(self._requests), len(requests),
                                ctypes.addressof(self._words))

    @property
    def words(self):
        return [int.from_bytes(self._words.raw[i:i + 16], "little")
                for i in range(0, len(self._words.raw), 16)]

    def step(self, inputs):
        inputs.capture = ctypes.addressof(self._capture)
        self._library.kernel_step(self._state, ctypes.byref(inputs), self._sums)
        return int.from_bytes(self._sums.raw, "little")

    def values(self, number, bits):
        """The register of every cell, row by row."""
        _name, offset, size = self.registers[number]
        start = self._offset + offset
        raw = self._memory.raw[start:start + size * self._cells]
        return [int.from_bytes(raw[i:i + size], "little") & (1 << bits) - 1
                for i in range(0, len(raw), size)]


def cells_of(fragment):
    """Registers of every cell, in the order of rows and columns."""
    mesh = fragment.find_subfragment("mesh")
    return [Block(cell).registers for cell, _name, _src_loc in mesh.subfragments]


def stimulus(rng, quiet, design):
    """Bits of one cycle; long times of nothing and of constant words happen."""
    return {"activations": rng.getrandbits(design.rows * design.activation_bits),
            "weights": rng.getrandbits(design.cols * design.weight_bits),
            "entering": int(rng.random() > quiet), "unsigned": rng.getrandbits(1),
            "marks": rng.getrandbits(2) if rng.random() > quiet else 0,
            "mark": int(rng.random() > quiet)}


class Shown:
    """The signals of the array in a waveform: those of the netlist and of the kernel."""

    def __init__(self, fragment, unit, design):
        inside = ArrayShown(unit, design, Depth.CELLS, lambda scope, name: True)
        ours = {(trace.scope, trace.name): trace for trace in inside.traces}
        self.pairs = [
            (trace, tuple((*part, bits) for part, bits in
                          inside.parts[ours[trace.scope, trace.name].signal]))
            for trace in traces(fragment, design, Depth.CELLS, SCOPE)
            if len(trace.scope) > len(SCOPE)]
        assert len(self.pairs) == len(ours) > 0
        self.requests = list(dict.fromkeys(
            part[:4] for _trace, parts in self.pairs for part in parts))

    def check(self, ctx, words, cycle):
        found = dict(zip(self.requests, words))
        for trace, parts in self.pairs:
            value = offset = 0
            for *request, bits in parts:
                value |= (found[tuple(request)] & (1 << bits) - 1) << offset
                offset += bits
            expected = ctx.get(Value.cast(trace.signal)) & (1 << offset) - 1
            assert value == expected, (cycle, trace.scope, trace.name)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_register_equals_the_netlist(name, tmp_path):
    design = dataclasses.replace(TINY, **DESIGNS[name])
    array = Array(design)
    unit, rng = array.unit, random.Random(name)
    fragment = Fragment.get(array, None)
    cells = cells_of(fragment)
    kernel = Kernel(unit, design.rows, design.cols, tmp_path)
    assert [register.signal.name for register in cells[0]] == [
        register[0] for register in kernel.registers]
    sums = Value.cast(unit.sums)
    shown = Shown(fragment, unit, design)
    kernel.watch(shown.requests)

    async def bench(ctx):
        held = stimulus(rng, 0.0, design)
        for cycle in range(600):
            quiet = (0.0, 0.3, 0.9, 1.0)[cycle // 50 % 4]
            if quiet < 1.0 or cycle % 50 < rng.randrange(40):   # else the same word once more
                held = stimulus(rng, quiet, design)
            held["marks"] &= (1 << len(array.marks)) - 1
            ctx.set(unit.activations, held["activations"])
            ctx.set(Value.cast(unit.weights), held["weights"])
            for control in ("entering", "unsigned", "marks", "mark"):
                ctx.set(getattr(array, control), held[control])
            data = {"activations": held["activations"].to_bytes(128, "little"),
                    "weights": held["weights"].to_bytes(128, "little")}
            got = kernel.step(Inputs(**{**held, **data}))
            if cycle % 5 == 0:
                shown.check(ctx, kernel.words, cycle)
            await ctx.tick()
            assert got == ctx.get(sums), cycle
            if cycle % 7 and cycle > 20:    # not all, for pysim takes its time
                continue
            for number, register in enumerate(cells[0]):
                bits = len(register.signal)
                expected = [ctx.get(Value.cast(cell[number].signal)) & (1 << bits) - 1
                            for cell in cells]
                assert kernel.values(number, bits) == expected, (cycle, register.signal.name)

    simulator = Simulator(fragment)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
