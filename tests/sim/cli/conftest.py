"""The command line without a process of its own."""

import pytest
from click.testing import CliRunner

from cubewave.sim.cli import main


@pytest.fixture
def cubewave(tmp_path, monkeypatch):
    """Runs `cubewave` with these arguments in an empty folder; the result of click's runner."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*args):
        result = CliRunner().invoke(main, [str(arg) for arg in args])
        unexpected = result.exception
        if unexpected is not None and not isinstance(unexpected, SystemExit):
            raise unexpected
        return result

    return run


@pytest.fixture
def refused(cubewave, tmp_path):
    """Runs a command that must be refused: status 2, one line, nothing written; the line."""

    def run(*args):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        result = cubewave(*args)
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert result.stderr.endswith("\n") and result.stderr.count("\n") == 1, result.stderr
        assert result.stderr.startswith("error: ")
        assert after == before
        return result.stderr.removeprefix("error: ").rstrip("\n")

    return run
