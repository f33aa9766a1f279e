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

    A net that crosses the border of components has a name in each of them. What drives it is
    where it is no input, and of those places the innermost. Yosys calls a net that has no name
    after the cell that drives it and that after the next net with a name, "_" and types of
    cells between.

    Parameters
    ----------
    instances : mapping of str to str
        Module of each instance, by its path.
    inputs : mapping of str to set of str
        Input ports of each module.
    types : iterable of str
        Types of cells.
    """

    def __init__(self, instances: Mapping[str, str], inputs: Mapping[str, set[str]],
                 types: Iterable[str]) -> None:
        self._inputs = {path: inputs.get(module, set()) for path, module in instances.items()}
        types = "|".join(sorted(map(re.escape, types), key=len, reverse=True))
        self._made_up = re.compile(rf"_({types})(_.*)?$")

    @staticmethod
    def inputs_of(exported: Export) -> dict[str, set[str]]:
        """Input ports of each module of an export."""
        return {module.name: {port.name for port in ports(module.component) if port.is_input}
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
        found = [(path.count(".") + bool(path), path, signal)
                 for path, signal, made_up in map(self._split, nets)
                 if not made_up and signal not in self._inputs.get(path, ())]
        if not found:
            return None
        _depth, path, signal = max(found)
        return Place(path, "" if UNNAMED.fullmatch(signal) else signal)

    @staticmethod
    def _nearest(name: str, found: Mapping[str, Place]) -> Place | None:
        """The place of the cell after which a net was called."""
        while name and name not in found:
            name = name.rpartition("_")[0]
        return found.get(name)

    def _split(self, name: str) -> tuple[str, str, bool]:
        """Path, signal, and whether Yosys made the name up."""
        path, rest = "", name
        while (step := rest.partition("."))[1]:
            inner = f"{path}.{step[0]}" if path else step[0]
            if inner not in self._inputs:
                break
            path, rest = inner, step[2]
        signal = self._made_up.sub("", rest)
        return path, signal, signal != rest
