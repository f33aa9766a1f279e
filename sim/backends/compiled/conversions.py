"""Puts code in the place of conversions of whole rows, whose netlists are wide and slow.

They are found in the elaborated design by the component that they come from.
"""

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Fragment, Signal, Value
from amaranth.lib import data

from ....rtl import Design
from ....rtl.commands import request_layout
from ....rtl.handoff_formats import ProbabilityFormat, ScoreFormat, ScoreShift
from ....rtl.memory_mover import MemoryMover
from ....rtl.store import StoreUnit
from ....rtl.vector_commands import vector_element_bits
from ....rtl.vector_fill import VectorFill
from .boxes import Box, mangle
from .expressions import c_type
from .statements import Block, without

__all__ = ["replace_conversions"]


def replace_conversions(top: Fragment, design: Design) -> Iterator[Box]:
    """Replace conversions in an elaborated machine; the boxes in their places, each once."""
    formats: dict[type, Box] = {}
    pending: list[Any] = [top]
    movers = 0
    while pending:
        fragment = pending.pop()
        for place, (inner, name, src_loc) in enumerate(fragment.subfragments):
            component = inner.origins[0] if inner.origins else None
            if isinstance(component, ScoreShift | ScoreFormat | ProbabilityFormat):
                kind, ports = type(component), _ports(component)
                if kind not in formats:
                    formats[kind] = _format(f"cubewave_{kind.__name__}", inner, ports)
                    yield formats[kind]
                fragment.subfragments[place] = formats[kind].instance(ports), name, src_loc
                continue
            if isinstance(component, VectorFill) and inner.statements:  # not left out
                yield _fill(component, inner)
            elif isinstance(component, StoreUnit):
                yield _store(component, inner, design)
            elif isinstance(component, MemoryMover):
                movers += 1
                yield from _rows(component, inner, design, movers)
            pending.append(inner)


def _ports(component):
    return {name: Value.cast(getattr(component, name)) for name in component.signature.members}


def _memo(ports, outputs):
    """Members that keep the inputs, and lines that return when they have not changed."""
    inputs = [name for name in ports if name not in outputs]
    return (["bool known = false;", *(f"value<{len(ports[name])}> was_{name};"
                                      for name in inputs)],
            [f"if (known && {' && '.join(f'was_{name} == {mangle(name)}' for name in inputs)})",
             "  return true;", *(f"was_{name} = {mangle(name)};" for name in inputs),
             "known = true;"])


def _format(name, fragment, ports):
    """One element's conversion, translated; its only output is `o`."""
    block = Block(fragment, "v_", [ports["o"]])
    setup, body = _memo(ports, {"o"})
    for signal in block.inputs:
        port, = (port for port, value in ports.items() if value is signal)
        text, free = f"number({mangle(port)})", 64 - len(signal)
        if signal.shape().signed:
            text = f"static_cast<int64_t>({text} << {free}) >> {free}"
        body.append(f"const {c_type(signal.shape())} {block.name(signal)} = {text};")
    mask = (1 << len(ports["o"])) - 1
    body += [*block.comb_code(),
             f"const uint64_t result = static_cast<uint64_t>({block.name(ports['o'])}) & "
             f"{mask:#x}ull;", "memcpy(p_o.next.data, &result, sizeof p_o.next.data);"]
    return Box.of(name, ports, {"o"}, body, clocked=False, setup=setup)


def _take_over(fragment, domain, target):
    """Remove the assignments to `target`, a signal or a slice of one, from a fragment."""
    fragment.statements[domain] = type(fragment.statements[domain])(
        without(fragment.statements[domain], target))


def _fill(component, fragment):
    """The elements of a row that was loaded: a register."""
    beat, elements = component.i.payload, Value.cast(component.load_data)
    cols = component.load_data.shape().length
    _take_over(fragment, "sync", elements)
    ports = {"valid": Value.cast(component.i.valid), "size": Value.cast(beat.tag.element_bytes),
             "row": Value.cast(beat.row), "data": elements}
    box = Box.of("cubewave_vector_fill", ports, {"data"}, [
        "const int size = p_size.data[0];", "if (!p_valid.data[0] || !size) return true;",
        f"const int count = std::min({len(ports['row'])} / (8 * size), {cols});",
        f"kernel_resize(bytes(p_data.next.data), {len(elements) // cols}, bytes(p_row.data), "
        "8 * size, count);"])
    fragment.add_subfragment(box.instance(ports), "load_data")
    return box


def _signals(fragment):
    """The signals that a fragment drives, by name."""
    return {signal.name: signal for domain in ("comb", "sync")
            for statement in fragment.statements[domain] for signal in statement._lhs_signals()}


def _rows(component, fragment, design, number):
    """The mask of a mover's rows, and rows that are put together from segments of windows."""
    local = _signals(fragment)
    yield _row_mask(fragment, local, design, f"cubewave_row_mask_{number}")
    if "row_0" in local:
        yield _window_rows(component, fragment, local, f"cubewave_window_row_{number}")


def _row_mask(fragment, local, design, name):
    """The bits of a row that are real, for whole bytes: a register."""
    mask = local["row_mask"]
    _take_over(fragment, "sync", mask)
    request = data.View(request_layout(design, "load"), local["current"])
    ports = {"reads": local["reads"], "bytes": Value.cast(request.bytes_per_row), "mask": mask}
    box = Box.of(name, ports, {"mask"}, [
        "if (!p_reads.data[0]) return true;",
        f"const auto size = std::min<uint64_t>(number(p_bytes), {-(-len(mask) // 8)});",
        "memset(p_mask.next.data, 0xff, size);",
        "memset(bytes(p_mask.next.data) + size, 0, sizeof p_mask.next.data - size);",
        "p_mask.next.data[p_mask.next.chunks - 1] &= p_mask.next.msb_mask;"])
    fragment.add_subfragment(box.instance(ports), "row_mask")
    return box


def _window_rows(component, fragment, local, name):
    """What has been read of a row of windows, byte by byte; one box for every lane."""
    element = local["element"]
    for lane, data_ in enumerate(component.data):
        row = local[f"row_{lane}"]
        _take_over(fragment, "comb", row)
        ports = {"element": element, "mask": local["mask"], "continues": local["continues"],
                 "real": local[f"real_{lane}"], "before": local[f"before_{lane}"],
                 "data": Value.cast(data_)[:len(row)], "row": row}
        setup, body = _memo(ports, {"row"})
        box = Box.of(name, ports, {"row"}, [
            *body, "const bool real = p_real.data[0], continues = p_continues.data[0];",
            "const uint8_t *data = bytes(p_data.data), *before = bytes(p_before.data);",
            "const uint8_t *element = bytes(p_element.data);",
            f"for (int i = 0; i < {len(row) // 8}; i++) {{",
            f"  const uint8_t byte = real ? data[i] : element[i % {len(element) // 8}];",
            "  bytes(p_row.next.data)[i] = (p_mask.data[i / 32] >> (i % 32) & 1 ? byte : 0)"
            " | (continues ? before[i] : 0);", "}"], clocked=False, setup=setup)
        fragment.add_subfragment(box.instance(ports), f"row_{lane}_data")
    return box


def _store(component, fragment, design):
    """The bytes of a row that is stored: accumulators or elements of the vector unit."""
    data = Value.cast(component.write.payload.data)
    local = _signals(fragment)
    row = Signal(len(data), name="row_data")
    _take_over(fragment, "comb", data)
    fragment.add_statements("comb", data.eq(row))
    ports = {"vector": local["written_vector"], "size": local["written_element_bytes"],
             "data": local["accumulators"], "elements": local["elements"], "row": row}
    bits, total = vector_element_bits(design), len(data)
    setup, body = _memo(ports, {"row"})
    body += [
        "uint8_t *to = bytes(p_row.next.data);", "memset(to, 0, sizeof p_row.next.data);",
        "const int size = p_size.data[0];",
        "if (!p_vector.data[0]) {",
        f"  kernel_resize(to, {8 * design.result_element_bytes}, bytes(p_data.data), "
        f"{design.accumulator_bits}, {design.cols});",
        "} else if (size) {",
        f"  const int count = std::min({total} / (8 * size), {design.cols});",
        f"  kernel_resize(to, 8 * size, bytes(p_elements.data), {bits}, count);",
        f"  if (count < {design.cols})   // the part of an element that there is room for",
        f"    kernel_put(to, count * 8 * size, {total} - count * 8 * size, "
        f"kernel_signed(bytes(p_elements.data), count * {bits}, {bits}));", "}"]
    box = Box.of("cubewave_store_row", ports, {"row"}, body, clocked=False, setup=setup)
    fragment.add_subfragment(box.instance(ports), "row_data")
    return box
