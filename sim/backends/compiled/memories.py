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


def replace_memories(top: Fragment, numbers: dict[int, int] | None = None) -> Iterator[Box]:
    """Replace the large memories of an elaborated design; the boxes in their places.

    With `numbers`, all memories, and of each one the number by which a recorder finds it.
    """
    number, least = 0, LARGE_BITS if numbers is None else 0
    pending: list[Any] = [top]
    while pending:
        fragment = pending.pop()
        for place, (inner, name, src_loc) in enumerate(fragment.subfragments):
            if isinstance(inner, MemoryInstance) and _is_replaceable(inner, least):
                box, instance = _box(inner, number, numbers is not None)
                if numbers is not None:
                    numbers[id(inner._data)] = number  # type: ignore[attr-defined]  # private
                fragment.subfragments[place] = instance, name, src_loc
                number += 1
                yield box
            else:
                pending.append(inner)


def _is_replaceable(memory, least) -> bool:
    data = memory._data
    ports = [*memory._read_ports, *memory._write_ports]
    return (data.depth * Shape.cast(data.shape).width > least
            and not any(data._init._raw)
            and all(port._domain == "sync" for port in ports)
            and all(len(port._en) == 1 or port._granularity <= 57
                    for port in memory._write_ports))


def _box(memory, number, is_shown):
    name = f"cubewave_memory_{number}"
    width, depth = Shape.cast(memory._data.shape).width, memory._data.depth
    size = -(-width // 32) * 4
    ports, outputs = {}, set()
    reads, writes = [], []
    for place, port in enumerate(memory._write_ports):
        prefix = f"w{place}"
        ports |= {f"{prefix}a": port._addr, f"{prefix}d": port._data, f"{prefix}e": port._en}
        writes += _write(prefix, f"row(number(p_{prefix}a))", port, size)
        if is_shown:
            writes.append(f"if (p_{prefix}e) note_row(*shared, {number}, number(p_{prefix}a));")
    for place, port in enumerate(memory._read_ports):
        prefix = f"r{place}"
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
        f"{depth}); }}",
        *([f"{name}_impl() {{ shared->memories[{number}] = {{rows.get(), {size}}}; }}"]
          if is_shown else [])])
    return box, box.instance(ports)


def _write(prefix, to, port, size):
    """Write what a port is to write to a row."""
    if len(port._en) == 1:
        return [f"if (p_{prefix}e.data[0]) memcpy({to}, p_{prefix}d.data, {size});"]
    bits = port._granularity
    part = (f"{to}[i] = bytes(p_{prefix}d.data)[i];" if bits == 8 else
            f"kernel_put({to}, i * {bits}, {bits}, kernel_wide(bytes(p_{prefix}d.data), "
            f"i * {bits}, {bits}));")
    return [f"for (int i = 0; i < {len(port._en)}; i++)",
            f"  if (p_{prefix}e.data[i / 32] >> (i % 32) & 1)", f"    {part}"]
