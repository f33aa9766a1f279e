"""Weight FIFO: places, whole tiles, rows in order, none lost or doubled."""

import pytest
from amaranth import Array, Mux, Signal
from proofs.broken import assert_caught, broken
from proofs.prover import prove
from proofs.spec import Spec

from cubewave.rtl import Design
from cubewave.rtl.commands import weight_words
from cubewave.rtl.weight_fifo import WeightFifo

BITS = 4
PADDED, REAL = "weight_stationary", "output_stationary"


def design(depth, rows, port, dataflow):
    return Design(rows=rows, cols=1, weight_bits=BITS, weight_fifo_depth=depth,
                  buffer_port_rows=port, dataflow=dataflow)


class WeightFifoSpec(Spec):
    """The FIFO, while loads and array keep its rules, against one marked row.

    A row, any one of any tile, may be marked when its tile begins to arrive. It must come out as
    it went in (zero if its tile has fewer rows, where tiles are padded), in its turn.
    """

    def __init__(self, dut, design):
        super().__init__(dut)
        self._design = design

    def describe(self, m):
        dut, design = self.dut, self._design
        depth, rows = design.weight_fifo_depth, design.rows
        beat = dut.i.payload
        count = {name: Signal(range(depth + 2), name=name)
                 for name in ("coming", "complete")}  # reserved tiles: not whole; not shifted
        arrived = Signal()
        m.d.comb += arrived.eq(dut.i.valid & beat.last)
        m.d.sync += [count["coming"].eq(count["coming"] + dut.reserve - arrived),
                     count["complete"].eq(count["complete"] + arrived - dut.shift)]
        self.assume(m, "a load starts only if there is room", ~dut.reserve | dut.room)
        self.assume(m, "a beat belongs to a load that has started",
                    ~dut.i.valid | (count["coming"] != 0))
        self.assume(m, "a shift starts only if a tile is whole and none is being shifted",
                    ~dut.shift | (dut.whole & ~dut.shifting))
        filled, total = Signal(range(rows + 1)), Signal(range(rows + 20))
        m.d.comb += total.eq(filled + beat.count)
        self.assume(m, "a tile has 1 to `rows` rows", ~dut.i.valid | (
            (beat.count != 0) & (beat.count <= design.buffer_port_rows) & (total <= rows)))
        self.assume(m, "only a tile's last beat is not full", ~dut.i.valid | beat.last | (
            (beat.count == design.buffer_port_rows) & (total < rows)))
        with m.If(dut.i.valid):
            m.d.sync += filled.eq(Mux(beat.last, 0, total))

        self.claim(m, "there is room exactly if not all places are taken",
                   dut.room == (count["coming"] + count["complete"] + dut.shifting != depth))
        self.claim(m, "no more than `depth` places are taken",
                   count["coming"] + count["complete"] + dut.shifting <= depth)
        self.claim(m, "a tile is offered exactly if one is whole and not being shifted",
                   dut.whole == (count["complete"] != 0))
        row = self._describe_rows(m)
        marked = self._describe_mark(m, count["complete"], filled, row)
        self._describe_state(m, count, filled, marked, row)
        self.cover(m, "the last row of a tile is read while all places are taken",
                   dut.ends & ~dut.room)

    def _describe_rows(self, m):
        """How many rows a tile is shifted for; returns the row that is read, the tile's real
        rows and whether it is read."""
        dut, rows = self.dut, self._design.rows
        row, reading = Signal(range(rows)), Signal()
        real = self.probe("dut.real_rows", range(rows + 1))
        last = rows - 1 if self._design.dataflow == PADDED else real - 1
        m.d.comb += reading.eq(dut.shift | (row != 0))
        with m.If(reading):
            m.d.sync += row.eq(Mux(row == last, 0, row + 1))
        self.claim(m, "a tile's rows are read in consecutive cycles",
                   dut.shifting == (row != 0))
        self.claim(m, "its place is free after its last row",
                   dut.ends == (reading & (row == last)))
        self.claim(m, "a row read comes out one cycle later",
                   dut.valid == self.before(m, reading, "was_reading"))
        self.claim(m, "a tile that is shifted has a row left",
                   ~reading | ((real != 0) & (real <= rows) & (row <= last)))
        return row, real, reading

    def _describe_mark(self, m, complete, filled, row):
        """Follows a marked row."""
        dut, design, beat = self.dut, self._design, self.dut.i.payload
        row, real_rows, reading = row
        which = self.chosen(m, range(design.rows), "which")
        self.assume(m, "the marked row is one of a tile", which < design.rows)
        s = {name: Signal(shape, name=name) for name, shape in {
            "used": 1,                             # a row has been marked
            "arrives": 1, "waits": 1, "leaves": 1,  # where its tile is
            "value": BITS, "real": range(design.rows + 1),
            "ahead": range(design.weight_fifo_depth + 1)}.items()}
        begins = self.free(1, "mark") & dut.i.valid & (filled == 0) & ~s["used"]
        with m.If(begins):
            m.d.sync += [s["used"].eq(1), s["arrives"].eq(1), s["value"].eq(0)]
        with m.If(dut.i.valid & (begins | s["arrives"])):
            for lane in range(design.buffer_port_rows):
                with m.If((filled + lane == which) & (lane < beat.count)):
                    m.d.sync += s["value"].eq(beat.rows[lane])
            with m.If(beat.last):
                m.d.sync += [s["arrives"].eq(0), s["waits"].eq(1),
                             s["real"].eq(filled + beat.count),
                             s["ahead"].eq(complete - dut.shift)]
        with m.If(s["waits"] & dut.shift):
            m.d.sync += s["ahead"].eq(s["ahead"] - 1)
            with m.If(s["ahead"] == 0):
                m.d.sync += [s["waits"].eq(0), s["leaves"].eq(~dut.ends)]
        with m.If(s["leaves"] & dut.ends):
            m.d.sync += s["leaves"].eq(0)
        mine = Signal()   # the tile that is read is the marked row's
        m.d.comb += mine.eq(s["leaves"] | (s["waits"] & (s["ahead"] == 0) & dut.shift))
        read = self.before(m, mine & reading & (row == which), "read_marked")
        self.claim(m, "the marked row comes out as it went in, zero beyond the tile's rows",
                   ~read | (dut.o[0].as_unsigned() == s["value"]))
        self.claim(m, "the marked tile has the rows it came with",
                   ~(mine & reading) | (real_rows == s["real"]))
        self.cover(m, "a marked row that is not zero comes out", read & (s["value"] != 0))
        return {**s, "which": which}

    def _describe_state(self, m, count, filled, mark, row):
        """What the FIFO's registers hold: invariants, for the induction."""
        dut, design = self.dut, self._design
        depth, rows, port = design.weight_fifo_depth, design.rows, design.buffer_port_rows
        words = weight_words(design)
        ring = range(max(depth * words, 2))
        row, _real, _reading = row
        place = self.probe("dut.place", range(depth * words))
        fill_place = self.probe("dut.fill_place", range(depth * words))
        fill_word = self.probe("dut.fill_word", range(depth * words))
        taken = self.probe("dut.taken", range(depth + 1))
        level = self.probe("dut.tiles.level", range(depth + 1))

        def tile_place(first, number):
            """The place `number` tiles after the one at word `first`."""
            target = Signal(range(3 * ring.stop), name=f"place_{len(self.claims)}")
            m.d.comb += target.eq(first + number * words)
            return Mux(target >= depth * words, target - depth * words, target)

        self.claim(m, "places are where tiles begin", Mux(
            (place % words == 0) & (fill_place % words == 0), 1, 0)
            & (place < depth * words) & (fill_place < depth * words))
        self.claim(m, "tiles arrive behind those that are whole",
                   fill_place == tile_place(place, count["complete"] + dut.shifting))
        self.claim(m, "a beat goes behind those before it",
                   fill_word == (fill_place + filled // port)[:len(fill_word)])
        self.claim(m, "only whole beats come before others",
                   (filled % port == 0) & (filled < rows))
        self.claim(m, "a tile arrives only if it has a place", (filled == 0)
                   | (count["coming"] != 0))
        self.claim(m, "the FIFO counts the rows that have arrived",
                   self.probe("dut.filled", range(rows + 1)) == filled)
        self.claim(m, "the FIFO counts the taken places",
                   taken == count["coming"] + count["complete"] + dut.shifting)
        self.claim(m, "the FIFO counts the whole tiles", level == count["complete"])
        for number, real in enumerate(self._describe_queue(m, level)):
            self.claim(m, f"whole tile {number} has 1 to `rows` rows",
                       (number >= level) | ((real != 0) & (real <= rows)))
            self.claim(m, f"whole tile {number}, if marked, has its rows",
                       ~(mark["waits"] & (mark["ahead"] == number)) | (real == mark["real"]))
        states = Signal(2)
        m.d.comb += states.eq(mark["arrives"] + mark["waits"] + mark["leaves"])
        self.claim(m, "the marked tile is in one place", states <= mark["used"])
        self.claim(m, "a marked tile that waits is whole",
                   ~mark["waits"] | (mark["ahead"] < count["complete"]))
        self.claim(m, "a marked tile that leaves is shifted", ~mark["leaves"] | dut.shifting)
        self.claim(m, "a marked tile that arrives has begun", ~mark["arrives"] | (filled != 0))
        self._describe_storage(m, mark, filled, place, fill_place, tile_place)
        if port > 1:
            index, word = (self.probe(f"dut.{name}", shape) for name, shape in
                           (("index", range(port)), ("word", range(words))))
            self.claim(m, "word and lane are those of the row",
                       (word * port + index == row) & (index < port))

    def _describe_queue(self, m, level):
        """The real rows of the whole tiles, in the order in which they are shifted."""
        depth, bits = self._design.weight_fifo_depth, self._design.rows.bit_length()
        offered = self.probe("dut.tiles.o__payload", bits)
        if depth == 1:
            return [offered]
        head, tail = (self.probe(f"dut.tiles.{name}", range(depth)) for name in ("head", "tail"))
        entries = Array(self.probe(f"dut.tiles.storage[{place}]", bits)
                        for place in range(depth))

        def ring(value):
            return Mux(value >= depth, value - depth, value)
        self.claim(m, "head and tail are places of the queue", (head < depth) & (tail < depth))
        self.claim(m, "tail is `level` places behind head", tail == ring(head + level))
        return [offered, *(entries[ring(head + number)] for number in range(1, depth))]

    def _describe_storage(self, m, mark, filled, place, fill_place, tile_place):
        """Where the marked row is."""
        dut, design = self.dut, self._design
        depth, port = design.weight_fifo_depth, design.buffer_port_rows
        words = weight_words(design)
        first = Signal(range(depth * words + 1))
        which, value = mark["which"], mark["value"]
        held = self.probe("dut.held_rows", range(design.rows + 1))
        with m.If(mark["arrives"]):
            m.d.comb += first.eq(fill_place)
        with m.Elif(mark["leaves"]):
            m.d.comb += first.eq(place)
        with m.Else():
            m.d.comb += first.eq(tile_place(place, mark["ahead"] + dut.shifting))
        stored = Signal(BITS)
        for number in range(depth * words):
            cells = self.probe(f"dut.storage[{number}]", port * BITS)
            with m.If(number == first + which // port):
                m.d.comb += stored.eq(cells.word_select(which % port, BITS))
        is_real = Mux(mark["arrives"], which < filled, which < mark["real"])
        self.claim(m, "the marked row is in its place",
                   ~(mark["arrives"] | mark["waits"] | mark["leaves"])
                   | (value == Mux(is_real, stored, 0)))
        self.claim(m, "a marked tile that leaves has its rows",
                   ~mark["leaves"] | (held == mark["real"]))


def spec(depth, rows, port, dataflow, fifo=WeightFifo):
    made = design(depth, rows, port, dataflow)
    return WeightFifoSpec(fifo(design=made), made)


@pytest.mark.parametrize("depth, rows, port, dataflow", [
    (1, 2, 1, PADDED), (2, 3, 1, PADDED), (3, 2, 1, PADDED), (2, 3, 2, PADDED), (2, 2, 1, REAL),
    (2, 1, 1, PADDED),
])
def test_weight_fifo_for_all_time(depth, rows, port, dataflow):
    assert prove(lambda: spec(depth, rows, port, dataflow), depth=2,
                 cycles=(depth + 1) * (rows + 1) + 1) is None


@pytest.mark.parametrize("text, replacement, sentence", [
    ("m.If(self.reserve & ~self.ends)", "m.If(self.reserve)",
     "there is room exactly if not all places are taken"),
    ("taken != depth", "taken != depth + 1", "no more than `depth` places are taken"),
    ("self.i.valid & beat.last)", "self.i.valid)",
     "a tile is offered exactly if one is whole and not being shifted"),
    ("self._design.weight_fifo_depth - 1) * words, 0", "self._design.weight_fifo_depth) * words, 0",
     "the marked row comes out as it went in, zero beyond the tile's rows"),
    ("padding.eq(row >= real_rows)", "padding.eq(0)",
     "the marked row comes out as it went in, zero beyond the tile's rows"),
    ("[row.eq(0), place.eq", "[row.eq(1), place.eq",
     "a tile's rows are read in consecutive cycles"),
    ("held_rows.eq(real_rows)", "held_rows.eq(tiles.o.payload)",
     "the marked tile has the rows it came with"),
])
def test_planted_bugs(text, replacement, sentence):
    assert_caught(spec(2, 3, 1, PADDED, broken(WeightFifo, text, replacement)), 14, sentence)
