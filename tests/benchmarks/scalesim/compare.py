"""The same layer on SCALE-Sim 3.0.0 and on our cycle level: host time, peak memory, cycles.

    python tests/benchmarks/scalesim/compare.py [--side 256] [--m 256] [--k 4096] [--n 4096]

Run it with the interpreter that has cubewave. SCALE-Sim gets an environment of its own under
`build/scalesim/`, made at the first run (it needs a package index, and numpy below 2.4, with newer
ones it crashes); it is no dependency of anything. The default layer, Qwen3-8B's Q projection of 256
rows, takes it about two minutes and 4 GB; `--side 16 --m 128 --k 128 --n 128` takes a second.

Both run on the same machine: weight stationary, every fold loads, fills and drains by itself, and
memory never limits. Each runs in a process of its own, start of the interpreter included, and both
yield cycles and traffic but no result; the third line is ours with the result too. Times are CPU
seconds of the process, memory is its peak. Ours counts more cycles: the registers of the pipeline
in every fold, the first loads and the last store (see `tests/sim/test_bridge.py`), which the last
line takes apart.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[2] / "build" / "scalesim"
PACKAGES = ("scalesim==3.0.0", "numpy<2.4")

OURS = """
import sys
from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.workloads import QProjection
rows, cols, m, k, n, output = map(int, sys.argv[1:])
design = Design(rows=rows, cols=cols, weight_double_buffer=False, accumulator_rows=65536,
                memory_bytes_per_cycle="unlimited", memory_latency_cycles=0, slot_bytes=1 << 26)
result = simulate(design, QProjection(m, k, n), level="cycle", output=bool(output))
assert result.ok
print(result.cycles - sum(result.items.values()), sum(result.items.values()))
"""


def environment():
    """The interpreter of SCALE-Sim's environment, which is made first if it is not there."""
    python = BUILD / "venv" / "bin" / "python"
    ready = BUILD / "venv" / "ready"
    if not ready.exists():
        print(f"making an environment with {' and '.join(PACKAGES)} ...", flush=True)
        venv.create(BUILD / "venv", with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        *PACKAGES], check=True)
        ready.touch()
    return str(python)


def measure(*command):
    """Last line printed, CPU seconds, wall seconds and peak bytes of a process."""
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output)
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"exit status {process.returncode}: {' '.join(command[:3])}")
        output.seek(0)
        last = output.read().split("\n")[-2]
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    return (last, usage.ru_utime + usage.ru_stime, time.perf_counter() - started,
            usage.ru_maxrss * unit)


def main():
    parser = argparse.ArgumentParser(description="The same layer on SCALE-Sim and on ours.")
    for name, default in (("side", 256), ("m", 256), ("k", 4096), ("n", 4096)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    options = parser.parse_args()
    side, m, k, n = options.side, options.m, options.k, options.n
    shape = [str(value) for value in (side, side, m, k, n)]
    python = environment()
    with tempfile.TemporaryDirectory() as folder:
        theirs = measure(python, str(HERE / "run_scalesim.py"), folder, *shape)
    ours, full = (measure(sys.executable, "-c", OURS, *shape, output) for output in "01")

    print(f"M={m} K={k} N={n} on {side}x{side}      CPU s   wall s   peak MB")
    for name, (_last, cpu, wall, peak) in (("SCALE-Sim 3.0.0", theirs), ("cubewave", ours),
                                           ("cubewave with output", full)):
        print(f"{name:<30} {cpu:>8.2f} {wall:>8.2f} {peak / 1e6:>9.0f}")
    for name, run in (("cubewave", ours), ("cubewave with output", full)):
        print(f"{name}: {theirs[1] / run[1]:.0f} times faster, {run[3] / theirs[3]:.3f} of the "
              f"memory")
    folds = -(-k // side) * -(-n // side)
    count, (bound, rest) = int(theirs[0]), map(int, ours[0].split())
    constant, left_over = divmod(bound - count, folds)
    print(f"cycles: SCALE-Sim {count:,}; ours {bound + rest:,} = {count:,} + {folds:,} folds x "
          f"{constant} registers + {rest:,} for first loads and last store")
    if left_over:
        raise SystemExit(f"{left_over} cycles are not explained")


if __name__ == "__main__":
    main()
