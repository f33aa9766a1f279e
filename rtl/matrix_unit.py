"""The array with everything that moves in lock-step with it."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .accumulator import accumulator_tag
from .delay import Delay
from .formats import IntegerFormat
from .mesh import Mesh
from .operand_slots import OperandSlots
from .skew import Skew

__all__ = ["MatrixUnit"]


class MatrixUnit(wiring.Component):
    """Skew, mesh, de-skew, and the tags that say where sums go. Never stalls.

    An activation row that control reads from a slot in cycle x enters row 0 of the mesh in cycle
    x + 1; its `cols` sums are on `sums` in cycle x + :meth:`latency`, its tag one cycle earlier.

    Parameters
    ----------
    design : Design

    Members
    -------
    activations : In(rows * activation_bits)
        A row as read from a slot, one cycle after `enter`; otherwise ignored.
    enter, unsigned, turn, tag : In
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
        self._mesh = {"format": self._format, "rows": design.rows, "cols": design.cols,
                      "double_buffer": design.weight_double_buffer,
                      "mac_latency": design.mac_latency}
        super().__init__({
            "activations": In(design.rows * design.activation_bits),
            "enter": In(1),
            "unsigned": In(1),
            "turn": In(1),
            "tag": In(accumulator_tag(design)),
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
        design, bits = self._design, self._design.activation_bits
        row_layout, col_layout = Mesh.row_layout(self._format), Mesh.col_layout(self._format)
        m.submodules.mesh = mesh = Mesh(**self._mesh)
        m.submodules.row_skew = row_skew = Skew(shape=row_layout, lanes=design.rows)
        m.submodules.col_skew = col_skew = Skew(shape=col_layout, lanes=design.cols)
        m.submodules.deskew = deskew = Skew(shape=self._format.sum_shape, lanes=design.cols,
                                            reverse=True)
        m.submodules.tags = tags = Delay(shape=accumulator_tag(design),
                                         cycles=self.latency(design) - 1)

        # Control runs one cycle ahead of the data it asked for.
        entering = Signal()
        unsigned = Signal(name="entering_unsigned")
        turn = Signal(name="entering_turn")
        m.d.sync += [entering.eq(self.enter), unsigned.eq(self.unsigned), turn.eq(self.turn)]
        lanes = []
        for row in range(design.rows):
            activation = self.activations[row * bits:(row + 1) * bits]
            lanes.append(Cat(activation, activation[-1] & ~unsigned, turn))
        m.d.comb += row_skew.i.as_value().eq(Mux(entering, Cat(*lanes), 0))
        for col in range(design.cols):
            m.d.comb += [col_skew.i[col].weight.eq(self.weights[col]),
                         col_skew.i[col].valid.eq(self.weights_valid)]
        m.d.comb += [
            mesh.i_rows.eq(row_skew.o),
            mesh.i_cols.eq(col_skew.o),
            deskew.i.eq(mesh.o),
            self.sums.eq(deskew.o),
            tags.i.eq(self.tag),
            self.tag_out.eq(tags.o),
        ]
        return m
