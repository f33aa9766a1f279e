"""Links between pages, and names of files in them, lead somewhere."""

import re

import pytest
from transcripts import ROOT, pages

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```", re.DOTALL)
FILE = re.compile(r"`((?:rtl|sim|workloads|tests|docs|waves)/[\w./-]*|[\w.]+/[\w./-]+\.py)`")
#: Folders that a run makes.
MADE = {"waves/failed/", "waves/demo.vcd"}


def prose(path):
    """The page without its code blocks."""
    return CODE.sub("", path.read_text(encoding="utf-8"))


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(path):
    """(file, anchor) of every link to a file of the project."""
    for target in LINK.findall(prose(path)):
        if not re.match(r"https?://", target):
            name, _, anchor = target.partition("#")
            yield (path.parent / name).resolve() if name else path, anchor


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    dead = [f"{target.name}#{anchor}" for target, anchor in links(path)
            if not target.is_file() or not target.is_relative_to(ROOT)
            or (anchor and anchor not in anchors(target))]
    assert not dead


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_named_exist(path):
    missing = [name for name in FILE.findall(prose(path))
               if name not in MADE and not (ROOT / name).exists()]
    assert not missing


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path not in reached and path.suffix == ".md":
            reached.add(path)
            waiting += [target for target, _ in links(path)]
    assert not set(pages()) - reached
