"""The fixture `simulate` for users' tests, and the example that uses it."""

import ast
from pathlib import Path

import pytest

from cubewave.sim import pytest_plugin
from cubewave.sim.pytest_plugin import _folder_name

pytest_plugins = ["pytester"]

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "test_design_variant.py"

TEST = """
import pytest
from cubewave.rtl import Design
from cubewave.workloads import Gemm

DESIGN = Design.preset("tiny")
WORK = Gemm([[1, 2]], [[3], [4]])

def test_passes(simulate, tmp_path):
    assert simulate(DESIGN, WORK).ok
    assert (tmp_path / "simulate-1.vcd").exists()

def test_fails(simulate):
    simulate(DESIGN, WORK)
    assert simulate(DESIGN, WORK).cycles == 0

@pytest.mark.xfail(strict=True)
def test_is_known_to_fail(simulate):
    assert not simulate(DESIGN, WORK).ok

def test_records_nothing(simulate):
    assert simulate(DESIGN, WORK, level="analytic").cycles == 0

def test_has_a_file_of_its_own(simulate, tmp_path):
    simulate(DESIGN, WORK, vcd=tmp_path / "own.vcd")
    assert False

def test_does_not_simulate():
    assert False
"""


@pytest.fixture
def run(pytester):
    """Runs the test file above in pytest of its own settings."""
    pytester.makepyfile(test_user=TEST)

    def run_with(*args):
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", *args)

    return run_with


def waveforms(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                  if path.suffix in (".vcd", ".gtkw"))


def test_failing_test_keeps_its_waveforms(run, pytester):
    result = run("--basetemp", "temporary")
    result.assert_outcomes(passed=1, failed=4, xfailed=1)
    folder = "waves/failed/test_user.py-test_fails"
    result.stdout.fnmatch_lines([
        "*test_fails*", "*cubewave waveforms*", f"{folder}/simulate-1.vcd",
        f"{folder}/simulate-2.vcd", "open one with: cubewave waves FILE.vcd"])
    assert result.stdout.str().count("cubewave waveforms") == 1
    assert waveforms(pytester.path / "waves") == [
        f"failed/test_user.py-test_fails/simulate-{number}.{suffix}"
        for number in (1, 2) for suffix in ("gtkw", "vcd")]
    # The ones of passing tests are gone, and those that a test asked for are its own.
    assert waveforms(pytester.path / "temporary") == [
        "test_has_a_file_of_its_own0/own.gtkw", "test_has_a_file_of_its_own0/own.vcd"]


def test_folder_of_the_waveforms(run, pytester):
    earlier = pytester.path / "elsewhere" / "test_user.py-test_fails"
    earlier.mkdir(parents=True)
    for name in ("simulate-7.vcd", "notes.txt"):
        (earlier / name).write_text("earlier\n")
    result = run("--cubewave-waves", "elsewhere", "-k", "test_fails")
    result.stdout.fnmatch_lines(["elsewhere/test_user.py-test_fails/simulate-2.vcd"])
    assert sorted(path.name for path in earlier.iterdir()) == [
        "notes.txt", "simulate-1.gtkw", "simulate-1.vcd", "simulate-2.gtkw", "simulate-2.vcd"]
    assert not (pytester.path / "waves").exists()


def test_option_is_in_the_help(pytester):
    result = pytester.runpytest_inprocess("--help")
    result.stdout.fnmatch_lines(["cubewave:", "*--cubewave-waves=DIR*"])


def test_names_of_folders():
    assert _folder_name("tests/test_a.py::test_b[4]") == "tests-test_a.py-test_b-4"
    assert _folder_name("a.py::TestC::test_d") == "a.py-TestC-test_d"
    odd = [_folder_name(f"a.py::test[{name}]") for name in ("x y", "x*y", "é", "x" * 300)]
    assert len(set(odd)) == 4
    assert all(name.isascii() and len(name) <= 100 and "/" not in name for name in odd)


def test_plugin_imports_nothing_heavy():
    """It is loaded by every pytest run on the machine."""
    standard = {"hashlib", "os", "re", "shutil", "collections.abc", "pathlib", "typing"}
    tree = ast.parse(Path(pytest_plugin.__file__).read_text())
    imported = {name for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
                for name in ([node.module] if isinstance(node, ast.ImportFrom)
                             else [alias.name for alias in node.names])}
    assert imported == standard | {"pytest"}


def test_example_of_a_design_variant(pytester):
    pytester.makepyfile(test_design_variant=EXAMPLE.read_text())
    pytester.runpytest_inprocess("-p", "no:xdist", "-W", "error").assert_outcomes(passed=4)
