"""What every RTL backend returns, and how a machine is sized for a program."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ...rtl import Design
from ...rtl.machine import QUEUES
from ...rtl.memory_storage import line_bytes
from ...workloads.program import Program

__all__ = ["Progress", "RawRun", "machine_size", "settling_cycles", "watchdog_cycles"]

#: Called now and then with: cycles so far, activation rows so far, activation rows of the run.
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True)
class RawRun:
    """Counters and results as read from a machine.

    Attributes
    ----------
    counters : dict of str to int
        Every counter of `rtl/counters.py`, by its dotted name.
    outputs : list of ndarray
        Result matrices, in the order of `Program.outputs`.
    overflow : bool
    seconds : float
        Host time of the counted cycles.
    """
    counters: Mapping[str, int]
    outputs: list[np.ndarray]
    overflow: bool
    seconds: float


def watchdog_cycles(design: Design) -> int:
    """Cycles without any progress after which a run is stopped.

    10,000, twice the latency, and the longest times in which rows move through a write port or
    out of a bank while nothing else does.
    """
    return (10_000 + 2 * design.memory_latency_cycles + design.slot_rows
            + design.accumulator_rows)


def settling_cycles(design: Design) -> int:
    """Cycles after the preload until the array, too, is idle.

    Weights that come first move on from the FIFO into the array by themselves, a row per cycle;
    the end of the loads does not wait for them.
    """
    return 2 * design.rows + 64


def machine_size(design: Design, program: Program) -> tuple[int, int]:
    """Storage lines and commands that a machine needs, in powers of two so that few differ."""
    lines = -(-program.memory_bytes // line_bytes(design))
    commands = max(len(program.preload), *(len(program.queue(name)) for name in QUEUES))
    return max(1 << 10, 1 << (lines - 1).bit_length()), max(1 << 8, 1 << commands.bit_length())
