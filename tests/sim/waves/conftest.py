"""Runs with a waveform that several tests look at."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from vcdvcd import VCDVCD

from cubewave.rtl import Design
from cubewave.sim import Result, VcdOptions, simulate
from cubewave.workloads import Gemm

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


def _product(m, k, n, **choices):
    rng = np.random.default_rng(0)
    return Gemm(rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n)), **choices)


@pytest.fixture(scope="session")
def record():
    """Run a workload on a design with these waveform options; a Recorded."""
    return _record


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
