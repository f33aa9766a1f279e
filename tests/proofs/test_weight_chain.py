"""The weight chain: a column of cells gets the words of each tile in order, none lost."""

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from proofs.broken import assert_caught, broken
from proofs.prover import prove
from proofs.spec import Spec

from cubewave.rtl import Design
from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.mac import WeightStationaryCell

BITS = 4


class Column(wiring.Component):
    """Cells below each other; the turn reaches each a cycle after the one above it."""

    def __init__(self, *, rows, cell, double_buffer):
        design = Design(rows=rows, cols=1, activation_bits=4, weight_bits=BITS)
        self.double_buffer = double_buffer
        self.cells = [cell(format=IntegerFormat.of(design), double_buffer=double_buffer)
                      for _ in range(rows)]
        super().__init__({"word": In(BITS), "word_valid": In(1), "turn": In(1),
                          "word_out_valid": Out(1)})

    def elaborate(self, platform):
        m = Module()
        word, valid, turn = self.word, self.word_valid, self.turn
        for row, cell in enumerate(self.cells):
            m.submodules[f"cell_{row}"] = cell
            m.d.comb += [cell.weight_in.eq(word), cell.weight_valid_in.eq(valid),
                         cell.turn_in.eq(turn)]
            word, valid = cell.weight_out, cell.weight_valid_out
            later = Signal(name=f"turn_{row + 1}")
            m.d.sync += later.eq(turn)
            turn = later
        m.d.comb += self.word_out_valid.eq(valid)
        return m


class WeightChainSpec(Spec):
    """Tiles of one word a row, sent as the array does.

    Words 0 to rows - 1 come in consecutive cycles. A tile's turn comes `rows` or more cycles
    after its first word; the next tile's first word in the cycle of the turn or later. Without
    double buffer the turn rides on the tile's last row, and the next tile comes after that.
    """

    def describe(self, m):
        dut, rows = self.dut, len(self.dut.cells)
        start = self.free(1, "start")   # a tile's first word comes in this cycle
        loaded = Signal()               # a tile has started and had no turn
        started = self._history(m, start, 2 * rows, "started")
        turned = self._history(m, dut.turn, rows + 1, "turned")
        sending = Signal()
        m.d.comb += sending.eq(sum(started[1:rows]) != 0)
        with m.If(start):
            m.d.sync += loaded.eq(1)
        with m.Elif(dut.turn):
            m.d.sync += loaded.eq(0)
        if dut.double_buffer:
            self.assume(m, "a tile starts when the one before has its turn, or after it",
                        ~start | (~sending & (~loaded | dut.turn)))
        else:
            self.assume(m, "a tile starts when the last row of the one before has passed",
                        ~start | (~sending & ~loaded & (sum(turned[:rows]) == 0)))
        self.assume(m, "a tile's turn comes when all its words have been sent",
                    ~dut.turn | (loaded & ~sending))
        self.assume(m, "a word comes for each row", dut.word_valid == (start | sending))

        held, given = [], []
        for row in range(rows):
            last = Signal(BITS, name=f"last_{row}")    # the row's word of the newest tile
            mine = Signal(BITS, name=f"given_{row}")   # that of the tile whose turn it had
            with m.If(started[row]):
                m.d.sync += last.eq(dut.word)
            with m.If(turned[row]):
                m.d.sync += mine.eq(last)
            held.append(last)
            given.append(mine)
        self._describe_use(m, turned, given)
        self.claim(m, "no word leaves the column", ~dut.word_out_valid)
        self._describe_cells(m, started, turned, held,
                             self._history(m, loaded, rows - 1, "loaded"))
        self.claim(m, "a tile that has started has not had its turn",
                   ~(sum(started[1:rows]) != 0) | loaded)
        if dut.double_buffer:
            self.cover(m, "three tiles come in intervals of `rows` cycles",
                       start & started[rows] & started[2 * rows])
        else:
            self.cover(m, "a tile comes right after the last row of another",
                       start & turned[rows])

    def _describe_use(self, m, turned, given):
        """Each cell multiplies by the word that it was given."""
        if not self.dut.double_buffer:
            for row, word in enumerate(given):
                held = self.probe(f"dut.cell_{row}.held", BITS)
                self.claim(m, f"row {row} works with its own word to the tile's last row",
                           ~turned[row + 1] | (held == word))
            return
        rows = len(given)
        had_turn = Signal(rows)
        m.d.sync += had_turn.eq(had_turn | sum(turned[row] << row for row in range(rows)))
        for row, word in enumerate(given):
            active = self.probe(f"dut.cell_{row}.active", BITS)
            self.claim(m, f"row {row} works with its own word of its tile",
                       ~had_turn[row] | (active == word))

    def _history(self, m, signal, cycles, name):
        """The signal now and in each of so many cycles before."""
        values = [signal]
        for number in range(1, cycles + 1):
            values.append(self.before(m, values[-1], f"{name}_{number}"))
        return values

    def _describe_cells(self, m, started, turned, held, loaded):
        """Where the words are, for the induction: word k of a tile reaches cell i after i + k
        cycles, unless it has been taken."""
        rows = len(held)
        for row in range(rows):
            full = self.probe(f"dut.cell_{row}.full", 1)
            stored = self.probe(f"dut.cell_{row}.held", BITS)
            holds = Signal(name=f"holds_{row}")
            with m.If(started[2 * row]):
                m.d.sync += holds.eq(1)
            with m.Elif(turned[row]):
                m.d.sync += holds.eq(0)
            coming = sum(started[row + 1:2 * row + 1]) != 0
            self.claim(m, f"cell {row} is full from its word to its turn", full == holds)
            self.claim(m, f"cell {row} is full while a tile waits whose word has come",
                       holds == (loaded[row] & ~coming))
            self.claim(m, f"cell {row} holds its word",
                       ~holds | coming | (stored == held[row]))
            if row == 0:
                continue
            valid = self.probe(f"dut.cell_{row}.weight_valid_in", 1)
            word = self.probe(f"dut.cell_{row}.weight_in", BITS)
            self.claim(m, f"only words of the cells from {row} on come to it",
                       valid == (sum(started[2 * row:rows + row]) != 0))
            for k in range(row, rows):
                self.claim(m, f"word {k} is unchanged at cell {row}",
                           ~started[row + k] | (word == held[k]))


def spec(rows, double_buffer=True, cell=WeightStationaryCell):
    return WeightChainSpec(Column(rows=rows, cell=cell, double_buffer=double_buffer))


@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_weight_chain_for_all_time(rows, double_buffer):
    assert prove(lambda: spec(rows, double_buffer), depth=2 * rows + 1,
                 cycles=4 * rows + 4) is None


@pytest.mark.parametrize("text, replacement, sentence", [
    ("self.weight_valid_in & ~take", "self.weight_valid_in", "no word leaves the column"),
    ("(~full | self.turn_in)", "~full", "cell 0 is full from its word to its turn"),
    ("m.Elif(self.turn_in)", "m.Elif(0)", "cell 0 is full from its word to its turn"),
    ("active.eq(held)", "active.eq(self.weight_in)",
     "row 0 works with its own word of its tile"),
])
def test_planted_bugs(text, replacement, sentence):
    assert_caught(spec(2, True, broken(WeightStationaryCell, text, replacement)), 10, sentence)


def test_a_planted_bug_without_double_buffer():
    cell = broken(WeightStationaryCell, "~full | self.turn_in", "1")
    assert_caught(spec(2, False, cell), 10,
                  "row 0 works with its own word to the tile's last row")
