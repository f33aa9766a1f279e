"""Cycles per second of pysim on a busy core, with and without a waveform.

Run it with `python tests/benchmarks/pysim_speed.py`. Times are CPU seconds of this process, so
that a shared machine disturbs them less; ratios are of one run.
"""

import os
import tempfile
import time

from cubewave.rtl import Design
from cubewave.sim import VcdOptions
from cubewave.sim.backends.pysim import PysimMachine
from cubewave.sim.backends.pysim_recording import PysimRecording
from cubewave.sim.backends.run import machine_size
from cubewave.sim.waves import Recorder
from cubewave.workloads import QProjection

#: Array side and the product that keeps it busy.
CASES = {4: (4, 64, 64), 8: (8, 64, 128), 16: (16, 128, 128)}


def measure(side, recorder=None):
    """Seconds to build, busy share of the array, and cycles per second."""
    preset = {4: "tiny", 8: "chapter", 16: "edge"}[side]
    design = Design.preset(preset)
    program = QProjection(*CASES[side]).program(design)
    started = time.process_time()
    machine = PysimMachine(design, *machine_size(design, program),
                           recorder and PysimRecording(recorder))
    built = time.process_time() - started
    started = time.process_time()
    counters = machine.run(program).counters
    seconds = time.process_time() - started
    return built, counters["array.busy"] / counters["cycles"], counters["cycles"] / seconds


def main():
    print("array  build CPU s  array busy  cycles/s  with VCD  ratio")
    for side in CASES:
        built, busy, speed = measure(side)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.vcd")
            recorder = Recorder(Design.preset({4: "tiny", 8: "chapter", 16: "edge"}[side]),
                                VcdOptions(path))
            recorded = measure(side, recorder)[2]
            recorder.close()
        print(f"{side:>2}x{side:<2}  {built:>11.2f}  {busy:>10.1%}  {speed:>8.0f}  "
              f"{recorded:>8.0f}  {speed / recorded:>5.2f}")


if __name__ == "__main__":
    main()
