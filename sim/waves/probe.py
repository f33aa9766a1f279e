"""Looks at many signals in every cycle, at a cost that follows those that change."""

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Signal, Value
from amaranth.hdl._ast import SignalDict

from .hierarchy import MemoryTrace, Scope

__all__ = ["Probe"]

_BITS, _SIGNALS = 2048, 200  # of one register, at most


class Probe:
    """Signals of a simulated design, packed into a few registers beside it.

    A register captures at a clock edge what its signals were just before: the values of the
    cycle that ends. Reading a register costs as much as reading a signal, and the difference
    to the cycle before shows which signals have changed.

    Parameters
    ----------
    flat : FlatDesign
        Signals that it has replaced are looked up where they went.
    """

    def __init__(self, flat) -> None:
        self._flat = flat
        self._signals: list[Signal] = []
        self._places = SignalDict()
        self._spans: list[tuple[int, int, int]] = []  # register, first bit, bit after the last
        self._registers: list[Signal] = []
        self._owners: list[list[int]] = []            # of each bit of each register: its signal
        self._values: list[int] = []
        self._ports: dict[Scope, list[tuple[int, int]]] = {}  # enable, address of write ports
        self._ctx: Any = None
        self._reported: list[int] = []

    def add(self, signal) -> int:
        """Watch a signal; returns its number. The same signal always has the same number."""
        signal = self._flat.signal(Value.cast(signal))
        if signal not in self._places:
            self._places[signal] = len(self._signals)
            self._signals.append(signal)
        return self._places[signal]

    def build(self) -> None:
        """Put the registers into the design; once, when all signals are known."""
        group: list[Signal] = []
        for index, signal in enumerate(self._signals):
            width = sum(len(member) for member in group)
            if not group or width + len(signal) > _BITS or len(group) == _SIGNALS:
                if group:
                    self._registers.append(self._flat.capture(group))
                group, width = [], 0
                self._owners.append([])
            group.append(signal)
            self._owners[-1] += [index] * len(signal)
            self._spans.append((len(self._owners) - 1, width, width + len(signal)))
        if group:
            self._registers.append(self._flat.capture(group))

    def look(self, ctx) -> None:
        """Take the values of the cycle that a clock edge has just ended."""
        self._ctx = ctx
        self._values = [ctx.get(register) for register in self._registers]

    def __getitem__(self, index: int) -> int:
        """Bits of a signal."""
        register, first, end = self._spans[index]
        return self._values[register] >> first & (1 << end - first) - 1

    def watch(self, memory: MemoryTrace) -> None:
        """Watch the write ports of a memory."""
        self._ports[memory.scope] = [(self.add(port.en), self.add(port.addr))
                                     for port in memory.write_ports]

    def written(self, memory: MemoryTrace) -> set[int]:
        """Rows that the cycle wrote."""
        return {self[address] for enable, address in self._ports[memory.scope] if self[enable]}

    def row(self, memory: MemoryTrace, place: int) -> int:
        """The bits of a row, as the next cycle finds it."""
        return int(self._ctx.get(Value.cast(memory.data[place])))

    def changed(self) -> Iterator[tuple[int, int]]:
        """(number, bits) of every signal that has changed since the last call; at first of all."""
        reported, self._reported = self._reported, self._values
        if not reported:
            yield from ((index, self[index]) for index in range(len(self._signals)))
        for value, before, owners in zip(self._values, reported, self._owners):
            difference = value ^ before
            while difference:
                index = owners[(difference & -difference).bit_length() - 1]
                _register, first, end = self._spans[index]
                yield index, value >> first & (1 << end - first) - 1
                difference = difference >> end << end
