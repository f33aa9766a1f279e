"""Whether every command of a program means something on a design, before it runs."""

from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np

from ..rtl import Design
from ..rtl.commands import ADDRESS_BITS, Destination, WindowRegister
from ..rtl.vector_commands import (
    IMMEDIATE_BITS,
    SHIFT_BITS,
    VALID_BITS,
    Direction,
    Operand,
    VectorOp,
    matrix_pieces,
    vector_element_bits,
    vector_slot_elements,
    vector_slots,
)
from .errors import WorkloadError
from .program import Program

__all__ = ["ProgramError", "check_program"]

Numbers = np.ndarray | int

ADDRESSES = (0, (1 << ADDRESS_BITS) - 1)
SHIFTS = (0, (1 << SHIFT_BITS) - 1)


class ProgramError(WorkloadError):
    """A command that no hardware of this design can execute as it is meant."""


def check_program(program: Program, design: Design) -> None:
    """Refuse a program with a command out of the design's ranges.

    Numbers of slots, banks and rows, what a command touches in its slot, bank or memory, and
    shapes that are kept from a load that was not there. Not whether the program ends: that shows
    when it runs. About 2 us for a command, half a millisecond at
    least.

    Raises
    ------
    ProgramError
        Names the queue, the command's number, the field and its range.
    """
    for names, check in ((("preload", "loads"), _check_loads), (("jobs",), _check_jobs),
                         (("vectors",), _check_vectors), (("handoffs",), _check_handoffs),
                         (("stores",), _check_stores)):
        if any(getattr(program, name) for name in names):
            check(_Fields(program, names), design)
    for kind, blocks in (("images", [(image.base, len(image.data)) for image in program.images]),
                         ("outputs", [(out.base, out.nbytes) for out in program.outputs])):
        for number, (base, nbytes) in enumerate(blocks):
            if base < 0 or base + nbytes > program.memory_bytes:
                raise ProgramError(f"{kind}[{number}]: {nbytes} bytes from address {base} are not "
                                   f"in the program's {program.memory_bytes} bytes of memory")


class _Fields:
    """The fields of all commands of some queues, one after the other, as arrays."""

    def __init__(self, program: Program, queues: Sequence[str]) -> None:
        self.memory_bytes = program.memory_bytes
        self._queues = [(name, len(getattr(program, name))) for name in queues]
        commands = [command for name in queues for command in getattr(program, name)]
        self.all = np.ones(len(commands), bool)
        fields = type(commands[0])._fields
        values = [tuple(each.value for each in column) if isinstance(column[0], Enum) else column
                  for column in zip(*commands)]
        self._table = np.array(values)
        if self._table.dtype.kind not in "biu":
            self._refuse_numbers(fields, values)
        self._rows = {field: row for row, field in enumerate(fields)}
        self._columns = dict(zip(fields, self._table, strict=True))

    def _label(self, number: int) -> str:
        """Queue and place of a command."""
        first = 0
        for name, length in self._queues:
            if number < first + length:
                return f"{name}[{number - first}]"
            first += length
        raise IndexError(number)

    def _refuse_numbers(self, fields: Sequence[str], values: Sequence[tuple]) -> None:
        """Refuse the first field with something else than integers of 64 bits."""
        for field, column in zip(fields, values, strict=True):
            for number, value in enumerate(column):
                if not isinstance(value, int | np.integer) or not -1 << 63 <= value < 1 << 63:
                    raise ProgramError(f"{self._label(number)}: {field} must be an integer of 64 "
                                       f"bits at most, not {value!r}")

    def __getattr__(self, field: str) -> np.ndarray:
        return self._columns[field]

    def __getitem__(self, field: str) -> np.ndarray:
        return self._columns[field]

    def replace(self, field: str, values: np.ndarray) -> None:
        self._columns[field] = values

    def refuse(self, wrong: np.ndarray, why: str | Callable[[int], str]) -> None:
        """Refuse the first command that is wrong, if any is."""
        if wrong.any():
            number = int(np.argmax(wrong))
            raise ProgramError(f"{self._label(number)}: "
                               f"{why if isinstance(why, str) else why(number)}")

    def need(self, field: str, low: Numbers, high: Numbers, where: np.ndarray | None = None
             ) -> None:
        """The field must be from `low` to `high`, each for all commands or one a command."""
        values = self[field]
        where = self.all if where is None else where
        self.refuse(where & ((values < low) | (values > high)), lambda number: (
            f"{field} must be an integer from {_at(low, number)} to {_at(high, number)}, "
            f"not {values[number]}"))

    def need_room(self, what: str, end: np.ndarray, room: Numbers,
                  where: np.ndarray | None = None, of: str = "") -> None:
        """What a command touches must end within `room`."""
        where = self.all if where is None else where
        self.refuse(where & (end > room), lambda number: (
            f"{what} end at {end[number]}, beyond {_at(room, number)}{of}"))

    def need_all(self, flags: str, **ranges: tuple[int, int]) -> None:
        """The same ranges for all commands; `flags` are fields that are 0 or 1."""
        ranges = {**dict.fromkeys(flags.split(), (0, 1)), **ranges}
        values = self._table[[self._rows[field] for field in ranges]]
        low, high = np.array(list(ranges.values()), np.int64).T[:, :, None]
        wrong = (values < low) | (values > high)
        if wrong.any():
            number = int(np.argmax(wrong.any(axis=0)))
            field = list(ranges)[int(np.argmax(wrong[:, number]))]
            self.need(field, *ranges[field])

    def descriptor(self, rows: Numbers, row_bytes: Numbers, where: np.ndarray) -> None:
        """Rows in memory, not more and not longer than there is room for."""
        self.need("rows", 1, rows, where)
        self.need("bytes_per_row", 1, row_bytes, where)
        self.need("row_stride", *ADDRESSES, where)

    def in_memory(self, where: np.ndarray) -> None:
        end = self.base + (self.rows - 1) * self.row_stride + self.bytes_per_row
        self.need_room("its bytes", end, self.memory_bytes, where, " (memory_bytes)")


def _numbers(kind: type[Enum]) -> tuple[int, int]:
    """The range of what stands for the members."""
    return 0, max(each.value for each in kind)


def _signed(bits: int) -> tuple[int, int]:
    return -1 << bits - 1, (1 << bits - 1) - 1


def _at(bound: Numbers, number: int) -> int:
    """The bound of a command."""
    return int(bound[number]) if isinstance(bound, np.ndarray) else bound


def _unit_rows(rows: np.ndarray, design: Design) -> np.ndarray:
    """Rows in the vector unit that has most of them."""
    return -(-rows // design.vector_units)


def _check_loads(load: _Fields, design: Design) -> None:
    load.need_all("keep_shape take last window", destination=_numbers(Destination),
                  configure=_numbers(WindowRegister), base=ADDRESSES)
    _keep_shapes(load)
    to_slot = load.destination == Destination.OPERAND.value
    to_vector = load.destination == Destination.VECTOR.value
    load.need("slot", 0, np.where(to_vector, vector_slots(design), design.input_slots) - 1,
              to_slot | to_vector)
    moves = load.configure == WindowRegister.NONE.value
    vector_rows = vector_slot_elements(design) * design.vector_units
    rows = np.where(to_vector, vector_rows, np.where(to_slot, design.slot_rows, design.rows))
    windows = load.window == 1
    row_bytes = np.where(to_vector, design.vector_row_bytes, np.where(
        to_slot, np.where(windows, design.window_row_bytes, design.activation_row_bytes),
        design.weight_row_bytes))
    load.descriptor(rows, row_bytes, moves)
    load.need_room("its rows in the slot", load.word * design.buffer_port_rows + load.rows,
                   design.slot_rows, moves & to_slot)
    into = moves & to_vector
    load.need("element_bytes", 1, 7, into)
    load.need("pitch", 0, vector_slot_elements(design), into)
    load.need_room(
        "its elements in the vector slot", load.word + (_unit_rows(load.rows, design) - 1)
        * load.pitch + load.bytes_per_row // np.maximum(load.element_bytes, 1),
        vector_slot_elements(design), moves & to_vector)
    load.in_memory(moves & ~windows)
    load.need("segments", 1, max(design.rows, design.cols), moves & windows)


def _keep_shapes(load: _Fields) -> None:
    """Put in the shapes that are kept from the load before to the same destination."""
    kept = load.keep_shape == 1
    if not kept.any():
        return
    places = np.arange(kept.size)
    source = places.copy()   # the load whose shape it is
    for destination in np.unique(load.destination[kept]):
        mine = load.destination == destination
        source = np.where(mine, np.maximum.accumulate(np.where(mine & ~kept, places, -1)), source)
    load.refuse(source < 0, "keep_shape needs a load to the same destination before it")
    for field in ("rows", "bytes_per_row", "row_stride"):
        load.replace(field, load[field][source])


def _check_jobs(job: _Fields, design: Design) -> None:
    job.need_all(
        "new_weights last_use free_slot unsigned accumulate take_bank finish_bank take_group "
        "free_group", store=(0, 2), slot=(0, design.input_slots - 1),
        bank=(0, design.accumulator_banks - 1), group=(0, design.handoff_slots - 1),
        inner=(0, design.rows), outer=(0, design.cols), row=(0, design.slot_rows - 1),
        acc_row=(0, design.accumulator_rows - 1))
    job.need("rows", 1, design.slot_rows - job.row)
    results = job.inner if design.dataflow == "output_stationary" else job.rows
    job.need_room("its rows in the bank", job.acc_row + results, design.accumulator_rows)


def _check_vectors(vector: _Fields, design: Design) -> None:
    elements, slots = vector_slot_elements(design), vector_slots(design)
    count = (1, elements * design.vector_units)
    places = {f"{side}_{name}": range_ for side in "abd" for name, range_ in (
        ("slot", (0, slots - 1)), ("address", (0, elements - 1)), ("pitch", (0, elements)))}
    vector.need_all(
        "flat wait_a wait_b free_a free_b done last", op=_numbers(VectorOp), b=_numbers(Operand),
        **places, rows=count, length=count, shift=SHIFTS, bits=(0, vector_element_bits(design)),
        chain=(0, 2), immediate=_signed(IMMEDIATE_BITS), valid=_signed(VALID_BITS))
    by_row = vector.b == Operand.ROW.value
    by_element = vector.b == Operand.VECTOR.value
    flat = vector.flat == 1
    vector.need("rows", 1, 1, flat)
    rows = _unit_rows(vector.rows, design)
    length = np.where(flat, _unit_rows(vector.length, design), vector.length)
    reduces = np.isin(vector.op, [op.value for op in VectorOp if op.reduces])
    a, b, d = (vector[f"{side}_address"] + (rows - 1) * vector[f"{side}_pitch"] + length
               for side in "abd")
    vector.need_room("its elements of a", a, elements)
    vector.need_room("its elements of b", b, elements, by_element)
    vector.need_room("its elements of b", vector.b_address + rows, elements, by_row)
    vector.need_room("its elements of d", np.where(reduces, vector.d_address + rows, d), elements)


def _check_handoffs(move: _Fields, design: Design) -> None:
    elements = vector_slot_elements(design)
    count, place = (1, elements * design.vector_units), (0, elements)
    move.need_all("narrow take last", direction=_numbers(Direction),
                  slot=(0, vector_slots(design) - 1), rows=count, length=count,
                  element_bytes=(1, 7), shift=SHIFTS, row=place, piece_pitch=place,
                  address=place, pitch=place)
    to_matrix = move.direction == Direction.TO_MATRIX.value
    move.need("buffer", 0, np.where(to_matrix, design.input_slots, design.accumulator_banks) - 1)
    pieces = -(-move.length // np.where(to_matrix, design.rows, design.cols))
    move.need_room("its rows on the matrix side", move.row + (pieces - 1) * move.piece_pitch
                   + move.rows, np.where(to_matrix, design.slot_rows, design.accumulator_rows))
    move.need_room("its elements in the vector slot", move.address
                   + (_unit_rows(move.rows, design) - 1) * move.pitch + move.length, elements)
    if matrix_pieces(design) > 1:
        port = design.buffer_port_rows
        move.replace("piece_pitch % buffer_port_rows", move.piece_pitch % port)
        move.need("piece_pitch % buffer_port_rows", 1, 1, to_matrix & (pieces > 1))


def _check_stores(store: _Fields, design: Design) -> None:
    elements = vector_slot_elements(design)
    store.need_all("vector wait keep", base=ADDRESSES, pitch=(0, elements))
    vector = store.vector == 1
    store.need("bank", 0, np.where(vector, vector_slots(design), design.accumulator_banks) - 1)
    store.descriptor(design.accumulator_rows, design.vector_row_bytes, store.all)
    store.need("acc_row", 0, np.where(vector, elements, design.accumulator_rows) - 1)
    store.need_room("its rows of the bank", store.acc_row + store.rows, design.accumulator_rows,
                    ~vector)
    store.need("element_bytes", 1, 7, vector)
    read = -(-store.bytes_per_row // np.maximum(store.element_bytes, 1))
    store.need_room("its elements of the vector slot", store.acc_row
                    + (_unit_rows(store.rows, design) - 1) * store.pitch + read, elements, vector)
    store.in_memory(store.all)
