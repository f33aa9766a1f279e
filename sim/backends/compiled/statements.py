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

from .expressions import (
    UntranslatableError,
    c_number,
    c_type,
    c_word,
    expression,
    fit,
    matches,
)

__all__ = ["Block", "Register", "without"]


@dataclass(frozen=True)
class Register:
    """A register of a component: its signal, the C name and type of its value."""
    signal: Signal
    name: str
    type: str


@dataclass(frozen=True)
class _Table:
    """A read port of a memory that nobody writes."""
    data: Signal
    address: Any
    enable: Any
    entries: list[int]

    def _rhs_signals(self):
        return self.address._rhs_signals() | self.enable._rhs_signals()


def _tables(memory):
    """The read ports of a memory."""
    contents = memory._data
    if memory._write_ports:
        raise UntranslatableError("a memory that is written")
    for port in memory._read_ports:
        if (port._domain != "sync" or not isinstance(port._data, Signal)
                or contents.depth != 1 << len(port._addr)):
            raise UntranslatableError("such a read port")
        yield _Table(port._data, port._addr, port._en, list(contents._init._raw))


class Block:
    """The registers of a component and the code of one clock cycle.

    Parameters
    ----------
    fragment : Fragment
        Elaborated; comb and sync statements only, its submodules included.
    prefix : str
        Before the C names of all its signals.
    roots : list of Signal or None
        Leave out what none of these signals depends on.

    Attributes
    ----------
    registers : list of Register
    inputs : list of Signal
        What the component only reads.
    """

    def __init__(self, fragment: Fragment, prefix: str = "v_", roots: Any = None):
        self._names, self._prefix = SignalDict(), prefix
        self._used: set[str] = set()
        self._comb: list[Any] = []     # statements
        self._sync: list[Any] = []
        self._tables: list[_Table] = []
        self._collect(fragment)
        if roots is not None:
            self._keep(roots)
        self._registers = SignalDict()
        for statement in self._sync:
            for signal in statement._lhs_signals():
                if signal not in self._registers:
                    self._registers[signal] = Register(
                        signal, self.name(signal), c_type(signal.shape()))
        for table in self._tables:
            self._registers[table.data] = Register(
                table.data, self.name(table.data), c_type(table.data.shape()))
        self.registers = list(self._registers.values())
        self._driven = SignalSet(signal for statement in self._comb
                                 for signal in statement._lhs_signals())
        read = SignalSet(signal for value in (*self._comb, *self._sync, *self._tables)
                         for signal in value._rhs_signals())
        self.inputs = [signal for signal in read if self.is_input(signal)]
        self._temporaries = 0

    def _keep(self, roots):
        """Leave out what the roots do not depend on."""
        statements = [*self._comb, *self._sync]
        needed, pending = SignalSet(), list(roots)
        while pending:
            signal = pending.pop()
            if signal in needed:
                continue
            needed.add(signal)
            for statement in statements:
                for part in _within(statement, SignalSet((signal,))):
                    pending.extend(part._rhs_signals())
            for table in self._tables:
                if table.data is signal:
                    pending.extend(table._rhs_signals())
        self._comb, self._sync = (
            [part for statement in kept for part in _within(statement, needed)]
            for kept in (self._comb, self._sync))
        self._tables = [table for table in self._tables if table.data in needed]

    def _collect(self, fragment):
        if isinstance(fragment, MemoryInstance):
            self._tables.extend(_tables(fragment))
            return
        if isinstance(fragment, Instance):
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
        for table in self._tables:
            name = self.name(table.data)
            lines.append(f"if ({expression(table.enable, self.name)}) next_{name} = "
                         f"{self._table_name(table)}[{expression(table.address, self.name)}];")
        return lines

    def tables(self) -> list[str]:
        """Lines that declare the constant tables that `sync_code` reads."""
        return [f"static constexpr {c_type(table.data.shape())} {self._table_name(table)}[] = {{"
                f"{', '.join(map(c_number, table.entries))}}};" for table in self._tables]

    def _table_name(self, table):
        return f"table_{self.name(table.data)}"

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
                wide = Shape(64 if shape.width < 64 else 128, True)
                bits = f"(({c_word(wide)}){value} >> {taken})"
                self._assign(part, fit(bits, wide, Shape(width, False)),
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
            mask = c_number((1 << len(lhs)) - 1 << lhs.start)
            wide = Shape(64 if len(lhs.value) < 64 else 128, True)
            bits, word = fit(rhs, shape, Shape(len(lhs), False)), c_word(wide)
            merged = f"((({word}){name} & ~({word}){mask}) | (({word})({bits}) << {lhs.start}))"
            self._assign(lhs.value, merged, wide, condition, target, lines)
        else:
            raise UntranslatableError(f"assignment to {lhs!r}")


def _about(statement, signal):
    """The parts of a combinational statement that assign to a signal."""
    for part in _within(statement, SignalSet((signal,))):
        if isinstance(part, Assign) and len(part._lhs_signals()) > 1:
            raise UntranslatableError("a combinational assignment to several signals")
        yield part


def _within(statement, signals):
    """The parts of a statement that assign to any of some signals."""
    if not any(signal in signals for signal in statement._lhs_signals()):
        return
    if isinstance(statement, Switch):
        yield Switch(statement.test, [
            (patterns, [part for inner in body for part in _within(inner, signals)], src_loc)
            for patterns, body, src_loc in statement.cases])
    else:
        yield statement


def without(statements, target):
    """The statements but for those that assign to `target`, a signal or a slice of one."""
    for statement in statements:
        if isinstance(statement, Switch):
            yield Switch(statement.test, [
                (patterns, list(without(body, target)), src_loc)
                for patterns, body, src_loc in statement.cases])
        elif not _is_same(statement.lhs, target):
            yield statement


def _is_same(lhs, target):
    """Whether `lhs` is (a slice of) the signal, or the slice, `target`."""
    while isinstance(lhs, Operator) and lhs.operator in ("u", "s"):
        lhs, = lhs.operands
    if isinstance(target, Signal):
        return lhs is target or (isinstance(lhs, Slice) and _is_same(lhs.value, target))
    return (isinstance(lhs, Slice) and lhs.value is target.value
            and lhs.start == target.start and lhs.stop == target.stop)
