"""The tables of the documentation say what the code says."""

import pytest
from generate import FULL_SIZE, SECTION, SECTIONS, SLOW, preset_row, regenerated, table
from transcripts import ROOT, pages

from cubewave.rtl.counters import COUNTERS

#: Presets whose rows take a second or less.
QUICK = ("b200-sm", "tpu-v1", "ascend-910", "ascend-950")


def sections():
    """(name, page) of every generated section."""
    return [(match[2], path) for path in pages()
            for match in SECTION.finditer(path.read_text(encoding="utf-8"))]


def test_every_section_is_somewhere():
    assert sorted({name for name, _ in sections()}) == sorted(SECTIONS)


@pytest.mark.parametrize("name,path", [item for item in sections() if item[0] not in SLOW])
def test_tables_are_up_to_date(name, path):
    page = path.read_text(encoding="utf-8")
    assert regenerated(page, [name]) == page, "python docs/generate.py tables writes it anew"


def check_presets(names):
    page = (ROOT / "docs" / "presets.md").read_text(encoding="utf-8")
    for name in names:
        for m in (1, 256):
            row = table((), [preset_row(name, m)]).splitlines()[-1]
            assert row in page.splitlines(), "python docs/generate.py presets writes it anew"


def test_presets_at_full_size():
    check_presets(QUICK)


@pytest.mark.long
def test_small_presets_at_full_size():
    check_presets(set(FULL_SIZE) - set(QUICK))


def test_presets_are_all_there():
    page = (ROOT / "docs" / "presets.md").read_text(encoding="utf-8")
    table_of_presets = SECTION.search(page)[0]
    assert table_of_presets.count("\n| `") == 2 * len(FULL_SIZE)


def test_f118_every_counter_is_defined_in_the_documentation():
    page = (ROOT / "docs" / "cycles-and-counters.md").read_text(encoding="utf-8")
    missing = [name for name in COUNTERS if f"\n| `{name}` |" not in page]
    assert not missing
    assert "busy + idle + every stall = cycles" in page
    assert "All are 0 at the start of a run" in page
