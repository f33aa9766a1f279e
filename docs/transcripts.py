"""Runs the examples of the documentation as a reader would.

The examples of a page run in order, in one folder that is empty at first:

* a `console` block: a line that begins with `$ ` is a command, what follows is what it prints.
  Commands are `cubewave`, also with `| head -N` or `| tail -N`, `pytest`, `make demo`, and
  `echo $?`, which shows the exit status of the one before. A command that no `echo $?` follows
  must end with status 0;
* a `python` block: executed, all of a page in one namespace. What it prints is in the `text` block
  right after it;
* a block whose first line is a comment with the name of a file, `# wide.toml`: written to it.

Blocks in other languages are shown only. What differs between hosts and runs (times and speeds)
is left out of comparisons.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from cubewave.sim.cli import main

__all__ = ["Block", "blocks", "comparable", "pages", "rerun"]

ROOT = Path(__file__).resolve().parent.parent
WIDTH = "80"  # columns of the terminal that examples are shown on

FENCE = re.compile(r"```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# ([\w.-]+\.(?:toml|py|csv))\n")

#: What differs from run to run, and what stands for it when texts are compared.
VARYING = (
    (re.compile(r"^(host time) .*$", re.MULTILINE), r"\1"),
    (re.compile(r", \S+ \w+ host time$", re.MULTILINE), ", host time"),
    (re.compile(r"\d+\.\d+s\b"), "TIME"),
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, its text, and where the text is in the page."""
    language: str
    text: str
    start: int
    end: int

    @property
    def file(self) -> str | None:
        """Name of the file that the block is."""
        match = FILE.match(self.text)
        return match[1] if match else None


def pages() -> list[Path]:
    """The pages of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")),
            ROOT / "waves" / "README.md"]


def blocks(page: str) -> list[Block]:
    """The fenced blocks in the text of a page."""
    return [Block(match[1], match[2], match.start(2), match.end(2))
            for match in FENCE.finditer(page)]


def comparable(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, constant in VARYING:
        text = pattern.sub(constant, text)
    return text


def rerun(page: str, folder: Path) -> str:
    """The text of a page with what its examples print now.

    Raises
    ------
    Exception
        A command or a Python block fails.
    """
    parts, done = [], 0
    with contextlib.chdir(folder):
        for block, printed in _run(page):
            if comparable(printed) != comparable(block.text):
                parts += [page[done:block.start], printed]
                done = block.end
    return "".join([*parts, page[done:]])


def _run(page: str) -> Iterator[tuple[Block, str]]:
    """Run a page; for each block with output, the block as it would be printed now."""
    namespace: dict[str, Any] = {"__name__": "example"}
    expected = None  # what the Python block before has printed
    for block in blocks(page):
        if expected is not None:
            if block.language != "text":
                raise ValueError(f"this example prints, but no text block follows:\n{expected}")
            yield block, expected
            expected = None
        elif block.file is not None:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            yield block, _run_console(block.text)
        elif block.language == "python":
            expected = _run_python(block, page, namespace) or None
    if expected is not None:
        raise ValueError(f"this example prints, but no text block follows:\n{expected}")


def _run_python(block: Block, page: str, namespace: dict[str, Any]) -> str:
    before = page.count("\n", 0, block.start)  # so that a traceback names the line of the page
    code = compile("\n" * before + block.text, "example", "exec")
    with contextlib.redirect_stdout(io.StringIO()) as stdout:
        exec(code, namespace)
    return stdout.getvalue()


def _run_console(text: str) -> str:
    """The block with the commands' present output."""
    commands = re.findall(r"^\$ (.*(?:\\\n.*)*)$", text, re.MULTILINE)
    printed, status = [], 0
    for number, command in enumerate(commands):
        if command == "echo $?":
            output = f"{status}\n"
        else:
            output, status = _run_command(shlex.split(command))
            if status and commands[number + 1:number + 2] != ["echo $?"]:
                raise ValueError(f"status {status} of: {command}\n{output}")
        printed.append(f"$ {command}\n{output}")
    return "".join(printed)


def _run_command(words: list[str]) -> tuple[str, int]:
    """What a command prints, and its exit status."""
    if "|" in words:
        output, _status = _run_command(words[:words.index("|")])
        tool, lines = words[words.index("|") + 1:]
        part = {"head": slice(-int(lines)), "tail": slice(int(lines), None)}[tool]
        return "".join(output.splitlines(keepends=True)[part]), 0
    if words == ["make", "demo"]:
        recipe = demo_recipe()
        os.makedirs("waves", exist_ok=True)
        output, status = _run_command(["cubewave", *shlex.split(recipe)[1:]])
        return f"{recipe}\n{output}", status
    if words[0] == "cubewave":
        result = CliRunner(env={"COLUMNS": WIDTH}).invoke(main, words[1:], prog_name="cubewave")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.output, result.exit_code
    if words[0] == "pytest":
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith("PYTEST")}
        ran = subprocess.run([sys.executable, "-m", *words], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=clean | {"COLUMNS": WIDTH})
        return ran.stdout, ran.returncode
    raise ValueError(f"examples cannot run {words[0]}")


def demo_recipe() -> str:
    """The command of `make demo`, as make prints it."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^demo:.*\n\t(.*)\n", makefile, re.MULTILINE)
    venv = re.search(r"^VENV := (.*)$", makefile, re.MULTILINE)
    assert recipe is not None and venv is not None
    return recipe[1].replace("$(BIN)", f"{venv[1]}/bin")
