"""The chapter's two studies: printed = ideal exactly, hardware = ideal + named items exactly."""

import dataclasses

import pytest

from cubewave.rtl.handoff import HandoffUnit
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.rtl.vector_commands import VectorOp
from cubewave.rtl.vector_unit import ACCEPT, result_latency
from cubewave.sim.backends.choice import Backend
from cubewave.sim.cycle import Durations
from cubewave.sim.cycle.path_items import OTHER_PATH
from cubewave.sim.study import DESIGNS, cases, run_case, study_document

SPANS = {"slots": [1280, 768, 704, 704, 512, 448], "handoff": [5118, 5120, 3200, 3008, 3008]}
STARTS = {"slots": [None] * 6, "handoff": [1536, 384, 384, 256, 256]}
MOST_FOR_A_GROUP = 100  # cycles beyond ideal on the chapter's machine


def numbered(study):
    return [pytest.param(study, number, id=f"{study}-{number + 1}")
            for number in range(len(SPANS[study]))]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("study", SPANS)
def test_ideal_is_what_is_printed(study, design):
    rows = [run_case(case, "cycle") for case in cases(study, design)]
    assert [row.ideal for row in rows] == [row.case.span for row in rows] == SPANS[study]
    assert [row.ideal_vector_start for row in rows] == STARTS[study]
    assert [row.case.vector_start for row in rows] == STARTS[study]
    assert [check for row in rows for check in row.checks if not check["ok"]] == []


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("study", SPANS)
def test_every_cycle_beyond_ideal_is_named(study, design):
    for case in cases(study, design):
        row = run_case(case, "cycle")
        assert row.ideal + sum(item.total for item in row.items) == row.span
        assert sum(step.cycles for step in row.path) == row.span
        if design == "chapter":
            assert 0 < row.beyond <= MOST_FOR_A_GROUP * case.groups
            assert OTHER_PATH not in {item.name for item in row.items}


@pytest.mark.parametrize("study,number", [*numbered("slots"), *numbered("handoff")])
def test_the_hardware_takes_what_the_model_says(study, number):
    case = list(cases(study))[number]
    row = run_case(case, "rtl", Backend("pysim"))
    assert (row.level, row.backend) == ("rtl", "pysim")
    assert [check for check in row.checks if not check["ok"]] == []
    assert row.span == run_case(case, "cycle").span
    assert any(check["name"].endswith("rtl_cycle_model") for check in row.checks)


def test_items_are_latency_attributes_of_the_components():
    """Two slots, direct: one way through both units, four softmaxes one after another."""
    case = list(cases("handoff"))[3]
    design = case.design
    row = run_case(case, "cycle")
    softmax = [VectorOp.ROW_MAXIMUM, VectorOp.SUBTRACT, VectorOp.MULTIPLY, VectorOp.EXPONENTIAL,
               VectorOp.ROW_SUM, VectorOp.DIVIDE]
    expected = {("array", "result"): (MatrixUnit.latency(design), 2),
                ("handoff", "arrival"): (HandoffUnit.LATENCY, 2),
                ("vector", "acceptance"): (ACCEPT, 1),
                **{("vector", f"result {op.name}"): (result_latency(design, op) - 1, 4)
                   for op in softmax}}
    assert {(item.unit, item.name): (item.cycles, item.times) for item in row.items} == expected


def test_a_sum_has_one_operation_less_than_elements():
    """One group of 32 rows: 383 + 127 operations a lane, but 384 + 128 passes."""
    row = run_case(next(cases("handoff")), "cycle")
    assert [item.total for item in row.items if item.kind == "service"] == [2]


def test_blocks_load_as_groups():
    """A block's operands and weights wait for its slot; with one slot blocks never overlap."""
    for case in cases("slots"):
        program = case.program(False)
        takes = [number for number, load in enumerate(program.loads) if load.take]
        size = len(program.loads) // case.groups
        assert takes == [block * size for block in range(case.groups)]
        assert all(program.loads[take + size - 1].last for take in takes)
        assert not program.stores and not program.outputs
        macs = sum(job.rows * job.inner * job.outer for job in program.jobs)
        assert macs == case.groups * 16 * 32 * 16


def test_the_program_has_real_operands_on_the_hardware():
    case = next(cases("slots"))
    assert sum(image.data.size for image in case.program(True).images) == 4 * (16 * 32 + 32 * 16)
    assert case.program(False).images == []


def test_a_slower_machine_has_larger_items():
    """What the items say follows the machine: a longer MAC pipeline, once for each result."""
    case = next(cases("slots"))
    slow = dataclasses.replace(case.design, mac_latency=4)
    other = dataclasses.replace(case, design=slow, program=dataclasses.replace(
        case.program, design=slow))
    row, slower = run_case(case, "cycle"), run_case(other, "cycle")
    assert slower.ideal == row.ideal
    assert slower.span - row.span == 3
    assert {item.cycles for item in slower.items if item.name == "result"} == {
        MatrixUnit.latency(slow)}


def test_operands_arrive_once_for_each_wait():
    """One slot: every block waits for its operands."""
    case = next(cases("slots"))
    items = {item.name: item for item in run_case(case, "cycle").items}
    assert items["operand arrival"][-2:] == (Durations.rtl(case.design).operand_arrival, 4)


def test_document():
    rows = [run_case(case, "cycle") for case in cases("slots")]
    document = study_document("slots", "chapter", rows)
    assert [row["span"] for row in document["rows"]] == [
        {"chapter": span, "ideal": span, "cycle": row.span}
        for span, row in zip(SPANS["slots"], rows)]
    for row in document["rows"]:
        assert row["vector_start"] is None
        assert sum(item["total"] for item in row["items"]) == (
            row["span"]["cycle"] - row["span"]["ideal"])
        assert sum(step["cycles"] for step in row["path"]) == row["span"]["cycle"]
    assert all(check["ok"] for check in document["checks"])
