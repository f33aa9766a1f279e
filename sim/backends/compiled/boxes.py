"""Black boxes of a CXXRTL netlist, with their implementation in C++."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from amaranth.hdl import ClockSignal, Instance, Value

__all__ = ["Box", "mangle"]


def mangle(name: str) -> str:
    """The C++ name that CXXRTL gives to a public name."""
    return "p_" + "".join(
        character if character.isalnum() else "__" if character == "_" else
        f"_{ord(character):x}_" for character in name)


@dataclass(frozen=True)
class Box:
    """A black box.

    Attributes
    ----------
    name : str
    ports : list of (str, str, int)
        Name, "i" or "o", bits.
    clocked : bool
        Its outputs are registers that change at the clock edge; otherwise combinational.
    body : list of str
        Lines of C++ that compute the outputs: once a cycle if `clocked`.
    setup : list of str
        Members of the C++ class.
    """
    name: str
    ports: list[tuple[str, str, int]]
    clocked: bool
    body: list[str]
    setup: list[str]

    @classmethod
    def of(cls, name: str, ports: Mapping[str, Value], outputs: Iterable[str], body: list[str],
           clocked: bool = True, setup: Iterable[str] = ()) -> "Box":
        """A box for these values; `outputs` names those that it drives."""
        clock = [("clk", "i", 1)] if clocked else []
        return cls(name, [*clock, *((port, "o" if port in outputs else "i", len(value))
                                    for port, value in ports.items())],
                   clocked, body, list(setup))

    def instance(self, ports: Mapping[str, Value]) -> Instance:
        """The box in a netlist, connected to `ports`."""
        return Instance(self.name, *(
            (way, port, ports[port] if port in ports else ClockSignal())
            for port, way, _bits in self.ports))

    def rtlil(self) -> str:
        lines = ["attribute \\keep_hierarchy 1", "attribute \\cxxrtl_blackbox 1",
                 f"module \\{self.name}"]
        for number, (name, direction, bits) in enumerate(self.ports, 1):
            if direction == "o":
                lines.append(f"  attribute \\cxxrtl_{'sync' if self.clocked else 'comb'} 1")
            way = "input" if direction == "i" else "output"
            lines.append(f"  wire width {bits} {way} {number} \\{name}")
        return "\n".join([*lines, "end", ""])

    def cxx(self) -> str:
        base = f"bb_{mangle(self.name)}"
        inherits = f"public {base}" + (", Clocked" if self.clocked else "")
        guard = ["    if (!ticks()) return true;"] if self.clocked else []
        return "\n".join([
            f"struct {self.name}_impl : {inherits} {{",
            *(f"  {line}" for line in self.setup),
            "  bool eval(performer *) override {", *guard,
            *(f"    {line}" for line in self.body), "    return true;", "  }", "};",
            f"std::unique_ptr<{base}> {base}::create(std::string, metadata_map, metadata_map) {{",
            f"  return std::make_unique<{self.name}_impl>();", "}", ""])
