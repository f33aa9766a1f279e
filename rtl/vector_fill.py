"""Unpacks load data for the vector slots."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .memory_interface import vector_beat_layout
from .rounding import quotient
from .stand_in import left_out
from .vector_commands import vector_element_bits, vector_slot_elements, vector_slots

__all__ = ["VectorFill"]


class VectorFill(wiring.Component):
    """Makes elements of the rows of a load and says where they go.

    Row r of a load goes to unit r % `vector_units`, element `word` + r // `vector_units` *
    `pitch`; only whole elements of its real bytes are written. One row per cycle; never stalls.
    A row is written in the cycle after its beat.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(stream.Signature(vector_beat_layout), always_ready)
        Load data, one row a beat.
    load_write : Out(1), load_slot, load_unit, load_address, load_count, load_data : Out
        Write `load_count` elements of a vector slot.
    load_filled : Out(1), load_filled_slot : Out
        The slot is filled after this cycle.
    """

    ARRIVAL = 2  # cycles from a slot's last beat on `i` to its flag

    def __init__(self, *, design):
        self._design = design
        slot = range(vector_slots(design))
        super().__init__({
            "i": In(stream.Signature(vector_beat_layout(design), always_ready=True)),
            "load_write": Out(1),
            "load_slot": Out(slot),
            "load_unit": Out(range(design.vector_units)),
            "load_address": Out(range(vector_slot_elements(design))),
            "load_count": Out(range(design.cols + 1)),
            "load_data": Out(data.ArrayLayout(signed(vector_element_bits(design)), design.cols)),
            "load_filled": Out(1),
            "load_filled_slot": Out(slot),
        })

    def elaborate(self, platform):
        m = Module()
        if left_out(platform, self):
            return m
        beat = self.i.payload
        unit = Signal.like(self.load_unit, name="unit_now")
        address = Signal.like(self.load_address, name="address_now")
        next_unit = Signal.like(unit)
        next_address = Signal.like(address)
        m.d.comb += [
            unit.eq(Mux(beat.first, 0, next_unit)),
            address.eq(Mux(beat.first, beat.tag.word, next_address)),
            self.load_filled_slot.eq(self.load_slot),
        ]
        m.d.sync += [
            self.load_write.eq(self.i.valid),
            self.load_filled.eq(self.i.valid & beat.last & beat.tag.last),
        ]
        with m.If(self.i.valid):
            last_unit = unit == self._design.vector_units - 1
            m.d.sync += [
                next_unit.eq(Mux(last_unit, 0, unit + 1)),
                next_address.eq(address + Mux(last_unit, beat.tag.pitch, 0)),
                self.load_slot.eq(beat.tag.slot),
                self.load_unit.eq(unit),
                self.load_address.eq(address),
            ]
            with m.Switch(beat.tag.element_bytes):
                for size in range(1, 8):
                    with m.Case(size):
                        m.d.sync += self.load_count.eq(quotient(beat.bytes, size))
                        m.d.sync += self._unpack(beat.row, 8 * size)
        return m

    def _unpack(self, row, width):
        """The elements that a row can hold."""
        count = min(len(row) // width, self._design.cols)
        return [self.load_data[col].eq(row[width * col:width * (col + 1)].as_signed())
                for col in range(count)]
