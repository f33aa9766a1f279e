"""Waveforms of runs that use hand-off and vector unit."""

import dataclasses
import re

import pytest
from waveforms import check_names, identifier, numbers, shown, tamper

from cubewave.rtl import Design
from cubewave.rtl.vector_commands import VectorOp, handoff_layout, vector_layout, vector_slots
from cubewave.sim.waves import read_counters
from cubewave.workloads.attention import RandomAttention

TINY = Design.preset("tiny")
SMALL = Design(rows=3, cols=2, lanes=2, accumulator_rows=16, slot_bytes=64)
PIPELINED = dataclasses.replace(SMALL, vector_schedule="pipelined", vector_units=2,
                                handoff="staged")


@pytest.mark.parametrize("design,choices", [
    (SMALL, {}), (PIPELINED, {"block_keys": 2, "causal": True}),
    (dataclasses.replace(SMALL, handoff="staged", memory_bytes_per_cycle=1), {"block_keys": 3})])
def test_every_counter_is_rebuilt(tmp_path, record_program, design, choices):
    program = RandomAttention(5, 5, 3, rows_per_group=2, **choices).program(design)
    recorded = record_program(tmp_path / "run.vcd", design, program)
    assert not recorded.failed
    counters = read_counters(recorded.path)
    assert counters == recorded.result.counters
    for name in ("vector_commands", "handoffs", "handoff_bytes", "vector.pipeline",
                 "handoff.busy", "handoff.probabilities", "both_busy"):
        assert counters[name] > 0
    assert counters["exchange_bytes"] == (counters["handoff_bytes"]
                                          if design.handoff == "staged" else 0)


def test_windows_add_up(tmp_path, record_program):
    """Also where a window cuts a transfer in two."""
    program = RandomAttention(4, 4, 3, rows_per_group=2).program(PIPELINED)
    whole = record_program(tmp_path / "whole.vcd", PIPELINED, program)
    cuts = [0, whole.vcd["machine.handoff_busy"].tv[1][0] // 10 + 2, 100, whole.result.cycles]
    parts = [record_program(tmp_path / "part.vcd", PIPELINED, program, cycles=(first, end - 1))
             for first, end in zip(cuts, cuts[1:])]
    for part in parts:
        check, = part.result.checks
        assert check["ok"] and check["name"] == "vcd_counters"
    for name in ("handoff_bytes", "handoffs", "vector_commands", "exchange_bytes", "both_busy"):
        assert sum(part.result.checks[0]["actual"][name] for part in parts) == (
            whole.result.counters[name])
    assert 0 < parts[0].result.checks[0]["actual"]["handoff_bytes"]
    assert parts[0].result.checks[0]["actual"]["handoffs"] == 0


@pytest.mark.parametrize("name,old,new,counter", [
    ("vector_busy", "1", "0", "both_busy"), ("handoff_status", "b101", "b11", "handoff.scores")])
def test_a_tampered_file_is_found_out(attention, tmp_path, name, old, new, counter):
    path = tmp_path / "tampered.vcd"
    text = attention.path.read_text()
    if name == "vector_busy":  # always 0
        code = identifier(text, name)
        path.write_text(re.sub(rf"(?m)^1{re.escape(code)}$", lambda _match: f"0{code}", text))
    else:
        path.write_text(tamper(text, name, old, new))
    assert read_counters(attention.path)[counter] != read_counters(path)[counter]


def test_group_by_number(attention):
    """Which group is where: array, hand-off and vector unit take the hand-off slots in turn."""
    slots = TINY.handoff_slots
    turns = [group for group in numbers(attention, "array_group") if group < slots]
    assert set(turns) == set(range(slots))
    assert set(shown(attention, "array_group_text")) == {*map(str, range(slots)), "-"}
    assert set(numbers(attention, "core.handoff.i__payload__slot")) == set(range(slots))
    assert {*range(TINY.accumulator_banks)} <= {*numbers(
        attention, "core.handoff.i__payload__buffer")}
    assert set(shown(attention, "i__payload__direction_text")) == {"TO_VECTOR", "TO_MATRIX"}
    ops = numbers(attention, "core.vector.engine_0.current__op")
    softmax = [VectorOp.ROW_MAXIMUM, VectorOp.SUBTRACT, VectorOp.MULTIPLY, VectorOp.EXPONENTIAL,
               VectorOp.ROW_SUM, VectorOp.DIVIDE]
    assert ops[-24:] == [op.value for op in softmax] * 4
    assert shown(attention, "current__op_text")[-24:] == [op.name for op in softmax] * 4
    assert set(numbers(attention, "core.vector.engine_0.current__a_slot")) == set(range(slots))
    for flags in ("taken", "filled", "results"):
        assert attention.vcd[f"machine.core.vector.{flags}"].size == str(vector_slots(TINY))
        assert any(numbers(attention, f"core.vector.{flags}"))


def test_fields_have_names_of_their_own(attention):
    for unit, layout in (("vector", vector_layout(TINY)), ("handoff", handoff_layout(TINY))):
        port = f"machine.core.{unit}.i__"
        for name in ("valid", "ready", *(f"payload__{field}" for field in layout.members)):
            assert port + name in attention.vcd.references_to_ids


def test_lanes_and_slots_need_more_depth(tmp_path, attention, record_program):
    """The default depth has no lane of the vector unit: far below 5 MB per 1000 cycles."""
    assert attention.path.stat().st_size < 2_000_000
    inside = re.compile(r"core\.vector\.unit_|handoff\.(score|probability)_|_data__\d|slot_\d+_")
    ours = re.compile(r"machine\.core\.(vector|handoff|store)\b")
    assert not [name for name in attention.vcd.signals
                if ours.match(name) and inside.search(name)]
    program = RandomAttention(2, 2, 2, resident=True).program(SMALL)
    for depth, rows in (("cells", False), ("memory", True)):
        recorded = record_program(tmp_path / f"{depth}.vcd", SMALL, program, depth=depth)
        assert not recorded.failed
        names = [name for name in recorded.vcd.signals
                 if name.startswith("machine.core.vector.unit_0.")]
        assert names and any(re.search(r"\.row_\d+", name) for name in names) == rows
        assert any("handoff.score_0." in name for name in recorded.vcd.signals)
        assert "machine.core.vector.handoff_data__0" in recorded.vcd.references_to_ids


def test_save_file(attention, control, tmp_path, record_program):
    names = check_names(attention)
    for name, label in (("vector_status_text", "vector"), ("array_group_text",
                                                           "job hand-off slot"),
                        ("core.handoff.i__payload__direction_text", "direction"),
                        ("core.vector.engine_0.current__op_text", "engine 0 op"),
                        ("core.vector.results", "slots with a result"),
                        ("core.counters.handoff_probabilities", "handoff_probabilities")):
        assert names[name] == label
    program = RandomAttention(2, 2, 2).program(PIPELINED)
    more = check_names(record_program(tmp_path / "two.vcd", PIPELINED, program))
    assert more["core.vector.engine_1.current__a_slot"] == "engine 1 slot a"
    assert more["core.handoff.second"] == "from exchange memory"
    for recorded, flags in ((attention, "800200"), (control, "c00200")):  # open, closed
        text = recorded.path.with_suffix(".gtkw").read_text()
        for title in ("Hand-off", "Vector unit"):
            assert re.search(rf"^@{flags}\n-{title}$", text, re.MULTILINE)
