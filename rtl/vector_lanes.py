# amaranth: UnusedElaboratable=no
"""One vector unit's slots, operand registers and arithmetic."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .stand_in import stand_in
from .vector_alu import VectorAlu
from .vector_commands import Operand, vector_element_bits, vector_layout
from .vector_engine import beat_tag, engine_ops
from .vector_operands import VectorOperands
from .vector_special import VectorSpecial
from .vector_storage import VectorStorage, read_signature, write_signature

__all__ = ["VectorLanes", "engine_signature"]


def engine_signature(design):
    """What the lanes take from an engine: see :class:`VectorEngine`."""
    tag = beat_tag(design)
    return wiring.Signature({
        "current": wiring.Out(vector_layout(design)),
        "beat": wiring.Out(1),
        "a_address": wiring.Out(vector_layout(design)["a_address"].shape),
        "b_address": wiring.Out(vector_layout(design)["b_address"].shape),
        "operands": wiring.Out(tag), "real": wiring.Out(tag["count"].shape),
        "arithmetic": wiring.Out(tag), "result": wiring.Out(tag)})


class VectorLanes(wiring.Component):
    """Executes the beats of the engines on this unit's share of the rows.

    Parameters
    ----------
    design : Design
    unit : int
        Its number.

    Members
    -------
    engine_<number> : In(engine_signature)
    handoff, store : In(read_signature)
    handoff_write, load_write : In(write_signature)
    overflow : Out(1)
        A sum or difference saturated in this cycle's result.

    Every output is a register's, or depends on registers only.
    """

    def __init__(self, *, design, unit):
        self._design, self._unit = design, unit
        self._engine_ops = engine_ops(design)
        bits = vector_element_bits(design)
        self.storage = VectorStorage(design=design, engines=len(self._engine_ops))
        self.alu = VectorAlu(element_bits=bits, lanes=design.lanes)
        self.special = VectorSpecial(element_bits=bits, lanes=design.sfu_lanes)
        self.alu_operands = VectorOperands(element_bits=bits, lanes=design.lanes)
        self.special_operands = VectorOperands(element_bits=bits, lanes=design.sfu_lanes)
        engines = range(len(self._engine_ops))
        #: Of each engine: its command is special, a reduction.
        self.is_special = [Signal(name=f"is_special_{number}") for number in engines]
        self.reduces = [Signal(name=f"reduces_{number}") for number in engines]
        super().__init__({
            **{f"engine_{number}": In(engine_signature(design)) for number in engines},
            "handoff": In(read_signature(design)), "store": In(read_signature(design)),
            "handoff_write": In(write_signature(design)),
            "load_write": In(write_signature(design)),
            "overflow": Out(1),
        })

    @property
    def design(self):
        return self._design

    @property
    def arithmetic_engines(self):
        """Numbers of the engines that the ordinary and the special arithmetic belong to."""
        return 0, len(self._engine_ops) - 1

    def elaborate(self, platform):
        m = Module()
        ports = {"_".join(map(str, path)): value
                 for path, _member, value in self.signature.flatten(self)}
        inside = stand_in(platform, self, **ports)
        if inside is not None:
            m.submodules.inside = inside
            return m
        m.submodules.storage = self.storage
        m.submodules.alu_operands = self.alu_operands
        m.submodules.special_operands = self.special_operands
        m.submodules.alu = self.alu
        m.submodules.special = self.special
        self.elaborate_control(m)
        self._elaborate_data(m)
        return m

    def elaborate_control(self, m):
        """What the engines tell the other parts: when, where and how, but no elements."""
        for number, ops in enumerate(self._engine_ops):
            engine = getattr(self, f"engine_{number}")
            m.d.comb += [
                self.is_special[number].eq(
                    Cat(engine.current.op == op for op in ops if op.special).any()),
                self.reduces[number].eq(
                    Cat(engine.current.op == op for op in ops if op.reduces).any()),
            ]
            self._control_reads(m, engine, number)
            self._control_result(m, engine, number)
        ordinary, special = self.arithmetic_engines
        self._control_arithmetic(m, self.alu_operands, self.alu, ordinary,
                                 ~self.is_special[ordinary])
        self._control_arithmetic(m, self.special_operands, self.special, special,
                                 self.is_special[special])
        engine = getattr(self, f"engine_{ordinary}")
        m.d.comb += [
            self.alu.bits.eq(engine.current.bits),
            self.alu.count.eq(engine.arithmetic.count[self._unit]),
            self.alu.first.eq(engine.arithmetic.first),
            self.alu.last.eq(engine.arithmetic.last),
            self.special.immediate.eq(getattr(self, f"engine_{special}").current.immediate),
        ]

    def _control_reads(self, m, engine, number):
        command = engine.current
        for side in "ab":
            read = getattr(self.storage, f"read_{side}_{number}")
            m.d.comb += [read.slot.eq(command[f"{side}_slot"]),
                         read.address.eq(getattr(engine, f"{side}_address"))]
        m.d.comb += [getattr(self.storage, f"read_a_{number}").en.eq(engine.beat),
                     getattr(self.storage, f"read_b_{number}").en.eq(
                         engine.beat & (command.b != Operand.IMMEDIATE))]

    def _control_arithmetic(self, m, operands, arithmetic, number, here):
        """A beat that this arithmetic executes: its operands, and in the next cycle itself."""
        engine, unit = getattr(self, f"engine_{number}"), self._unit
        command = engine.current
        m.d.comb += [
            operands.take.eq(engine.operands.valid & engine.operands.active[unit] & here),
            operands.real.eq(engine.real[unit]),
            operands.kind.eq(command.b),
            operands.immediate.eq(command.immediate),
            arithmetic.valid.eq(engine.arithmetic.valid & engine.arithmetic.active[unit] & here),
            arithmetic.op.eq(command.op),
            arithmetic.shift.eq(command.shift),
        ]

    def _control_result(self, m, engine, number):
        """Where what comes out of the arithmetic is written."""
        write, tag = getattr(self.storage, f"write_{number}"), engine.result
        m.d.comb += [
            write.slot.eq(engine.current.d_slot),
            write.address.eq(tag.address),
        ]
        with m.If(tag.valid & tag.active[self._unit]):
            m.d.comb += write.count.eq(
                Mux(self.reduces[number], tag.last, tag.count[self._unit]))

    def _elaborate_data(self, m):
        """The ways of the elements."""
        storage = self.storage
        for ours, theirs in (("handoff", "read_handoff"), ("store", "read_store"),
                             ("handoff_write", "write_handoff"), ("load_write", "write_load")):
            wiring.connect(m, wiring.flipped(getattr(self, ours)), getattr(storage, theirs))
        for operands, arithmetic, number in zip(
                (self.alu_operands, self.special_operands), (self.alu, self.special),
                self.arithmetic_engines):
            a, b = (getattr(storage, f"read_{side}_{number}").data for side in "ab")
            m.d.comb += [
                Value.cast(operands.a).eq(Value.cast(a)),
                Value.cast(operands.b).eq(Value.cast(b)),
                operands.row.eq(b[0]),
                arithmetic.x.eq(operands.x),
                arithmetic.y.eq(operands.y),
            ]
        for number, kinds in enumerate(zip(self.is_special, self.reduces)):
            write = Value.cast(getattr(storage, f"write_{number}").data)
            # Of the command's beats before: its results come cycles after it.
            is_special, reduces = (Signal(name=f"result_{kind}_{number}")
                                   for kind in ("is_special", "reduces"))
            m.d.sync += Cat(is_special, reduces).eq(Cat(kinds))
            with m.If(is_special):
                m.d.comb += write.eq(Value.cast(self.special.o))
            with m.Elif(reduces):
                m.d.comb += write.eq(self.alu.row.as_unsigned())
            with m.Else():
                m.d.comb += write.eq(Value.cast(self.alu.o))
        m.d.comb += self.overflow.eq(self.alu.overflow)
