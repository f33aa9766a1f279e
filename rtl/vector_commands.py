"""Commands of the vector unit and of the hand-off, and the layouts of what passes between them.

A vector slot is a buffer of elements, addressed by element. Slots 0 to `handoff_slots` - 1 are the
hand-off slots, through which row groups pass; as many *output* slots and as many *operand* slots
follow (:func:`output_slot`, :func:`operand_slot`), and two *scratch* slots for values of rows.

Rows are dealt out to the vector units in turn: row r belongs to unit r % `vector_units`, which
keeps it at address + r // `vector_units` * pitch of its own copy of the slot.
"""

from typing import NamedTuple

from amaranth import signed
from amaranth.lib import data, enum

from .checks import ceil_div

__all__ = ["Direction", "Handoff", "Operand", "VectorCommand", "VectorOp", "handoff_layout",
           "matrix_pieces", "operand_slot", "output_slot", "scratch_slot", "vector_element_bits",
           "vector_layout", "vector_slot_elements", "vector_slots"]

SHIFT_BITS = 6
IMMEDIATE_BITS = 32  # signed
VALID_BITS = 32      # signed


class VectorOp(enum.Enum, shape=4):
    """What a vector command does with each element x of a, and y of b."""
    ADD = 0        # x + y
    SUBTRACT = 1   # x - y
    MULTIPLY = 2   # x * y / 2**shift
    MAXIMUM = 3    # the greater of x and y
    MASK = 4       # x where y is not 0, else masked
    ROW_MAXIMUM = 5  # the greatest x of a row
    ROW_SUM = 6    # the sum of x over a row / 2**shift
    EXPONENTIAL = 7  # 2**(x / 2**16) in units of 2**-30, for x <= 0
    DIVIDE = 8     # x * immediate / (y * 2**shift), y the value of the row
    GELU = 9       # x * normal distribution(x), x in units of 2**-12

    @property
    def special(self):
        """Executed `sfu_lanes`, not `lanes`, elements per cycle."""
        return self in (VectorOp.EXPONENTIAL, VectorOp.DIVIDE, VectorOp.GELU)

    @property
    def reduces(self):
        """Leaves one element of each row."""
        return self in (VectorOp.ROW_MAXIMUM, VectorOp.ROW_SUM)


class Operand(enum.Enum, shape=2):
    """What a vector command's y is."""
    IMMEDIATE = 0  # the number in the command
    ROW = 1        # one element for each row: b_address + row
    VECTOR = 2     # one for each element: b_address + row * b_pitch + place in the row


class VectorCommand(NamedTuple):
    """`rows` rows of `length` elements of slot a (and b), into slot d.

    Address and pitch (from row to row) are in elements. d may be a; b must be another slot. A
    reduction writes one element per row, at `d_address` + row. With `flat` the command is about
    one vector of `length` elements that is dealt out to the units as the values of rows are
    (`rows` is 1).

    `valid` + row * `valid_step` elements of a row, not below 0, are real; those beyond are read
    as masked (only for ROW_MAXIMUM, SUBTRACT, MASK).

    `shift`, `bits`: see :class:`VectorOp`; a product is rounded half up and saturated to `bits`
    bits, 0 meaning all of an element's. Of y, a product takes the low 32 bits, signed.

    Hand-shakes: `wait_a`, `wait_b`: the slot must be filled; that is used up. `free_a`, `free_b`:
    the slot is free when the command is complete. `done`: slot a then holds a result for
    the hand-off or the store. `chain`, of a pipelined unit: 0 begin when all commands before are
    complete, 1 each row when the command before has completed it, 2 at once. `last`: the last
    command of a job.
    """
    op: VectorOp
    a_slot: int
    d_slot: int
    rows: int
    length: int
    a_address: int = 0
    a_pitch: int = 0
    b: Operand = Operand.IMMEDIATE
    b_slot: int = 0
    b_address: int = 0
    b_pitch: int = 0
    d_address: int = 0
    d_pitch: int = 0
    immediate: int = 0
    shift: int = 0
    bits: int = 0
    flat: int = 0
    valid: int = 0
    valid_step: int = 0
    wait_a: int = 0
    wait_b: int = 0
    free_a: int = 0
    free_b: int = 0
    done: int = 0
    chain: int = 0
    last: int = 0


class Direction(enum.Enum, shape=1):
    """Which way a transfer of the hand-off goes."""
    TO_VECTOR = 0  # accumulator bank -> vector slot
    TO_MATRIX = 1  # vector slot -> operand slot


class Handoff(NamedTuple):
    """Move `rows` rows of `length` elements between a bank or operand slot and a vector slot.

    The matrix side holds the row in pieces of `cols` (bank) or `rows` (operand slot) elements:
    piece p of row r lies at accumulator or slot row `row` + p * `piece_pitch` + r. The vector
    side holds row r at `address` + r * `pitch`, see the top of this file. An element counts
    `element_bytes` on the interface. To the matrix unit :func:`matrix_pieces` pieces of a row go
    at a time; if that is more than one, each goes to another row modulo `buffer_port_rows`:
    `piece_pitch` % `buffer_port_rows` must be 1.

    To the vector unit: the accumulator is divided by 2**`shift`, rounded half up, and with
    `narrow` saturated to `score_bits`, the least number left out. The bank must be full and is
    free afterwards; with `take` the vector slot must be free and is taken. With `last` the slot
    is filled afterwards.

    To the matrix unit: with `narrow` an unsigned code of `probability_bits`, all ones being 1,
    is rounded half up to one of `activation_bits`; otherwise its low bits are taken. The vector
    slot must hold a result, which is used up. With `take` the operand slot must be free and is
    taken. With `last` the operand slot is ready afterwards.
    """
    direction: Direction
    slot: int             # vector slot
    buffer: int           # bank or operand slot
    rows: int
    length: int
    row: int = 0
    piece_pitch: int = 0
    address: int = 0
    pitch: int = 0
    element_bytes: int = 1
    shift: int = 0
    narrow: int = 0
    take: int = 0
    last: int = 1


def matrix_pieces(design):
    """Pieces of `rows` elements that go to the operand slots in one beat.

    As many as the interface takes in a cycle, rounded up, at most `buffer_port_rows`.
    """
    piece_bytes = design.rows * ceil_div(design.probability_bits, 8)
    return min(design.buffer_port_rows, ceil_div(design.handoff_bytes_per_cycle, piece_bytes))


def vector_slots(design):
    """Number of vector slots."""
    return 3 * design.handoff_slots + 2


def output_slot(design, number):
    """The output slot that belongs to hand-off slot `number`."""
    return design.handoff_slots + number


def operand_slot(design, number):
    """The operand slot that belongs to hand-off slot `number`."""
    return 2 * design.handoff_slots + number


def scratch_slot(design, number):
    """Scratch slot 0 or 1; two, for a command's a and b are different slots."""
    return 3 * design.handoff_slots + number


def vector_element_bits(design):
    """Bits of a vector element, signed: an accumulator, and the difference of any two scores.

    The least number means *masked*.
    """
    return max(34, design.accumulator_bits + 1)


def vector_slot_elements(design):
    """Elements of a vector slot, in each unit: those of a bank, and at least 16 a hand-off slot."""
    return max(design.accumulator_rows * design.cols, 16 * design.handoff_slots)


def vector_layout(design):
    """Layout of :class:`VectorCommand`, fields in its order."""
    elements = vector_slot_elements(design)
    slot, address, pitch = range(vector_slots(design)), range(elements), range(elements + 1)
    count = range(elements * design.vector_units + 1)
    shapes = {
        "op": VectorOp, "rows": count, "length": count, "b": Operand,
        "immediate": signed(IMMEDIATE_BITS), "shift": SHIFT_BITS,
        "bits": range(vector_element_bits(design) + 1),
        "valid": signed(VALID_BITS), "chain": range(3),
        **{f"{side}_{name}": shape for side in "abd"
           for name, shape in (("slot", slot), ("address", address), ("pitch", pitch))}}
    return data.StructLayout({name: shapes.get(name, 1) for name in VectorCommand._fields})


def handoff_layout(design):
    """Layout of :class:`Handoff`, fields in its order."""
    elements = vector_slot_elements(design)
    count = range(elements * design.vector_units + 1)
    rows = max(design.accumulator_rows, design.slot_rows)
    shapes = {
        "direction": Direction, "slot": range(vector_slots(design)),
        "buffer": range(max(design.accumulator_banks, design.input_slots)),
        "rows": count, "length": count, "row": range(rows), "piece_pitch": range(rows + 1),
        "address": range(elements), "pitch": range(elements + 1), "element_bytes": range(8),
        "shift": SHIFT_BITS}
    return data.StructLayout({name: shapes.get(name, 1) for name in Handoff._fields})
