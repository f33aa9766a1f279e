"""The command line of a failing pair runs that very pair."""

import contextlib
import dataclasses
import io
import itertools
import json
import shlex

import numpy as np
import pytest
from click.testing import CliRunner
from designs import designs, workloads
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reproduce import command_line

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.sim.cli import main
from cubewave.sim.cycle import Durations
from cubewave.sim.result import output_sha256
from cubewave.workloads import Gemm, Sequence
from cubewave.workloads.gemm import RandomGemm

DESIGN = Design(rows=3, cols=5, dataflow="output_stationary", accumulator_bits=16,
                memory_bytes_per_cycle="7/3", weight_double_buffer=False, clock_hz=1)
MATRICES = Gemm(np.full((2, 3), -128), np.full((3, 1), -128), order="nm")
TWO = Sequence([RandomGemm(2, 3, 5, 7, store_output=False),
                RandomGemm(2, 4, 5, accumulate=True, unsigned=True)])


def run(line):
    """What a shell would run: scripts in this process, `cubewave` by click's runner.

    Returns the output of the last script or the result of `cubewave`.
    """
    result = None
    for joins, words in itertools.groupby(shlex.split(line), "&&".__eq__):
        if joins:
            continue
        program, *arguments = words
        if program == "cubewave":
            result = CliRunner().invoke(main, arguments)
        else:
            assert (program, arguments[0], len(arguments)) == ("python", "-c", 2)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(arguments[1], {})
            result = output.getvalue()
    return result


def check(design, workload):
    """The command runs this workload on this design, and gets what `simulate` gets."""
    result = run(command_line(design, workload, "--level", "cycle", "--json", "-"))
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    expected = simulate(design, workload, level="cycle")
    assert document["design"] == design.to_dict()
    assert document["workload"] == workload.describe()
    entry, = document["results"]
    assert entry["counters"] == expected.counters
    assert entry["overflow"] == expected.overflow
    assert entry["output_sha256"] == (None if expected.output is None
                                      else output_sha256(expected.output))


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_pair(tmp_path_factory, data):
    design = data.draw(designs())
    workload = data.draw(workloads(design).filter(lambda drawn: not isinstance(drawn, Sequence)))
    with contextlib.chdir(tmp_path_factory.mktemp("shell")):
        check(design, workload)


def test_a_seed_and_every_choice():
    workload = RandomGemm(7, 4, 6, 41, unsigned=True, store_output=False, accumulate=True,
                          m_tile=2, order="nm", slices_per_slot=1)
    assert command_line(DESIGN, workload) == (
        "cubewave run gemm -s rows=3 -s cols=5 -s dataflow=output_stationary "
        "-s accumulator_bits=16 -s weight_double_buffer=false -s memory_bytes_per_cycle=7/3 "
        "-s clock_hz=1 -p m=7 -p k=4 -p n=6 --seed 41 -p unsigned=true -p store_output=false "
        "-p accumulate=true -p m_tile=2 -p order=nm -p slices_per_slot=1 --level all")


def test_matrices_are_written_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = command_line(DESIGN, MATRICES)
    assert line.startswith("python -c ") and " && cubewave run gemm " in line
    check(DESIGN, MATRICES)  # overflows: other operands would not
    assert simulate(DESIGN, MATRICES, level="cycle").overflow
    assert np.load("a.npy").tolist() == MATRICES.a.tolist()


def test_a_sequence_becomes_a_script():
    results = [simulate(Design(rows=2, cols=2), TWO, level=level) for level in ("rtl", "cycle")]
    assert run(command_line(Design(rows=2, cols=2), TWO)) == "".join(
        f"{result.level} {result.cycles} []\n" for result in results)


@pytest.mark.parametrize("workload", [RandomGemm(3, 4, 5), TWO])
def test_the_command_fails_where_the_pair_does(monkeypatch, workload):
    """With a model that is wrong on purpose."""
    design, exact = Design(rows=2, cols=2), Durations.rtl
    monkeypatch.setattr(Durations, "rtl", classmethod(lambda cls, design: dataclasses.replace(
        exact(design), result=exact(design).result + 1)))
    result = run(command_line(design, workload))
    if isinstance(workload, Sequence):
        assert "'rtl_cycle_cycles'" in result
    else:
        assert result.exit_code == 1
        assert "check rtl_cycle_cycles failed: expected " in result.stderr
