"""Execution of one vector command after another: which elements, when, and where to."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .checks import ceil_div
from .vector_alu import VectorAlu
from .vector_commands import (
    Operand,
    VectorOp,
    vector_layout,
    vector_slot_elements,
)
from .vector_operands import VectorOperands
from .vector_special import VectorSpecial
from .vector_storage import VectorStorage

__all__ = ["VectorEngine", "beat_tag", "beats", "engine_ops", "result_latency"]

MASKING = (VectorOp.ROW_MAXIMUM, VectorOp.SUBTRACT, VectorOp.MASK)
#: Cycles of a beat outside the arithmetic: slots, operand registers, writing the slot.
ISSUE = VectorStorage.LATENCY + VectorOperands.LATENCY + 1


def engine_ops(design):
    """The operations of each engine: one for all, or two, of ordinary and special ones."""
    if design.vector_schedule == "sequential":
        return [tuple(VectorOp)]
    return [tuple(op for op in VectorOp if op.special == special) for special in (False, True)]


def arithmetic_latency(design, op):
    """Cycles from a beat's operands, of a reduction the row's last ones, to the result."""
    if op.special:
        return VectorSpecial.latency(op)
    return VectorAlu.row_latency(design.lanes) if op.reduces else VectorAlu.LATENCY


def result_latency(design, op):
    """Cycles from a beat to that in which a beat that needs its result may follow."""
    return ISSUE + arithmetic_latency(design, op)


def beats(design, command):
    """Beats of a command: cycles in which its elements enter."""
    op = VectorOp(command.op)
    rate = design.sfu_lanes if op.special else design.lanes
    if command.flat:
        return ceil_div(ceil_div(command.length, design.vector_units), rate)
    return ceil_div(command.rows, design.vector_units) * ceil_div(command.length, rate)


def beat_tag(design):
    """What goes with a beat. One bit, or number, a unit in `active` and `count`."""
    most, units = max(design.lanes, design.sfu_lanes), design.vector_units
    return data.StructLayout({
        "valid": 1, "first": 1, "last": 1,  # of a row
        "end": 1,                           # last of the command
        "active": units,                    # the unit has a row
        "count": data.ArrayLayout(range(most + 1), units),
        "address": range(vector_slot_elements(design))})


class VectorEngine(wiring.Component):
    """Walks through the rows of a command, one beat per cycle, in lock-step for all units.

    In a beat's cycle the slots are read. `VectorStorage.LATENCY` cycles later the operands are
    there and are registered, and in the next cycle they enter the arithmetic. When the result
    comes out it is written. The command's registers do not change before its last
    result is written.

    Latency `LATENCY` from `start` to the first beat.

    Parameters
    ----------
    design : Design
    ops : tuple of VectorOp
        What it executes.

    Members
    -------
    start : In(1), command : In(vector_layout)
        Execute this command. Only when `free`.
    chained : In(1)
        With `start`: each row waits until `other_rounds` is beyond it, or for `other_ends`.
    other_rounds, other_ends : In
        `rounds` and `ends` of the engine that it is chained to.
    current : Out(vector_layout)
        The command in execution.
    beat : Out(1), a_address, b_address : Out
        A beat is issued: read the slots there.
    operands : Out(beat_tag), real : Out(ArrayLayout(range(lanes + 1), vector_units))
        The beat whose operands are on the slots' ports, and how many of its elements are not
        to be masked.
    arithmetic, result : Out(beat_tag)
        The beat that enters the arithmetic, and the one whose result comes out.
    executing : Out(1)
        Some command is not complete.
    issuing : Out(1)
        It has beats left.
    ends : Out(1)
        It is complete after this cycle.
    free : Out(1)
        A command may start.
    rounds : Out
        Rows, of one unit, of the last command that are complete.
    """

    LATENCY = 1

    def __init__(self, *, design, ops):
        self._design, self._ops = design, ops
        elements = vector_slot_elements(design)
        tag, rows = beat_tag(design), vector_layout(design)["rows"].shape
        super().__init__({
            "start": In(1), "command": In(vector_layout(design)),
            "chained": In(1), "other_rounds": In(rows), "other_ends": In(1),
            "current": Out(vector_layout(design)),
            "beat": Out(1), "a_address": Out(range(elements)), "b_address": Out(range(elements)),
            "operands": Out(tag), "real": Out(tag["count"].shape),
            "arithmetic": Out(tag), "result": Out(tag),
            "executing": Out(1), "issuing": Out(1), "ends": Out(1), "free": Out(1),
            "rounds": Out(rows),
        })

    def elaborate(self, platform):
        m = Module()
        issued = Signal(beat_tag(self._design))
        m.d.comb += [
            issued.valid.eq(self.beat),
            self.ends.eq(self.result.valid & self.result.end),
            self.free.eq(~self.executing | self.ends),
        ]
        with m.If(self.start):
            m.d.sync += [self.current.eq(self.command), self.executing.eq(1), self.rounds.eq(0)]
        with m.Else():
            with m.If(self.ends):
                m.d.sync += self.executing.eq(0)
            with m.If(self.result.valid & self.result.last):
                m.d.sync += self.rounds.eq(self.rounds + 1)
        self._elaborate_beats(m, issued)
        self._elaborate_stages(m, issued)
        return m

    def _is(self, op, wanted):
        """Whether `op` is one of `wanted`, of those that are executed here."""
        found = [op == each for each in self._ops if each in wanted]
        return Cat(found).any() if len(found) < len(self._ops) else C(1)

    def _elaborate_beats(self, m, issued):
        """Issue the beats of the current command; fill in their tag."""
        design, op = self._design, self.current.op
        units, elements = design.vector_units, vector_slot_elements(design)
        rates = {special: design.sfu_lanes if special else design.lanes
                 for special in (False, True)}
        reduces = self._is(op, [each for each in VectorOp if each.reduces])
        rate = Signal(range(max(rates.values()) + 1))  # elements of a unit's beat
        chained = Signal(name="is_chained")
        place = Signal.like(self.current.length)     # of the beat in the row
        left = Signal.like(self.current.rows)        # rows that are not through
        number = Signal.like(self.current.rows)      # of unit 0's row
        row = {side: Signal(range(elements), name=f"{side}_row") for side in "abd"}
        lengths = [Signal.like(self.current.length, name=f"length_{unit}")
                   for unit in range(units)]
        m.d.comb += [
            self.beat.eq(self.issuing & (~chained | (place != 0) | (self.other_rounds > number))),
            self.a_address.eq(row["a"] + place),
            self.b_address.eq(row["b"] + Mux(self.current.b == Operand.VECTOR, place, 0)),
            issued.address.eq(row["d"] + Mux(reduces, 0, place)),
            issued.first.eq(place == 0),
            issued.last.eq(place + rate >= lengths[0]),
            issued.end.eq(issued.last & (left <= units)),
        ]
        steps = {"a": self.current.a_pitch, "d": Mux(reduces, 1, self.current.d_pitch),
                 "b": Mux(self.current.b == Operand.ROW, 1, self.current.b_pitch)}
        command = self.command
        special = self._is(command.op, [each for each in VectorOp if each.special])
        with m.If(self.start):
            m.d.sync += [self.issuing.eq(1), chained.eq(self.chained), place.eq(0), number.eq(0),
                         left.eq(command.rows), rate.eq(Mux(special, rates[True], rates[False]))]
            m.d.sync += [row[side].eq(command[f"{side}_address"]) for side in "abd"]
            m.d.sync += [each.eq(self._share(command.length, command.flat, unit))
                         for unit, each in enumerate(lengths)]
        with m.Else():
            with m.If(self.other_ends):
                m.d.sync += chained.eq(0)
            with m.If(self.beat & issued.last):
                m.d.sync += [self.issuing.eq(~issued.end), place.eq(0), number.eq(number + 1),
                             left.eq(left - units)]
                m.d.sync += [row[side].eq(row[side] + steps[side]) for side in "abd"]
            with m.Elif(self.beat):
                m.d.sync += place.eq(place + rate)
        for unit, length in enumerate(lengths):
            rest = length - place
            m.d.comb += [issued.active[unit].eq(self.current.flat | (left > unit)),
                         issued.count[unit].eq(Mux(rest > rate, rate, rest))]
        self._elaborate_real(m, issued, place, rate)

    def _share(self, length, flat, unit):
        """Unit's share of a length that is dealt out if `flat`."""
        units = self._design.vector_units
        return length if units == 1 else Mux(flat, (length + units - 1 - unit) >> 1, length)

    def _elaborate_real(self, m, issued, place, rate):
        """How many elements of the beat are within the valid part of the row."""
        units, command = self._design.vector_units, self.command
        for unit in range(units):
            valid = Signal(signed(len(command.valid) + 2), name=f"valid_{unit}")
            rest = Signal(signed(len(valid) + 1), name=f"valid_rest_{unit}")
            real = Signal.like(rate, name=f"real_{unit}")
            m.d.comb += [
                rest.eq(valid - place),
                real.eq(Mux(rest < 0, 0, Mux(rest > rate, rate, rest))),
            ]
            with m.If(self.start):
                share = self._share(command.valid, command.flat, unit)
                m.d.sync += valid.eq(share + Mux(command.flat | ~command.valid_step, 0, unit))
            with m.Elif(self.beat & issued.last & self.current.valid_step):
                m.d.sync += valid.eq(valid + units)
            stages = [Mux(self._is(self.current.op, MASKING), real, rate)]
            for number in range(VectorStorage.LATENCY - 1):
                stages.append(Signal.like(rate, name=f"real_{unit}_{number}"))
            stages.append(self.real[unit])
            m.d.sync += [target.eq(source) for source, target in zip(stages, stages[1:])]

    def _elaborate_stages(self, m, issued):
        """The registers that a beat's tag goes through."""
        reading = [Signal(beat_tag(self._design), name=f"reading_{number}")
                   for number in range(VectorStorage.LATENCY - 1)]
        stages = [issued, *reading, self.operands, self.arithmetic]
        for source, target in zip(stages, stages[1:]):
            m.d.sync += target.valid.eq(source.valid)
            with m.If(source.valid):
                m.d.sync += target.eq(source)
        self._elaborate_line(m)

    def _elaborate_line(self, m):
        """While a beat is in the arithmetic its tag moves through a line of registers.

        It enters as far from the end as its operation takes, so that the end is always the result.
        """
        places = {}
        for op in self._ops:
            places.setdefault(arithmetic_latency(self._design, op), []).append(op)
        line = [Signal(beat_tag(self._design), name=f"line_{place}")
                for place in range(max(places), 0, -1)]
        m.d.sync += [target.eq(source) for source, target in zip(line, line[1:])]
        for place, ops in places.items():
            with m.If(self._is(self.current.op, ops)):
                m.d.sync += line[-place].eq(self.arithmetic)
        m.d.comb += self.result.eq(line[-1])
