"""Puts large memories of a netlist into host memory.

CXXRTL's own ones would do, but their initial rows, all of them, pass through the netlist's text.
"""

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Fragment, Shape
from amaranth.hdl._mem import MemoryInstance

from .boxes import Box

__all__ = ["LARGE_BITS", "replace_memories"]

LARGE_BITS = 4096   # a memory of more bits is replaced


def replace_memories(top: Fragment) -> Iterator[Box]:
    """Replace the large memories of an elaborated design; the boxes in their places."""
    number = 0
    pending: list[Any] = [top]
    while pending:
        fragment = pending.pop()
        for place, (inner, name, src_loc) in enumerate(fragment.subfragments):
            if isinstance(inner, MemoryInstance) and _is_replaceable(inner):
                box, instance = _box(inner, f"cubewave_memory_{number}")
                fragment.subfragments[place] = instance, name, src_loc
                number += 1
                yield box
            else:
                pending.append(inner)


def _is_replaceable(memory) -> bool:
    data = memory._data
    ports = [*memory._read_ports, *memory._write_ports]
    return (data.depth * Shape.cast(data.shape).width > LARGE_BITS
            and not any(data._init._raw)
            and all(port._domain == "sync" for port in ports)
            and all(port._granularity in (len(port._data), 8) for port in memory._write_ports))


def _box(memory, name):
    width, depth = Shape.cast(memory._data.shape).width, memory._data.depth
    size = -(-width // 32) * 4
    ports, outputs = {}, set()
    reads, writes = [], []
    for number, port in enumerate(memory._write_ports):
        prefix = f"w{number}"
        ports |= {f"{prefix}a": port._addr, f"{prefix}d": port._data, f"{prefix}e": port._en}
        writes += _write(prefix, f"row(number(p_{prefix}a))", port, size)
    for number, port in enumerate(memory._read_ports):
        prefix = f"r{number}"
        ports |= {f"{prefix}a": port._addr, f"{prefix}d": port._data, f"{prefix}e": port._en}
        outputs.add(f"{prefix}d")
        to = f"bytes(p_{prefix}d.next.data)"
        reads += [f"if (p_{prefix}e.data[0]) {{",
                  f"  memcpy({to}, row(number(p_{prefix}a)), {size});"]
        for index in port._transparent_for:
            reads += [f"  if (number(p_w{index}a) == number(p_{prefix}a)) {{",
                      *_write(f"w{index}", to, memory._write_ports[index], size), "  }"]
        reads.append("}")
    box = Box.of(name, ports, outputs, [*reads, *writes], setup=[
        f"std::unique_ptr<uint8_t, void (*)(void *)> rows{{static_cast<uint8_t *>(calloc("
        f"{depth + 1}, {size})), free}};",
        f"uint8_t *row(uint64_t place) {{ return rows.get() + {size} * (place < {depth} ? place : "
        f"{depth}); }}"])
    return box, box.instance(ports)


def _write(prefix, to, port, size):
    """Write what a port is to write to a row."""
    if len(port._en) == 1:
        return [f"if (p_{prefix}e.data[0]) memcpy({to}, p_{prefix}d.data, {size});"]
    return [f"for (int i = 0; i < {len(port._en)}; i++)",
            f"  if (p_{prefix}e.data[i / 32] >> (i % 32) & 1)",
            f"    {to}[i] = bytes(p_{prefix}d.data)[i];"]
