"""Accumulator memory: banks of rows that the array updates, and store and hand-off read."""

from amaranth import *
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .accumulator_update import AccumulatorUpdate

__all__ = ["HANDOFF", "NOBODY", "STORE", "Accumulators", "accumulator_tag"]

NOBODY, STORE, HANDOFF = range(3)  # who reads a bank when it is full


def accumulator_tag(design):
    """Where a row of sums goes; travels beside the array and arrives one cycle before the sums."""
    return data.StructLayout({
        "valid": 1, "bank": range(design.accumulator_banks),
        "row": range(design.accumulator_rows), "accumulate": 1, "finish": 1, "store": 2})


class Accumulators(wiring.Component):
    """`accumulator_banks` banks of `accumulator_rows` rows of `cols` accumulators.

    The old row is read in the cycle of `tag`, updated and written in the next one, in which the
    sums arrive; a row that was written in the cycle of the read is forwarded from a register, so
    updates of one row may follow each other in every cycle. Throughput 1 row per cycle.

    A sum that does not fit wraps or saturates (`accumulator_overflow`) and sets `overflow`.

    Parameters
    ----------
    design : Design
    format : IntegerFormat

    Members
    -------
    tag : In(accumulator_tag)
        One cycle before its sums.
    sums : In(ArrayLayout(sum, cols))
    take, take_bank : In
        A job takes this bank in this cycle. Only when it is `free`.
    free, full, handoff_full : Out(accumulator_banks)
        One bit a bank. None: it is being filled. Full: its result waits for the store or for the
        hand-off, as the `store` of its last tag says (1, 2; with 0 it is free).
    read, read_bank, read_row : In
        Read a row of a full bank; the row is on `o` `LATENCY` cycles later.
    release, release_bank : In
        The store is done with this bank.
    o : Out(ArrayLayout(accumulator, cols))
    handoff_... : In, Out
        The same for the hand-off. Both may read in one cycle, but not from one bank.
    written : Out(1)
        A row is written in this cycle.
    clear : In(1)
        Clears `overflow`.
    overflow : Out(1)
        Sticky: some sum did not fit.
    """

    LATENCY = 1  # cycles from `read` to the row on `o`
    UPDATE = 1   # cycles from a tag to the write of its row
    collision_free = True  # no row read from a memory is used that is written in that cycle

    def __init__(self, *, design, format):
        self._design, self._format = design, format
        banks, rows = design.accumulator_banks, design.accumulator_rows
        super().__init__({
            "tag": In(accumulator_tag(design)),
            "sums": In(data.ArrayLayout(format.sum_shape, design.cols)),
            "take": In(1),
            "take_bank": In(range(banks)),
            "free": Out(banks, init=(1 << banks) - 1),
            "full": Out(banks),
            "handoff_full": Out(banks),
            "read": In(1),
            "read_bank": In(range(banks)),
            "read_row": In(range(rows)),
            "release": In(1),
            "release_bank": In(range(banks)),
            "o": Out(data.ArrayLayout(format.accumulator_shape, design.cols)),
            "handoff_read": In(1),
            "handoff_bank": In(range(banks)),
            "handoff_row": In(range(rows)),
            "handoff_release": In(1),
            "handoff_release_bank": In(range(banks)),
            "handoff_o": Out(data.ArrayLayout(format.accumulator_shape, design.cols)),
            "written": Out(1),
            "clear": In(1),
            "overflow": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        design = self._design
        layout = data.ArrayLayout(self._format.accumulator_shape, design.cols)

        # Cycle of the sums: the tag has become `update`.
        update = Signal(accumulator_tag(design))
        m.d.sync += update.eq(self.tag)
        m.d.comb += self.written.eq(update.valid)

        result = Signal(layout)
        bank_data = self._elaborate_memories(m, layout, update, result)

        # The row written in the cycle in which `update` was read is not in the read data.
        recent = Signal(layout)
        recent_hit = Signal()
        m.d.sync += [
            recent.eq(result),
            recent_hit.eq(update.valid & self.tag.valid & (update.bank == self.tag.bank)
                          & (update.row == self.tag.row)),
        ]
        m.submodules.update = arithmetic = AccumulatorUpdate(
            format=self._format, cols=design.cols, overflow=design.accumulator_overflow)
        m.d.comb += [
            arithmetic.old.as_value().eq(Mux(recent_hit, recent, Array(bank_data)[update.bank])),
            arithmetic.accumulate.eq(update.accumulate),
            arithmetic.sums.eq(self.sums),
            result.eq(arithmetic.new),
        ]
        overflowed = Signal()    # in the cycle before
        some_overflowed = Signal()
        m.d.comb += self.overflow.eq(some_overflowed | overflowed)
        m.d.sync += [
            overflowed.eq(update.valid & arithmetic.overflows.any() & ~self.clear),
            some_overflowed.eq(self.overflow & ~self.clear),
        ]
        self._elaborate_banks(m, update)
        return m

    def _elaborate_memories(self, m, layout, update, result):
        """A memory for each bank; returns what was read from each."""
        design = self._design
        bank_data = []
        store_bank = Signal(range(design.accumulator_banks))
        handoff_bank = Signal(range(design.accumulator_banks), name="bank_handed_off")
        with m.If(self.read):
            m.d.sync += store_bank.eq(self.read_bank)
        with m.If(self.handoff_read):
            m.d.sync += handoff_bank.eq(self.handoff_bank)
        for number in range(design.accumulator_banks):
            bank = memory.Memory(shape=layout, depth=design.accumulator_rows, init=[])
            m.submodules[f"bank_{number}"] = bank
            write = bank.write_port()
            read = bank.read_port()
            updated = Signal(name=f"updated_{number}")
            drain = Signal(name=f"drain_{number}")
            hand_off = Signal(name=f"hand_off_{number}")
            m.d.comb += [
                write.addr.eq(update.row),
                write.data.eq(result),
                write.en.eq(update.valid & (update.bank == number)),
                updated.eq(self.tag.valid & (self.tag.bank == number)),
                drain.eq(self.read & (self.read_bank == number)),
                hand_off.eq(self.handoff_read & (self.handoff_bank == number)),
                # One of them at most. That the store reads is known last, so it does not choose.
                read.addr.eq(Mux(updated, self.tag.row,
                                 Mux(hand_off, self.handoff_row, self.read_row))),
                read.en.eq(updated | drain | hand_off),
            ]
            bank_data.append(read.data.as_value())
        m.d.comb += [
            self.o.as_value().eq(Array(bank_data)[store_bank]),
            self.handoff_o.as_value().eq(Array(bank_data)[handoff_bank]),
        ]
        return bank_data

    def _elaborate_banks(self, m, update):
        """Which banks are free and which are full."""
        design = self._design
        taken = Signal(design.accumulator_banks)
        finished = Signal(design.accumulator_banks)
        freed = Signal(design.accumulator_banks)
        kept = Signal()
        m.d.comb += [
            taken.eq(self.take << self.take_bank),
            finished.eq((update.valid & update.finish) << update.bank),
            kept.eq(update.store != NOBODY),
            freed.eq((self.release << self.release_bank)
                     | (self.handoff_release << self.handoff_release_bank)
                     | Mux(kept, 0, finished)),
        ]
        m.d.sync += self.free.eq((self.free & ~taken) | freed)
        for full, reader in ((self.full, STORE), (self.handoff_full, HANDOFF)):
            m.d.sync += full.eq((full & ~freed) | Mux(update.store == reader, finished, 0))
