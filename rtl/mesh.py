"""The mesh of cells: structure only, no control."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .mac import WeightStationaryCell
from .stand_in import stand_in

__all__ = ["Mesh"]


class Mesh(wiring.Component):
    """`rows` x `cols` cells; activations enter on the left, weights at the top, sums leave below.

    Lanes are expected skewed: what enters row r (column c) belongs r (c) cycles later than what
    enters row 0 (column 0). Never stalls.

    Parameters
    ----------
    format : IntegerFormat
    rows, cols : int
        Cells along K and along N.
    double_buffer, mac_latency
        See :class:`WeightStationaryCell`.

    Members
    -------
    i_rows : In(ArrayLayout(row_layout, rows))
        Activation and `turn` of each row.
    i_cols : In(ArrayLayout(col_layout, cols))
        Weight word and its valid bit for each column.
    o : Out(ArrayLayout(format.sum_shape, cols))
        Partial sums that leave the bottom row.
    """

    def __init__(self, *, format, rows, cols, double_buffer=True, mac_latency=1):
        check_integer("rows", rows, 1, 1024)
        check_integer("cols", cols, 1, 1024)
        self._rows, self._cols, self._format = rows, cols, format
        self._cell = {"format": format, "double_buffer": double_buffer,
                      "mac_latency": mac_latency}
        super().__init__({
            "i_rows": In(data.ArrayLayout(self.row_layout(format), rows)),
            "i_cols": In(data.ArrayLayout(self.col_layout(format), cols)),
            "o": Out(data.ArrayLayout(format.sum_shape, cols)),
        })

    @staticmethod
    def row_layout(format):
        """What enters a row in one cycle."""
        return data.StructLayout({"activation": format.activation_shape, "turn": 1})

    @staticmethod
    def col_layout(format):
        """What enters a column in one cycle."""
        return data.StructLayout({"weight": format.weight_shape, "valid": 1})

    @staticmethod
    def latency(rows, mac_latency):
        """Cycles from row 0's activation on `i_rows` to the finished sum of column 0 on `o`."""
        return WeightStationaryCell.latency(mac_latency) + rows - 1

    def elaborate(self, platform):
        m = Module()
        if (cells := stand_in(platform, self, i_rows=self.i_rows, i_cols=self.i_cols,
                              o=self.o)) is not None:
            m.submodules.cells = cells
            return m
        cells = {}
        for r in range(self._rows):
            for c in range(self._cols):
                cells[r, c] = cell = WeightStationaryCell(**self._cell)
                m.submodules[f"cell_{r}_{c}"] = cell
                if c == 0:
                    m.d.comb += [cell.activation_in.eq(self.i_rows[r].activation),
                                 cell.turn_in.eq(self.i_rows[r].turn)]
                else:
                    left = cells[r, c - 1]
                    m.d.comb += [cell.activation_in.eq(left.activation_out),
                                 cell.turn_in.eq(left.turn_out)]
                if r == 0:
                    m.d.comb += [cell.weight_in.eq(self.i_cols[c].weight),
                                 cell.weight_valid_in.eq(self.i_cols[c].valid)]
                else:
                    above = cells[r - 1, c]
                    m.d.comb += [cell.weight_in.eq(above.weight_out),
                                 cell.weight_valid_in.eq(above.weight_valid_out),
                                 cell.sum_in.eq(above.sum_out)]
        m.d.comb += self.o.as_value().eq(
            Cat(cells[self._rows - 1, c].sum_out for c in range(self._cols)))
        return m
