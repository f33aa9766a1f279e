"""Local buffer of operand slots."""

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .commands import beat_layout, slot_words

__all__ = ["OperandSlots"]


class OperandSlots(wiring.Component):
    """`input_slots` slots of activation rows, which loader and array hand over by their ids.

    A slot is taken when its first load starts, ready when its last load's data is complete and
    free again after its last use.

    Latency from `read` to the row on `o`: `LATENCY`. Never stalls; the loader asks `taken` first.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(stream, always_ready)
        Load data, `buffer_port_rows` rows a beat; its tag says where it goes.
    take, take_slot : In
        A load takes this slot in this cycle. Only when it is not `taken`.
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

    def __init__(self, *, design):
        self._design = design
        self._row_bits = design.rows * design.activation_bits
        slots = design.input_slots
        super().__init__({
            "i": In(stream.Signature(beat_layout(design, self._row_bits), always_ready=True)),
            "take": In(1),
            "take_slot": In(range(slots)),
            "taken": Out(slots),
            "ready": Out(slots),
            "read": In(1),
            "read_slot": In(range(slots)),
            "read_row": In(range(design.slot_rows)),
            "release": In(1),
            "release_slot": In(range(slots)),
            "o": Out(self._row_bits),
        })

    def elaborate(self, platform):
        m = Module()
        design, port = self._design, self._design.buffer_port_rows
        words = slot_words(design)
        m.submodules.storage = storage = memory.Memory(
            shape=data.ArrayLayout(self._row_bits, port), depth=design.input_slots * words,
            init=[])
        write = storage.write_port()
        read = storage.read_port()

        beat = self.i.payload
        address = Signal(range(design.input_slots * words))
        following = Signal.like(address)
        m.d.comb += [
            address.eq(Mux(beat.first, beat.tag.slot * words + beat.tag.word, following)),
            write.addr.eq(address),
            write.data.eq(beat.rows),
            write.en.eq(self.i.valid),
        ]
        with m.If(self.i.valid):
            m.d.sync += following.eq(address + 1)

        freed = Signal(design.input_slots)
        m.d.comb += freed.eq(self.release << self.release_slot)
        filled = Signal(design.input_slots)
        m.d.comb += filled.eq((self.i.valid & beat.last & beat.tag.last) << beat.tag.slot)
        m.d.sync += [
            self.taken.eq((self.taken & ~freed) | (self.take << self.take_slot)),
            self.ready.eq((self.ready & ~freed) | filled),
        ]

        lane = Signal(range(port))
        m.d.comb += read.en.eq(self.read)
        if port == 1:
            m.d.comb += read.addr.eq(self.read_slot * words + self.read_row)
        else:
            m.d.comb += read.addr.eq(self.read_slot * words + self.read_row // port)
            with m.If(self.read):
                m.d.sync += lane.eq(self.read_row % port)
        m.d.comb += self.o.eq(read.data[lane])
        return m
