"""Weight FIFO, counted in tiles."""

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .commands import beat_layout, weight_words
from .queue import Queue

__all__ = ["WeightFifo"]


class WeightFifo(wiring.Component):
    """Holds `weight_fifo_depth` tiles of rows x cols weights.

    A place is taken with `reserve`, at the start of its load, and freed with the tile's last row
    shifted out. A tile is offered (`whole`) when all of it has arrived. A weight-stationary
    array takes `rows` cycles for it whatever its real rows are: the missing ones are zero. An
    output-stationary one takes the real rows only.

    Latency from `shift` (or a later row's turn) to the row on `o`: `LATENCY`. Input never stalls.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(stream, always_ready)
        Load data, `buffer_port_rows` rows a beat; bits above a row's real bytes are zero.
    reserve : In(1)
        A load for this FIFO starts in this cycle. Only when `room`.
    room : Out(1)
        A place is free.
    whole : Out(1)
        The oldest tile is complete and not yet being shifted.
    shift : In(1)
        Start to shift the oldest tile; its row 0 is read in this cycle. Only when `whole` and not
        `shifting`.
    shifting : Out(1)
        Rows 1 and up of a tile are being read.
    ends : Out(1)
        The last row of a tile is read in this cycle.
    o : Out(ArrayLayout(weight, cols)), valid : Out(1)
        A weight row.
    """

    LATENCY = 1  # cycles from reading a row to the row on `o`
    ARRIVAL = 1  # cycles from a tile's last beat on `i` to `whole`
    collision_free = True  # no row is read that is written in that cycle

    def __init__(self, *, design):
        self._design = design
        self._pad = design.dataflow == "weight_stationary"
        self._row_bits = design.cols * design.weight_bits
        super().__init__({
            "i": In(stream.Signature(beat_layout(design, self._row_bits), always_ready=True)),
            "reserve": In(1),
            "room": Out(1),
            "whole": Out(1),
            "shift": In(1),
            "shifting": Out(1),
            "ends": Out(1),
            "o": Out(data.ArrayLayout(signed(design.weight_bits), design.cols)),
            "valid": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        design = self._design
        depth, words = design.weight_fifo_depth, weight_words(design)

        # Real rows of each complete tile; its level says how many tiles are whole.
        m.submodules.tiles = tiles = Queue(shape=range(design.rows + 1), depth=depth)
        m.submodules.storage = storage = memory.Memory(
            shape=data.ArrayLayout(self._row_bits, design.buffer_port_rows),
            depth=depth * words, init=[])

        taken = Signal(range(depth + 1))
        m.d.comb += self.room.eq(taken != depth)
        with m.If(self.reserve & ~self.ends):
            m.d.sync += taken.eq(taken + 1)
        with m.If(self.ends & ~self.reserve):
            m.d.sync += taken.eq(taken - 1)

        self._elaborate_fill(m, tiles, storage.write_port())
        self._elaborate_shift(m, tiles, storage.read_port())
        return m

    def _next_place(self, place):
        """The place after `place`; places are named by their first word and follow in a ring."""
        words = weight_words(self._design)
        return Mux(place == (self._design.weight_fifo_depth - 1) * words, 0, place + words)

    def _elaborate_fill(self, m, tiles, write):
        """A tile starts at its place's first word."""
        rows = self._design.rows
        place = Signal.like(write.addr, name="fill_place")
        word = Signal.like(write.addr, name="fill_word")
        filled = Signal(range(rows + 1))
        received = Signal(range(rows + 1))
        beat = self.i.payload
        m.d.comb += [
            write.addr.eq(word),
            write.data.eq(beat.rows),
            write.en.eq(self.i.valid),
            received.eq(filled + beat.count),
            tiles.i.valid.eq(self.i.valid & beat.last),
            tiles.i.payload.eq(received),
        ]
        with m.If(self.i.valid):
            m.d.sync += [word.eq(word + 1), filled.eq(received)]
            with m.If(beat.last):
                m.d.sync += [place.eq(self._next_place(place)), filled.eq(0),
                             word.eq(self._next_place(place))]

    def _elaborate_shift(self, m, tiles, read):
        """Row by row, `buffer_port_rows` rows to a word."""
        design, port = self._design, self._design.buffer_port_rows
        place = Signal.like(read.addr, name="place")
        row = Signal(range(design.rows))
        held_rows = Signal(range(design.rows + 1))
        real_rows = Signal(range(design.rows + 1))
        reading = Signal()
        last_row = design.rows - 1 if self._pad else real_rows - 1
        m.d.comb += [
            self.shifting.eq(row != 0),
            self.whole.eq(tiles.o.valid),
            reading.eq(self.shift | self.shifting),
            self.ends.eq(reading & (row == last_row)),
            tiles.o.ready.eq(self.shift),
            real_rows.eq(Mux(self.shift, tiles.o.payload, held_rows)),
        ]
        m.d.sync += held_rows.eq(real_rows)
        with m.If(self.ends):
            m.d.sync += [row.eq(0), place.eq(self._next_place(place))]
        with m.Elif(reading):
            m.d.sync += row.eq(row + 1)

        # Word and lane of the row.
        word = Signal(range(weight_words(design)))
        index = Signal(range(port))
        if port == 1:
            m.d.comb += word.eq(row)
        else:
            with m.If(self.ends):
                m.d.sync += [index.eq(0), word.eq(0)]
            with m.Elif(reading):
                m.d.sync += index.eq(Mux(index == port - 1, 0, index + 1))
                with m.If(index == port - 1):
                    m.d.sync += word.eq(word + 1)
        padding = Signal()
        lane = Signal(range(port))
        m.d.comb += [
            read.addr.eq(place + word),
            read.en.eq(reading),
            self.o.as_value().eq(Mux(padding, 0, read.data[lane])),
        ]
        m.d.sync += [self.valid.eq(reading), padding.eq(row >= real_rows), lane.eq(index)]
