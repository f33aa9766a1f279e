"""Describes the bits of a port: its fields, their widths and signs."""

from collections.abc import Iterator
from enum import EnumMeta
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data

__all__ = ["bits_text", "field_lines", "sign_text"]


def bits_text(low: int, width: int) -> str:
    """Bits as Verilog selects them."""
    return f"[{low}]" if width == 1 else f"[{low + width - 1}:{low}]"


def sign_text(shape: Any) -> str:
    """What kind of number a value is."""
    if isinstance(shape, data.Layout):
        return ""
    cast = Shape.cast(shape)
    if isinstance(shape, EnumMeta):
        members: Any = list(shape)
        return ", ".join(f"{member.value} {member.name}" for member in members)
    return "signed" if cast.signed else "unsigned" if cast.width > 1 else ""


def field_lines(shape: Any, low: int = 0) -> Iterator[tuple[str, str]]:
    """(bits, what) of every field of a layout, the lowest first; none for a plain number."""
    if isinstance(shape, data.StructLayout):
        for name, field in shape:
            yield from _field_lines(str(name), field.shape, low + field.offset)
    elif isinstance(shape, data.ArrayLayout):
        width = Shape.cast(shape.elem_shape).width
        yield (f"[{_place(low, width)} +: {width}]",
               f"element i, 0 to {shape.length - 1}: "
               f"{sign_text(shape.elem_shape) or 'bits of it:'}")
        for bits, what in field_lines(shape.elem_shape):
            yield f"  {bits}", what


def _field_lines(name: str, shape: Any, low: int) -> Iterator[tuple[str, str]]:
    width = Shape.cast(shape).width
    if not width:
        return
    yield bits_text(low, width), f"{name} {sign_text(shape)}".rstrip()
    for bits, what in field_lines(shape, low):
        yield f"  {bits}", what


def _place(low: int, width: int) -> str:
    return f"{low} + {width} * i" if low else f"{width} * i"
