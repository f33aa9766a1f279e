"""Compiled machines against pysim, over random designs and workloads."""

import dataclasses
import itertools

import numpy as np
import pytest
from designs import designs, gemms
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.sim import DeadlockError, OptionError, simulate
from cubewave.sim.backends.compiled import Variant, load_machine
from cubewave.sim.backends.pysim import run_pysim
from cubewave.sim.cycle import Durations, run_cycle_model
from cubewave.workloads import QProjection, RandomConv2d
from cubewave.workloads.attention import RandomAttention

TINY = Design.preset("tiny")
ANY = {"suppress_health_check": list(HealthCheck), "deadline": None,
       "phases": [Phase.generate]}    # shrinking would build many machines

# A new design in every example; hypothesis's own generator would change the last one a little.
MANY = settings(backend="hypothesis-urandom", **ANY)


def assert_equal_runs(machine, program):
    """Of the machine and pysim; the machine's."""
    expected, run = run_pysim(machine.design, program), machine.run(program)
    assert_equal(run, expected)
    return run


def assert_equal(run, expected):
    assert dict(run.counters) == dict(expected.counters)
    assert run.overflow == expected.overflow
    assert len(run.outputs) == len(expected.outputs)
    for output, reference in zip(run.outputs, expected.outputs):
        np.testing.assert_array_equal(output, reference)


def compare(data, mesh="kernel", whole=True):
    """Products on a random design: on the machine without what they do not need, in pysim, and,
    if `whole`, on the machine with all its parts."""
    design = data.draw(designs())
    machine = load_machine(design, Variant(mesh, vector=False, windows=False))
    full = load_machine(design, Variant(mesh)) if whole else None
    for choices in ({}, {"a_resident": True, "dimensions": (1, 2)}):
        workload = data.draw(gemms(design, **choices))
        try:
            program = workload.program(design)
        except ValueError:      # A does not fit into the slots
            continue
        run = assert_equal_runs(machine, program)
        if full is not None:
            assert_equal(full.run(program), run)


@pytest.mark.parametrize("part", range(2))
def test_random_designs(part):
    numbers = itertools.count()

    @seed(part)
    @settings(max_examples=3, database=None, **ANY)
    @given(st.data())
    def run(data):
        compare(data, whole=part == 0 and next(numbers) == 1)
    run()


@pytest.mark.parametrize("parts,workload", [
    ({"windows": False}, RandomAttention(3, 5, 4, seed=2)),
    ({"vector": False}, RandomConv2d(5, 6, 3, filters=4, kernel=(3, 2), seed=1)),
], ids=lambda value: "-".join(value) if isinstance(value, dict) else "")
def test_a_machine_without_what_a_program_does_not_need(parts, workload):
    program = workload.program(TINY)
    run = assert_equal_runs(load_machine(TINY, Variant(**parts)), program)
    assert_equal(load_machine(TINY).run(program), run)


@settings(max_examples=3, derandomize=True, **ANY)
@given(st.data())
def test_random_designs_with_the_mesh_as_a_netlist(data):
    compare(data, "netlist", whole=False)


@pytest.mark.long
@pytest.mark.parametrize("part", range(18))     # together 180 designs
@settings(MANY, max_examples=10)
@given(st.data())
def test_many_random_designs(part, data):
    compare(data, whole=part % 2 == 0)


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))      # together 20 designs
@settings(MANY, max_examples=5)
@given(st.data())
def test_many_random_designs_with_the_mesh_as_a_netlist(part, data):
    compare(data, "netlist", whole=False)


ATTENTIONS = {
    "pipelined, staged": (
        {"vector_schedule": "pipelined", "handoff": "staged", "lanes": 3, "sfu_lanes": 2},
        {"rows": 5, "keys": 7, "head_dim": 3, "causal": True}),
    "two units": ({"vector_units": 2, "lanes": 8, "sfu_lanes": 1, "accumulator_bits": 40},
                  {"rows": 3, "keys": 9, "head_dim": 5, "heads": 2, "kv_heads": 1}),
    "one lane": ({"lanes": 1, "sfu_lanes": 5, "cols": 3, "score_bits": 16, "weight_fifo_depth": 1},
                 {"rows": 2, "keys": 5, "head_dim": 4, "block_keys": 2}),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name):
    fields, sizes = ATTENTIONS[name]
    machine = load_machine(dataclasses.replace(TINY, **fields))
    for number in range(2):
        assert_equal_runs(machine, RandomAttention(**sizes, seed=number).program(machine.design))


def test_the_array_is_idle_when_a_run_with_resident_weights_begins():
    """The first tile was still on its way into the array, and its rows were counted."""
    design = dataclasses.replace(TINY, **ATTENTIONS["one lane"][0])
    program = RandomAttention(2, 5, 4, resident=True).program(design)
    run = load_machine(design).run(program)
    assert run.counters == run_cycle_model(program, Durations.rtl(design)).counters


@pytest.mark.parametrize("queue,field,waits", [
    ("vectors", "done", r"handoff waits for vector slot \d+ to hold a result"),
    ("handoffs", "last", r"vector waits for vector slot \d+ to be filled"),
    ("jobs", "finish_bank", r"handoff waits for accumulator bank \d+ to be full"),
])
def test_f060_a_stuck_attention_names_the_blocked_unit(queue, field, waits):
    program = RandomAttention(rows=3, keys=4, head_dim=4, seed=1).program(TINY)
    setattr(program, queue, [command for command in getattr(program, queue)
                             if not getattr(command, field)])
    messages = []
    for run in (load_machine(TINY).run, lambda program: run_pysim(TINY, program)):
        with pytest.raises(DeadlockError, match=waits) as raised:
            run(program)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_simulate_says_which_backend_ran():
    result = simulate(TINY, QProjection(5, 9, 10), backend="compiled")
    assert result.ok and result.backend == "compiled"
    assert result.cycles == simulate(TINY, QProjection(5, 9, 10), backend="pysim").cycles


def test_deadlock_has_the_message_of_pysim():
    program = QProjection(5, 9, 10).program(TINY)
    program.loads = program.loads[:3]
    messages = []
    for run in (load_machine(TINY).run, lambda program: run_pysim(TINY, program)):
        with pytest.raises(DeadlockError) as raised:
            run(program)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_progress_reaches_the_end():
    calls = []
    program = QProjection(5, 9, 10).program(TINY)
    run = load_machine(TINY).run(program, lambda *call: calls.append(call))
    assert calls[-1] == (run.counters["cycles"], run.counters["activation_rows"],
                         run.counters["activation_rows"])


def test_interrupted_runs_leave_the_machine_usable():
    machine, program = load_machine(TINY), QProjection(5, 9, 10).program(TINY)

    def interrupt(*_call):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        machine.run(program, interrupt)
    assert_equal_runs(machine, program)


@pytest.mark.parametrize("options,message", [
    ({"mesh": "netlist"}, "mesh needs backend compiled, not auto"),
    ({"rebuild": True}, "rebuild needs backend compiled, not auto"),
])
def test_refusals(options, message):
    with pytest.raises(OptionError) as raised:
        simulate(TINY, QProjection(5, 9, 10), **options)
    assert str(raised.value) == message


def test_auto_takes_compiled_for_long_runs(monkeypatch):
    monkeypatch.setattr("cubewave.sim.backends.choice.rtl_seconds", lambda *_arguments: 1e6)
    lines = []

    class Progress:
        def __call__(self, cycles, done, rows): ...

        def say(self, line):
            lines.append(line)

    result = simulate(TINY, QProjection(5, 9, 10), progress=Progress())
    assert result.backend == "compiled"
    assert lines[0] == "note: backend compiled, chosen for a long run"
    monkeypatch.setattr("cubewave.sim.backends.compiled.find_compiler", lambda: None)
    assert simulate(TINY, QProjection(5, 9, 10), progress=Progress()).backend == "pysim"
    assert "there is no C++ compiler" in lines[-1]


def test_auto_takes_compiled_for_wide_rows():
    from cubewave.sim.backends.choice import Backend
    design = dataclasses.replace(TINY, rows=1, cols=512)
    backend, note = Backend().choose(design, 1, None)
    assert (backend.name, note) == ("compiled", "note: backend compiled, chosen for rows this wide")
    assert Backend().choose(design, 1, "cells")[0].name == "compiled"


@pytest.mark.long
def test_wide_rows_and_several_port_rows():
    """Memory rows of many words, at addresses off any alignment."""
    design = dataclasses.replace(TINY, rows=8, cols=33, accumulator_bits=48, buffer_port_rows=3)
    machine = load_machine(design, Variant(vector=False, windows=False))
    for number, (m, k, n) in enumerate(((7, 9, 41), (13, 5, 33), (3, 17, 70))):
        assert_equal_runs(machine, QProjection(m, k, n, seed=number).program(design))


@pytest.mark.long
def test_rows_too_wide_for_a_netlist_are_refused():
    design = dataclasses.replace(TINY, rows=1, cols=1024)
    with pytest.raises(OptionError, match="^backend compiled cannot build a machine with rows "
                                          "this wide .* or level cycle$"):
        simulate(design, QProjection(1, 1, 1), backend="compiled")
