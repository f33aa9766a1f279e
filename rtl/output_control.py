"""Control of an output-stationary array."""

from amaranth import *

from .array_control import ArrayControl

__all__ = ["OutputControl", "tile_interval"]


def tile_interval(design):
    """Least cycles between the last operand pairs of two output tiles.

    The results of a tile leave the array in `rows` cycles, during which the next tile may be
    computed. Without double buffering the next tile begins after the last multiplication of the
    one before: see :func:`sum_interval`.
    """
    return design.rows


def sum_interval(design):
    """Least cycles from a tile's last operand pair to the next tile's first one."""
    if design.weight_double_buffer:
        return 1
    return design.rows + design.cols - 2 + design.mac_latency


class OutputControl(ArrayControl):
    """Executes the jobs of an output-stationary array; see :class:`ArrayControl` for the ports.

    A job streams a slice of A, transposed, and a weight tile side by side, one operand pair of
    every cell per cycle; `rows` of the job are pairs, `inner` are the real rows of the output
    tile. The jobs of an output tile follow each other; its first one takes the bank and begins
    the sums, its last one finishes the bank and sends the sums on their way.

    `weight_double_buffer` means that the next tile's operands may follow at once.

    Status as :class:`ArrayControl`, with `OUTPUT` after `ACCUMULATOR`: the results of the tile
    before are still in the cells. Weights are never shifted ahead.
    """

    def _control_cells(self, m, job, count, first, last, ready):
        design = self._design
        gap = max(tile_interval(design), sum_interval(design))
        since = Signal(range(gap + 1), init=gap)  # cycles since the last pair of a tile
        with m.If(self.turn):
            m.d.sync += since.eq(1)
        with m.Elif(since != gap):
            m.d.sync += since.eq(since + 1)
        results_move = ~job.finish_bank | (since + job.rows > tile_interval(design))
        sums_done = ~job.take_bank | (since >= sum_interval(design))
        m.d.comb += [
            ready["output"].eq(results_move & sums_done),
            ready["weights"].eq(self.whole),
            self.shift.eq(self.enter & first),
            self.first.eq(self.enter & first & job.take_bank),
            self.turn.eq(self.enter & last & job.finish_bank),
            self.tag.valid.eq(self.turn),
            self.tag.row.eq(job.acc_row),
            self.tile_rows.eq(job.inner),
        ]
        return Mux(self.turn, job.inner, 0)
