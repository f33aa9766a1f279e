"""Splits a signal into what a reader of a waveform wants to see: its fields, one by one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Format, Signal, Value
from amaranth.hdl._ast import Operator, Slice

__all__ = ["Field", "fields"]


@dataclass(frozen=True)
class Field:
    """Some bits of a signal under one name.

    Attributes
    ----------
    suffix : str
        What follows the signal's name, "" for a whole signal, "__base" for a field of a bundle,
        "__3" for lane 3.
    offset, width : int
        Its place in the signal; a width of 0 (the address of a single place) is possible.
    names : mapping of int to str, or None
        The values of an enumeration.
    """
    suffix: str
    offset: int
    width: int
    names: Mapping[int, str] | None = None

    def of(self, value: int) -> int:
        """The field, in two's complement, of the signal's value."""
        return value >> self.offset & (1 << self.width) - 1


def fields(signal: Value, layout=None) -> list[Field]:
    """All fields of a signal, in the order of its layout; the signal itself when it has none.

    Parameters
    ----------
    layout : data.Layout or None
        Read the signal in this way instead of its own.
    """
    spec: Any = signal._format if layout is None else layout.format(  # type: ignore[attr-defined]
        layout(signal), "")
    return list(_walk(spec, signal, ""))


def _walk(spec, value, suffix):
    if isinstance(spec, Format.Struct):
        for name, inner in spec._fields.items():
            yield from _walk(inner, None, f"{suffix}__{name}")
    elif isinstance(spec, Format.Array):
        for index, inner in enumerate(spec._fields):
            yield from _walk(inner, None, f"{suffix}__{index}")
    elif isinstance(spec, Format.Enum):
        yield Field(suffix, *_place(spec._value), names=spec._variants)
    else:
        chunks = [chunk for chunk in spec._chunks if not isinstance(chunk, str)]
        yield Field(suffix, *_place(chunks[0][0] if value is None else value))


def _place(value):
    """Offset and width of a slice of slices of a signal."""
    width, offset = len(value), 0
    while not isinstance(value, Signal):
        if isinstance(value, Slice):
            offset += value.start
            value = value.value
        elif isinstance(value, Operator) and value.operator in ("s", "u"):
            value = value.operands[0]
        else:
            raise TypeError(f"not a part of a signal: {value!r}")
    return offset, width
