"""Control of the array: jobs in order, without gaps, with buffers and weights that are there."""

import pytest
from amaranth import Mux, Signal
from proofs.broken import assert_caught, broken
from proofs.prover import prove
from proofs.spec import Spec

from cubewave.rtl import Design
from cubewave.rtl.array_control import ArrayControl

ROWS, SLOT_ROWS, IN_FLIGHT = 2, 3, 3


def design(double_buffer):
    return Design(rows=ROWS, cols=1, activation_bits=4, slot_bytes=SLOT_ROWS, input_slots=2,
                  accumulator_banks=2, accumulator_rows=4, handoff_slots=2,
                  weight_double_buffer=double_buffer)


class ArrayControlSpec(Spec):
    """The control between its queue, slots, banks, weight FIFO and array.

    What the weight chain's proof assumes of tiles and turns is claimed here.
    """

    def __init__(self, dut, double_buffer):
        super().__init__(dut)
        self._double_buffer = double_buffer

    def describe(self, m):
        dut, job = self.dut, self.dut.i.payload
        waits = self.before(m, dut.i.valid & ~dut.i.ready, "waits")
        was = self.before(m, job.as_value(), "job_before")
        self.assume(m, "a job waits unchanged in its queue",
                    ~waits | (dut.i.valid & (job.as_value() == was)))
        self.assume(m, "a job has a row or more, as many as a slot at most",
                    (job.rows != 0) & (job.rows <= SLOT_ROWS))
        for sentence, flags, event, which in (
                ("only the control frees slots", dut.slots_ready, dut.release, dut.slot),
                ("only the control takes banks", dut.banks_free, dut.take, dut.bank),
                ("only the control takes hand-off slots", ~dut.groups_taken, dut.take_group,
                 dut.group)):
            name = sentence.split()[-1]
            lost = self.before(m, event << which, f"{name}_changed")
            free = self.before(m, flags, f"{name}_before")
            self.assume(m, sentence, (free & ~flags & ~lost) == 0)
        count = Signal(range(SLOT_ROWS + 1))
        last = Signal()
        m.d.comb += last.eq(count + 1 == job.rows)
        with m.If(dut.enter):
            m.d.sync += count.eq(Mux(last, 0, count + 1))
        loaded = self._describe_weights(m, count, last)
        self._describe_rows(m, count, last, loaded)
        self._describe_buffers(m, count, last)
        self.cover(m, "a job follows another without a gap",
                   dut.enter & (count == 0) & self.before(m, dut.i.ready, "was_ready"))

    def _describe_weights(self, m, count, last):
        """The FIFO's side, and when tiles are shifted; returns whether one waits in the cells."""
        dut, job = self.dut, self.dut.i.payload
        row = Signal(range(ROWS))   # of the tile that is shifted
        started, sending = Signal(), Signal()  # a tile has started and not been used
        m.d.comb += sending.eq(row != 0)
        with m.If(dut.shift | sending):
            m.d.sync += row.eq(Mux(row == ROWS - 1, 0, row + 1))
        self.assume(m, "a tile is shifted for `rows` cycles", dut.shifting == sending)
        self.assume(m, "the FIFO says which cycle is the last",
                    dut.shift_ends == ((dut.shift | sending) & (row == ROWS - 1)))
        self.assume(m, "a whole tile waits until it is shifted",
                    ~self.before(m, dut.whole & ~dut.shift, "tile_waits") | dut.whole)
        uses = Signal()
        m.d.comb += uses.eq(dut.enter & (count == 0) & job.new_weights)
        with m.If(dut.shift):
            m.d.sync += started.eq(1)
        with m.Elif(uses):
            m.d.sync += started.eq(0)
        self.claim(m, "a tile is used only when all its words have been sent",
                   ~uses | (started & ~sending))
        self.claim(m, "the control knows whether a tile waits",
                   self.probe("dut.loaded", 1) == (started & ~sending))
        self.claim(m, "a tile that is shifted has started", ~sending | started)
        in_array = self._describe_flight(m)
        if self._double_buffer:
            self.claim(m, "the turn rides on the first row of a job that needs new weights",
                       dut.turn == uses)
            self.claim(m, "a whole tile is shifted at once if the last one is used",
                       dut.shift == (dut.whole & ~sending & (~started | uses)))
        else:
            self._describe_single(m, count, last, started, sending, in_array)
        return started & ~sending

    def _describe_flight(self, m):
        """The rows in the array."""
        dut = self.dut
        in_array = Signal(range(IN_FLIGHT + 1))
        m.d.sync += in_array.eq(in_array + dut.enter - dut.retire)
        self.assume(m, "only rows that are in the array leave it", ~dut.retire | (in_array != 0))
        self.assume(m, "the array holds so many rows at most",
                    (in_array != IN_FLIGHT) | ~dut.enter | dut.retire)
        self.claim(m, "rows are in the array from their entry to their sums",
                   dut.running == (in_array != 0))
        self.claim(m, "the control counts the rows in the array",
                   self.probe("dut.in_array", len(in_array)) == in_array)
        self.claim(m, "no more rows are in the array than it holds", in_array <= IN_FLIGHT)
        return in_array

    def _describe_single(self, m, count, last, started, sending, in_array):
        """Without a shadow register: a tile stays in the cells until its last use."""
        dut, job = self.dut, self.dut.i.payload
        over = Signal(init=1)   # the last job was the last use of its tile
        with m.If(dut.i.valid & dut.i.ready):
            m.d.sync += over.eq(job.last_use)
        self.assume(m, "a job needs new weights exactly if the one before was their last use",
                    ~dut.i.valid | (job.new_weights == over))
        in_use = (count != 0) | ~over
        resident = Signal()   # a tile in the cells has a use left
        with m.If(dut.turn):
            m.d.sync += resident.eq(0)
        with m.Elif(dut.shift):
            m.d.sync += resident.eq(1)
        self.claim(m, "the turn rides on the last row of a tile's last job",
                   dut.turn == (dut.enter & last & job.last_use))
        self.claim(m, "a whole tile is shifted when the array is empty and the last one "
                   "has no use left",
                   dut.shift == (dut.whole & ~sending & ~resident & (in_array == 0)))
        self.claim(m, "the control knows whether a tile has a use left",
                   self.probe("dut.resident", 1) == resident)
        self.claim(m, "a tile has a use left while it is loaded, waits or is in use",
                   (resident == (started | in_use)) & ~(started & in_use))

    def _describe_rows(self, m, count, last, loaded):
        dut, job = self.dut, self.dut.i.payload
        ready = (dut.slots_ready.bit_select(job.slot, 1)
                 & (~job.take_bank | dut.banks_free.bit_select(job.bank, 1))
                 & ~(job.take_group & dut.groups_taken.bit_select(job.group, 1))
                 & (~job.new_weights | loaded))
        self.claim(m, "a job starts exactly when its slot, bank and weights are there, and "
                   "then goes on without a gap",
                   dut.enter == (dut.i.valid & ((count != 0) | ready)))
        self.claim(m, "a job leaves the queue exactly with its last row",
                   dut.i.ready == (dut.enter & last))
        self.claim(m, "a job that has begun is at the head of the queue, with rows left",
                   (count == 0) | (dut.i.valid & (count < job.rows)))
        self.claim(m, "the control counts the rows of the job",
                   self.probe("dut.count", len(count)) == count)
        for sentence, value, first in (
                ("row k of the job is the k-th that enters", dut.row, job.row),
                ("the sums of row k go to the k-th row of the bank", dut.tag.row,
                 job.acc_row)):
            self.claim(m, sentence,
                       ~dut.enter | (value == (first + count)[:len(value)]))
        self.claim(m, "each row has a tag, for the job's bank", (dut.tag.valid == dut.enter)
                   & (~dut.enter | (dut.tag.bank == job.bank)))
        self.claim(m, "the bank is finished exactly with the last row of its last job",
                   ~dut.enter | (dut.tag.finish == (last & job.finish_bank)))

    def _describe_buffers(self, m, count, last):
        dut, job = self.dut, self.dut.i.payload
        first = dut.enter & (count == 0)
        for name, event, when, which, own in (
                ("a bank is taken", dut.take, first & job.take_bank, dut.bank, job.bank),
                ("a hand-off slot is taken", dut.take_group, first & job.take_group, dut.group,
                 job.group),
                ("a slot is freed", dut.release, dut.enter & last & job.free_slot, dut.slot,
                 job.slot),
                ("a hand-off slot is freed", dut.release_group,
                 dut.enter & last & job.free_group, dut.group, job.group)):
            self.claim(m, f"{name} exactly once by a job that says so", event == when)
            self.claim(m, f"{name}, the one that the job says", ~event | (which == own))
        self.claim(m, "a row enters only from a slot that is ready",
                   ~dut.enter | dut.slots_ready.bit_select(dut.slot, 1))
        self.claim(m, "only a free bank is taken",
                   ~dut.take | dut.banks_free.bit_select(dut.bank, 1))
        self.claim(m, "only a free hand-off slot is taken",
                   ~dut.take_group | ~dut.groups_taken.bit_select(dut.group, 1))
        self.claim(m, "a job that has begun keeps its slot",
                   (count == 0) | dut.slots_ready.bit_select(job.slot, 1))


def spec(double_buffer, control=ArrayControl):
    return ArrayControlSpec(control(design=design(double_buffer), max_rows_in_flight=IN_FLIGHT),
                            double_buffer)


@pytest.mark.parametrize("double_buffer", [True, False])
def test_control_for_all_time(double_buffer):
    assert prove(lambda: spec(double_buffer), depth=1, cycles=10) is None


@pytest.mark.parametrize("double_buffer, text, replacement, sentence", [
    (True, "~self.shifting & (~loaded | self.turn)", "(~loaded | self.turn)",
     "a whole tile is shifted at once if the last one is used"),
    (True, "with m.If(self.shift_ends)", "with m.If(self.shift)",
     "a tile is used only when all its words have been sent"),
    (False, "~resident & ~self.running", "~resident",
     "a whole tile is shifted when the array is empty and the last one has no use left"),
    (True, "count == job.rows - 1", "count == job.rows",
     "a job leaves the queue exactly with its last row"),
    (True, "& ~(job.take_group & self.groups_taken", "& ~(self.groups_taken",
     "a job starts exactly when its slot, bank and weights are there, and then goes on without "
     "a gap"),
    (True, "self.i.ready & job.free_slot", "self.enter & job.free_slot",
     "a row enters only from a slot that is ready"),
])
def test_planted_bugs(double_buffer, text, replacement, sentence):
    assert_caught(spec(double_buffer, broken(ArrayControl, text, replacement)), 10, sentence)
