"""`cubewave figures`."""

import csv

import pytest

from cubewave.sim.analytic.figures import KNOWN_DISAGREEMENTS, rows, sections


def test_figures_prints_by_section_and_is_honest(cubewave):
    result = cubewave("figures")
    assert result.exit_code == 0
    for section in sections():
        assert any(line.split("  ")[0] == section for line in result.stdout.splitlines())
    for row, reason in KNOWN_DISAGREEMENTS.items():
        assert row in result.stdout
        assert reason.split()[0] in result.stdout
    assert "differ," not in result.stdout and "not computed" not in result.stdout
    assert "518 rows: 514 agree, 4 known disagreements" in result.stdout


def test_a_section_alone_shows_all_its_rows(cubewave):
    result = cubewave("figures", "--section", "4.8.1")
    assert result.exit_code == 0
    shown = [row.id for row in rows() if row.section == "4.8.1"]
    assert all(row in result.stdout for row in shown)
    whole = cubewave("figures", "--section", "4.8")
    assert whole.exit_code == 0 and "energy-rtx-m1" in whole.stdout


def test_csv_holds_the_comparison(cubewave, tmp_path):
    result = cubewave("figures", "--section", "4.1.1", "--csv", "x.csv")
    assert result.exit_code == 0
    with open(tmp_path / "x.csv", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["id"] for line in lines] == [row.id for row in rows() if row.section == "4.1.1"]
    line = next(line for line in lines if line["id"] == "qproj-gflops-m256")
    assert (line["model"], line["parameters"], line["status"]) == (
        "projection.flops", "m=256", "ok")
    assert float(line["computed"]) == 8.589934592
    printed = cubewave("figures", "--section", "4.1.1", "--csv", "-")
    assert printed.stdout == (tmp_path / "x.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("args,message", [
    (("--section", "4.9"), "--section 4.9: unknown section"),
    (("--csv", "no/x.csv"), "--csv no/x.csv: cannot be written: there is no folder no"),
])
def test_figures_refuses(refused, args, message):
    assert refused("figures", *args).startswith(message)
