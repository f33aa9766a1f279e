"""Prepares an elaborated design for pysim: the same circuit with fewer signals.

pysim's cost per cycle follows the number of signals. A signal that combinationally equals
another one (`a.eq(b)`, equal shapes, no other driver) is replaced by it everywhere; every register
keeps its value in every cycle.
"""

from amaranth.hdl import Cat, Fragment, Signal
from amaranth.hdl._ast import Assign, SignalDict, Switch, _StatementList
from amaranth.hdl._mem import MemoryInstance
from amaranth.hdl._xfrm import FragmentTransformer, StatementTransformer, ValueTransformer

from .fragments import fragments

__all__ = ["FlatDesign", "find_aliases", "flatten"]


class FlatDesign:
    """The rewritten fragment and where its signals went.

    Attributes
    ----------
    fragment : Fragment
        To be given to `Simulator`.
    """

    def __init__(self, fragment, aliases):
        self.fragment = fragment
        self._aliases = aliases

    def signal(self, signal):
        """The signal that holds the value of `signal` in the rewritten design."""
        return self._aliases.get(signal, signal)

    def capture(self, signals):
        """Add a register that takes the values of `signals` at every clock edge.

        Parameters
        ----------
        signals : list of Signal
            Of the rewritten design.

        Returns
        -------
        Signal
            Their bits, those of the first one lowest.
        """
        captured = Signal(sum(len(signal) for signal in signals), name="captured")
        probe = Fragment()
        probe.add_statements("sync", captured.eq(Cat(*signals)))
        self.fragment.add_subfragment(probe)
        return captured


class _Substitution(FragmentTransformer, ValueTransformer, StatementTransformer):
    def __init__(self, aliases):
        self._aliases = aliases

    def on_Signal(self, value):
        return self._aliases.get(value, value)

    def on_Switch(self, stmt):
        return Switch(self.on_value(stmt.test),
                      [(patterns, self.on_statements(body), src_loc)
                       for patterns, body, src_loc in stmt.cases])

    def on_statements(self, stmts):
        return _StatementList(self.on_statement(stmt) for stmt in stmts)

    def map_statements(self, fragment, new_fragment):
        for domain, stmts in fragment.statements.items():
            kept = [self.on_statement(stmt) for stmt in stmts
                    if not (domain == "comb" and self._is_alias(stmt))]
            if kept:
                new_fragment.add_statements(domain, kept)

    def _is_alias(self, stmt):
        return isinstance(stmt, Assign) and type(stmt.lhs) is Signal and stmt.lhs in self._aliases


def find_aliases(top):
    """Signals of an elaborated design that equal another one, each with that one."""
    drivers = SignalDict()
    candidates = SignalDict()
    for fragment in fragments(top):
        if isinstance(fragment, MemoryInstance):
            for port in fragment._read_ports:
                for signal in port._data._lhs_signals():
                    drivers[signal] = drivers.get(signal, 0) + 1
        for domain, stmts in fragment.statements.items():
            for stmt in stmts:
                for signal in stmt._lhs_signals():
                    drivers[signal] = drivers.get(signal, 0) + 1
                if (domain == "comb" and isinstance(stmt, Assign) and type(stmt.lhs) is Signal
                        and type(stmt.rhs) is Signal
                        and stmt.lhs.shape() == stmt.rhs.shape()):
                    candidates[stmt.lhs] = stmt.rhs
    aliases = SignalDict()
    for signal in candidates.keys():
        source = signal
        while source in candidates and drivers[source] == 1:
            source = candidates[source]
        if source is not signal:
            aliases[signal] = source
    return aliases


def flatten(fragment, keep=()):
    """Rewrite an elaborated fragment; `keep` are signals that a test bench drives."""
    aliases = find_aliases(fragment)
    for signal in keep:
        aliases.pop(signal, None)
    flat = _Substitution(aliases)(fragment)
    return FlatDesign(flat, aliases)
