"""Runs with a waveform that several tests look at."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.rtl.status import UNITS
from cubewave.sim import Result, VcdOptions, simulate
from cubewave.sim.backends.choice import Backend
from cubewave.sim.items import units_of
from cubewave.sim.waves import Recorder
from cubewave.sim.waves.vcd_parser import VCDVCD
from cubewave.workloads import Gemm
from cubewave.workloads.attention import RandomAttention

TINY = Design.preset("tiny")
ENDS = [-1, -128, 127, 0]


@dataclass(frozen=True)
class Recorded:
    """A run, its file and what vcdvcd reads there."""
    result: Result
    path: Path
    vcd: VCDVCD

    def values(self, name):
        """Text of every value that a variable takes."""
        return {value for _time, value in self.vcd[f"machine.{name}"].tv}

    @property
    def failed(self):
        return [check for check in self.result.checks if not check["ok"]]


def _record(path, design, workload, **options):
    result = simulate(design, workload, vcd=VcdOptions(str(path), **options))
    return Recorded(result, path, VCDVCD(str(path)))


def _record_program(path, design, program, **options):
    """Likewise, of a program; the result has no more than counters and checks."""
    recorder = Recorder(design, VcdOptions(str(path), **options))
    try:
        run = Backend("pysim").run(design, program, recorder=recorder)
    finally:
        recorder.close()
    result = SimpleNamespace(counters=run.counters, useful_macs=run.counters["useful_macs"],
                             units=units_of(run.counters, UNITS), cycles=run.counters["cycles"])
    result.checks = recorder.checks(result)
    return Recorded(result, path, VCDVCD(str(path)))


def _product(m, k, n, **choices):
    rng = np.random.default_rng(0)
    return Gemm(rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n)), **choices)


@pytest.fixture(scope="session")
def record():
    """Run a workload on a design with these waveform options; a Recorded."""
    return _record


@pytest.fixture(scope="session")
def record_program():
    """Run a program on a design with these waveform options; a Recorded."""
    return _record_program


@pytest.fixture(scope="session")
def product():
    """A random product of a shape."""
    return _product


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("waves")


@pytest.fixture(scope="session")
def control(folder):
    """The default depth, operands at their ends."""
    rotated = np.array([np.roll(ENDS, shift) for shift in range(4)])
    a = np.hstack([rotated, [[5], [6], [7], [8]]])
    return _record(folder / "control.vcd", TINY, Gemm(a, np.tile(a.T, 3)[:, :9]))


@pytest.fixture(scope="session")
def cells(folder):
    return _record(folder / "cells.vcd", TINY, _product(5, 4, 4), depth="cells")


@pytest.fixture(scope="session")
def attention(folder):
    """Four row groups of two tiles of keys each, through the hand-off and the vector unit."""
    program = RandomAttention(8, 8, 4, rows_per_group=2, seed=1).program(TINY)
    return _record_program(folder / "attention.vcd", TINY, program)
