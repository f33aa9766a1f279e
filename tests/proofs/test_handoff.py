"""The hand-off: transfers in the order of the queue, one at a time, each beat and flag once."""

import pytest
from amaranth import Mux, Signal
from proofs.broken import assert_caught, broken
from proofs.prover import bounded_check, prove
from proofs.spec import Spec

from cubewave.rtl import Design
from cubewave.rtl.handoff import HandoffUnit
from cubewave.rtl.status import HandoffStatus
from cubewave.rtl.vector_commands import Direction

RATE = 2            # bytes a cycle
MOST_ROWS = 3       # of a transfer, in the bounded check
MOST_LENGTH = 3     # elements of a row
MOST_BYTES = 2      # of an element
MOST_BEATS = 4      # rows of a bank or operand slot
COLS = 2
LATENCY = HandoffUnit.LATENCY


def design(path, units=1):
    return Design(rows=1, cols=COLS, vector_units=units, accumulator_banks=2,
                  accumulator_rows=MOST_BEATS, accumulator_bits=16, activation_bits=8,
                  input_slots=2, slot_bytes=MOST_BEATS, handoff_slots=1, handoff=path,
                  handoff_bytes_per_cycle=RATE, score_bits=16, probability_bits=8)


class HandoffSpec(Spec):
    """What the proofs of the hand-off share: which transfer runs."""

    def _describe_transfer(self, m):
        dut, transfer = self.dut, self.dut.i.payload
        names = ("starts", "ends", "runs", "waits", "to_matrix")
        self.starts, self.ends, self.runs, waits, self.to_matrix = (
            Signal(name=f"spec_{name}") for name in names)
        m.d.comb += [
            self.starts.eq((dut.status == HandoffStatus.BUSY) & ~self.runs),
            self.ends.eq(dut.i.valid & dut.i.ready),
            self.to_matrix.eq(transfer.direction == Direction.TO_MATRIX),
        ]
        m.d.sync += [self.runs.eq((self.starts | self.runs) & ~self.ends),
                     waits.eq(dut.i.valid & ~dut.i.ready)]
        was = self.before(m, transfer.as_value(), "transfer_before")
        self.assume(m, "a transfer waits unchanged in its queue",
                    ~waits | (dut.i.valid & (transfer.as_value() == was)))
        self.assume(m, "buffers are there, as slots or banks", (transfer.slot < 5)
                    & (transfer.buffer < 2))

    def later(self, m, value, name, cycles=LATENCY):
        """A value as it was so many cycles ago."""
        for number in range(cycles):
            value = self.before(m, value, f"{name}_{number}")
        return value


class HandoffOrderSpec(HandoffSpec):
    """Conditions, order and hand-shakes of the transfers."""

    def describe(self, m):
        self._describe_transfer(m)
        dut, transfer = self.dut, self.dut.i.payload
        starts, ends, runs, to_matrix = self.starts, self.ends, self.runs, self.to_matrix
        source = Mux(to_matrix, dut.results.bit_select(transfer.slot, 1),
                     dut.banks_full.bit_select(transfer.buffer, 1))
        sink = ~Mux(to_matrix, dut.slots_taken.bit_select(transfer.buffer, 1),
                    dut.vector_taken.bit_select(transfer.slot, 1))
        self.claim(m, "a transfer starts exactly if its data is there, its destination is free "
                   "or its own, and no other runs",
                   starts == (dut.i.valid & ~runs & source & (sink | ~transfer.take)))
        self.claim(m, "a transfer that runs is at the head of the queue", ~runs | dut.i.valid)
        self.claim(m, "a transfer leaves the queue only when it has run",
                   ~dut.i.ready | starts | runs)
        self.claim(m, "the unit knows that a transfer runs", self.probe("dut.active", 1) == runs)
        for sentence, event, when in (
                ("the vector slot is taken exactly once, at the start", dut.vector_take,
                 starts & ~to_matrix & transfer.take),
                ("the operand slot is taken exactly once, at the start", dut.operand_take,
                 starts & to_matrix & transfer.take),
                ("the result is used up exactly once, at the start", dut.vector_use,
                 starts & to_matrix),
                ("the bank is freed exactly once, at the end", dut.release, ends & ~to_matrix)):
            self.claim(m, sentence, event == when)
        for sentence, event, slot, own in (
                ("it is the transfer's vector slot that is taken", dut.vector_take,
                 dut.vector_take_slot, transfer.slot),
                ("it is the transfer's operand slot that is taken", dut.operand_take,
                 dut.operand_take_slot, transfer.buffer),
                ("it is the transfer's result that is used up", dut.vector_use,
                 dut.vector_use_slot, transfer.slot),
                ("it is the transfer's bank that is freed", dut.release, dut.bank,
                 transfer.buffer)):
            self.claim(m, sentence, ~event | (slot == own))
        for name, flag, slot, when, own in (
                ("filled", dut.vector_filled, dut.vector_filled_slot, ~to_matrix, transfer.slot),
                ("ready", dut.operand_ready, dut.operand_ready_slot, to_matrix,
                 transfer.buffer)):
            self.claim(m, f"{name} is set exactly once, {LATENCY} cycles after the last end",
                       flag == self.later(m, ends & when & transfer.last, name))
            self.claim(m, f"{name} is set for the transfer's slot",
                       ~flag | (slot == self.later(m, own, f"{name}_slot")))
        self.cover(m, "a transfer starts in the cycle after another has ended",
                   starts & self.before(m, ends, "ended"))


class HandoffBeatsSpec(HandoffSpec):
    """Beats, duration and data of small transfers."""

    def __init__(self, dut, path, units):
        super().__init__(dut)
        self._staged, self._units = path == "staged", units

    def describe(self, m):
        self._describe_transfer(m)
        dut, transfer = self.dut, self.dut.i.payload
        self.assume(m, "a transfer is small", (
            (transfer.rows != 0) & (transfer.rows <= MOST_ROWS) & (transfer.length != 0)
            & (transfer.length <= MOST_LENGTH) & (transfer.element_bytes != 0)
            & (transfer.element_bytes <= MOST_BYTES)))
        beats, cycles = Signal(8), Signal(8)
        nbytes = Signal(8)
        elements = Mux(self.to_matrix, 1, COLS)
        m.d.comb += [
            beats.eq(transfer.rows * Mux(self.to_matrix | (transfer.length <= 1),
                                         transfer.length, (transfer.length + 1) >> 1)),
            nbytes.eq((transfer.rows * transfer.length * transfer.element_bytes + RATE - 1)
                      >> (RATE - 1)),
            cycles.eq(Mux(beats > nbytes, beats, nbytes)),
        ]
        self.assume(m, "a transfer is no larger than a bank or operand slot",
                    beats <= MOST_BEATS)
        age = Signal(8)
        now = Signal(8)
        m.d.comb += now.eq(Mux(self.starts, 1, age + 1))
        m.d.sync += age.eq(now)
        total = 2 * cycles + HandoffUnit.TURNAROUND if self._staged else cycles
        self.claim(m, "a transfer holds the interface for its duration",
                   ~(self.starts | self.runs) | (self.ends == (now == total)))
        reads = dut.read | dut.vector_read
        read_at = self._describe_places(m, "read", reads, self.starts, transfer, elements)
        self.claim(m, "a row is read in each cycle from the start until all are read",
                   reads == ((self.starts | self.runs) & (now <= beats)))
        self.claim(m, "rows come from the source of the transfer",
                   ~reads | (dut.vector_read == self.to_matrix))
        self.claim(m, "beats to the vector unit are read in order",
                   ~dut.read | (dut.row == read_at["matrix"]))
        self.claim(m, "beats to the matrix unit are read in order", ~dut.vector_read | (
            (dut.vector_read_address == read_at["vector"])
            & (dut.vector_read_unit == read_at["unit"])
            & (dut.vector_read_slot == transfer.slot)))
        self._describe_writes(m, beats, elements, read_at["number"])
        self.cover(m, "a transfer of several beats ends", self.ends & (beats == MOST_BEATS))

    def _describe_places(self, m, name, event, begins, transfer, elements):
        """The number of a beat of a transfer and its places on both sides."""
        kept = {each: Signal(8, name=f"{name}_{each}") for each in ("number", "row", "piece")}
        at = {each: Signal(8, name=f"{name}_{each}_now")
              for each in (*kept, "matrix", "vector", "unit")}
        last = Signal(name=f"{name}_last_row")
        m.d.comb += [
            *(at[each].eq(Mux(begins, 0, kept[each])) for each in kept),
            last.eq(at["row"] == transfer.rows - 1),
            at["matrix"].eq((transfer.row + at["piece"] * transfer.piece_pitch
                             + at["row"])[:2]),
            at["vector"].eq((transfer.address + at["piece"] * elements
                             + (at["row"] >> self._units - 1) * transfer.pitch)[:4]),
            at["unit"].eq(at["row"] & self._units - 1),
        ]
        m.d.sync += [
            kept["number"].eq(at["number"] + event),
            kept["row"].eq(Mux(event, Mux(last, 0, at["row"] + 1), at["row"])),
            kept["piece"].eq(at["piece"] + (event & last)),
        ]
        return at

    def _describe_writes(self, m, beats, elements, read_number):
        """What is written, seen `LATENCY` cycles later, when the next transfer may run."""
        dut = self.dut
        transfer = Signal.like(dut.i.payload, name="written_transfer")
        m.d.comb += transfer.eq(self.later(m, dut.i.payload.as_value(), "transfer_later"))
        starts, ends, beats, elements, to_matrix = (
            self.later(m, value, name) for value, name in (
                (self.starts, "start_later"), (self.ends, "end_later"),
                (beats, "beats_later"), (elements, "elements_later"),
                (self.to_matrix, "direction_later")))
        writes = dut.vector_write | dut.operand_write.any()
        at = self._describe_places(m, "write", writes, starts, transfer, elements)
        self.claim(m, "all beats are written, each once, when the end is known",
                   ~ends | (at["number"] + writes == beats))
        self.claim(m, "beats to the vector unit are written in order", ~dut.vector_write | (
            ~to_matrix & (dut.vector_address == at["vector"]) & (dut.vector_unit == at["unit"])
            & (dut.vector_slot == transfer.slot)))
        self.claim(m, "beats to the matrix unit are written in order",
                   ~dut.operand_write[0] | (
                       to_matrix & (dut.operand_row[0] == at["matrix"])
                       & (dut.operand_slot == transfer.buffer)))
        left = Signal(8)
        m.d.comb += left.eq(transfer.length - at["piece"] * COLS)
        self.claim(m, "a beat has as many elements as are left, up to all", ~dut.vector_write | (
            dut.vector_count == Mux(left < COLS, left, COLS)))

        which = self.chosen(m, 3, "which")   # a beat of every transfer
        score, code = Signal(16), Signal(8)
        with m.If(self.before(m, dut.read & (read_number == which), "score_read")):
            m.d.sync += score.eq(dut.data[0])
        with m.If(self.before(m, dut.vector_read & (read_number == which), "code_read")):
            m.d.sync += code.eq(dut.vector_read_data[0][:8])
        # Beats are read while earlier ones are converted.
        score = self.later(m, score, "score_later", LATENCY - 2)
        code = self.later(m, code, "code_later", LATENCY - 2)
        plain = (transfer.shift == 0) & ~transfer.narrow & (at["number"] == which)
        self.claim(m, "the beats to the vector unit carry what was read", ~(
            dut.vector_write & plain) | (dut.vector_data[0][:16] == score))
        self.claim(m, "the beats to the matrix unit carry what was read", ~(
            dut.operand_write[0] & plain) | (dut.operand_data[0] == code))


def order(path, unit=HandoffUnit):
    return HandoffOrderSpec(unit(design=design(path)))


def beats(path, units=1, unit=HandoffUnit):
    return HandoffBeatsSpec(unit(design=design(path, units)), path, units)


@pytest.mark.parametrize("path", ["direct", "staged"])
def test_order_for_all_time(path):
    assert prove(lambda: order(path), depth=LATENCY + 1, cycles=10) is None


@pytest.mark.parametrize("path, units, cycles", [
    ("direct", 1, 10), ("direct", 2, 10), ("staged", 1, 14),
])
def test_beats(path, units, cycles):
    assert bounded_check(beats(path, units), cycles) is None


@pytest.mark.parametrize("text, replacement, sentence", [
    ("transfer.take & self.slots_taken.bit_select(transfer.buffer, 1)", "transfer.take & 0",
     "a transfer starts exactly if its data is there, its destination is free or its own, "
     "and no other runs"),
    ("self.i.valid & ~active & ready", "self.i.valid & ready",
     "the vector slot is taken exactly once, at the start"),
    ("self.vector_use.eq(starts & to_matrix)", "self.vector_use.eq(ends & to_matrix)",
     "the result is used up exactly once, at the start"),
    ("ends & to_matrix & transfer.last", "ends & to_matrix",
     f"ready is set exactly once, {LATENCY} cycles after the last end"),
    ('self.vector_filled_slot.eq(ending["slot"])', "self.vector_filled_slot.eq(transfer.slot)",
     "filled is set for the transfer's slot"),
])
def test_planted_bugs_in_the_order(text, replacement, sentence):
    assert_caught(order("direct", broken(HandoffUnit, text, replacement)), 10, sentence)


@pytest.mark.parametrize("path, text, replacement, sentence", [
    ("direct", 'kept["bytes"]) <= rate', 'kept["bytes"]) < rate',
     "a transfer holds the interface for its duration"),
    ("staged", "Mux(second, 0, self.TURNAROUND)", "Mux(second, 0, 1)",
     "a transfer holds the interface for its duration"),
    ("direct", 'kept["matrix_row"].eq(now["matrix_row"] + 1)',
     'kept["matrix_row"].eq(now["matrix_row"] + 2)',
     "beats to the vector unit are read in order"),
    ("direct", 'now["vector_piece"] + elements', 'now["vector_piece"] + 1',
     "beats to the vector unit are written in order"),
    ("direct", 'kept["unit"].eq(Mux(round_ends, 0, now["unit"] + 1))', 'kept["unit"].eq(0)',
     "beats to the matrix unit are read in order"),
    ("direct", "valid.eq(moves & ~issued)", "valid.eq(moves)",
     "a row is read in each cycle from the start until all are read"),
    ("staged", "exchange.write_place.eq(writing.place)", "exchange.write_place.eq(0)",
     "the beats to the matrix unit carry what was read"),
    ("staged", 'kept["place"].eq(now["place"] + 1)', 'kept["place"].eq(0)',
     "the beats to the vector unit carry what was read"),
])
def test_planted_bugs_in_the_beats(path, text, replacement, sentence):
    units = 2 if "unit" in text else 1
    assert_caught(beats(path, units, broken(HandoffUnit, text, replacement)), 14, sentence)
