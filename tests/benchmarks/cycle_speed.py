"""Speed of level cycle: tiles per second at three sizes, and the Q projection on `tpu-v1`.

    python tests/benchmarks/cycle_speed.py

Seconds are CPU seconds, the least of a few runs, so that a shared machine disturbs them less. The
aims for the Q projection of 256 rows: with output at most 3 times numpy's float64 product of the
same matrices and 2 s more, the schedule alone below 0.5 s, peak memory below 1 GB. The peak is the
whole process's, in which nothing larger runs.
"""

import resource
import sys
import time
from functools import partial

import numpy as np

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.workloads import QProjection

EDGE, TPU = Design.preset("edge"), Design.preset("tpu-v1")


def least(action, runs=3):
    """Least CPU seconds of some runs, and the last result."""
    seconds = []
    for _ in range(runs):
        started = time.process_time()
        result = action()
        seconds.append(time.process_time() - started)
    return min(seconds), result


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024)


def tiles_per_second():
    print("on edge (16x16), M = 256, no output")
    print("   K = N    tiles   cycles      CPU s   tiles/s")
    for size in (1024, 2048, 4096):
        seconds, result = least(partial(simulate, EDGE, QProjection(256, size, size),
                                        level="cycle", output=False))
        tiles = result.counters["weight_rows"] // EDGE.rows
        print(f"{size:>8} {tiles:>8} {result.cycles:>8} {seconds:>10.2f} {tiles / seconds:>9.0f}")


def q_projection():
    workload = QProjection(256)
    matrices = [matrix.astype(np.float64) for matrix in workload.operands(TPU)]
    product, exact = least(partial(np.matmul, *matrices))
    matrices.clear()
    alone, _result = least(partial(simulate, TPU, workload, level="cycle", output=False))
    before = peak_bytes()
    full, result = least(partial(simulate, TPU, workload, level="cycle"))
    assert result.ok and (result.output == exact).all()
    print("\nQ projection of 256 rows on tpu-v1 (256x256)      CPU s")
    print(f"numpy's float64 product                       {product:>9.3f}")
    print(f"schedule alone                                {alone:>9.3f}   (aim 0.5, better 0.1)")
    print(f"with output                                   {full:>9.3f}   (aim "
          f"{3 * product + 2:.3f}; {full / product:.1f} times numpy's)")
    print(f"peak memory {peak_bytes() / 1e6:.0f} MB (aim 1000), {before / 1e6:.0f} MB before the "
          f"run with output")


if __name__ == "__main__":
    tiles_per_second()
    q_projection()
