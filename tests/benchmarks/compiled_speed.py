"""Build time and speed of the compiled backend, from 4x4 to 256x256, beside pysim.

Run it with `python tests/benchmarks/compiled_speed.py [SIDE]...`. Times are CPU seconds, of this
process and of the compilers that it starts, so that a shared machine disturbs them less; ratios
are of one run. Every machine is built anew, in a cache of its own. Speeds are those of the cycles
alone, without build and preparation: `simulate_seconds`.
"""

import os
import resource
import sys
import tempfile
import time
from dataclasses import replace
from unittest.mock import patch

from cubewave.rtl import Design
from cubewave.sim.backends.compiled import Variant, load_machine
from cubewave.sim.backends.pysim import PysimMachine
from cubewave.sim.backends.run import machine_size
from cubewave.workloads import QProjection

#: Array side -> its design, and a product that keeps the array busy for the compiled machines.
CASES = {
    4: (Design.preset("tiny"), (64, 256, 256)),
    8: (Design.preset("chapter"), (256, 512, 256)),
    16: (Design.preset("edge"), (64, 1024, 1024)),
    32: (replace(Design.preset("edge"), rows=32, cols=32, memory_bytes_per_cycle=128),
         (128, 1024, 1024)),
    64: (Design.preset("b200-sm"), (256, 1024, 1024)),
    128: (replace(Design.preset("tpu-v1"), rows=128, cols=128, memory_bytes_per_cycle=256),
          (1024, 1024, 1024)),
    256: (replace(Design.preset("tpu-v1"), memory_bytes_per_cycle=256, buffer_port_rows=1),
          (1024, 1024, 1024)),
}
PYSIM_SIDE = 16               # above, elaboration and 100 cycles/s
NETLIST_SIDE = 16             # above, the C++ compiler takes minutes
VECTOR_SIDE = 256             # above, rows are too wide for the netlist
VECTOR_REASON = "not run"


def cpu_seconds():
    """Of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure(build, program):
    """CPU seconds of the build, cycles per CPU second, MACs per CPU second, busy share."""
    started = cpu_seconds()
    machine = build()
    built = cpu_seconds() - started
    with patch("time.perf_counter", time.process_time):   # what backends take `seconds` with
        run = machine.run(program)
    counters, seconds = run.counters, run.seconds
    return (built, counters["cycles"] / seconds, counters["useful_macs"] / seconds,
            counters["array.busy"] / counters["cycles"])


def row(side, name, figures=None, reason=""):
    start = f"{f'{side}x{side}':>8}  {name:<14}"
    if figures is None:
        print(f"{start}  {reason}", flush=True)
        return
    built, cycles, macs, busy = figures
    print(f"{start}  {built:>11.1f}  {cycles:>10,.0f}  {macs:>9.2e}  {busy:>6.1%}", flush=True)


def measure_side(side):
    design, (m, k, n) = CASES[side]
    if side <= PYSIM_SIDE:
        small = QProjection(16, 128, 128).program(design)
        row(side, "pysim", measure(
            lambda: PysimMachine(design, *machine_size(design, small)), small))
    else:
        row(side, "pysim", reason="not run: below 100 cycles/s, and elaborates every cell")
    program = QProjection(m, k, n).program(design)
    product = {"vector": False, "windows": False}
    if side <= NETLIST_SIDE:
        row(side, "netlist", measure(
            lambda: load_machine(design, Variant("netlist", **product)), program))
    else:
        row(side, "netlist", reason="not run: g++ takes minutes for one function of all cells")
    row(side, "kernel", measure(lambda: load_machine(design, Variant(**product)), program))
    if side <= VECTOR_SIDE:
        row(side, "kernel, vector", measure(lambda: load_machine(design), program))
    else:
        row(side, "kernel, vector", reason=VECTOR_REASON)


def main(sides):
    print("   array  mesh            build CPU s  cycles/s    MAC/s     array busy")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUBEWAVE_CACHE_DIR"] = folder
        for side in sides:
            measure_side(side)


if __name__ == "__main__":
    main([int(side) for side in sys.argv[1:]] or list(CASES))
