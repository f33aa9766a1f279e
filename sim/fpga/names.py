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

    def place(self, cell: str, nets: Iterable[str]) -> Place:
        """The place of a cell that drives a net with these names."""
        found = [(not made_up, path.count(".") + bool(path), path, signal)
                 for path, signal, made_up in map(self._split, [*nets, cell])
                 if signal not in self._inputs.get(path, ())]
        _named, _depth, path, signal = max(found, default=(False, 0, "", ""))
        return Place(path, "" if UNNAMED.fullmatch(signal) else signal)

    def _split(self, name: str) -> tuple[str, str, bool]:
        """Path, signal, and whether that is only near the cell."""
        path, rest = "", name
        while (step := rest.partition("."))[1]:
            inner = f"{path}.{step[0]}" if path else step[0]
            if inner not in self._inputs:
                break
            path, rest = inner, step[2]
        signal = self._made_up.sub("", rest)
        return path, signal, signal != rest
