"""Translates Amaranth values to C expressions with exactly their value.

A C expression of a value of shape (width, signed) holds the mathematical value, in a type that
holds all values of the shape; so signs are extended and nothing above the width is set. A signal
that no type holds is a pointer to its packed bits, of which only slices can be read.
"""

from collections.abc import Callable

from amaranth.hdl import Const, Shape, Signal
from amaranth.hdl._ast import Concat, Operator, Part, Slice, SwitchValue

__all__ = ["MAX_BITS", "WIDE_BITS", "UntranslatableError", "c_number", "c_type", "c_word",
           "expression", "fit", "is_packed", "matches"]

MAX_BITS = 127  # of any value, so that a signed 128-bit word holds it

WIDE_BITS = 57  # of a slice of packed bits: see kernel.h

Resolve = Callable[[Signal], str]


class UntranslatableError(Exception):
    """The netlist has something that the translator does not know."""


def c_type(shape: Shape) -> str:
    """The smallest C type for a variable of this shape."""
    for bits in (8, 16, 32, 64, 128):
        if shape.width <= bits:
            return f"{'' if shape.signed else 'u'}int{bits}_t"
    raise UntranslatableError(f"a value of {shape.width} bits")


def c_word(*shapes: Shape) -> str:
    """A signed type that holds values of all these shapes."""
    need = max(shape.width + (not shape.signed) for shape in shapes)
    for bits in (32, 64, 128):
        if need <= bits:
            return f"int{bits}_t"
    raise UntranslatableError(f"a value of {need} bits")


def _word_bits(word: str) -> int:
    return int(word.removeprefix("int").removesuffix("_t"))


def c_number(value: int) -> str:
    """A literal of a value, of which C has none beyond 64 bits."""
    if -2**31 < value < 2**31:
        return str(value)
    if -2**63 < value < 2**63:
        return f"{value}ll"
    return f"((int128_t){value >> 62}ll * (1ll << 62) + {value & (1 << 62) - 1}ll)"


def is_packed(signal: Signal) -> bool:
    """Whether the variable of a signal is a pointer to its bits."""
    return len(signal) > MAX_BITS


def _mask(width: int) -> str:
    return c_number((1 << width) - 1)


def fit(text: str, shape: Shape, target: Shape) -> str:
    """The expression `text` of `shape`, wrapped to `target` as an assignment does."""
    holds = (target.width >= shape.width + (target.signed and not shape.signed)
             and target.signed >= shape.signed)
    if holds or target.width == 0:
        return text if target.width else "0"
    word = c_word(shape, target)
    if not target.signed:
        return f"(({word})({text}) & {_mask(target.width)})"
    shift = _word_bits(word) - target.width
    return f"(({word})((u{word})({word})({text}) << {shift}) >> {shift})"


def matches(test: str, patterns, width: int) -> str:
    """Whether the bits of an expression match any of the patterns of a case."""
    if patterns is None:
        return "1"
    terms = []
    for pattern in patterns:
        care = int("0" + "".join("0" if bit == "-" else "1" for bit in pattern), 2)
        value = int("0" + pattern.replace("-", "0"), 2)
        if care == (1 << width) - 1:
            terms.append(f"({test}) == {value:#x}")
        else:
            terms.append(f"(({test}) & {care:#x}) == {value:#x}")
    return "(" + (" | ".join(f"({term})" for term in terms) or "0") + ")"


def expression(value, resolve: Resolve) -> str:
    """The C expression of a value; `resolve` names the variable of a signal."""
    shape = value.shape()
    if shape.width > MAX_BITS:
        raise UntranslatableError(f"a value of {shape.width} bits: {value!r}")
    if shape.width == 0:
        return "0"
    if isinstance(value, Const):
        return c_number(value.value)
    if isinstance(value, Signal):
        return resolve(value)
    if isinstance(value, Slice):
        return _bits(value.value, str(value.start), shape, resolve)
    if isinstance(value, Part):
        return _part(value, shape, resolve)
    if isinstance(value, Concat):
        return _concat(value, shape, resolve)
    if isinstance(value, SwitchValue):
        return _switch(value, resolve)
    if isinstance(value, Operator):
        return _operator(value, shape, resolve)
    raise UntranslatableError(f"{type(value).__name__}: {value!r}")


def _bits(value, start, shape, resolve):
    """`shape.width` bits of a value from bit `start` on."""
    if isinstance(value, Signal) and is_packed(value) and shape.width <= WIDE_BITS:
        return f"((int64_t)kernel_wide({resolve(value)}, {start}, {shape.width}))"
    inner = value.shape()
    word = c_word(inner, shape)
    text = f"({word})({expression(value, resolve)})"
    if start != "0":
        text = f"({text} >> {start})"
    return f"({text} & {_mask(shape.width)})"


def _part(value, shape, resolve):
    inner = value.value.shape()
    offset = f"({expression(value.offset, resolve)}) * {value.stride}"
    last = _word_bits(c_word(inner, shape)) - 1
    text = _bits(value.value, f"(({offset}) > {last} ? {last} : ({offset}))", shape, resolve)
    if inner.signed:
        return text
    return f"(({offset}) >= {inner.width} ? 0 : {text})"


def _concat(value, shape, resolve):
    word, terms, offset = c_word(shape), [], 0
    for part in value.parts:
        inner = part.shape()
        if inner.width:
            text = fit(expression(part, resolve), inner, Shape(inner.width, False))
            terms.append(f"(({word})({text}) << {offset})" if offset else f"({word})({text})")
        offset += inner.width
    return "(" + " | ".join(terms) + ")"


def _switch(value, resolve):
    test, width = value.test, len(value.test)
    word = c_type(value.shape())
    bits = fit(expression(test, resolve), test.shape(), Shape(width, False))
    text = "0"
    for patterns, inner in reversed(value.cases):
        chosen = f"({word})({expression(inner, resolve)})"
        text = chosen if patterns is None else (
            f"({matches(bits, patterns, width)} ? {chosen} : ({word})({text}))")
    return text


def _operator(value, shape, resolve):
    operands = value.operands
    texts = [f"({expression(operand, resolve)})" for operand in operands]
    shapes = [operand.shape() for operand in operands]
    word = c_word(shape, *shapes)
    if len(operands) == 1:
        return _unary(value.operator, texts[0], shapes[0], shape, word)
    a, b = (f"({word}){text}" for text in texts)
    if value.operator in ("+", "-", "*", "&", "|", "^", "<", "<=", "==", "!=", ">", ">="):
        return f"({a} {value.operator} {b})"
    if value.operator == "<<":
        return f"({word})((u{word}){a} << {texts[1]})"
    if value.operator == ">>":
        last = _word_bits(word) - 1
        return f"({a} >> ({texts[1]} > {last} ? {last} : {texts[1]}))"
    if value.operator in ("//", "%") and not any(operand.signed for operand in shapes):
        return f"({b} == 0 ? 0 : {a} {value.operator[0]} {b})"
    raise UntranslatableError(f"operator {value.operator} of {len(operands)} operands")


def _unary(operator, text, inner, shape, word):
    if operator in ("+", "u", "s"):
        return fit(text, inner, shape)
    if operator == "~":
        return f"(~({word}){text})" if shape.signed else f"(({word}){text} ^ {_mask(shape.width)})"
    if operator == "-":
        return f"(-({word}){text})"
    if operator in ("b", "r|"):
        return f"({text} != 0)"
    bits = fit(text, inner, Shape(inner.width, False))
    if operator == "r&":
        return f"({bits} == {_mask(inner.width)})"
    if operator == "r^" and inner.width <= 64:
        return f"__builtin_parityll({bits})"
    raise UntranslatableError(f"operator {operator}")
