"""Fixture `simulate` for tests of design variants; it keeps the waveform of a failing test.

pytest loads this module in every run on a machine where cubewave is installed, so it imports
nothing but pytest until a test asks for the fixture.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .result import Result

__all__ = ["simulate"]

OPTION = "--cubewave-waves"
DEFAULT_FOLDER = "waves/failed"

_RECORDED = pytest.StashKey[list[Path]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("cubewave").addoption(
        OPTION, metavar="DIR", default=None,
        help=f"folder for the waveforms of failing tests that use the fixture `simulate` "
             f"(default: {DEFAULT_FOLDER} in the root directory)")


@pytest.fixture
def simulate(request: pytest.FixtureRequest, tmp_path: Path
             ) -> Iterator[Callable[..., "Result"]]:
    """`cubewave.sim.simulate`, recording a waveform that is kept when the test fails.

    Every call at level rtl without a `vcd` of its own writes `simulate-1.vcd`, `simulate-2.vcd`
    and so on, with its .gtkw, into the test's `tmp_path`. When the test fails, by a deadlock
    too, they are copied to the folder of the option `--cubewave-waves` and the report names
    them. After the test the ones in `tmp_path` are deleted.
    """
    recorded = request.node.stash.setdefault(_RECORDED, [])

    def run(design: Any, workload: Any, *, level: str = "rtl", **options: Any) -> "Result":
        from .simulation import simulate as run_simulation
        if level == "rtl" and options.get("vcd") is None:
            path = tmp_path / f"simulate-{len(recorded) + 1}.vcd"
            recorded.append(path)
            options["vcd"] = path
        return run_simulation(design, workload, level=level, **options)

    yield run
    for path in recorded:
        for part in _files(path):
            part.unlink()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]
                              ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the waveforms of a failure and name them in its report."""
    report = yield
    recorded = item.stash.get(_RECORDED, [])
    if report.failed and call.when == "call" and recorded:
        kept = _keep(item, recorded)
        if kept:
            here = item.config.invocation_params.dir
            lines = [os.path.relpath(path, here) if path.is_relative_to(here) else str(path)
                     for path in kept]
            report.sections.append(("cubewave waveforms", "\n".join(
                [*lines, "open one with: cubewave waves FILE.vcd"])))
    return report


def _files(path: Path) -> list[Path]:
    """The waveform and the save file beside it, where they exist."""
    return [part for part in (path, path.with_suffix(".gtkw")) if part.exists()]


def _keep(item: pytest.Item, recorded: list[Path]) -> list[Path]:
    """Copy waveforms to the folder of the test; the copies."""
    chosen = item.config.getoption(OPTION)
    base = (item.config.invocation_params.dir / chosen if chosen
            else item.config.rootpath / DEFAULT_FOLDER)
    folder = base / _folder_name(item.nodeid)
    for old in folder.glob("simulate-*"):  # of an earlier failure
        old.unlink()
    kept = []
    for path in recorded:
        for part in _files(path):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy2(part, folder)
        if path.exists():
            kept.append(folder / path.name)
    return kept


def _folder_name(nodeid: str) -> str:
    """The test's name as a folder: tests/test_a.py::test_b[4] is tests-test_a.py-test_b-4."""
    name = re.sub(r"[\[\]/\\:]+", "-", nodeid).strip("-")
    if len(name) > 100 or not re.fullmatch(r"[\w.-]+", name, re.ASCII):
        digest = hashlib.sha256(nodeid.encode()).hexdigest()[:8]
        name = re.sub(r"[^\w.-]", "_", name[-90:], flags=re.ASCII) + f"-{digest}"
    return name
