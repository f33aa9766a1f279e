# amaranth: UnusedElaboratable=no
"""Parts of a machine with all their ports outside: as a netlist in pysim, as compiled stand-ins."""

import ctypes
import dataclasses
import random
from types import SimpleNamespace

import numpy as np
from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, Elaboratable, Fragment, Module, Mux, Signal, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from cubewave.rtl import Design
from cubewave.rtl.accumulator_update import AccumulatorUpdate
from cubewave.rtl.commands import array_layout, load_layout, store_layout
from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.machine import QUEUES
from cubewave.rtl.memory_storage import MemoryStorage
from cubewave.rtl.sequencer import Sequencer
from cubewave.rtl.vector_commands import handoff_layout, vector_layout
from cubewave.rtl.vector_unit import READERS, VectorUnit
from cubewave.sim.backends.compiled import build
from cubewave.sim.backends.compiled.compiler import find_compiler, run_yosys, runtime_folder
from cubewave.sim.backends.compiled.pieces import split_signals
from cubewave.sim.backends.compiled.sources import source_folder
from cubewave.sim.backends.compiled.stand_ins import StandIns
from cubewave.sim.backends.compiled.variant import Variant

__all__ = ["COMMANDS", "LINES", "PARTS", "CompiledParts", "Parts", "build_parts", "compare"]

LINES, COMMANDS = 16, 32
LAYOUTS = {"loader": load_layout, "array": array_layout, "vector": vector_layout,
           "handoff": handoff_layout, "store": store_layout}

#: Designs of the parts that are compared.
PARTS = {
    "pipelined": dataclasses.replace(
        Design.preset("tiny"), rows=3, cols=3, vector_units=2, vector_schedule="pipelined",
        lanes=3, sfu_lanes=5, accumulator_bits=24, accumulator_overflow="saturate",
        accumulator_rows=16, buffer_port_rows=3),
    "sequential": dataclasses.replace(
        Design.preset("tiny"), rows=2, cols=5, vector_schedule="sequential", lanes=8,
        sfu_lanes=1, activation_bits=16, weight_bits=16, accumulator_bits=48,
        accumulator_rows=8),
}

DRIVER = """
struct Parts {
  Shared shared;
  std::unique_ptr<cxxrtl_design::p_machine> top;
};
extern "C" {
void *parts_create(uint8_t *memory, uint64_t capacity) {
  Parts *parts = new Parts;
  parts->shared.memory = memory;
  parts->shared.capacity = capacity;
  building = &parts->shared;
  parts->top = std::make_unique<cxxrtl_design::p_machine>();
  building = nullptr;
  return parts;
}
void parts_destroy(void *handle) { delete static_cast<Parts *>(handle); }
void parts_program(void *handle, int queue, const uint32_t *words, uint64_t count) {
  static_cast<Parts *>(handle)->shared.programs[queue] = {words, count};
}
// One cycle: its outputs, then the clock edge.
void parts_cycle(void *handle, const uint32_t *in, uint32_t *out) {
  Parts &parts = *static_cast<Parts *>(handle);
  memcpy(parts.top->p_stimulus.data, in, sizeof parts.top->p_stimulus.data);
  parts.top->p_clk.set<uint32_t>(0);
  parts.top->step();
  parts.shared.tick++;
  parts.top->p_clk.set<uint32_t>(1);
  parts.top->eval(nullptr);
  memcpy(out, bits_of(parts.top->p_response), RESPONSE_BYTES);
  parts.top->commit();
}
}
"""


class Parts(Elaboratable):
    """Memory storage, program sequencers, accumulator update and vector unit of a machine.

    Parameters
    ----------
    design : Design
    only : str
        Begin of the names of the parts that are elaborated; all have their ports.

    Attributes
    ----------
    inputs, outputs : dict of str to Value
        Every port of every part, as `<part>.<port>`.
    stimulus, response : Signal
        All inputs and all outputs, in the order of the dicts.
    sequencers : dict of str to Sequencer
        By queue.
    """

    def __init__(self, design, only=""):
        self.design, self.only = design, only
        self.storage = MemoryStorage(design=design, readers=2 * design.buffer_port_rows + 1,
                                     lines=LINES)
        self.vector = VectorUnit(design=design)
        self.sequencers = {queue: Sequencer(shape=layout(design), depth=COMMANDS)
                           for queue, layout in LAYOUTS.items()}
        self.update = AccumulatorUpdate(format=IntegerFormat.of(design), cols=design.cols,
                                        overflow=design.accumulator_overflow)
        self._parts = {"storage": self.storage, "update": self.update, "vector": self.vector,
                       **{f"program_{queue}": each for queue, each in self.sequencers.items()}}
        self.inputs, self.outputs = {}, {}
        for name, part in self._parts.items():
            for path, member, value in part.signature.flatten(part):
                ports = self.inputs if member.flow is In else self.outputs
                ports[f"{name}.{'_'.join(map(str, path))}"] = Value.cast(value)
        self.stimulus = Signal(sum(map(len, self.inputs.values())))
        self.response = Signal(sum(map(len, self.outputs.values())))

    def elaborate(self, platform):
        m = Module()
        for name, part in self._parts.items():
            if name.startswith(self.only):
                m.submodules[name] = part
        outputs = dict(self.outputs)
        for who in READERS:   # the data of a read mean something in the cycle after it only
            data, was_read = f"vector.{who}_read_data", Signal(name=f"was_{who}_read")
            m.d.sync += was_read.eq(self.inputs[f"vector.{who}_read"])
            outputs[data] = Mux(was_read, outputs[data], 0)
        m.d.comb += [Cat(self.inputs.values()).eq(self.stimulus),
                     self.response.eq(Cat(outputs.values()))]
        return m

    def as_machine(self):
        """What the stand-ins ask of a machine."""
        core = SimpleNamespace(design=self.design, vector=self.vector)
        return SimpleNamespace(core=core, sequencers=self.sequencers)

    def pack(self, values):
        """Values of all inputs as the stimulus; those that are not given are 0."""
        assert set(values) <= set(self.inputs)
        word = place = 0
        for name, value in self.inputs.items():
            word |= (values.get(name, 0) & (1 << len(value)) - 1) << place
            place += len(value)
        return word

    def unpack(self, word):
        """The outputs of the elaborated parts by their name, unsigned."""
        values = {}
        for name, value in self.outputs.items():
            if name.startswith(self.only):
                values[name] = word & (1 << len(value)) - 1
            word >>= len(value)
        return values


def build_parts(design, folder):
    """Write and compile the stand-ins of the parts, as `build.py` does it with a machine."""
    parts, clock = Parts(design), ClockDomain("sync", reset_less=True)
    stand_ins = StandIns(parts.as_machine(), Variant("netlist"))
    ports = {"stimulus": (parts.stimulus, PortDirection.Input),
             "response": (parts.response, PortDirection.Output),
             "clk": (clock.clk, PortDirection.Input)}
    fragment = Fragment.get(parts, stand_ins)
    fragment.add_domains(clock)
    split_signals(fragment)
    text, _names = rtlil.convert_fragment(fragment, ports, "machine", emit_src=False)
    assert {box.name for box in stand_ins.boxes} == {
        "cubewave_storage", "cubewave_accumulators",
        *(f"cubewave_program_{queue}" for queue in QUEUES),
        *(f"cubewave_vector_{unit}" for unit in range(design.vector_units))}
    (folder / "machine.il").write_text(stand_ins.rtlil() + text)
    run_yosys("read_rtlil machine.il\nwrite_cxxrtl -g0 machine.cc\n", folder)
    prelude, _driver = (source_folder() / "driver.cc").read_text().split(
        "#include CUBEWAVE_STAND_INS")
    (folder / "main.cc").write_text("\n".join([
        f"#define CUBEWAVE_QUEUES {len(QUEUES)}",
        "#define CUBEWAVE_STORAGE 0u", f"#define CUBEWAVE_LINE {parts.storage.line_bytes}",
        f"#define RESPONSE_BYTES {-(-len(parts.response) // 32) * 4}",
        '#include "machine.cc"', (source_folder() / "kernel.h").read_text(),
        prelude, stand_ins.cxx(), DRIVER]))
    process = find_compiler().start(
        [*build.COMMON, "-O0", f"-I{runtime_folder()}", "-shared", "main.cc", "-o", "parts.so"],
        folder)
    output, _ = process.communicate()
    assert process.returncode == 0, output


class CompiledParts:
    """The compiled parts in a folder; `programs` are words of each queue, `memory` all zeros."""

    def __init__(self, parts, folder, programs):
        self._library = ctypes.CDLL(str(folder / "parts.so"))
        for name in ("create", "destroy", "program", "cycle"):
            getattr(self._library, f"parts_{name}").restype = None
        self._library.parts_create.restype = ctypes.c_void_p
        self._memory = np.zeros(LINES * parts.storage.line_bytes, np.uint8)
        self._handle = ctypes.c_void_p(self._library.parts_create(
            ctypes.c_void_p(self._memory.ctypes.data), ctypes.c_uint64(self._memory.size)))
        self._programs = []
        for number, queue in enumerate(QUEUES):
            size = -(-parts.sequencers[queue].program.shape.size // 32) * 4
            words = b"".join(word.to_bytes(size, "little") for word in programs[queue])
            self._programs.append(words)
            self._library.parts_program(self._handle, number, words,
                                        ctypes.c_uint64(len(programs[queue])))
        self._in_bytes = -(-len(parts.stimulus) // 32) * 4
        self._out = ctypes.create_string_buffer(-(-len(parts.response) // 32) * 4)

    def cycle(self, stimulus):
        """The response in a cycle with this stimulus; then the next one."""
        self._library.parts_cycle(self._handle, stimulus.to_bytes(self._in_bytes, "little"),
                                  self._out)
        return int.from_bytes(self._out.raw, "little")

    def close(self):
        self._library.parts_destroy(self._handle)


def compare(design, folder, only, drive, lengths=None):
    """Run parts both ways with the same inputs; every output must be equal in every cycle.

    `drive(parts)` is a generator of inputs, which is sent the outputs of their cycle; `lengths`
    are the commands of each program, random words. Returns the number of cycles.
    """
    parts = Parts(design, only)
    rng = random.Random(only)
    words = {queue: [rng.getrandbits(each.program.shape.size)
                     for _ in range((lengths or {}).get(queue, 0))]
             for queue, each in parts.sequencers.items()}
    compiled, cycles = CompiledParts(parts, folder, words), 0

    async def bench(ctx):
        nonlocal cycles
        if only == "program":
            for queue, sequencer in parts.sequencers.items():
                for place, word in enumerate(words[queue]):
                    ctx.set(Value.cast(sequencer.program[place]), word)
        driver = drive(parts)
        inputs = next(driver)
        while inputs is not None:
            stimulus = parts.pack(inputs)
            ctx.set(parts.stimulus, stimulus)
            response, = (await ctx.tick().sample(parts.response))[2:]
            expected, got = parts.unpack(response), parts.unpack(compiled.cycle(stimulus))
            assert got == expected, f"cycle {cycles}: " + ", ".join(
                f"{name} is {got[name]:#x}, not {value:#x}"
                for name, value in expected.items() if got[name] != value)
            cycles += 1
            try:
                inputs = driver.send(expected)
            except StopIteration:
                inputs = None

    simulator = Simulator(parts)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    try:
        simulator.run()
    finally:
        compiled.close()
    return cycles
