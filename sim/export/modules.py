"""The distinct modules of a design: each once, with a name of its own."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Fragment
from amaranth.lib import wiring

from .boundaries import Boundaries
from .names import safe_name, unused_name
from .netlist import instance, module_text
from .parts import component_of, snake_case

__all__ = ["PREFIX", "ExportedModule", "distinct_modules"]

PREFIX = "cubewave_"  # of the names of all modules, so that they do not meet others


@dataclass(frozen=True)
class ExportedModule:
    """A module of the file.

    Attributes
    ----------
    name : str
    component : Component
        The first of those that are equal.
    rtlil : str
    """
    name: str
    component: wiring.Component
    rtlil: str


def distinct_modules(fragment: Fragment, name: str) -> list[ExportedModule]:
    """The modules of an elaborated component and of all within it, the inner ones first.

    Components with the same netlist share a module. The fragment is used up: its components
    are instances afterwards.

    Parameters
    ----------
    fragment : Fragment
    name : str
        Of the component within the design; tells variants of a class apart.

    Raises
    ------
    ValueError
        A component reads another's signal past its ports.
    """
    collected = _Collected()
    collected.add(fragment, name)
    collected.boundaries.check()
    return collected.named()


class _Collected:
    """Modules by their netlist; until all are known they have numbers for names."""

    def __init__(self) -> None:
        self.boundaries = Boundaries()
        self._numbers: dict[str, int] = {}
        self._modules: list[tuple[wiring.Component, str, str]] = []

    def add(self, fragment: Fragment, name: str) -> tuple[str, str]:
        """Provisional name and RTLIL of a component's module."""
        self._replace_components(fragment)
        self.boundaries.add(fragment)
        text = module_text(fragment, "top")
        if text not in self._numbers:
            self._numbers[text] = len(self._modules)
            component = component_of(fragment)
            assert component is not None
            self._modules.append((component, name, text))
        return f"module_{self._numbers[text]}", text

    def _replace_components(self, fragment: Any) -> None:
        for place, (subfragment, name, src_loc) in enumerate(fragment.subfragments):
            if component_of(subfragment) is None:
                self._replace_components(subfragment)
                continue
            name = name or f"part_{place}"
            module, text = self.add(subfragment, name)
            fragment.subfragments[place] = (instance(subfragment, name, module, text), name,
                                            src_loc)

    def named(self) -> list[ExportedModule]:
        names = self._names()

        def rename(match: re.Match[str]) -> str:
            return f"cell \\{names[int(match[1])]} "
        exported = []
        for name, (component, _instance, text) in zip(names, self._modules):
            text = re.sub(r"(?<=module \\)top(?=[.\n])", name, text)
            text = re.sub(r"cell \\module_(\d+) ", rename, text)
            text = re.sub(r"cell \\top\.", f"cell \\\\{name}.", text)
            exported.append(ExportedModule(name, component, text))
        return exported

    def _names(self) -> list[str]:
        """Each class's name, and where it has several variants the name of the first instance."""
        variants = Counter(type(component) for component, _, _ in self._modules)
        names: list[str] = []
        for component, name, _ in self._modules:
            kind = snake_case(type(component).__name__)
            if variants[type(component)] > 1:
                kind = name if name.endswith(kind) else f"{kind}_{name}"
            names.append(unused_name(PREFIX + safe_name(kind), names))
        return names
