"""Exports a component of a design as one Verilog file."""

from amaranth.hdl import Fragment
from amaranth.lib import wiring

from ...rtl import Design
from .header import file_header, module_header
from .modules import ExportedModule, distinct_modules
from .verilog import verilog_modules

__all__ = ["Export", "export_component", "export_fragment"]


class Export:
    """An exported file.

    Attributes
    ----------
    text : str
    modules : list of ExportedModule
        The inner ones first; the last is the top.
    """

    def __init__(self, text: str, modules: list[ExportedModule]) -> None:
        self.text, self.modules = text, modules

    @property
    def top(self) -> str:
        """Name of the top module."""
        return self.modules[-1].name


def export_component(component: wiring.Component, design: Design, name: str) -> Export:
    """Export a component that has not been elaborated, with all within it.

    Parameters
    ----------
    component : Component
    design : Design
        For the header.
    name : str
        Of the component; tells its module from variants of its class within it.
    """
    return export_fragment(Fragment.get(component, None), design, name)


def export_fragment(fragment: Fragment, design: Design, name: str) -> Export:
    """Likewise of an elaborated component, which is used up."""
    modules = distinct_modules(fragment, name)
    texts = verilog_modules(modules)
    lines = file_header(modules, design.to_dict(), name)
    sections = ["\n".join(lines)]
    sections += ["\n".join([*module_header(module), texts[module.name].rstrip("\n")])
                 for module in modules]
    return Export("\n\n".join(sections) + "\n", modules)
