"""Translates an elaborated component of one clock domain to straight C code for one cycle."""

import re
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Fragment, Shape, Signal
from amaranth.hdl._ast import (
    Assign,
    Concat,
    Operator,
    SignalDict,
    SignalSet,
    Slice,
    Switch,
)
from amaranth.hdl._ir import Instance
from amaranth.hdl._mem import MemoryInstance

from .expressions import UntranslatableError, c_type, expression, fit, matches

__all__ = ["Block", "Register"]


@dataclass(frozen=True)
class Register:
    """A register of a component: its signal, the C name and type of its value."""
    signal: Signal
    name: str
    type: str


class Block:
    """The registers of a component and the code of one clock cycle.

    Parameters
    ----------
    fragment : Fragment
        Elaborated; comb and sync statements only, its submodules included.
    prefix : str
        Before the C names of all its signals.

    Attributes
    ----------
    registers : list of Register
    """

    def __init__(self, fragment: Fragment, prefix: str = "v_"):
        self._names, self._prefix = SignalDict(), prefix
        self._used: set[str] = set()
        self._comb: list[Any] = []     # statements
        self._sync: list[Any] = []
        self._collect(fragment)
        self._registers = SignalDict()
        for statement in self._sync:
            for signal in statement._lhs_signals():
                if signal not in self._registers:
                    self._registers[signal] = Register(
                        signal, self.name(signal), c_type(signal.shape()))
        self.registers = list(self._registers.values())
        self._driven = SignalSet(signal for statement in self._comb
                                 for signal in statement._lhs_signals())
        self._temporaries = 0

    def _collect(self, fragment):
        if isinstance(fragment, Instance | MemoryInstance):
            raise UntranslatableError("an instance or a memory")
        for domain, statements in fragment.statements.items():
            if domain not in ("comb", "sync"):
                raise UntranslatableError(f"clock domain {domain}")
            (self._comb if domain == "comb" else self._sync).extend(statements)
        for subfragment, _name, _src_loc in fragment.subfragments:
            self._collect(subfragment)

    def name(self, signal: Signal) -> str:
        """The C name of a signal."""
        if signal not in self._names:
            base = self._prefix + re.sub(r"\W", "_", signal.name)
            name, number = base, 1
            while name in self._used:
                number += 1
                name = f"{base}_{number}"
            self._used.add(name)
            self._names[signal] = name
        return self._names[signal]

    def register(self, signal: Signal) -> Register | None:
        """The register that is this signal, if it is one."""
        return self._registers.get(signal)

    def is_input(self, signal: Signal) -> bool:
        """Whether the component only reads this signal."""
        return signal not in self._driven and signal not in self._registers

    # -- code ----------------------------------------------------------------------------------

    def comb_code(self) -> list[str]:
        """Lines that declare and compute every combinational signal, in order of dependence."""
        lines: list[str] = []
        done, under_way = SignalSet(), SignalSet()

        def visit(signal):
            if signal in done:
                return
            if signal in under_way:
                raise UntranslatableError(f"a combinational loop through {signal.name}")
            under_way.add(signal)
            mine = [part for statement in self._comb for part in _about(statement, signal)]
            for statement in mine:
                for source in statement._rhs_signals():
                    if source in self._driven and source is not signal:
                        visit(source)
            shape = signal.shape()
            lines.append(f"{c_type(shape)} {self.name(signal)} = {signal.init};")
            self._emit(mine, None, self.name, lines)
            done.add(signal)

        for signal in self._driven:
            visit(signal)
        return lines

    def sync_code(self) -> list[str]:
        """Lines that declare and compute `next_<register>` of every register."""
        lines = [f"{register.type} next_{register.name} = {register.name};"
                 for register in self.registers]
        self._emit(self._sync, None, lambda signal: f"next_{self.name(signal)}", lines)
        return lines

    def _emit(self, statements, condition, target, lines):
        for statement in statements:
            if isinstance(statement, Assign):
                rhs, shape = expression(statement.rhs, self.name), statement.rhs.shape()
                self._assign(statement.lhs, rhs, shape, condition, target, lines)
            elif isinstance(statement, Switch):
                self._emit_switch(statement, condition, target, lines)
            else:
                raise UntranslatableError(type(statement).__name__)

    def _temporary(self, text, kind, lines):
        self._temporaries += 1
        name = f"t_{self._temporaries}"
        lines.append(f"const {kind} {name} = {text};")
        return name

    def _emit_switch(self, statement, condition, target, lines):
        test = statement.test
        bits = Shape(len(test), False)
        tested = self._temporary(fit(expression(test, self.name), test.shape(), bits),
                                 c_type(bits), lines)
        before = []   # conditions of the cases before
        for patterns, body, _src_loc in statement.cases:
            hit = matches(tested, patterns, bits.width)
            terms = [hit, *(f"!{earlier}" for earlier in before)]
            if condition is not None:
                terms.append(condition)
            if hit != "1":
                before.append(self._temporary(hit, "uint8_t", lines))
                terms[0] = before[-1]
            chosen = self._temporary(" & ".join(terms), "uint8_t", lines)
            self._emit(body, chosen, target, lines)

    def _assign(self, lhs, rhs, shape, condition, target, lines):
        """Assign the expression `rhs` of `shape`, where `condition` holds."""
        if isinstance(lhs, Operator) and lhs.operator in ("u", "s"):
            self._assign(lhs.operands[0], rhs, shape, condition, target, lines)
        elif isinstance(lhs, Concat):
            value = self._temporary(rhs, c_type(shape), lines)
            offset = 0
            for part in lhs.parts:
                width = len(part)
                taken = min(offset, max(0, shape.width - 1))
                bits = f"((int64_t){value} >> {taken})"
                self._assign(part, fit(bits, Shape(64, True), Shape(width, False)),
                             Shape(width, False), condition, target, lines)
                offset += width
        elif isinstance(lhs, Slice) and len(lhs) == len(lhs.value):
            self._assign(lhs.value, rhs, shape, condition, target, lines)
        elif isinstance(lhs, Signal):
            name, text = target(lhs), fit(rhs, shape, lhs.shape())
            kind = c_type(lhs.shape())
            lines.append(f"{name} = ({kind})({text});" if condition is None else
                         f"{name} = {condition} ? ({kind})({text}) : {name};")
        elif isinstance(lhs, Slice) and isinstance(lhs.value, Signal):
            name = target(lhs.value)
            mask = (1 << len(lhs)) - 1 << lhs.start
            bits = fit(rhs, shape, Shape(len(lhs), False))
            merged = f"(((int64_t){name} & ~{mask:#x}ll) | ((int64_t)({bits}) << {lhs.start}))"
            self._assign(lhs.value, merged, Shape(64, True), condition, target, lines)
        else:
            raise UntranslatableError(f"assignment to {lhs!r}")


def _about(statement, signal):
    """The parts of a statement that assign to a signal."""
    if signal not in statement._lhs_signals():
        return
    if isinstance(statement, Switch):
        yield Switch(statement.test, [
            (patterns, [part for inner in body for part in _about(inner, signal)], src_loc)
            for patterns, body, src_loc in statement.cases])
    elif isinstance(statement, Assign) and len(statement._lhs_signals()) > 1:
        raise UntranslatableError("a combinational assignment to several signals")
    else:
        yield statement
