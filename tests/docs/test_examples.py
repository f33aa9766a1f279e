"""Every command and every Python example of the documentation does what the page shows."""

import difflib
import re
import shlex

import pytest
import transcripts
from transcripts import ROOT, blocks, comparable, pages, rerun

EXECUTED = {"console", "csv", "python", "toml"}
SHOWN = {"sh", "text"}


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", pages(), ids=name)
def test_f125_examples_print_what_the_page_shows(path, tmp_path, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    page = path.read_text(encoding="utf-8")
    now = rerun(page, tmp_path)
    difference = "\n".join(difflib.unified_diff(
        comparable(page).splitlines(), comparable(now).splitlines(), "the page", "now",
        lineterm=""))
    assert not difference, f"{difference}\nIf that is right: python docs/generate.py {name(path)}"


@pytest.mark.parametrize("path", pages(), ids=name)
def test_blocks_have_a_language_that_says_what_they_are(path):
    page = path.read_text(encoding="utf-8")
    assert {block.language for block in blocks(page)} <= EXECUTED | SHOWN
    assert page.count("```") == 2 * len(blocks(page))


def test_commands_that_are_only_shown_exist():
    """Of `sh` blocks: targets of the Makefile and commands of the command line."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in pages():
        for block in blocks(path.read_text(encoding="utf-8")):
            for line in block.text.splitlines() if block.language == "sh" else ():
                words = shlex.split(line, comments=True)
                if words[0] == "make":
                    assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), line
                else:
                    assert words[:2] in (["cubewave", "run"], ["cubewave", "waves"]), line


@pytest.mark.parametrize("page,message", [
    ("```console\n$ cubewave run gem\n```\n", "status 2 of: cubewave run gem"),
    ("```console\n$ rm a\n```\n", "examples cannot run rm"),
    ("```python\nprint(1)\n```\n", "this example prints, but no text block follows:\n1"),
    ("```python\nprint(1)\n```\n```console\n```\n", "no text block follows"),
])
def test_an_example_that_fails_is_seen(page, message, tmp_path):
    with pytest.raises(ValueError, match=re.escape(message)):
        rerun(page, tmp_path)


def test_only_what_differs_is_written_anew(tmp_path):
    page = """```toml
# a.toml
rows = 3
```
```python
with open("a.toml") as file:
    print(file.readlines()[1], end="")
```
```text
old
```
```console
$ cubewave run gemm -s rows=0
$ echo $?
```
"""
    assert rerun(page, tmp_path) == page.replace("old", "rows = 3").replace(
        "$ echo $?\n", "error: -s rows=0: rows must be an integer from 1 to 1024 cells, not 0\n"
                       "$ echo $?\n2\n")


def test_times_are_not_compared():
    before = ("host time       1.20 s  300 cycles/s simulated\n1 passed in 1.50s\n"
              "simulated         3  different runs of 3, 2.314 ms host time\n")
    after = ("host time        1.1 ms  9,999 cycles/s simulated\n1 passed in 12.31s\n"
             "simulated         3  different runs of 3, 18 s host time\n")
    assert comparable(before) == comparable(after)


def test_the_demo_is_one_command():
    words = shlex.split(transcripts.demo_recipe())
    assert words[:2] == [".venv/bin/cubewave", "run"]
