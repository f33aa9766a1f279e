"""Small faults in a Python source of hardware, found through its syntax tree."""

import ast
import re
from dataclasses import dataclass

__all__ = ["Fault", "faults"]

OPERATORS = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
}
CONDITIONS = ("If", "Elif")


@dataclass(frozen=True)
class Fault:
    """Replace the bytes from `start` to `end` of the file."""

    kind: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def apply(self, source):
        """The source, as bytes, with the fault in it."""
        return source[:self.start] + self.new.encode() + source[self.end:]

    def __str__(self):
        old = " ".join(self.old.split())
        return f"{self.kind}: {old if len(old) < 60 else old[:57] + '...'} -> {self.new}"


def faults(source):
    """Every fault of a file's source (bytes), in the order of their places.

    Nothing in docstrings, messages, checks of parameters, imports and `__all__`. A fault that
    would not compile is left out.
    """
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    found = sorted(set(finder.found), key=lambda fault: (fault.start, fault.end, fault.new))
    return [fault for fault in found if _compiles(fault.apply(source))]


def _compiles(source):
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _called(node):
    """Name of the function that a call calls."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _clocked_names(tree):
    """Names that the statements of a clock domain assign to."""
    return {target.id for node in ast.walk(tree)
            if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == "m.d.sync"
            for call in ast.walk(node.value) if isinstance(call, ast.Call) and _called(call) == "eq"
            for target in [call.func.value] if isinstance(target, ast.Name)}


class _Finder(ast.NodeVisitor):
    def __init__(self, source):
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._clocked = set()
        self._widths = set()  # nodes that say how wide something is
        self._resets = set()
        self.found = []

    def _place(self, node):
        return (self._lines[node.lineno - 1] + node.col_offset,
                self._lines[node.end_lineno - 1] + node.end_col_offset)

    def _text(self, node):
        start, end = self._place(node)
        return self._source[start:end].decode()

    def _replace(self, kind, node, new):
        start, end = self._place(node)
        self.found.append(Fault(kind, node.lineno, start, end, self._text(node), new))

    def _operator(self, operator, left, right, line):
        """Another operator between two operands."""
        old, new = OPERATORS.get(type(operator), (None, None))
        start, end = self._place(left)[1], self._place(right)[0]
        gap = self._source[start:end].decode()
        place = old and re.match(rf"[\s)]*({re.escape(old)})", gap)
        if place:
            self.found.append(Fault("operator", line, start + place.start(1),
                                    start + place.end(1), gap[place.start(1):place.end(1)], new))

    # Left out

    def visit_Raise(self, node):
        pass

    visit_Import = visit_ImportFrom = visit_JoinedStr = visit_Assert = visit_Raise

    def visit_Assign(self, node):
        names = [each.id for each in node.targets if isinstance(each, ast.Name)]
        if "__all__" in names:
            return
        value = node.value
        if (isinstance(value, ast.Call) and _called(value) == "Signal" and not value.args
                and all(key.arg == "name" for key in value.keywords)
                and self._clocked.intersection(names)):
            text = self._text(value)[:-1]
            self._replace("reset value", value, f"{text}{', ' if value.keywords else ''}init=1)")
        self.generic_visit(node)

    def visit_If(self, node):
        if (all(isinstance(each, ast.Raise) for each in node.body)
                or ast.unparse(node.test) == "TYPE_CHECKING"):
            return
        self._replace("condition", node.test, f"(not ({self._text(node.test)}))")
        self.generic_visit(node)

    # Changed

    def visit_ClassDef(self, node):
        self._clocked = _clocked_names(node)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        self._operator(node.op, node.left, node.right, node.lineno)
        self.generic_visit(node)

    def visit_Compare(self, node):
        for operator, left, right in zip(node.ops, [node.left, *node.comparators],
                                         node.comparators):
            self._operator(operator, left, right, node.lineno)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Invert):
            self._replace("condition", node, self._text(node.operand).join("()"))
        self.generic_visit(node)

    def visit_Constant(self, node):
        if type(node.value) is int:
            values = {0: (1,), 1: (0, 2)}.get(node.value, (node.value + 1, node.value - 1))
            for value in values:
                if value > node.value and node in self._widths | self._resets:
                    continue  # a bit more changes nothing; a reset value of 2 has two bits
                kind = "reset value" if node in self._resets else "constant"
                self._replace(kind, node, str(value))

    def visit_Dict(self, node):
        self._widths.update(node.values)
        for value in node.values:  # of a layout: range(n + 1)
            for each in ast.walk(value):
                if isinstance(each, ast.Call) and _called(each) == "range":
                    self._add_widths(each.args)
        self.generic_visit(node)

    def _add_widths(self, args):
        """What is added in an argument that is a width: a greater one only widens."""
        self._widths.update(
            added for arg in args for each in ast.walk(arg)
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add)
            for added in (each.left, each.right))

    def visit_Call(self, node):
        name = _called(node)
        if name.startswith("check_"):
            return
        if name in ("In", "Out", "Signal", "signed", "unsigned"):
            self._widths.update(node.args)
            self._add_widths(node.args)
            self._resets.update(key.value for key in node.keywords if key.arg == "init")
        if name in CONDITIONS and node.args:
            self._replace("condition", node.args[0], f"({self._text(node.args[0])}) == 0")
        elif name == "Mux" and len(node.args) == 3:
            _condition, chosen, other = node.args
            start, end = self._place(chosen)[0], self._place(other)[1]
            self.found.append(Fault("condition", node.lineno, start, end,
                                    self._source[start:end].decode(),
                                    f"{self._text(other)}, {self._text(chosen)}"))
        elif node.args and (name == "range" or name in ("Signal", "signed", "unsigned")
                            and not isinstance(node.args[-1], ast.Call | ast.Constant)):
            self._replace("width", node.args[-1], f"({self._text(node.args[-1])}) - 1")
        self.generic_visit(node)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call):
            function = ast.unparse(node.value.func)
            if function != "super().__init__" and not function.startswith("check_"):
                self._replace("dropped", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if isinstance(node.value, ast.List):
            for each in node.value.elts:
                self._replace("dropped", each, "*()")
        else:
            self._replace("dropped", node, "pass")
        self.generic_visit(node)
