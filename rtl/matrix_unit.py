"""The array with everything that moves in lock-step with it."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .accumulator import accumulator_tag
from .delay import Delay
from .drain_tags import DrainTags, tile_tag
from .formats import IntegerFormat
from .mesh import Mesh
from .operand_slots import OperandSlots
from .output_mesh import OutputMesh
from .skew import Skew
from .stand_in import stand_in

__all__ = ["MatrixUnit"]


class MatrixUnit(wiring.Component):
    """Skew, mesh, de-skew, and the tags that say where sums go. Never stalls.

    An activation row that control reads from a slot in cycle x enters row 0 of the mesh in cycle
    x + 1; its `cols` sums are on `sums` in cycle x + :meth:`latency`, its tag one cycle earlier.
    Output stationary: the sums of a tile's bottom row come :meth:`latency` cycles after its last
    operand pair, those of the rows above in the cycles after.

    Parameters
    ----------
    design : Design

    Members
    -------
    activations : In(rows * activation_bits)
        A row as read from a slot, one cycle after `enter`; otherwise ignored.
    enter, unsigned, first, turn, tag, tile_rows : In
        Control of the row that is being read; see :class:`ArrayControl`.
    weights : In(ArrayLayout(weight, cols)), weights_valid : In(1)
        Weight rows from the FIFO.
    sums : Out(ArrayLayout(sum, cols))
    tag_out : Out(accumulator_tag)
        Tag of the sums that come in the next cycle.
    """

    def __init__(self, *, design):
        self._design = design
        self._format = IntegerFormat.of(design)
        self._output = design.dataflow == "output_stationary"
        super().__init__({
            "activations": In(design.rows * design.activation_bits),
            "enter": In(1),
            "unsigned": In(1),
            "first": In(1),
            "turn": In(1),
            "tag": In(accumulator_tag(design)),
            "tile_rows": In(range(design.rows + 1)),
            "weights": In(data.ArrayLayout(self._format.weight_shape, design.cols)),
            "weights_valid": In(1),
            "sums": Out(data.ArrayLayout(self._format.sum_shape, design.cols)),
            "tag_out": Out(accumulator_tag(design)),
        })

    #: `registers` of the GEMM formula: activation read, cell transport, sum.
    REGISTERS = OperandSlots.LATENCY + Mesh.latency(rows=1, mac_latency=1)

    @staticmethod
    def latency(design):
        """Cycles from reading an activation row to its sums: rows + cols + mac_latency."""
        return (OperandSlots.LATENCY + Mesh.latency(design.rows, design.mac_latency)
                + design.cols - 1)

    def elaborate(self, platform):
        m = Module()
        # Control runs one cycle ahead of the data it asked for.
        entering = Signal()
        unsigned = Signal(name="entering_unsigned")
        marks = Signal(2 if self._output else 1, name="entering_marks")
        m.d.sync += [
            entering.eq(self.enter), unsigned.eq(self.unsigned),
            marks.eq(Cat(self.first, self.turn) if self._output else self.turn),
        ]
        mark = self._elaborate_tags(m)
        array = stand_in(platform, self, activations=self.activations, entering=entering,
                         unsigned=unsigned, marks=marks, weights=self.weights,
                         mark=mark, sums=self.sums)
        if array is not None:
            m.submodules.array = array
        else:
            self.elaborate_array(m, entering, unsigned, marks, mark)
        return m

    def elaborate_array(self, m, entering, unsigned, marks, mark):
        """The mesh between its triangles."""
        design, mesh = self._design, self.mesh(self._design.rows, self._design.cols)
        row_layout, col_layout = mesh.row_layout(self._format), mesh.col_layout(self._format)
        m.submodules.mesh = mesh
        m.submodules.row_skew = row_skew = Skew(shape=row_layout, lanes=design.rows)
        m.submodules.col_skew = col_skew = Skew(shape=col_layout, lanes=design.cols)
        m.submodules.deskew = deskew = Skew(shape=self._format.sum_shape, lanes=design.cols,
                                            reverse=True)
        bits = design.activation_bits
        lanes = [self.row_lane(self.activations[row * bits:(row + 1) * bits], unsigned, marks)
                 for row in range(design.rows)]
        m.d.comb += [
            row_skew.i.as_value().eq(Mux(entering, Cat(*lanes), 0)),
            col_skew.i.as_value().eq(
                Cat(self.col_lane(self.weights[col], mark) for col in range(design.cols))),
            mesh.i_rows.eq(row_skew.o),
            mesh.i_cols.eq(col_skew.o),
            deskew.i.eq(mesh.o),
            self.sums.eq(deskew.o),
        ]

    @staticmethod
    def row_lane(activation, unsigned, marks):
        """What enters a row while a row of activations enters; otherwise 0 does."""
        return Cat(activation, activation[-1] & ~unsigned, marks)

    @staticmethod
    def col_lane(weight, mark):
        """What enters a column."""
        return Cat(weight, mark)

    @property
    def format(self):
        return self._format

    def mesh(self, rows, cols):
        """A mesh of this unit's cells."""
        shape = {"format": self._format, "rows": rows, "cols": cols,
                 "mac_latency": self._design.mac_latency}
        if self._output:
            return OutputMesh(**shape)
        return Mesh(**shape, double_buffer=self._design.weight_double_buffer)

    def _elaborate_tags(self, m):
        """The tags' way beside the array; returns the mark that rides with the weights.

        Weight stationary: the weight's valid bit. Output stationary: the start of a tile's
        results, when the bottom row of column 0 has its own.
        """
        design = self._design
        cycles = self.latency(design) - 1
        if not self._output:
            m.submodules.tags = tags = Delay(shape=accumulator_tag(design), cycles=cycles)
            m.d.comb += [tags.i.eq(self.tag), self.tag_out.eq(tags.o)]
            return self.weights_valid
        m.submodules.tags = tags = Delay(shape=tile_tag(design), cycles=cycles)
        m.submodules.rows = rows = DrainTags(design=design)
        m.submodules.start = start = Delay(shape=1, cycles=self.latency(design) - design.cols + 1)
        m.d.comb += [
            tags.i.row_0.eq(self.tag),
            tags.i.rows.eq(self.tile_rows),
            rows.i.eq(tags.o),
            self.tag_out.eq(rows.o),
            start.i.eq(self.turn),
        ]
        return start.o
