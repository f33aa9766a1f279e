"""Layouts of commands and of what passes between units: order of fields, and widths that hold
the largest value of each."""

import pytest
from amaranth.hdl import Shape
from amaranth.lib import data

from cubewave.rtl import Design
from cubewave.rtl import commands as c
from cubewave.rtl.status import UNITS
from cubewave.rtl.vector_commands import (
    Direction,
    Handoff,
    Operand,
    VectorCommand,
    VectorOp,
    handoff_layout,
    vector_layout,
)

DESIGN = Design(rows=5, cols=8, activation_bits=4, weight_bits=7, accumulator_bits=20,
                input_slots=5, slot_bytes=31, accumulator_banks=3, accumulator_rows=9,
                buffer_port_rows=2, weight_fifo_depth=1)
SMALLEST = Design(rows=1, cols=1, input_slots=1, slot_bytes=1, accumulator_banks=1,
                  accumulator_rows=1, accumulator_bits=16)
ADDRESS = (1 << 40) - 1
# Of convolution windows. 7 + 6 bits hold the bytes of all rows; up to max(rows, cols) segments.
WINDOW = {"window": 1, "configure": 5, "bytes": 13, "segments": 4, "y": 18, "x": 18, "column": 16,
          "tap": 16, "run": 16, "skip": 17}
# Slot, word and pitch of the greater ones, the vector slots: 8 of 72 elements; bytes of an element.
TAG = 3 + 7 + 1 + 7 + 3


def widths(layout):
    return {name: Shape.cast(field.shape).width for name, field in layout}


def test_sizes_of_the_design():
    assert (DESIGN.slot_rows, DESIGN.activation_row_bytes, DESIGN.weight_row_bytes,
            DESIGN.result_row_bytes) == (10, 3, 7, 24)
    assert c.slot_words(DESIGN) == 5 and c.weight_words(DESIGN) == 3
    assert c.slot_words(SMALLEST) == c.weight_words(SMALLEST) == 1
    assert c.ADDRESS_BITS == 40


@pytest.mark.parametrize("layout,command,sizes", [
    (c.load_layout, c.Load, {
        "destination": 2, "base": 40, "rows": 7, "bytes_per_row": 6, "row_stride": 40,
        "keep_shape": 1, "slot": 3, "word": 7, "take": 1, "last": 1, "pitch": 7,
        "element_bytes": 3, **WINDOW}),
    (c.array_layout, c.ArrayJob, {
        "rows": 4, "slot": 3, "row": 4, "bank": 2, "acc_row": 4, "inner": 3, "outer": 4,
        **dict.fromkeys(("new_weights", "last_use", "free_slot", "unsigned", "accumulate",
                         "take_bank", "finish_bank"), 1),
        "store": 2, **dict.fromkeys(("group", "take_group", "free_group"), 1)}),
    (c.store_layout, c.Store, {
        "bank": 3, "acc_row": 7, "rows": 4, "base": 40, "bytes_per_row": 6, "row_stride": 40,
        "vector": 1, "pitch": 7, "element_bytes": 3, "wait": 1, "keep": 1}),
])
def test_command_layouts(layout, command, sizes):
    """Fields in the order of the tuple, each just wide enough for its largest value."""
    assert widths(layout(DESIGN)) == sizes
    assert tuple(sizes) == command._fields


@pytest.mark.parametrize("layout,command,sizes", [
    (vector_layout, VectorCommand, {
        "op": 4, "a_slot": 3, "d_slot": 3, "rows": 7, "length": 7, "a_address": 6, "a_pitch": 7,
        "b": 2, "b_slot": 3, "b_address": 6, "b_pitch": 7, "d_address": 6, "d_pitch": 7,
        "immediate": 32, "shift": 6, "bits": 6, "flat": 1, "valid": 32,
        **dict.fromkeys(("valid_step", "wait_a", "wait_b", "free_a", "free_b", "done"), 1),
        "chain": 2, "last": 1}),
    (handoff_layout, Handoff, {
        "direction": 1, "slot": 3, "buffer": 1, "rows": 7, "length": 7, "row": 4,
        "piece_pitch": 5, "address": 6, "pitch": 7, "element_bytes": 3, "shift": 6,
        "narrow": 1, "take": 1, "last": 1}),
])
def test_layouts_of_the_vector_unit(layout, command, sizes):
    """Powers of two, 64 elements in a slot and 16 rows in a bank, need a bit more to be said."""
    design = Design(rows=4, cols=4, accumulator_rows=16, slot_bytes=64, accumulator_banks=2,
                    input_slots=2, handoff_slots=2, vector_units=1)
    assert widths(layout(design)) == sizes
    assert tuple(sizes) == command._fields


@pytest.mark.parametrize("design,layout,command", [
    (DESIGN, c.load_layout, c.Load(c.Destination.OPERAND, ADDRESS, 10, 7, ADDRESS, 1, 4, 4, 1, 1)),
    (DESIGN, c.load_layout, c.Load(c.Destination.VECTOR, ADDRESS, 72, 56, ADDRESS, 1, 7, 71, 1, 1,
                                   72, 7)),
    (DESIGN, c.array_layout, c.ArrayJob(10, 4, 9, 2, 8, 5, 8, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1)),
    (DESIGN, c.store_layout, c.Store(2, 8, 9, ADDRESS, 24, ADDRESS)),
    (DESIGN, c.store_layout, c.Store(7, 71, 9, ADDRESS, 56, ADDRESS, 1, 72, 7, 1, 1)),
    (SMALLEST, c.load_layout, c.Load(c.Destination.WEIGHT, 7, 1, 1, 7)),
    (SMALLEST, c.array_layout, c.ArrayJob(1, 0, 0, 0, 0, 1, 1)),
    (SMALLEST, c.store_layout, c.Store(0, 0, 1, 7, 2, 7)),
])
def test_largest_values_survive(design, layout, command):
    const = layout(design).const(command._asdict())
    assert type(command)(**{name: const[name] for name in command._fields}) == command


def test_more_weight_rows_than_slot_rows():
    """A load holds a whole weight tile even where a slot has fewer rows."""
    design = Design(rows=9, cols=1, slot_bytes=9)
    assert design.slot_rows == 1
    load = c.Load(c.Destination.WEIGHT, 0, 9, 1, 1)
    assert c.load_layout(design).const(load._asdict()).rows == 9


@pytest.mark.parametrize("command,others", [
    (c.Load, {"segments"}), (c.Store, set()), (VectorCommand, set()),
    (Handoff, {"element_bytes", "last"}),
])
def test_what_a_command_does_not_say_is_0(command, others):
    assert {name for name, value in command._field_defaults.items()
            if getattr(value, "value", value) != 0} == others


@pytest.mark.parametrize("numbers", [c.Destination, c.WindowRegister, VectorOp, Operand, Direction])
def test_numbers_count_from_0(numbers):
    """In the order in which documentation and generated headers list them, none twice."""
    assert [each.value for each in numbers.__members__.values()] == list(range(len(numbers)))


def test_defaults_of_a_load():
    load = c.Load(c.Destination.WEIGHT, 0, 1, 1, 1)
    assert (load.keep_shape, load.slot, load.word, load.take, load.last) == (0, 0, 0, 0, 0)


def test_defaults_of_a_job():
    job = c.ArrayJob(rows=1, slot=0, row=0, bank=0, acc_row=0, inner=1, outer=1)
    assert job[7:] == (1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0)


def test_requests_beats_and_rows():
    assert widths(c.request_layout(DESIGN, "load")) == {
        "destination": 2, "base": 40, "rows": 7, "bytes_per_row": 6, "row_stride": 40,
        "tag": TAG, **WINDOW}
    assert widths(c.request_layout(DESIGN, "store")) == {
        "base": 40, "rows": 4, "bytes_per_row": 6, "row_stride": 40}
    assert c.operand_tag(DESIGN) == data.StructLayout(
        {"slot": range(8), "word": range(72), "last": 1, "pitch": range(73),
         "element_bytes": range(8)})
    assert widths(c.beat_layout(DESIGN, 20)) == {
        "rows": 40, "count": 2, "first": 1, "last": 1, "tag": TAG}
    assert widths(c.row_layout(DESIGN)) == {"address": 40, "bytes": 6, "data": 256}


def test_numbers_of_the_statuses():
    """Waveforms and their readers show the numbers."""
    assert {unit: {status.name: status.value for status in statuses}
            for unit, statuses in UNITS.items()} == {
        "memory": {"IDLE": 0, "BUSY": 1},
        "loader": {"IDLE": 0, "BUSY": 1, "DRAIN": 2, "SLOT": 3, "FIFO": 4, "STORE": 5, "PORT": 6},
        "array": {"IDLE": 0, "BUSY": 1, "DRAIN": 2, "FILL": 3, "ACCUMULATOR": 4, "OPERANDS": 5,
                  "WEIGHT_SHIFT": 6, "WEIGHTS": 7, "OUTPUT": 8},
        "vector": {"IDLE": 0, "BUSY": 1, "DRAIN": 2, "INPUT": 3, "PIPELINE": 4},
        "handoff": {"IDLE": 0, "BUSY": 1, "DRAIN": 2, "SCORES": 3, "SLOT": 4, "PROBABILITIES": 5,
                    "OPERANDS": 6},
        "store": {"IDLE": 0, "BUSY": 1, "DRAIN": 2, "RESULT": 3, "MEMORY": 4}}
