"""Turns the tag of an output tile into the tags of its rows."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .accumulator import accumulator_tag

__all__ = ["DrainTags", "tile_tag"]


def tile_tag(design):
    """Tag of an output tile: that of its row 0, and how many of its rows are real."""
    return data.StructLayout({"row_0": accumulator_tag(design),
                              "rows": range(design.rows + 1)})


class DrainTags(wiring.Component):
    """Counts the rows of an output tile as they leave the array, the bottom row first.

    Latency 0 from a tile to the tag of its bottom row; then one row per cycle. Rows that are not
    real get no valid tag. Tiles come at least `rows` cycles apart.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(tile_tag)
        Its `row_0.valid` starts a tile.
    o : Out(accumulator_tag)
    """

    def __init__(self, *, design):
        self._design = design
        super().__init__({"i": In(tile_tag(design)), "o": Out(accumulator_tag(design))})

    def elaborate(self, platform):
        m = Module()
        last = self._design.rows - 1
        held = Signal(tile_tag(self._design))
        tile = Signal(tile_tag(self._design))
        row = Signal(range(self._design.rows), init=last)   # row that leaves in this cycle
        leaving = Signal()
        m.d.comb += [
            tile.eq(Mux(self.i.row_0.valid, self.i, held)),
            leaving.eq(self.i.row_0.valid | (row != last)),
            self.o.eq(tile.row_0),
            self.o.valid.eq(leaving & (row < tile.rows)),
            self.o.row.eq(tile.row_0.row + row),
            self.o.finish.eq(row == 0),
        ]
        m.d.sync += held.eq(tile)
        with m.If(leaving):
            m.d.sync += row.eq(Mux(row == 0, last, row - 1))
        return m
