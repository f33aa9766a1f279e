"""Checks that components meet at their ports only, as modules do."""

from typing import Any

from amaranth.hdl import ClockSignal, Fragment, Instance, ResetSignal
from amaranth.hdl._ast import SignalDict
from amaranth.hdl._mem import MemoryInstance

from ..backends.fragments import fragments
from .parts import component_of, ports

__all__ = ["Boundaries"]


class Boundaries:
    """Collects what each component drives and reads.

    A module that read a signal of another past its ports would read a constant.
    """

    def __init__(self) -> None:
        self._owners: SignalDict = SignalDict()  # of signals that something drives
        self._loose: list[tuple[str, SignalDict]] = []

    def add(self, fragment: Fragment) -> None:
        """A component in which the components within are instances already."""
        component = component_of(fragment)
        assert component is not None
        name = type(component).__name__
        driven, read = SignalDict(), SignalDict()
        for part in fragments(fragment):
            _collect(part, driven, read)
        inputs = SignalDict((port.signal, None) for port in ports(component))
        self._owners.update((signal, name) for signal in driven.keys())
        self._loose.append((name, SignalDict(
            (signal, None) for signal in read.keys()
            if len(signal) and signal not in driven and signal not in inputs)))

    def check(self) -> None:
        """Refuse a component that reads what another drives and is not among its ports."""
        for name, signals in self._loose:
            for signal in signals.keys():
                if signal in self._owners:
                    raise ValueError(f"{name} reads signal {signal.name} of "
                                     f"{self._owners[signal]}, which is not a port between them")


def _collect(part: Any, driven: SignalDict, read: SignalDict) -> None:
    def add(signals: SignalDict, found) -> None:
        signals.update((signal, None) for signal in found)

    for statements in part.statements.values():
        for statement in statements:
            add(driven, statement._lhs_signals())
            add(read, statement._rhs_signals())
    is_instance, is_memory = isinstance(part, Instance), isinstance(part, MemoryInstance)
    if is_instance:
        for value, kind in part.ports.values():
            if kind == "o":
                add(driven, value._lhs_signals())
            elif not isinstance(value, ClockSignal | ResetSignal):
                add(read, value._rhs_signals())
    if is_memory:
        for port in (*part._read_ports, *part._write_ports):
            add(read, port._addr._rhs_signals())
            add(read, port._en._rhs_signals())
        for port in part._read_ports:
            add(driven, port._data._lhs_signals())
        for port in part._write_ports:
            add(read, port._data._rhs_signals())
