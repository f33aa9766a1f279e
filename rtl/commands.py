"""Commands of the units and the layouts of what passes between them.

A program is three lists of these commands, one for each in-order queue. `rtl`, the cycle model
and the program builders share the field names.
"""

from typing import NamedTuple

from amaranth import signed
from amaranth.lib import data, enum

from .checks import ceil_div
from .vector_commands import vector_slot_elements, vector_slots

__all__ = ["ADDRESS_BITS", "COORDINATE_BITS", "COUNT_BITS", "Destination", "Load", "ArrayJob",
           "Store", "WINDOW_FIELDS", "WindowRegister", "load_layout", "array_layout",
           "store_layout", "request_layout", "beat_layout", "row_layout", "operand_tag",
           "slot_words", "weight_words"]

ADDRESS_BITS = 40  # byte addresses in memory
COORDINATE_BITS = 18  # of a pixel, signed: an image and its padding are up to 65535 on a side
COUNT_BITS = 16  # columns, taps and channels
ELEMENT_BYTES = range(8)


class Destination(enum.Enum, shape=2):
    """Where a load goes."""
    WEIGHT = 0   # weight FIFO
    OPERAND = 1  # operand slots
    VECTOR = 2   # vector slots


class WindowRegister(enum.Enum, shape=5):
    """What a configuring load sets: the geometry of the windows that later loads read.

    "Address" is a step in bytes, modulo 2**ADDRESS_BITS; a step back is negative. The output is
    read in rows of columns, a window in rows of taps (pixels), a tap in runs of adjoining bytes:
    one run if the channels of a pixel adjoin, otherwise one for each channel.
    """
    NONE = 0    # not a configuring load
    WAIT = 1    # sets nothing; with `take` the load waits until its slot is free, but leaves it so
    HEIGHT = 2  # of the image, in pixels
    WIDTH = 3
    PADDING = 4             # the element that a pixel outside the image reads as
    COLUMNS = 5             # of the output, less one
    COLUMN_X = 6            # pixels from an output column to the next
    COLUMN_ADDRESS = 7
    ROW_Y = 8               # pixels down from an output row to the next
    ROW_X = 9               # pixels back from its last column to its first
    ROW_ADDRESS = 10        # from the last column to the first one of the next row
    TAPS = 11               # of a window's row, less one
    TAP_X = 12              # pixels from a tap to the next
    TAP_ADDRESS = 13        # from the last run of a tap to the first one of the next
    KERNEL_ROW_Y = 14       # pixels down from a row of taps to the next
    KERNEL_ROW_X = 15       # pixels back from its last tap to its first
    KERNEL_ROW_ADDRESS = 16  # from the last run of a row of taps to the first one of the next row
    RUNS = 17               # of a tap, less one
    RUN_ADDRESS = 18        # from a run to the next
    RUN_BYTES = 19          # bytes of a run


class Load(NamedTuple):
    """One strided descriptor for the loader.

    `base` + i * `row_stride` is the address of row i, `bytes_per_row` its real bytes. With
    `keep_shape` rows, bytes and stride are those of the last load to the same destination and
    only the base is new, as for the weights of another expert.

    `slot`, `word`, `take` and `last` are for operand loads: the place in the slot in words of
    `buffer_port_rows` rows; whether this is the slot's first load, which takes it; whether it is
    the last, which makes it ready.

    Into a vector slot the rows are of `element_bytes` bytes, signed, an element, at most `cols`
    elements; row r goes to element `word` + r * `pitch`, dealt out to the vector units as
    `vector_commands.py` says. Then the slot, for the vector unit, is filled.

    With `window` the rows are those of an im2col matrix, formed on the way: row r is the window
    of the r-th output pixel from `column` of an output row on, `bytes_per_row` bytes of it from
    one of its taps on: the `tap`-th of its row, `run`, byte `skip` of the run. For the first row
    that tap is pixel (`y`, `x`) of the image, and the run begins at `base`. It consists of
    `segments` runs (the first and the last may be partial), each of which takes a beat of its
    own; pixels outside the image read as padding and are not read from memory. An element is of
    whole bytes, ceil(activation_bits / 8), also where activations are of other widths. In an
    output-stationary design the matrix is transposed: a row is an element of the windows (a run,
    RUN_BYTES long), its segments are those of output pixels. The load counts, and occupies the
    channel for, `bytes` bytes: a line buffer may hold some already. Its `row_stride` is not used.

    With `configure` the load only sets a register of the windows of its destination to `base`.
    It moves nothing, and takes its turn as other loads do.
    """
    destination: Destination
    base: int
    rows: int
    bytes_per_row: int
    row_stride: int
    keep_shape: int = 0
    slot: int = 0
    word: int = 0
    take: int = 0
    last: int = 0
    pitch: int = 0
    element_bytes: int = 0
    window: int = 0
    configure: WindowRegister = WindowRegister.NONE
    bytes: int = 0
    segments: int = 1
    y: int = 0
    x: int = 0
    column: int = 0
    tap: int = 0
    run: int = 0
    skip: int = 0

    @property
    def nbytes(self):
        """Bytes that the load counts."""
        if self.window:
            return self.bytes
        return 0 if self.configure is not WindowRegister.NONE else self.rows * self.bytes_per_row


#: The fields of a load that are about windows, which its request has too.
WINDOW_FIELDS = ("window", "configure", "bytes", "segments", "y", "x", "column", "tap", "run",
                 "skip")


class ArrayJob(NamedTuple):
    """Stream `rows` activation rows of a slot through the array.

    `row` is the first row within the slot. `new_weights`: the job starts with the next tile of
    the weight FIFO; otherwise it goes on with the tile in the array. `last_use`: no later job
    uses this tile. `free_slot`: the slot is free after the job.

    Results go to `bank`, rows `acc_row` and up, overwriting or (with `accumulate`) adding.
    `take_bank`: first job of the bank, which must be free. `finish_bank`: last one; the bank then
    is full and waits for the store (`store` 1) or the hand-off (2), or is free (0).

    `unsigned`: activations are unsigned. `inner` and `outer` are the real rows and columns of the
    weight tile; only counters use them.

    `take_group`: the job takes hand-off slot `group`, which must be free. `free_group`: that slot
    is free after the job.
    """
    rows: int
    slot: int
    row: int
    bank: int
    acc_row: int
    inner: int
    outer: int
    new_weights: int = 1
    last_use: int = 1
    free_slot: int = 0
    unsigned: int = 0
    accumulate: int = 0
    take_bank: int = 0
    finish_bank: int = 0
    store: int = 1
    group: int = 0
    take_group: int = 0
    free_group: int = 0


class Store(NamedTuple):
    """Write `rows` accumulator rows to memory, `bytes_per_row` bytes of each.

    Afterwards the bank is free, unless the store is to `keep` it full for the next one.

    With `vector` the rows, of up to `cols` elements, come from vector slot `bank`: row r lies at
    element `acc_row` + r * `pitch`, dealt out to the vector units as `vector_commands.py` says,
    and the low `element_bytes` bytes of each element are written. With `wait` the slot must hold
    a result, which is used up; the slot is free after the store, unless it is to `keep` it.
    """
    bank: int
    acc_row: int
    rows: int
    base: int
    bytes_per_row: int
    row_stride: int
    vector: int = 0
    pitch: int = 0
    element_bytes: int = 0
    wait: int = 0
    keep: int = 0


def slot_words(design):
    """Words of `buffer_port_rows` rows in one operand slot."""
    return design.slot_rows // design.buffer_port_rows


def weight_words(design):
    """Words of `buffer_port_rows` rows in one place of the weight FIFO."""
    return ceil_div(design.rows, design.buffer_port_rows)


def _descriptor_fields(rows, row_bytes):
    return {"base": ADDRESS_BITS, "rows": range(rows + 1), "bytes_per_row": range(row_bytes + 1),
            "row_stride": ADDRESS_BITS}


def _load_limits(design):
    vector_rows = vector_slot_elements(design) * design.vector_units
    return (max(design.slot_rows, design.rows, vector_rows),
            max(design.activation_row_bytes, design.window_row_bytes, design.weight_row_bytes,
                design.vector_row_bytes))


def _load_slot(design):
    return range(max(design.input_slots, vector_slots(design)))


def _load_word(design):
    return range(max(slot_words(design), vector_slot_elements(design)))


def _pitch(design):
    return range(vector_slot_elements(design) + 1)


def _window_fields(design):
    rows, row_bytes = _load_limits(design)
    return {
        "window": 1, "configure": WindowRegister,
        "bytes": rows.bit_length() + row_bytes.bit_length(),
        "segments": range(max(design.rows, design.cols) + 1), "y": signed(COORDINATE_BITS),
        "x": signed(COORDINATE_BITS), "column": COUNT_BITS, "tap": COUNT_BITS,
        "run": COUNT_BITS, "skip": COUNT_BITS + 1}


def load_layout(design):
    """Layout of :class:`Load`, fields in its order."""
    return data.StructLayout({
        "destination": Destination, **_descriptor_fields(*_load_limits(design)),
        "keep_shape": 1, "slot": _load_slot(design), "word": _load_word(design),
        "take": 1, "last": 1, "pitch": _pitch(design), "element_bytes": ELEMENT_BYTES,
        **_window_fields(design)})


def array_layout(design):
    """Layout of :class:`ArrayJob`, fields in its order."""
    return data.StructLayout({
        "rows": range(design.slot_rows + 1), "slot": range(design.input_slots),
        "row": range(design.slot_rows), "bank": range(design.accumulator_banks),
        "acc_row": range(design.accumulator_rows), "inner": range(design.rows + 1),
        "outer": range(design.cols + 1), "new_weights": 1, "last_use": 1, "free_slot": 1,
        "unsigned": 1, "accumulate": 1, "take_bank": 1, "finish_bank": 1, "store": 2,
        "group": range(design.handoff_slots), "take_group": 1, "free_group": 1})


def store_layout(design):
    """Layout of :class:`Store`, fields in its order."""
    fields = _descriptor_fields(design.accumulator_rows, design.vector_row_bytes)
    return data.StructLayout({
        "bank": range(max(design.accumulator_banks, vector_slots(design))),
        "acc_row": range(vector_slot_elements(design)),
        "rows": fields["rows"], "base": fields["base"],
        "bytes_per_row": fields["bytes_per_row"], "row_stride": fields["row_stride"],
        "vector": 1, "pitch": _pitch(design), "element_bytes": ELEMENT_BYTES, "wait": 1,
        "keep": 1})


def operand_tag(design):
    """Where in the slots a load goes; travels with its request and comes back with the data."""
    return data.StructLayout({
        "slot": _load_slot(design), "word": _load_word(design), "last": 1,
        "pitch": _pitch(design), "element_bytes": ELEMENT_BYTES})


def request_layout(design, kind):
    """A descriptor on its way to the memory channel: kind "load" or "store"."""
    if kind == "load":
        return data.StructLayout({"destination": Destination,
                                  **_descriptor_fields(*_load_limits(design)),
                                  "tag": operand_tag(design), **_window_fields(design)})
    return data.StructLayout(
        _descriptor_fields(design.accumulator_rows, design.vector_row_bytes))


def beat_layout(design, row_bits):
    """`buffer_port_rows` rows of load data, the first in the low bits.

    `count` rows are real. `first` and `last` mark the ends of a descriptor, `tag` is the one of
    its request.
    """
    return data.StructLayout({
        "rows": data.ArrayLayout(row_bits, design.buffer_port_rows),
        "count": range(design.buffer_port_rows + 1), "first": 1, "last": 1,
        "tag": operand_tag(design)})


def row_layout(design):
    """A result row on its way to memory: its address, its real bytes, and the data."""
    return data.StructLayout({
        "address": ADDRESS_BITS, "bytes": range(design.vector_row_bytes + 1),
        "data": 8 * design.vector_row_bytes})
