# amaranth: UnusedElaboratable=no
"""The prover itself: what it must refuse and what its answers mean."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from harness import lockstep
from proofs.broken import broken
from proofs.prover import bounded_check, prove
from proofs.spec import Spec
from proofs.test_queue import spec as queue_spec

from cubewave.rtl.queue import Queue


class Steps(wiring.Component):
    """Goes to 3 in steps and stays there; from 5, which it never is, it would go on to 6."""

    step: In(1)
    value: Out(3)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.step & (self.value != 3)):
            m.d.sync += self.value.eq(self.value + 1)
        return m


class StepsSpec(Spec):
    def __init__(self, describe):
        super().__init__(Steps())
        self.describe = lambda m: describe(self, m)


def not_four(spec, m):
    spec.claim(m, "never 4", spec.dut.value != 4)


def not_six(spec, m):
    spec.claim(m, "never 6", spec.dut.value != 6)


def test_a_true_and_inductive_claim_is_proved():
    assert prove(lambda: StepsSpec(not_four), depth=1, cycles=5) is None


def test_a_true_claim_that_is_not_inductive_is_refused():
    failure = prove(lambda: StepsSpec(not_six), depth=1, cycles=5)
    assert (failure.kind, failure.sentences) == ("induction", ["never 6"])
    assert [cycle["value"] for cycle in failure.trace] == [5, 6]


def test_a_false_claim_is_found_in_the_first_cycle_in_which_it_fails():
    failure = bounded_check(StepsSpec(lambda spec, m: spec.claim(
        m, "never 2", spec.dut.value != 2)), 5)
    assert (failure.kind, failure.sentences) == ("reset", ["never 2"])
    assert [cycle["value"] for cycle in failure.trace] == [0, 1, 2]
    assert str(failure).startswith("reset, cycle 2:\nnever 2\nstep  ")
    assert f"\n{'value':32} 0 1 2\n" in str(failure)


def test_assumptions_count():
    def describe(spec, m):
        spec.assume(m, "no step is made", ~spec.dut.step)
        spec.claim(m, "it stays 0", spec.dut.value == 0)
    assert prove(lambda: StepsSpec(describe), depth=1, cycles=3) is None


def test_assumptions_that_contradict_each_other_are_refused():
    def describe(spec, m):
        spec.assume(m, "no step", ~spec.dut.step)
        spec.assume(m, "a step", spec.dut.step)
        spec.claim(m, "never 0", spec.dut.value != 0)
    failure = bounded_check(StepsSpec(describe), 3)
    assert (failure.kind, failure.sentences) == ("assumptions", ["no step", "a step"])


def test_a_cover_that_is_not_reached_is_refused():
    def describe(spec, m):
        spec.cover(m, "3 is reached", spec.dut.value == 3)
        spec.cover(m, "4 is reached", spec.dut.value == 4)
    failure = bounded_check(StepsSpec(describe), 5)
    assert (failure.kind, failure.sentences) == ("cover", ["4 is reached"])


def test_a_probe_must_exist():
    def describe(spec, m):
        spec.claim(m, "nothing", spec.probe("dut.no_such_signal", 1))
    with pytest.raises(RuntimeError, match="undefined term: .*dut.no_such_signal"):
        bounded_check(StepsSpec(describe), 1)


def test_the_base_must_be_deep_enough():
    with pytest.raises(ValueError, match="^the base of the induction needs 3 cycles, not 2$"):
        prove(lambda: StepsSpec(not_four), depth=3, cycles=2)


def test_a_sentence_is_said_once():
    spec, m = StepsSpec(not_four), Module()
    not_four(spec, m)
    with pytest.raises(ValueError, match="^said twice: never 4$"):
        not_four(spec, m)


def test_a_chosen_value_stays_and_a_free_one_changes():
    def describe(spec, m):
        chosen, free = spec.chosen(m, 2, "chosen"), spec.free(2, "free")
        for name, signal in (("chosen", chosen), ("free", free)):
            before = Signal(2, name=f"{name}_before")
            later = Signal(name=f"{name}_later")
            m.d.sync += [before.eq(signal), later.eq(1)]
            spec.claim(m, f"{name} stays", ~later | (signal == before))
        spec.cover(m, "3 is chosen", chosen == 3)
    failure = bounded_check(StepsSpec(describe), 3)
    assert failure.sentences == ["free stays"]


def test_a_text_that_is_not_there_once_breaks_nothing():
    with pytest.raises(ValueError, match="^0 times in .*queue.py: no such text$"):
        broken(Queue, "no such text", "")
    assert broken(Queue, "LATENCY = 1 ", "LATENCY = 2 ").LATENCY == 2
    assert Queue.LATENCY == 1


@pytest.mark.parametrize("depth, text, replacement", [
    (2, "tail.eq(following(tail))", "tail.eq(tail)"),
    (5, "transparent_for=(write,)", "transparent_for=()"),
    (5, "Mux(self.o.valid, following(head), head)", "head"),
])
def test_a_counterexample_is_what_the_simulator_does(depth, text, replacement):
    """Yosys and the solver see the component that Amaranth simulates."""
    copy = broken(Queue, text, replacement)
    failure = bounded_check(
        queue_spec(depth, copy), 3 * depth,
        only="the marked entry leaves as it went in, after those before it")
    steps = [{name: cycle[name.replace(".", "__")] for name in ("i.valid", "i.payload", "o.ready")}
             for cycle in failure.trace]
    outputs = ("i.ready", "o.valid", "o.payload", "level")
    sampled = lockstep(copy(shape=3, depth=depth), steps, outputs)
    assert sampled == [{name: cycle[name.replace(".", "__")] for name in outputs}
                       for cycle in failure.trace]


CLOSING = """
import signal
from proofs.prover import _Solver
from proofs.test_queue import spec
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
with _Solver(spec(1), "") as solver:
    solver._ask("(push 1)")  # not sent yet
    process, kill = solver._process, solver._process.kill
    process.kill = lambda: (kill(), process.wait())  # dead when it returns
"""


def test_closing_a_solver_does_not_end_the_process():
    """Where SIGPIPE is not ignored, unsent text to a dead solver ended pytest's worker."""
    path = str(Path(__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", CLOSING], env={**os.environ, "PYTHONPATH": path},
                          check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
