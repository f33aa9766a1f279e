"""From the names of a flattened netlist back to components and their signals."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..export import Export
from ..export.parts import ports

__all__ = ["Names", "Place"]

UNNAMED = re.compile(r"_\d+_")  # a net that has no name in the source


@dataclass(frozen=True)
class Place:
    """Where a cell is: the path of the component, "" for the top, and the signal it makes."""
    component: str
    signal: str


class Names:
    """Places of cells by the nets that they drive.

    A net that crosses the border of components has a name in each of them: the port's, and in the
    component around it instance, "_" and port. What drives it is where it is no input, and of
    those places the innermost. Yosys calls a net that has no name after the cell that drives it,
    and that after the next net with a name, "_" and types of cells between.

    Parameters
    ----------
    instances : mapping of str to str
        Module of each instance, by its path.
    ports : mapping of str to dict of str to bool
        Ports of each module, and whether they are inputs.
    types : iterable of str
        Types of cells.
    """

    def __init__(self, instances: Mapping[str, str], ports: Mapping[str, Mapping[str, bool]],
                 types: Iterable[str]) -> None:
        self._ports = {path: ports.get(module, {}) for path, module in instances.items()}
        self._children: dict[str, list[str]] = {}
        for path in instances:
            parent, _dot, name = path.rpartition(".")
            self._children.setdefault(parent, []).append(name)
        alternatives = "|".join(sorted(map(re.escape, types), key=len, reverse=True))
        self._made_up = re.compile(rf"_({alternatives})_.*$")

    @staticmethod
    def ports_of(exported: Export) -> dict[str, dict[str, bool]]:
        """Ports of each module of an export."""
        return {module.name: {port.name: port.is_input for port in ports(module.component)}
                for module in exported.modules}

    def places(self, driven: Mapping[str, Iterable[str]]) -> dict[str, Place]:
        """The place of each cell, by the names of the nets that it drives."""
        found: dict[str, Place] = {}
        unknown = []
        for cell, nets in driven.items():
            place = self._named(nets)
            if place is None:
                unknown.append(cell)
            else:
                found[cell] = place
        for cell in unknown:
            names = [*driven[cell], cell]
            found[cell] = next(filter(None, (self._nearest(name, found) for name in names)),
                               None) or Place(*self._split(names[0])[:2])
        return found

    def _named(self, nets: Iterable[str]) -> Place | None:
        """The innermost place where the source has a name for the net."""
        found = [(not self._is_input(path, signal), path.count(".") + bool(path), path, signal)
                 for path, signal, made_up in map(self._split, nets) if not made_up]
        if not found:
            return None
        _drives, _depth, path, signal = max(found)
        return Place(path, "" if UNNAMED.fullmatch(signal) else signal)

    def _is_input(self, path: str, signal: str) -> bool:
        return self._ports.get(path, {}).get(signal, False)

    @staticmethod
    def _nearest(name: str, found: Mapping[str, Place]) -> Place | None:
        """The place of the cell after which a net was called."""
        while name and name not in found:
            name = name.rpartition("_")[0]
        return found.get(name)

    def _split(self, name: str) -> tuple[str, str, bool]:
        """Path, signal, and whether Yosys made the name up."""
        path, rest = "", name
        while (step := rest.partition("."))[1] and _join(path, step[0]) in self._ports:
            path, rest = _join(path, step[0]), step[2]
        signal = self._made_up.sub("", rest)
        made_up = signal != rest
        while (child := self._child(path, signal)) is not None:
            path, signal = _join(path, child), signal[len(child) + 1:]
        return path, signal, made_up

    def _child(self, path: str, signal: str) -> str | None:
        """The instance within a component whose port this signal is at."""
        for child in self._children.get(path, ()):
            if (signal.startswith(f"{child}_")
                    and signal[len(child) + 1:] in self._ports[_join(path, child)]):
                return child
        return None


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
