"""The store: each result is requested once it is there, read row by row and freed once."""

import pytest
from amaranth import Mux, Signal
from proofs.broken import assert_caught, broken
from proofs.prover import prove
from proofs.spec import Spec

from cubewave.rtl import Design
from cubewave.rtl.store import StoreUnit

ROWS = 3
PATIENCE = 4  # cycles for which a started store may stay in the channel
DESIGN = Design(rows=1, cols=1, accumulator_rows=ROWS, accumulator_banks=2, accumulator_bits=16,
                handoff_slots=1, vector_units=2)


class StoreSpec(Spec):
    """The store unit between its queue, the channel, the banks and the vector slots."""

    def describe(self, m):
        dut, store, request = self.dut, self.dut.i.payload, self.dut.o.payload
        starts, ends, stalled, waits, runs = (
            Signal(name=name) for name in ("starts", "ends", "stalled", "waits", "runs"))
        m.d.comb += [starts.eq(dut.o.valid & dut.o.ready), ends.eq(dut.i.valid & dut.i.ready)]
        m.d.sync += [stalled.eq(dut.o.valid & ~dut.o.ready),
                     waits.eq(dut.i.valid & ~dut.i.ready),
                     runs.eq((starts | runs) & ~ends)]
        was = {name: self.before(m, signal, f"{name}_before") for name, signal in {
            "store": store.as_value(), "request": request.as_value(), "banks": dut.banks_full,
            "results": dut.results, "stays": dut.stays}.items()}
        self.assume(m, "a store waits unchanged in its queue",
                    ~waits | (dut.i.valid & (store.as_value() == was["store"])))
        self.assume(m, "a store has a row or more, as many as a bank at most",
                    (store.rows != 0) & (store.rows <= ROWS))
        self.assume(m, "a bank is for a store, or a slot",
                    store.vector | (store.bank < DESIGN.accumulator_banks))
        freed = self.before(m, dut.release << dut.bank, "freed_before")
        used = self.before(m, dut.use << dut.vector_slot, "used_before")
        self.assume(m, "only the store frees full banks",
                    (was["banks"] & ~dut.banks_full & ~freed) == 0)
        self.assume(m, "only the store uses up results",
                    (was["results"] & ~dut.results & ~used) == 0)
        occupied = Signal(range(PATIENCE + 1))   # cycles of the store in the channel so far
        m.d.sync += occupied.eq(Mux(starts | (occupied != 0), Mux(dut.stays, occupied + 1, 0), 0))
        self.assume(m, "the channel is fair: a store leaves it after a while",
                    ~dut.stays | (occupied < PATIENCE))
        self.assume(m, "a store stays in the channel without a gap",
                    ~dut.stays | starts | (occupied != 0))

        self.claim(m, "a request that was not accepted is still there, unchanged",
                   ~stalled | (dut.o.valid & (request.as_value() == was["request"])))
        there = Mux(store.vector, ~store.wait | dut.results.bit_select(store.bank, 1),
                    dut.banks_full.bit_select(store.bank, 1))
        self.claim(m, "a store is requested exactly if its result is there and none is running",
                   dut.o.valid == (dut.i.valid & there & ~runs))
        for name in ("base", "rows", "bytes_per_row", "row_stride"):
            self.claim(m, f"a request has its store's {name}",
                       ~dut.o.valid | (request[name] == store[name]))
        self.claim(m, "a store leaves its queue only after its request", ~ends | starts | runs)
        self.claim(m, "a store that runs is at the head of the queue", ~runs | dut.i.valid)
        self._describe_rows(m, starts, ends, runs)
        self._describe_end(m, starts, ends, runs, occupied)
        self.cover(m, "two stores follow each other",
                   starts & self.before(m, ends, "ended") & (store.rows == ROWS))

    def _describe_rows(self, m, starts, ends, runs):
        """All rows are read in order from the start, and written two cycles later."""
        dut, store = self.dut, self.dut.i.payload
        count = Signal(range(ROWS + 1))   # rows that have been read
        reading = Signal()
        m.d.comb += reading.eq(starts | (runs & (count != store.rows)))
        m.d.sync += count.eq(Mux(ends, 0, count + reading))
        self.claim(m, "no more rows are read than the store has",
                   (count == 0) | (runs & (count <= store.rows)))
        self.claim(m, "some row is read as soon as a store runs", ~runs | (count != 0))
        self.claim(m, "the unit counts the rows", self.probe("dut.count", len(count)) == count)
        self.claim(m, "the unit knows that a store runs", self.probe("dut.active", 1) == runs)
        self.claim(m, "a row is read in each cycle from the start until all are read",
                   (dut.read | dut.vector_read) == reading)
        self.claim(m, "rows of a bank come from the bank, of a slot from the slot",
                   ~reading | ((dut.vector_read == store.vector)
                               & (dut.read == ~store.vector)))
        self.claim(m, "row k of a bank is read as the k-th", ~dut.read | (
            (dut.bank == store.bank) & (dut.row == (store.acc_row + count)[:len(dut.row)])))
        self.claim(m, "row k of a slot is read from unit k modulo units", ~dut.vector_read | (
            (dut.vector_slot == store.bank) & (dut.vector_unit == count[:1])))
        was_reading = self.before(m, reading, "was_reading")
        comes = self.probe("dut.comes", 1)
        self.claim(m, "the unit knows that what it read comes", comes == was_reading)
        self.claim(m, "a row is written two cycles after it was read",
                   dut.write.valid == self.before(m, was_reading, "had_been_reading"))
        last = Signal.like(dut.write.payload.address, name="last_address")
        with m.If(reading):
            m.d.sync += last.eq(Mux(starts, store.base, last + store.row_stride))
        due = self.before(m, last, "due_address")
        self.claim(m, "the unit knows the address of what comes",
                   self.probe("dut.address", len(last)) == last)
        self.claim(m, "the first row goes to the base, each other one a stride further",
                   ~dut.write.valid | (dut.write.payload.address == due))
        unit = self.probe("dut.unit", 1)
        self.claim(m, "the unit of the next row is known", ~runs | ~store.vector
                   | (unit == count[:1]))

    def _describe_end(self, m, starts, ends, runs, occupied):
        dut, store = self.dut, self.dut.i.payload
        age = Signal(range(PATIENCE + ROWS + 2))   # cycles since the start
        m.d.sync += age.eq(Mux(ends | ~(starts | runs), 0, age + 1))
        self.claim(m, "a bank is freed exactly once, at the end, unless it is kept",
                   dut.release == (ends & ~store.vector & ~store.keep))
        self.claim(m, "a slot is freed exactly once, at the end, unless it is kept",
                   dut.vector_release == (ends & store.vector & ~store.keep))
        self.claim(m, "a result is used up exactly once, at the start, if it was waited for",
                   dut.use == (starts & store.vector & store.wait))
        self.claim(m, "a store ends as soon as its rows are read and the channel lets it go",
                   ends == ((starts | runs) & (age + 1 >= store.rows) & ~dut.stays))
        self.claim(m, "a store ends in bounded time", age < PATIENCE + ROWS)
        self.claim(m, "the channel does not keep a store for longer", occupied <= PATIENCE)
        self.claim(m, "while the channel keeps a store it is as old as that",
                   (occupied == 0) | (occupied == age))
        self.claim(m, "a store that left the channel only reads",
                   ~runs | (occupied != 0) | (age < ROWS))
        self.claim(m, "a store has as many rows read as cycles, up to all",
                   ~runs | (self.probe("dut.count", 2) == Mux(
                       age < store.rows, age, store.rows)))
        self.claim(m, "a store that runs has an age", (age != 0) == runs)


def spec(store=StoreUnit):
    return StoreSpec(store(design=DESIGN))


def test_store_for_all_time():
    assert prove(spec, depth=1, cycles=8) is None


@pytest.mark.parametrize("text, replacement, sentence", [
    ("self.i.valid & there & ~active", "self.i.valid & there",
     "a store is requested exactly if its result is there and none is running"),
    ("all_read & ~self.stays", "all_read",
     "a store ends as soon as its rows are read and the channel lets it go"),
    ("count + 1 == store.rows", "count == store.rows",
     "a store ends as soon as its rows are read and the channel lets it go"),
    ("m.d.sync += [active.eq(0), count.eq(0)]", "m.d.sync += active.eq(0)",
     "a row is read in each cycle from the start until all are read"),
    ("Mux(active, address + store.row_stride, store.base)",
     "Mux(active, store.base + store.row_stride, store.base)",
     "the first row goes to the base, each other one a stride further"),
    ("self.use.eq(starts & store.vector & store.wait)", "self.use.eq(starts & store.vector)",
     "a result is used up exactly once, at the start, if it was waited for"),
    ("ends & ~store.vector & ~store.keep", "ends & ~store.vector",
     "a bank is freed exactly once, at the end, unless it is kept"),
])
def test_planted_bugs(text, replacement, sentence):
    assert_caught(spec(broken(StoreUnit, text, replacement)), 9, sentence)
