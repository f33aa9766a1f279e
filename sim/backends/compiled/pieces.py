"""Splits combinational signals whose parts depend on each other, as fields of one structure may.

CXXRTL computes a signal as a whole: a part that depends on another one would be a loop for it,
and every cycle of the machine would be evaluated several times.
"""

from amaranth.hdl import Cat, Const, Fragment, Signal
from amaranth.hdl._ast import Assign, Operator, SignalDict, Slice, Switch, _StatementList
from amaranth.hdl._xfrm import StatementTransformer, ValueTransformer

from ..fragments import fragments

__all__ = ["split_signals"]


def split_signals(top: Fragment) -> None:
    """Make signals of their own of the parts of such signals, in an elaborated design."""
    for fragment in fragments(top):
        statements = fragment.statements.get("comb", ())
        pieces = SignalDict()
        for signal, ranges in _self_reading(statements).items():
            ordered = sorted(ranges)
            if all(before[1] <= after[0] for before, after in zip(ordered, ordered[1:])):
                pieces[signal] = [(start, Signal(
                    stop - start, name=f"{signal.name}_{start}",
                    init=signal.init >> start & (1 << stop - start) - 1))
                    for start, stop in ordered]
        if pieces:
            fragment.statements["comb"] = _StatementList(
                [*_Split(pieces).on_statements(statements),
                 *(signal.eq(_joined(signal, parts)) for signal, parts in pieces.items())])


def _place(value):
    """The signal that a value is (a slice of), and the bits; None for any other value."""
    if isinstance(value, Signal):
        return value, 0, len(value)
    if isinstance(value, Operator) and value.operator in ("u", "s"):
        return _place(value.operands[0])
    inner = _place(value.value) if isinstance(value, Slice) else None
    return inner and (inner[0], inner[1] + value.start, inner[1] + value.stop)


def _self_reading(statements):
    """Signals that are driven part by part, and somewhere read by what drives them."""
    ranges, reading, refused = SignalDict(), SignalDict(), SignalDict()

    def visit(statement, tests):
        if isinstance(statement, Switch):
            inner = [*tests, statement.test]
            for _patterns, body, _src_loc in statement.cases:
                for part in body:
                    visit(part, inner)
            return
        if not isinstance(statement, Assign):
            return
        place = _place(statement.lhs)
        if place is None or place[1:] == (0, len(place[0])):
            for signal in statement._lhs_signals():
                refused[signal] = True
            return
        ranges.setdefault(place[0], set()).add(place[1:])
        if any(place[0] in value._rhs_signals() for value in (statement.rhs, *tests)):
            reading[place[0]] = True

    for statement in statements:
        visit(statement, [])
    return SignalDict((signal, ranges[signal]) for signal in reading if signal not in refused)


def _joined(signal, pieces):
    parts, place = [], 0
    for start, piece in pieces:
        parts += [Const(signal.init >> place & (1 << start - place) - 1, start - place), piece]
        place = start + len(piece)
    rest = len(signal) - place
    return Cat(*parts, Const(signal.init >> place & (1 << rest) - 1, rest))


class _Split(ValueTransformer, StatementTransformer):
    def __init__(self, pieces):
        self._pieces = pieces

    def on_Slice(self, value):
        place = _place(value)
        if place is not None and place[0] in self._pieces:
            _signal, first, end = place
            for start, piece in self._pieces[place[0]]:
                if start <= first and end <= start + len(piece):
                    return piece[first - start:end - start]
        return super().on_Slice(value)

    def on_Switch(self, stmt):
        return Switch(self.on_value(stmt.test),
                      [(patterns, self.on_statements(body), src_loc)
                       for patterns, body, src_loc in stmt.cases])

    def on_statements(self, stmts):
        return _StatementList(self.on_statement(stmt) for stmt in stmts)
