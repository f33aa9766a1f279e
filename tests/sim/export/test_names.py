"""Names in exported Verilog."""

import re

import pytest

from cubewave.sim.export.names import KEYWORDS, safe_name, tidy_names, unused_name


@pytest.mark.parametrize("name, safe", [
    ("row", "row"), ("row$12", "row"), ("tag.finish", "tag_finish"), ("release", "release_signal"),
    ("unsigned", "unsigned_signal"), ("bit$3", "bit_signal"), ("0", "n_0"), ("a__b", "a__b"),
])
def test_safe_names(name, safe):
    assert safe_name(name) == safe


def test_keywords_of_both_languages():
    assert {"input", "output", "reg", "bit", "do", "int", "release", "unsigned", "table",
            "logic", "interface", "nettype"} <= KEYWORDS
    assert not {"clk", "rst", "row", "valid"} & KEYWORDS
    assert all(re.fullmatch("[a-z_][a-z0-9_]*", word) for word in KEYWORDS)


def test_unused_names_are_numbered():
    assert unused_name("row", {"a"}) == "row"
    assert unused_name("row", {"row", "row_2"}) == "row_3"


def test_names_of_a_module_become_plain_and_stay_different():
    text = ("module \\top\n"
            "  wire width 2 input 0 \\row\n"
            "  wire width 2 \\row$1\n"
            "  wire width 2 \\row_2\n"
            "  wire width 1 \\tag.use\n"
            "  memory width 8 size 4 \\store$7\n"
            "  cell \\module_3 \\release\n"
            "    connect \\row$1 \\row$1 [1:0]\n"
            "  end\n"
            "  cell $memrd $2\n"
            "    parameter \\MEMID \"\\\\store$7\"\n"
            "  end\n"
            "end\n")
    assert tidy_names(text) == (
        "module \\top\n"
        "  wire width 2 input 0 \\row\n"
        "  wire width 2 \\row_3\n"
        "  wire width 2 \\row_2\n"
        "  wire width 1 \\tag_use\n"
        "  memory width 8 size 4 \\store\n"
        "  cell \\module_3 \\release_signal\n"
        "    connect \\row_3 \\row_3 [1:0]\n"
        "  end\n"
        "  cell $memrd $2\n"
        "    parameter \\MEMID \"\\\\store\"\n"
        "  end\n"
        "end\n")
