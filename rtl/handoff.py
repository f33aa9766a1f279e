"""Hand-off: moves row groups between accumulator banks, vector slots and operand slots."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .checks import ceil_div
from .exchange import Exchange, exchange_bits, exchange_words, matrix_beat
from .handoff_formats import ProbabilityFormat, ScoreFormat, ScoreShift
from .rounding import times
from .stand_in import left_out
from .status import HandoffStatus
from .vector_commands import (
    Direction,
    handoff_layout,
    matrix_pieces,
    vector_element_bits,
    vector_slot_elements,
    vector_slots,
)

__all__ = ["HandoffUnit", "beat_bytes_bits", "duration"]


def duration(design, command):
    """Cycles for which a transfer (a :class:`Handoff`) holds the interface."""
    to_matrix = command.direction is Direction.TO_MATRIX
    elements = matrix_beat(design) if to_matrix else design.cols
    beats = command.rows * ceil_div(command.length, elements)
    nbytes = command.rows * command.length * command.element_bytes
    cycles = max(beats, ceil_div(nbytes, design.handoff_bytes_per_cycle))
    return 2 * cycles + HandoffUnit.TURNAROUND if design.handoff == "staged" else cycles


def beat_bytes_bits(design):
    """Bits of the bytes of one beat."""
    return (7 * max(matrix_beat(design), design.cols)).bit_length()


class HandoffUnit(wiring.Component):
    """Executes transfers in order, one beat per cycle: a piece of a row to the vector unit, up
    to :func:`matrix_pieces` pieces of a row to the matrix unit.

    A transfer starts in the cycle in which its conditions hold, at the head of the queue, and
    holds the interface for :func:`duration` cycles: beats and bytes (`handoff_bytes_per_cycle`)
    have their least time each. The beats come first and without gaps: those of the rows' first
    pieces, row by row, then those of the next ones. A staged transfer goes to the exchange
    memory like this and, `TURNAROUND` cycles later, from there to its destination in the same
    way.

    A beat of cycle t is written in cycle t + `LATENCY`; filled or ready shows the destination
    `LATENCY` cycles after the interface is free again, where the next transfer may start.

    Status, first that applies: `BUSY` a transfer holds the interface; without a command `DRAIN`,
    `IDLE`; with one to the vector unit `SCORES`, `SLOT`; to the matrix unit `PROBABILITIES`,
    `OPERANDS`.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(stream.Signature(handoff_layout))
        Transfers; taken from the queue in their last cycle.
    banks_full : In(accumulator_banks), slots_taken : In(input_slots)
    vector_taken, results : In(vector_slots)
    read, release : Out(1), bank, row : Out
        Read an accumulator row; the bank is free after this cycle.
    data : In(ArrayLayout(accumulator, cols))
        The row read `Accumulators.LATENCY` cycles before.
    vector_read, vector_write : Out(1), vector_..., vector_read_... : Out
        Access to the vector slots; the elements of `vector_read_data` were read
        `VectorStorage.LATENCY` cycles before.
    vector_take, vector_filled, vector_use : Out(1), vector_..._slot : Out
        Hand-shakes of the vector slots.
    operand_write : Out(matrix_pieces), operand_slot, operand_row, operand_data : Out
        For each bit of `operand_write` write a row, of the same place in the arrays
        `operand_row` and `operand_data`.
    operand_take, operand_ready : Out(1), operand_..._slot : Out
        Hand-shakes of the operand slots.
    bytes : Out
        Bytes that cross the interface in this cycle, to or from the exchange memory too.
    status : Out(HandoffStatus)
    """

    LATENCY = 3     # cycles from a beat to its write at the destination
    TURNAROUND = 2  # cycles between both halves of a staged transfer

    def __init__(self, *, design):
        self._design = design
        self._staged = design.handoff == "staged"
        element = signed(vector_element_bits(design))
        vector_slot = range(vector_slots(design))
        address, unit = range(vector_slot_elements(design)), range(design.vector_units)
        operand_slot, port = range(design.input_slots), matrix_pieces(design)
        super().__init__({
            "i": In(stream.Signature(handoff_layout(design))),
            "banks_full": In(design.accumulator_banks),
            "slots_taken": In(design.input_slots),
            "vector_taken": In(vector_slots(design)),
            "results": In(vector_slots(design)),
            "read": Out(1),
            "bank": Out(range(design.accumulator_banks)),
            "row": Out(range(design.accumulator_rows)),
            "release": Out(1),
            "data": In(data.ArrayLayout(signed(design.accumulator_bits), design.cols)),
            "vector_read": Out(1),
            "vector_read_slot": Out(vector_slot),
            "vector_read_unit": Out(unit),
            "vector_read_address": Out(address),
            "vector_read_data": In(data.ArrayLayout(element, matrix_beat(design))),
            "vector_write": Out(1),
            "vector_slot": Out(vector_slot),
            "vector_unit": Out(unit),
            "vector_address": Out(address),
            "vector_count": Out(range(design.cols + 1)),
            "vector_data": Out(data.ArrayLayout(element, design.cols)),
            "vector_take": Out(1),
            "vector_take_slot": Out(vector_slot),
            "vector_filled": Out(1),
            "vector_filled_slot": Out(vector_slot),
            "vector_use": Out(1),
            "vector_use_slot": Out(vector_slot),
            "operand_write": Out(port),
            "operand_slot": Out(operand_slot),
            "operand_row": Out(data.ArrayLayout(range(design.slot_rows), port)),
            "operand_data": Out(data.ArrayLayout(design.rows * design.activation_bits, port)),
            "operand_take": Out(1),
            "operand_take_slot": Out(operand_slot),
            "operand_ready": Out(1),
            "operand_ready_slot": Out(operand_slot),
            "bytes": Out(beat_bytes_bits(design)),
            "status": Out(HandoffStatus),
        })

    def elaborate(self, platform):
        m = Module()
        if left_out(platform, self):
            return m
        transfer = self.i.payload
        to_matrix = Signal()
        active = Signal()        # started, not yet done
        starts = Signal()
        moves = Signal()         # the interface counts cycles: not in the turnaround
        second = Signal()        # from the exchange memory to the destination
        pass_ends = Signal()
        ends = Signal()
        scores = self.banks_full.bit_select(transfer.buffer, 1)
        probabilities = self.results.bit_select(transfer.slot, 1)
        # Chosen last: which of them is asked is known before they are.
        ready = Mux(
            to_matrix,
            probabilities & ~(transfer.take & self.slots_taken.bit_select(transfer.buffer, 1)),
            scores & ~(transfer.take & self.vector_taken.bit_select(transfer.slot, 1)))
        m.d.comb += [
            to_matrix.eq(transfer.direction == Direction.TO_MATRIX),
            starts.eq(self.i.valid & ~active & ready),
            self.i.ready.eq(ends),
            self.bank.eq(transfer.buffer),
            self.release.eq(ends & ~to_matrix),
            self.vector_take.eq(starts & ~to_matrix & transfer.take),
            self.vector_take_slot.eq(transfer.slot),
            self.vector_use.eq(starts & to_matrix),
            self.vector_use_slot.eq(transfer.slot),
            self.operand_take.eq(starts & to_matrix & transfer.take),
            self.operand_take_slot.eq(transfer.buffer),
        ]
        with m.If(ends):
            m.d.sync += active.eq(0)
        with m.Elif(starts):
            m.d.sync += active.eq(1)
        if self._staged:
            turn = Signal(range(self.TURNAROUND + 1))  # cycles left of the turnaround
            m.d.comb += [moves.eq(starts | (active & (turn == 0))), ends.eq(pass_ends & second)]
            with m.If(pass_ends):
                m.d.sync += [second.eq(~second), turn.eq(Mux(second, 0, self.TURNAROUND))]
            with m.Elif(turn != 0):
                m.d.sync += turn.eq(turn - 1)
        else:
            m.d.comb += [moves.eq(starts | active), ends.eq(pass_ends)]

        beat = self._elaborate_beats(m, to_matrix, moves, second, pass_ends)
        self._elaborate_data(m, beat, to_matrix, second)
        under_way = self._elaborate_end(m, ends, to_matrix)
        self._report(m, starts | active, under_way, to_matrix,
                     Mux(to_matrix, probabilities, scores))
        return m

    def _elaborate_beats(self, m, to_matrix, moves, second, pass_ends):
        """The beats of a pass and the cycle in which it ends; returns this cycle's beat."""
        design, transfer = self._design, self.i.payload
        begin = Signal(init=1)    # no beat of the pass before this cycle
        issued = Signal()         # all beats of the pass are before this cycle
        last_row = Signal()
        last_elements = Signal()  # no beats of the row after this one
        most = max(matrix_beat(design), design.cols)
        count = Signal(range(most + 1))
        elements = Mux(to_matrix, matrix_beat(design), design.cols)
        valid = Signal(name="beat")
        element_bytes = transfer.element_bytes

        # Where the beat is: registers, at the beginning of a pass as the command says.
        most_bytes = max(7 * most, design.handoff_bytes_per_cycle)
        debt_bits = (most_bytes * exchange_words(design)).bit_length() + 1
        places = {
            "rows_before": (range(vector_slot_elements(design) * design.vector_units), 0),
            "left": (transfer.length.shape(), transfer.length),   # elements from this beat on
            "matrix_piece": (transfer.row.shape(), transfer.row),
            "matrix_row": (transfer.row.shape(), transfer.row),
            "vector_piece": (transfer.address.shape(), transfer.address),
            "vector_address": (transfer.address.shape(), transfer.address),
            "unit": (range(design.vector_units), 0),
            "place": (range(exchange_words(design)), 0),
            "debt": (signed(debt_bits), 0),          # bytes moved beyond the bandwidth
            # if this is the last beat of the row
            "bytes": (self.bytes.shape(), times(transfer.length[:len(count)], element_bytes)),
        }
        kept = {name: Signal(shape, name=name) for name, (shape, _) in places.items()}
        now = {name: Signal(shape, name=f"{name}_now") for name, (shape, _) in places.items()}
        m.d.comb += [now[name].eq(Mux(begin, first, kept[name]))
                     for name, (_, first) in places.items()]
        rate = design.handoff_bytes_per_cycle
        fits = Signal()           # the bytes with this beat's, if it is the pass's last one
        last = Signal()
        m.d.comb += [
            valid.eq(moves & ~issued),
            last_row.eq(now["rows_before"] == transfer.rows - 1),
            last_elements.eq(now["left"] <= elements),
            last.eq(last_row & last_elements),
            count.eq(Mux(last_elements, now["left"], elements)),
            self.bytes.eq(Mux(last_elements, now["bytes"], times(elements, element_bytes))
                          & valid.replicate(len(self.bytes))),
            # In time for `ready`: this does not wait for whether the beat is a last one.
            fits.eq(Mux(begin, now["bytes"] <= rate if rate < 7 * most else 1,
                        kept["debt"] + Mux(issued, 0, kept["bytes"]) <= rate)),
            pass_ends.eq(moves & (issued | last) & fits),
        ]
        with m.If(pass_ends):
            m.d.sync += [begin.eq(1), issued.eq(0)]
        with m.Elif(moves):
            m.d.sync += [begin.eq(0), kept["debt"].eq(now["debt"] + self.bytes - rate),
                         issued.eq(issued | last)]
            left = now["left"] - Mux(last_row, elements, 0)
            m.d.sync += kept["bytes"].eq(times(left[:len(count)], element_bytes))
        with m.If(valid):
            self._advance(m, now, kept, last_row, elements, to_matrix)
        return {"valid": valid, "count": count, **{name: now[name] for name in (
            "matrix_row", "vector_address", "unit", "place")}}

    def _advance(self, m, now, kept, last_row, elements, to_matrix):
        """To the next row or, after the last one, to the next pieces of the first one."""
        transfer = self.i.payload
        m.d.sync += kept["place"].eq(now["place"] + 1)
        with m.If(last_row):
            pieces = Mux(to_matrix, matrix_pieces(self._design), 1)
            matrix = now["matrix_piece"] + times(transfer.piece_pitch, pieces)
            vector = now["vector_piece"] + elements
            m.d.sync += [
                kept["rows_before"].eq(0), kept["left"].eq(now["left"] - elements),
                kept["matrix_piece"].eq(matrix), kept["matrix_row"].eq(matrix),
                kept["vector_piece"].eq(vector), kept["vector_address"].eq(vector),
                kept["unit"].eq(0),
            ]
        with m.Else():
            round_ends = now["unit"] == self._design.vector_units - 1
            m.d.sync += [
                kept["rows_before"].eq(now["rows_before"] + 1),
                kept["matrix_row"].eq(now["matrix_row"] + 1),
                kept["unit"].eq(Mux(round_ends, 0, now["unit"] + 1)),
                kept["vector_address"].eq(
                    now["vector_address"] + Mux(round_ends, transfer.pitch, 0)),
                *(kept[name].eq(now[name])
                  for name in ("left", "matrix_piece", "vector_piece")),
            ]

    def _elaborate_data(self, m, beat, to_matrix, second):
        """Reads the beat; what comes is registered, converted, and written in the last cycle."""
        design, transfer = self._design, self.i.payload
        first = beat["valid"] & ~second
        m.d.comb += [
            self.read.eq(first & ~to_matrix),
            self.row.eq(beat["matrix_row"]),
            self.vector_read.eq(first & to_matrix),
            self.vector_read_slot.eq(transfer.slot),
            self.vector_read_unit.eq(beat["unit"]),
            self.vector_read_address.eq(beat["vector_address"]),
        ]
        values = {"valid": beat["valid"], "to_matrix": to_matrix, "second": second,
                  "slot": transfer.slot, "buffer": transfer.buffer,
                  "piece_pitch": transfer.piece_pitch, "shift": transfer.shift,
                  "narrow": transfer.narrow, **{name: beat[name] for name in (
                      "matrix_row", "vector_address", "unit", "count", "place")}}
        place = data.StructLayout({name: Value.cast(value).shape()
                                   for name, value in values.items()})
        # The beat of each of the cycles before.
        stages = [Signal(place, name=name) for name in ("reading", "rounding", "writing")]
        elements = Signal.like(self.vector_read_data)
        m.d.sync += [target.eq(source) for source, target in zip(
            (Cat(values.values()), *stages), stages)]
        reading, rounding, writing = stages
        with m.If(reading.valid):
            m.d.sync += elements.eq(self.vector_read_data)
        word = Signal(exchange_bits(design))
        source = Mux(rounding.to_matrix, self._probabilities(m, elements, rounding),
                     self._scores(m, reading, rounding))
        arrives = Signal()       # the beat written in this cycle reaches its destination
        m.d.comb += arrives.eq(writing.valid & (writing.second | (not self._staged)))
        if self._staged:
            m.submodules.exchange = exchange = Exchange(design=design)
            m.d.comb += [
                exchange.read.eq(reading.valid & reading.second),
                exchange.read_place.eq(reading.place),
                exchange.write.eq(writing.valid & ~writing.second),
                exchange.write_place.eq(writing.place),
                exchange.data.eq(word),
            ]
            source = Mux(rounding.second, exchange.o, source)
        with m.If(rounding.valid):
            m.d.sync += word.eq(source)
        self._write(m, arrives, writing, word)

    def _scores(self, m, reading, rounding):
        """The accumulator row, shifted as it is read and rounded in the next cycle."""
        scores = []
        for col in range(self._design.cols):
            m.submodules[f"shift_{col}"] = shift = ScoreShift(design=self._design)
            m.submodules[f"score_{col}"] = score = ScoreFormat(design=self._design)
            shifted = Signal.like(shift.o, name=f"shifted_{col}")
            m.d.sync += shifted.eq(shift.o)
            m.d.comb += [shift.i.eq(self.data[col]), shift.shift.eq(reading.shift),
                         score.i.eq(shifted), score.narrow.eq(rounding.narrow)]
            scores.append(score.o)
        return Cat(*scores)

    def _probabilities(self, m, elements, beat):
        """The vector elements of a beat, converted; 0 beyond its `count`."""
        activations = []
        for place in range(matrix_beat(self._design)):
            m.submodules[f"probability_{place}"] = code = ProbabilityFormat(design=self._design)
            m.d.comb += [code.i.eq(elements[place]), code.narrow.eq(beat.narrow)]
            activations.append(Mux(beat.count > place, code.o, 0))
        return Cat(*activations)

    def _write(self, m, arrives, writing, word):
        design = self._design
        scores = Signal(data.ArrayLayout(signed(design.accumulator_bits), design.cols))
        m.d.comb += [
            scores.eq(word),
            self.vector_write.eq(arrives & ~writing.to_matrix),
            self.vector_slot.eq(writing.slot),
            self.vector_unit.eq(writing.unit),
            self.vector_address.eq(writing.vector_address),
            self.vector_count.eq(writing.count),
            *(self.vector_data[col].eq(scores[col]) for col in range(design.cols)),
            self.operand_slot.eq(writing.buffer),
            self.operand_data.eq(word),
        ]
        for piece in range(matrix_pieces(design)):
            m.d.comb += [
                self.operand_write[piece].eq(
                    arrives & writing.to_matrix & (writing.count > piece * design.rows)),
                self.operand_row[piece].eq(writing.matrix_row + piece * writing.piece_pitch),
            ]

    def _elaborate_end(self, m, ends, to_matrix):
        """What the end of a transfer makes known, `LATENCY` - 1 cycles after its last write.

        Returns whether the end of some transfer is under way.
        """
        transfer = self.i.payload
        stages = []
        ending = {"valid": ends, "filled": ends & ~to_matrix & transfer.last,
                  "ready": ends & to_matrix & transfer.last,
                  "slot": transfer.slot, "buffer": transfer.buffer}
        for number in range(self.LATENCY):
            stage = {name: Signal(Value.cast(value).shape(), name=f"end_{number}_{name}")
                     for name, value in ending.items()}
            m.d.sync += [stage[name].eq(value) for name, value in ending.items()]
            stages.append(ending := stage)
        m.d.comb += [
            self.vector_filled.eq(ending["filled"]),
            self.vector_filled_slot.eq(ending["slot"]),
            self.operand_ready.eq(ending["ready"]),
            self.operand_ready_slot.eq(ending["buffer"]),
        ]
        return Cat(stage["valid"] for stage in stages).any()

    def _report(self, m, busy, under_way, to_matrix, source_ready):
        """The status of this cycle."""
        with m.If(busy):
            m.d.comb += self.status.eq(HandoffStatus.BUSY)
        with m.Elif(~self.i.valid):
            m.d.comb += self.status.eq(Mux(under_way, HandoffStatus.DRAIN, HandoffStatus.IDLE))
        with m.Elif(~source_ready):
            m.d.comb += self.status.eq(Mux(to_matrix, HandoffStatus.PROBABILITIES,
                                           HandoffStatus.SCORES))
        with m.Else():
            m.d.comb += self.status.eq(Mux(to_matrix, HandoffStatus.OPERANDS,
                                           HandoffStatus.SLOT))
