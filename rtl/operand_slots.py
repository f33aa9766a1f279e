"""Local buffer of operand slots."""

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .commands import beat_layout, slot_words
from .vector_commands import matrix_pieces

__all__ = ["OperandSlots"]


class OperandSlots(wiring.Component):
    """`input_slots` slots of activation rows, which units hand over by their ids.

    A slot is taken when its first load or hand-off starts, ready when its last one's data is
    complete and free again after its last use. Each slot is a memory of its own for each row of
    a word, so loads, the hand-off and the array may have one each at a time.

    Latency from `read` to the row on `o`: `LATENCY`. Never stalls; who fills asks `taken` first.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(stream, always_ready)
        Load data, `buffer_port_rows` rows a beat; its tag says where it goes.
    take, take_slot : In
        A load takes this slot in this cycle. Only when it is not `taken`.
    handoff_write : In(matrix_pieces), handoff_slot, handoff_row, handoff_data : In
        For each bit of `handoff_write` the hand-off writes a row, of the same place in the arrays
        `handoff_row` and `handoff_data`; to another slot than a beat that comes in this cycle.
        These rows differ modulo `buffer_port_rows`.
    handoff_take, handoff_take_slot, handoff_ready, handoff_ready_slot : In
        The hand-off takes this slot; this slot is ready after this cycle.
    taken, ready : Out(input_slots)
        One bit a slot.
    read, read_slot, read_row : In
        Read a row.
    release, release_slot : In
        Free a slot.
    o : Out(rows * activation_bits)
        The row read, activations as they are in memory.
    """

    LATENCY = 1  # cycles from `read` to the row on `o`
    ARRIVAL = 1  # cycles from a slot's last beat on `i` to its `ready` bit
    collision_free = True  # no row is read that is written in that cycle

    def __init__(self, *, design):
        self._design = design
        self._row_bits = design.rows * design.activation_bits
        slots, port = design.input_slots, matrix_pieces(design)
        super().__init__({
            "i": In(stream.Signature(beat_layout(design, self._row_bits), always_ready=True)),
            "take": In(1),
            "take_slot": In(range(slots)),
            "taken": Out(slots),
            "ready": Out(slots),
            "handoff_write": In(port),
            "handoff_slot": In(range(slots)),
            "handoff_row": In(data.ArrayLayout(range(design.slot_rows), port)),
            "handoff_data": In(data.ArrayLayout(self._row_bits, port)),
            "handoff_take": In(1),
            "handoff_take_slot": In(range(slots)),
            "handoff_ready": In(1),
            "handoff_ready_slot": In(range(slots)),
            "read": In(1),
            "read_slot": In(range(slots)),
            "read_row": In(range(design.slot_rows)),
            "release": In(1),
            "release_slot": In(range(slots)),
            "o": Out(self._row_bits),
        })

    def elaborate(self, platform):
        m = Module()
        beat = self.i.payload
        word = Signal(range(slot_words(self._design)))
        following = Signal.like(word)
        m.d.comb += word.eq(Mux(beat.first, beat.tag.word, following))
        with m.If(self.i.valid):
            m.d.sync += following.eq(word + 1)
        self._elaborate_storage(m, word)

        freed = Signal(self._design.input_slots)
        filled = Signal(self._design.input_slots)
        m.d.comb += [
            freed.eq(self.release << self.release_slot),
            filled.eq(((self.i.valid & beat.last & beat.tag.last) << beat.tag.slot)
                      | (self.handoff_ready << self.handoff_ready_slot)),
        ]
        m.d.sync += [
            self.taken.eq((self.taken & ~freed) | (self.take << self.take_slot)
                          | (self.handoff_take << self.handoff_take_slot)),
            self.ready.eq((self.ready & ~freed) | filled),
        ]
        return m

    def _elaborate_storage(self, m, word):
        """The memories; a beat goes to `word` of its slot."""
        design, beat = self._design, self.i.payload
        handed_off = [self._handed_off(m, lane) for lane in range(design.buffer_port_rows)]
        read_word, read_lane = self._split(self.read_row)
        rows = []
        for slot in range(design.input_slots):
            load = Signal(name=f"load_{slot}")
            hand_off = Signal(name=f"hand_off_{slot}")
            read = Signal(name=f"read_{slot}")
            m.d.comb += [
                load.eq(self.i.valid & (beat.tag.slot == slot)),
                hand_off.eq(self.handoff_slot == slot),
                read.eq(self.read & (self.read_slot == slot)),
            ]
            for lane, (enable, handoff_word, row) in enumerate(handed_off):
                storage = memory.Memory(shape=self._row_bits, depth=slot_words(design), init=[])
                m.submodules[f"slot_{slot}_{lane}"] = storage
                write_port = storage.write_port()
                read_port = storage.read_port()
                m.d.comb += [
                    write_port.addr.eq(Mux(load, word, handoff_word)),
                    write_port.data.eq(Mux(load, beat.rows[lane], row)),
                    write_port.en.eq(load | (hand_off & enable)),
                    read_port.addr.eq(read_word),
                    read_port.en.eq(read & (read_lane == lane)),
                ]
                rows.append(read_port.data)

        was_slot = Signal.like(self.read_slot)
        was_lane = Signal(range(design.buffer_port_rows))
        with m.If(self.read):
            m.d.sync += [was_slot.eq(self.read_slot), was_lane.eq(read_lane)]
        m.d.comb += self.o.eq(Array(rows)[was_slot * design.buffer_port_rows + was_lane])

    def _handed_off(self, m, lane):
        """Whether the hand-off writes to this lane, to which word, and what."""
        enable = Signal(name=f"hand_off_lane_{lane}")
        word = Signal(range(slot_words(self._design)), name=f"hand_off_word_{lane}")
        contents = Signal(self._row_bits, name=f"hand_off_row_{lane}")
        for write, row, value in zip(self.handoff_write, self.handoff_row, self.handoff_data):
            its_word, its_lane = self._split(row)
            with m.If(write & (its_lane == lane)):
                m.d.comb += [enable.eq(1), word.eq(its_word), contents.eq(value)]
        return enable, word, contents

    def _split(self, row):
        """The word of a row, and its place in the word."""
        port = self._design.buffer_port_rows
        if port & (port - 1) == 0:
            bits = port.bit_length() - 1
            return row[bits:], row[:bits]
        return row // port, row % port
