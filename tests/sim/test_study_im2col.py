"""The convolution study: the chapter's sizes at level cycle, the same identities on RTL."""

import json

import pytest
from click.testing import CliRunner

from cubewave.sim.cli import main
from cubewave.sim.study_im2col import DESIGNS, cases, run_case, study_document, summary


def rows_of(design, level):
    rows = [run_case(case, level) for case in cases(design)]
    failed = [check for row in rows for check in row.checks if not check["ok"]]
    assert not failed
    return rows


@pytest.mark.parametrize("design", ["ascend-910", "ascend-950", "b200-sm"])
def test_sizes_of_the_chapter_at_level_cycle(design):
    rows = rows_of(design, "cycle")
    loader, unbuffered, memory, _ = rows
    for _name, run, chapter in summary(rows):
        assert run == chapter
    assert loader.image_bytes == memory.image_bytes == 401_408
    assert unbuffered.image_bytes == loader.result.counters["window_bytes"]
    assert memory.matrix_traffic == 2 * 3136 * 576 * 2
    assert loader.ideal.units["array"].busy == 28_224
    assert loader.ideal.units["vector"].busy * loader.case.design.vector_units == 1568
    assert loader.result.cycles < memory.result.cycles
    assert loader.ledger.joules < memory.ledger.joules


def test_scaled_down_on_rtl():
    rows = rows_of("tiny", "rtl")
    loader, _, memory, _ = rows
    image = 7 * 7 * 4 * 2
    assert (loader.image_bytes, memory.image_bytes) == (image, image)
    assert memory.matrix_traffic == 2 * 9 * image
    assert loader.ideal.units["array"].busy == 49 * 36 * 4 // 16
    assert loader.result.cycles < memory.result.cycles


def test_document_is_json():
    rows = [run_case(case) for case in cases("tiny")]
    document = json.loads(json.dumps(study_document("tiny", rows)))
    assert [row["name"] for row in document["rows"]] == [case.name for case in cases("tiny")]
    assert document["study"] == "im2col" and document["rows"][2]["matrix_traffic"] == 7056


def test_command_line():
    result = CliRunner().invoke(main, ["run", "conv2d", "--study", "im2col"])
    assert result.exit_code == 0
    assert result.stdout.startswith("study im2col on ascend-910, level cycle\n")
    assert "401,408" in result.stdout and "6.891 MiB" in result.stdout
    assert "checks ok" in result.stdout
    tiny = CliRunner().invoke(main, ["run", "conv2d", "--study", "im2col", "--design", "tiny",
                                     "--json", "-"])
    assert json.loads(tiny.stdout)["design"] == "tiny"


@pytest.mark.parametrize("arguments,message", [
    (["gemm", "--study", "im2col"], "--study im2col: needs workload conv2d, not gemm"),
    (["conv2d", "--study", "im2col", "--design", "edge"],
     f"--design edge: --study needs {' or '.join(DESIGNS)}"),
    (["conv2d", "--study", "im2col", "--level", "analytic"],
     "--study im2col: needs --level rtl or cycle, not analytic"),
])
def test_refusals(arguments, message):
    result = CliRunner().invoke(main, ["run", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
