"""What STYLE asks of every source file and a machine can see."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("rtl", "sim", "workloads", "tests", "docs", "examples")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

MACHINE_PATH = re.compile(r"(?<![\w.])/(root|work|tmp|home)/\w")
REGISTRY = re.compile(r"https?://[\w.-]*(pypi|pythonhosted|debian|npmjs)")

# Gone or going in Amaranth 0.5, where several of them still work without a warning.
BANNED_MODULES = re.compile(
    r"(nmigen|amaranth\.hdl\.(ast|mem|rec)|amaranth\.(asserts|lib\.coding))(\.|$)")
BANNED_NAMES = {
    "amaranth": {"Record"},
    "amaranth.hdl": {"Record"},
    "amaranth.lib": {"coding"},
    "amaranth.sim": {"Active", "Delay", "Passive", "Settle", "Tick"},
    "amaranth.utils": {"log2_int"},
}
BANNED_ATTRIBUTES = {"add_sync_process", "log2_int"}


def sources(*patterns):
    """Files of the project: what git tracks or would add; in a copy without git, its folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
               *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        paths = [path for pattern in patterns for folder in FOLDERS
                 for path in (ROOT / folder).rglob(pattern)] + list(ROOT.glob("*.*"))
    return sorted({path for path in paths if path.is_file()})


def imported(tree):
    """(line, module, name or None) of every import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, node.module, alias.name) for alias in node.names)


def banned_imports(tree):
    for line, module, name in imported(tree):
        full = f"{module}.{name}" if name else module
        if BANNED_MODULES.match(full) or name in BANNED_NAMES.get(module, ()):
            yield line, f"import of {full}"
        if full == "amaranth.hdl.*":
            yield line, "star import of amaranth.hdl, which hides lib.memory"
        if full == "__future__.annotations":
            yield line, "postponed annotations, which empty data.Struct and break ports"


def banned_expressions(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if node.attr in BANNED_ATTRIBUTES:
                yield node.lineno, node.attr
            if ast.unparse(node.value) == "sim" and node.attr in BANNED_NAMES["amaranth.sim"]:
                yield node.lineno, f"sim.{node.attr}"
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if called in ("Case", "matches") and not node.args:
                yield node.lineno, f"{called}() without patterns"
            if isinstance(node.func, ast.Name) and node.func.id == "Record":
                yield node.lineno, "Record"
            yield from ((node.lineno, "reset=") for key in node.keywords if key.arg == "reset")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield):
            value = node.value.value
            if value is None or (isinstance(value, ast.Call)
                                 and isinstance(value.func, ast.Attribute)
                                 and value.func.attr == "eq"):
                yield node.lineno, "testbench written with yield"


def violations(text):
    """(line, what) of everything in a Python source that STYLE rule 22 bans."""
    tree = ast.parse(text)
    uses_amaranth = any(module and module.split(".")[0] in ("amaranth", "nmigen")
                        for _, module, _ in imported(tree))
    if not uses_amaranth:
        return []
    return sorted({*banned_imports(tree), *banned_expressions(tree)})


def long_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield f"{node.lineno}: {node.name} has {lines} lines"


def report(found):
    found = list(found)
    assert not found, "\n" + "\n".join(found)


def python_sources():
    return ((path.relative_to(ROOT), path.read_text(encoding="utf-8"))
            for path in sources("*.py") if path.suffix == ".py")


def test_sources_are_found():
    names = {str(name) for name, _ in python_sources()}
    assert {"rtl/design.py", "tests/test_style.py", "setup.py"} <= names


def test_no_banned_amaranth():
    report(f"{name}:{line}: {what}" for name, text in python_sources()
           for line, what in violations(text))


@pytest.mark.parametrize("text", [
    "from nmigen import *",
    "from amaranth.hdl.ast import Signal",
    "from amaranth.hdl import ast",
    "from amaranth.hdl import *",
    "from amaranth.hdl import Record",
    "import amaranth.lib.coding",
    "from amaranth.lib import coding",
    "from amaranth.asserts import Assert",
    "from amaranth.sim import Settle",
    "from amaranth.utils import log2_int",
    "from __future__ import annotations",
    "sim.Tick()",
    "with m.Case():\n    pass",
    "x.matches()",
    "Record([('a', 1)])",
    "Signal(8, reset=1)",
    "simulator.add_sync_process(bench)",
    "def bench():\n    yield dut.a.eq(1)",
    "def bench():\n    yield",
])
def test_banned_amaranth_is_seen(text):
    assert len(violations(f"{text}\nfrom amaranth import Module")) == 1


def test_allowed_amaranth_is_left_alone():
    assert violations("from amaranth import *\nfrom amaranth.lib.memory import Memory\n"
                      "with m.Case(1):\n    pass\nwith m.Default():\n    pass\n"
                      "x.matches(1)\nSignal(8, init=1)\nSignal(reset_less=True)\n"
                      "def rows():\n    yield 1\n") == []


def test_files_are_short():
    report(f"{name}: {len(text.splitlines())} lines" for name, text in python_sources()
           if len(text.splitlines()) > MAX_FILE_LINES)


def test_functions_are_short():
    report(f"{name}:{what}" for name, text in python_sources() for what in long_functions(text))


def test_a_long_function_is_seen():
    text = "def f():\n" + "    pass\n" * MAX_FUNCTION_LINES
    assert list(long_functions(text)) == ["1: f has 61 lines"]


def test_no_machine_path_or_registry():
    found = []
    for path in sources("*"):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:  # a picture
            continue
        found += [f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
                  for number, line in enumerate(lines, 1)
                  if MACHINE_PATH.search(line) or REGISTRY.search(line)]
    report(found)


@pytest.mark.parametrize("text", ["open('/" + "tmp/x')", "PATH=/" + "home/me", "/" + "work/main"])
def test_a_machine_path_is_seen(text):
    assert MACHINE_PATH.search(text)
