"""Control of the array: shifts weight tiles, streams activation rows, reports every cycle."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .accumulator import accumulator_tag
from .commands import array_layout
from .status import ArrayStatus

__all__ = ["ArrayControl"]


class ArrayControl(wiring.Component):
    """Executes array jobs in order, one activation row per cycle, without gaps inside a job.

    A job's first row enters when its bank and its hand-off slot are free (if it takes one), its
    slot is ready and its weights are in the array (if it needs new ones). Tiles are shifted
    ahead, as soon as one is whole in the FIFO and the cells have room: with double-buffered
    weights in the very cycle in which the tile before starts, otherwise when the array has run
    empty.

    Status, first that applies: `BUSY` a row enters; without a job queued `DRAIN`, `IDLE`; with
    one `FILL`, `ACCUMULATOR`, `OUTPUT` (output stationary only), `OPERANDS`, `WEIGHT_SHIFT`,
    `WEIGHTS`.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(stream.Signature(array_layout))
        Jobs.
    slots_ready, banks_free, groups_taken : In
        One bit a slot, one a bank, one a hand-off slot.
    whole, shifting, shift_ends : In(1); shift : Out(1)
        Of the weight FIFO.
    enter : Out(1), slot, row : Out
        Read this activation row; it enters the array.
    unsigned : Out(1)
        The row's activations are unsigned.
    first : Out(1)
        The row begins a sum (output stationary).
    turn : Out(1)
        The row carries the cells' `turn` (weight stationary) or `last` (output stationary).
    release : Out(1)
        The slot is free after this cycle.
    take : Out(1), bank : Out
        The job takes this bank.
    take_group, release_group : Out(1), group : Out
        The job takes this hand-off slot; it is free after this cycle.
    tag : Out(accumulator_tag)
        Where the row's sums go; output stationary: where the tile's do.
    tile_rows : Out
        Real rows of the output tile (output stationary).
    retire : In(1)
        A row of sums is written in this cycle.
    macs : Out
        Useful multiply-accumulates of the row: real rows times real columns of its tile.
    clear : In(1)
        Forget that a row has entered, before a run.
    running : Out(1)
        A row is in the array.
    status : Out(ArrayStatus)
    """

    def __init__(self, *, design, max_rows_in_flight):
        self._design = design
        self._max_rows = max_rows_in_flight
        super().__init__({
            "i": In(stream.Signature(array_layout(design))),
            "slots_ready": In(design.input_slots),
            "banks_free": In(design.accumulator_banks),
            "groups_taken": In(design.handoff_slots),
            "whole": In(1),
            "shifting": In(1),
            "shift_ends": In(1),
            "shift": Out(1),
            "enter": Out(1),
            "slot": Out(range(design.input_slots)),
            "row": Out(range(design.slot_rows)),
            "unsigned": Out(1),
            "first": Out(1),
            "turn": Out(1),
            "release": Out(1),
            "take": Out(1),
            "bank": Out(range(design.accumulator_banks)),
            "take_group": Out(1),
            "release_group": Out(1),
            "group": Out(range(design.handoff_slots)),
            "tag": Out(accumulator_tag(design)),
            "tile_rows": Out(range(design.rows + 1)),
            "retire": In(1),
            "macs": Out(range(design.rows * design.cols + 1)),
            "clear": In(1),
            "running": Out(1),
            "status": Out(ArrayStatus),
        })

    def elaborate(self, platform):
        m = Module()
        job = self.i.payload
        count = Signal(range(self._design.slot_rows + 1))  # rows of the job that have entered
        in_array = Signal(range(self._max_rows + 1))       # rows whose sums are to come
        entered = Signal()                                 # some row of the run has entered
        first = Signal(name="first_row")
        last = Signal(name="last_row")
        ready = {name: Signal(name=f"{name}_ready")
                 for name in ("bank", "output", "slot", "weights")}
        m.d.comb += [
            first.eq(count == 0),
            last.eq(count == job.rows - 1),
            ready["bank"].eq(
                (~job.take_bank | self.banks_free.bit_select(job.bank, 1))
                & ~(job.take_group & self.groups_taken.bit_select(job.group, 1))),
            ready["slot"].eq(self.slots_ready.bit_select(job.slot, 1)),
            self.enter.eq(self.i.valid & (~first | Cat(*ready.values()).all())),
            self.i.ready.eq(self.enter & last),
            self.slot.eq(job.slot),
            self.row.eq(job.row + count),
            self.unsigned.eq(job.unsigned),
            self.release.eq(self.i.ready & job.free_slot),
            self.take.eq(self.enter & first & job.take_bank),
            self.bank.eq(job.bank),
            self.take_group.eq(self.enter & first & job.take_group),
            self.release_group.eq(self.i.ready & job.free_group),
            self.group.eq(job.group),
            self.tag.bank.eq(job.bank),
            self.tag.accumulate.eq(job.accumulate),
            self.tag.store.eq(job.store),
            self.macs.eq(job.inner * job.outer),
            self.running.eq(in_array != 0),
        ]
        with m.If(self.enter):
            m.d.sync += count.eq(Mux(last, 0, count + 1))
        with m.If(self.clear):
            m.d.sync += entered.eq(0)
        with m.Elif(self.enter):
            m.d.sync += entered.eq(1)
        sums = self._control_cells(m, job, count, first, last, ready)
        m.d.sync += in_array.eq(in_array + sums - self.retire)
        self._report(m, entered, ready)
        return m

    def _control_cells(self, m, job, count, first, last, ready):
        """When a tile may be shifted, and when the cells let go of one.

        Returns the rows of sums that this cycle's row leads to.
        """
        loaded = Signal()       # a tile waits in the cells for the job that starts it
        m.d.comb += [
            ready["output"].eq(1),
            ready["weights"].eq(~job.new_weights | loaded),
            self.tag.valid.eq(self.enter),
            self.tag.row.eq(job.acc_row + count),
            self.tag.finish.eq(last & job.finish_bank),
        ]
        if self._design.weight_double_buffer:
            used = self.turn
            m.d.comb += [
                self.turn.eq(self.enter & first & job.new_weights),
                self.shift.eq(self.whole & ~self.shifting & (~loaded | self.turn)),
            ]
        else:
            resident = Signal()  # the cells hold a tile that some job still needs
            used = Signal()
            m.d.comb += [
                self.turn.eq(self.enter & last & job.last_use),
                self.shift.eq(self.whole & ~self.shifting & ~resident & ~self.running),
                used.eq(self.enter & first & job.new_weights),
            ]
            with m.If(self.turn):
                m.d.sync += resident.eq(0)
            with m.Elif(self.shift):
                m.d.sync += resident.eq(1)
        with m.If(self.shift_ends):
            m.d.sync += loaded.eq(1)
        with m.Elif(used):
            m.d.sync += loaded.eq(0)
        return self.enter

    def _report(self, m, entered, ready):
        """The status of this cycle."""
        with m.If(self.enter):
            m.d.comb += self.status.eq(ArrayStatus.BUSY)
        with m.Elif(~self.i.valid):
            m.d.comb += self.status.eq(Mux(self.running, ArrayStatus.DRAIN, ArrayStatus.IDLE))
        with m.Elif(~entered):
            m.d.comb += self.status.eq(ArrayStatus.FILL)
        with m.Elif(~ready["bank"]):
            m.d.comb += self.status.eq(ArrayStatus.ACCUMULATOR)
        with m.Elif(~ready["output"]):
            m.d.comb += self.status.eq(ArrayStatus.OUTPUT)
        with m.Elif(~ready["slot"]):
            m.d.comb += self.status.eq(ArrayStatus.OPERANDS)
        with m.Elif(self.whole | self.shifting):
            m.d.comb += self.status.eq(ArrayStatus.WEIGHT_SHIFT)
        with m.Else():
            m.d.comb += self.status.eq(ArrayStatus.WEIGHTS)
