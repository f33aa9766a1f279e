"""One vector unit's slots, operand registers and arithmetic."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .vector_alu import VectorAlu
from .vector_commands import Operand, vector_element_bits, vector_layout
from .vector_engine import beat_tag, engine_ops
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
    """

    def __init__(self, *, design, unit):
        self._design, self._unit = design, unit
        self._engine_ops = engine_ops(design)
        self.storage = VectorStorage(design=design, engines=len(self._engine_ops))
        super().__init__({
            **{f"engine_{number}": In(engine_signature(design))
               for number in range(len(self._engine_ops))},
            "handoff": In(read_signature(design)), "store": In(read_signature(design)),
            "handoff_write": In(write_signature(design)),
            "load_write": In(write_signature(design)),
            "overflow": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        design, storage = self._design, self.storage
        m.submodules.storage = storage
        for ours, theirs in (("handoff", "read_handoff"), ("store", "read_store"),
                             ("handoff_write", "write_handoff"), ("load_write", "write_load")):
            wiring.connect(m, wiring.flipped(getattr(self, ours)), getattr(storage, theirs))
        bits = vector_element_bits(design)
        m.submodules.alu = alu = VectorAlu(element_bits=bits, lanes=design.lanes)
        m.submodules.special = special = VectorSpecial(element_bits=bits, lanes=design.sfu_lanes)
        m.d.comb += self.overflow.eq(alu.overflow)
        for number, ops in enumerate(self._engine_ops):
            engine = getattr(self, f"engine_{number}")
            is_special = Cat(engine.current.op == op for op in ops if op.special).any()
            self._elaborate_reads(m, engine, number)
            if any(not op.special for op in ops):
                self._elaborate_operands(m, engine, number, alu, ~is_special)
                self._elaborate_alu(m, engine, alu)
            if any(op.special for op in ops):
                self._elaborate_operands(m, engine, number, special, is_special)
                m.d.comb += special.immediate.eq(engine.current.immediate)
            self._elaborate_result(m, engine, number, alu, special)
        return m

    def _elaborate_reads(self, m, engine, number):
        for side in "ab":
            read = getattr(self.storage, f"read_{side}_{number}")
            m.d.comb += [read.slot.eq(engine.current[f"{side}_slot"]),
                         read.address.eq(getattr(engine, f"{side}_address"))]
        command, active = engine.current, engine.beat
        m.d.comb += [getattr(self.storage, f"read_a_{number}").en.eq(active),
                     getattr(self.storage, f"read_b_{number}").en.eq(
                         active & (command.b != Operand.IMMEDIATE))]

    def _elaborate_operands(self, m, engine, number, arithmetic, here):
        """Register the operands of a beat that `arithmetic` executes; hand them to it."""
        unit, masked = self._unit, -1 << (vector_element_bits(self._design) - 1)
        a = getattr(self.storage, f"read_a_{number}").data
        b = getattr(self.storage, f"read_b_{number}").data
        lanes = range(len(Value.cast(arithmetic.x)) // vector_element_bits(self._design))
        name = "alu" if isinstance(arithmetic, VectorAlu) else "special"
        x, y = (Signal(arithmetic.x.shape(), name=f"{name}_{operand}") for operand in "xy")
        command = engine.current
        with m.If(engine.operands.valid & engine.operands.active[unit] & here):
            m.d.sync += [x[lane].eq(Mux(engine.real[unit] > lane, a[lane], masked))
                         for lane in lanes]
            with m.Switch(command.b):
                with m.Case(Operand.IMMEDIATE):
                    m.d.sync += [y[lane].eq(command.immediate) for lane in lanes]
                with m.Case(Operand.ROW):
                    m.d.sync += [y[lane].eq(b[0]) for lane in lanes]
                with m.Case(Operand.VECTOR):
                    m.d.sync += [y[lane].eq(b[lane]) for lane in lanes]
        m.d.comb += [
            arithmetic.valid.eq(engine.arithmetic.valid & engine.arithmetic.active[unit] & here),
            arithmetic.op.eq(command.op),
            arithmetic.x.eq(x),
            arithmetic.y.eq(y),
            arithmetic.shift.eq(command.shift),
        ]

    def _elaborate_alu(self, m, engine, alu):
        m.d.comb += [
            alu.bits.eq(engine.current.bits),
            alu.count.eq(engine.arithmetic.count[self._unit]),
            alu.first.eq(engine.arithmetic.first),
            alu.last.eq(engine.arithmetic.last),
        ]

    def _elaborate_result(self, m, engine, number, alu, special):
        """Write what comes out of the arithmetic."""
        write = getattr(self.storage, f"write_{number}")
        ops = self._engine_ops[number]
        reduces = Cat(engine.current.op == op for op in ops if op.reduces).any()
        is_special = Cat(engine.current.op == op for op in ops if op.special).any()
        tag = engine.result
        m.d.comb += [
            write.slot.eq(engine.current.d_slot),
            write.address.eq(tag.address),
        ]
        with m.If(tag.valid & tag.active[self._unit]):
            m.d.comb += write.count.eq(Mux(reduces, tag.last, tag.count[self._unit]))
        with m.If(is_special):
            m.d.comb += Value.cast(write.data).eq(Value.cast(special.o))
        with m.Elif(reduces):
            m.d.comb += Value.cast(write.data).eq(alu.row.as_unsigned())
        with m.Else():
            m.d.comb += Value.cast(write.data).eq(Value.cast(alu.o))
