"""The faults that the mutation check puts into a source."""

import pytest
from mutation.faults import faults

SOURCE = '''"""Docs: 1 + 1."""

from x import *

__all__ = ["A" + "B"]


class A:
    def __init__(self, n):
        check_integer("n", n, 1, 2)
        if n < 3:
            raise ValueError(f"n is {n + 1}")

    def elaborate(self, platform):
        m = Module()
        CODE
        return m
'''


def of(code):
    """(kind, the line with the fault) of each fault of a line of `elaborate`."""
    source = SOURCE.replace("CODE", code).encode()
    found = []
    for fault in faults(source):
        before, after = source.splitlines(), fault.apply(source).splitlines()
        changed = [new for old, new in zip(before, after) if old != new]
        assert len(before) == len(after) and len(changed) == 1
        assert before[fault.line - 1] == f"        {code}".encode()
        found.append((fault.kind, changed[0].decode().strip()))
    return found


def test_nothing_in_docstrings_checks_messages_and_imports():
    assert of("pass") == []


@pytest.mark.parametrize("code,expected", [
    ("x = (a + b) & ~c", [("operator", "x = (a - b) & ~c"), ("operator", "x = (a + b) | ~c"),
                          ("condition", "x = (a + b) & (c)")]),
    ("x = (a << (b)) >= c", [("operator", "x = (a >> (b)) >= c"),
                             ("operator", "x = (a << (b)) > c")]),
    ("x = f(0, 1, 5)", [("constant", "x = f(1, 1, 5)"), ("constant", "x = f(0, 0, 5)"),
                        ("constant", "x = f(0, 2, 5)"), ("constant", "x = f(0, 1, 4)"),
                        ("constant", "x = f(0, 1, 6)")]),
    ("x = Signal(range(n))", [("width", "x = Signal(range((n) - 1))")]),
    ("x = Signal(n)", [("width", "x = Signal((n) - 1)")]),
    ("x = In(range(n + 1))", [("width", "x = In(range((n + 1) - 1))"),
                              ("operator", "x = In(range(n - 1))"),
                              ("constant", "x = In(range(n + 0))")]),
    ("x = {'a': range(n + 1)}", [("width", "x = {'a': range((n + 1) - 1)}"),
                                 ("operator", "x = {'a': range(n - 1)}"),
                                 ("constant", "x = {'a': range(n + 0)}")]),
    ("if TYPE_CHECKING: import y", []),
    ("x = In(1)", [("constant", "x = In(0)")]),
    ("x = Mux(a, b, c)", [("condition", "x = Mux(a, c, b)")]),
    ("with m.If(a): pass", [("condition", "with m.If((a) == 0): pass")]),
    ("if a: pass", [("condition", "if (not (a)): pass")]),
    ("m.d.sync += [a.eq(b), c.eq(d)]", [("dropped", "m.d.sync += [*(), c.eq(d)]"),
                                        ("dropped", "m.d.sync += [a.eq(b), *()]")]),
    ("m.d.comb += a.eq(b)", [("dropped", "pass")]),
    ("connect(m, a, b)", [("dropped", "pass")]),
    ("x = Signal(); m.d.sync += x.eq(y)", [
        ("reset value", "x = Signal(init=1); m.d.sync += x.eq(y)"),
        ("dropped", "x = Signal(); pass")]),
    ("x = Signal(init=1)", [("reset value", "x = Signal(init=0)")]),
])
def test_faults_of(code, expected):
    assert of(code) == expected
