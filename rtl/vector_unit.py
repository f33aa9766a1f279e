# amaranth: UnusedElaboratable=no
"""The vector unit: executes the vector commands on all units' slots."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .stand_in import left_out
from .status import VectorStatus
from .vector_commands import (
    vector_element_bits,
    vector_layout,
    vector_slot_elements,
    vector_slots,
)
from .vector_engine import VectorEngine, beats, engine_ops, result_latency
from .vector_flags import VectorFlags, flag_events
from .vector_lanes import VectorLanes
from .vector_slot import vector_word
from .vector_storage import VectorStorage

__all__ = ["ACCEPT", "VectorUnit", "beats", "result_latency"]

ACCEPT = VectorEngine.LATENCY  # cycles from a command's acceptance to its first beat

READERS = ("handoff", "store")
WRITERS = ("handoff", "load")


class VectorUnit(wiring.Component):
    """One or two vector units in lock-step, with their slots and the slots' flags.

    Commands are accepted in order. The first beat of one follows `ACCEPT` cycles after that, the
    others without gaps; :func:`beats` says how many there are and :func:`result_latency` when the
    command is complete after its last one. Sequential: one at a time, the first beat not before
    the command before is complete. Pipelined: ordinary and special operations are executed by an
    engine each, of one command at a time; with `chain` 1 each row waits until the command before
    has completed it.

    A command is accepted when its engine can take it and the slots that it waits for are filled;
    in a pipelined unit, with `chain` 0, when also all commands before it will be complete in its
    first beat. Its flags change with its completion.

    Status, first that applies: `BUSY` a beat is issued; without a command queued and without one
    that has beats left `DRAIN`, `IDLE`; `INPUT`, `PIPELINE`.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(stream.Signature(vector_layout))
        Commands.
    <who>_write : In(1), <who>_slot, <who>_unit, <who>_address, <who>_count, <who>_data : In
        `handoff` or `load` writes `count` elements from an address on.
    <who>_read : In(1), <who>_read_slot, <who>_read_unit, <who>_read_address : In
        `handoff` or `store` reads.
    <who>_read_data : Out(ArrayLayout(signed(vector_element_bits), vector_word))
        The elements from there on, `LATENCY` cycles later.
    <who>_<event> : In(1), <who>_<event>_slot : In
        What happens to a slot, see :class:`VectorFlags`.
    taken, filled, results : Out(vector_slots)
        One bit a slot.
    clear : In(1)
        Clears `overflow`.
    overflow : Out(1)
        Sticky: a sum or difference has saturated.
    active : Out(1)
        A command is queued or not complete.
    status : Out(VectorStatus)
    """

    LATENCY = VectorStorage.LATENCY  # cycles from a read to its data

    def __init__(self, *, design):
        self._design = design
        slot, unit = range(vector_slots(design)), range(design.vector_units)
        address = range(vector_slot_elements(design))
        element = signed(vector_element_bits(design))
        members = {
            "i": In(stream.Signature(vector_layout(design))),
            "status": Out(VectorStatus), "overflow": Out(1), "clear": In(1), "active": Out(1),
            **{name: Out(vector_slots(design)) for name in ("taken", "filled", "results")},
        }
        for who in WRITERS:
            members |= {
                f"{who}_write": In(1), f"{who}_slot": In(slot), f"{who}_unit": In(unit),
                f"{who}_address": In(address), f"{who}_count": In(range(design.cols + 1)),
                f"{who}_data": In(data.ArrayLayout(element, design.cols))}
        for who in READERS:
            members |= {
                f"{who}_read": In(1), f"{who}_read_slot": In(slot), f"{who}_read_unit": In(unit),
                f"{who}_read_address": In(address),
                f"{who}_read_data": Out(data.ArrayLayout(element, vector_word(design)))}
        for names in flag_events().values():
            for name in names:
                members |= {name: In(1), f"{name}_slot": In(slot)}
        self._ops = engine_ops(design)
        self.lanes = [VectorLanes(design=design, unit=unit)
                      for unit in range(design.vector_units)]
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        if left_out(platform, self):
            return m
        engines = [VectorEngine(design=self._design, ops=ops) for ops in self._ops]
        for number, engine in enumerate(engines):
            m.submodules[f"engine_{number}"] = engine
        for unit, lanes in enumerate(self.lanes):
            m.submodules[f"unit_{unit}"] = lanes
            self._connect_lanes(m, unit, lanes, engines)
        for who in READERS:
            self._connect_read_data(m, who)
        m.submodules.flags = flags = VectorFlags(design=self._design, engines=len(engines))
        ready = Signal()   # the slots of the command at the head are filled
        free = Signal()    # it may begin
        filled = [~self.i.payload[f"wait_{side}"]
                  | flags.filled.bit_select(self.i.payload[f"{side}_slot"], 1) for side in "ab"]
        m.d.comb += [
            ready.eq(Cat(filled).all()),
            self.i.ready.eq(self.i.valid & ready & free),
            self.active.eq(self.i.valid | Cat(each.executing for each in engines).any()),
        ]
        if len(engines) == 1:
            m.d.comb += [free.eq(engines[0].free), engines[0].start.eq(self.i.ready)]
        else:
            self._elaborate_choice(m, engines, free)
        for engine in engines:
            m.d.comb += engine.command.eq(self.i.payload)
        self._connect_flags(m, flags, engines)
        self._report(m, engines, ready)
        with m.If(self.clear):
            m.d.sync += self.overflow.eq(0)
        with m.Elif(Cat(each.overflow for each in self.lanes).any()):
            m.d.sync += self.overflow.eq(1)
        return m

    def _elaborate_choice(self, m, engines, free):
        """Two engines: which one the head is for, and whether its `chain` lets it begin."""
        head = self.i.payload
        special = Cat(head.op == op for op in self._ops[1]).any()
        was_special = Signal()  # the command accepted last
        with m.If(self.i.ready):
            m.d.sync += was_special.eq(special)
        for engine, other, here in zip(engines, reversed(engines), (~special, special)):
            m.d.comb += [
                engine.start.eq(self.i.ready & here),
                engine.chained.eq((head.chain == 1) & (was_special != special) & ~other.free),
                engine.other_rounds.eq(other.rounds),
                engine.other_ends.eq(other.ends),
            ]
            with m.If(here):
                m.d.comb += free.eq(engine.free & ((head.chain != 0) | other.free))

    def _connect_lanes(self, m, unit, lanes, engines):
        for number, engine in enumerate(engines):
            port = getattr(lanes, f"engine_{number}")
            m.d.comb += [getattr(port, name).eq(getattr(engine, name))
                         for name in port.signature.members]
        for who in WRITERS:
            port = getattr(lanes, f"{who}_write")
            here = getattr(self, f"{who}_write") & (getattr(self, f"{who}_unit") == unit)
            with m.If(here):
                m.d.comb += port.count.eq(getattr(self, f"{who}_count"))
            m.d.comb += [port.slot.eq(getattr(self, f"{who}_slot")),
                         port.address.eq(getattr(self, f"{who}_address")),
                         Value.cast(port.data).eq(Value.cast(getattr(self, f"{who}_data")))]
        for who in READERS:
            port = getattr(lanes, who)
            here = getattr(self, f"{who}_read") & (getattr(self, f"{who}_read_unit") == unit)
            m.d.comb += [port.en.eq(here), port.slot.eq(getattr(self, f"{who}_read_slot")),
                         port.address.eq(getattr(self, f"{who}_read_address"))]

    def _connect_read_data(self, m, who):
        reads, was_unit = getattr(self, f"{who}_read"), getattr(self, f"{who}_read_unit")
        for number in range(self.LATENCY):
            read, unit = reads, was_unit
            reads = Signal(name=f"{who}_was_read_{number}")
            was_unit = Signal.like(unit, name=f"{who}_was_unit_{number}")
            m.d.sync += reads.eq(read)
            with m.If(read):
                m.d.sync += was_unit.eq(unit)
        with m.Switch(was_unit):
            for unit, lanes in enumerate(self.lanes):
                with m.Case(unit):
                    m.d.comb += getattr(self, f"{who}_read_data").eq(getattr(lanes, who).data)

    def _connect_flags(self, m, flags, engines):
        events = {name: (getattr(self, name), getattr(self, f"{name}_slot"))
                  for names in flag_events().values() for name in names}
        for side in "ab":
            slot = self.i.payload[f"{side}_slot"]
            events[f"head_{side}_wait"] = self.i.ready & self.i.payload[f"wait_{side}"], slot
            for number, engine in enumerate(engines):
                events[f"engine_{number}_{side}_release"] = (
                    engine.ends & engine.current[f"free_{side}"], engine.current[f"{side}_slot"])
        for number, engine in enumerate(engines):
            events[f"engine_{number}_done"] = (engine.ends & engine.current.done,
                                               engine.current.a_slot)
        for name, (happens, slot) in events.items():
            m.d.comb += [getattr(flags, name).eq(happens), getattr(flags, f"{name}_slot").eq(slot)]
        m.d.comb += [getattr(self, name).eq(getattr(flags, name))
                     for name in ("taken", "filled", "results")]

    def _report(self, m, engines, ready):
        beat = Cat(engine.beat for engine in engines).any()
        issuing = Cat(engine.issuing for engine in engines).any()
        with m.If(beat):
            m.d.comb += self.status.eq(VectorStatus.BUSY)
        with m.Elif(~self.i.valid & ~issuing):
            m.d.comb += self.status.eq(Mux(self.active, VectorStatus.DRAIN, VectorStatus.IDLE))
        with m.Elif(self.i.valid & ~ready):
            m.d.comb += self.status.eq(VectorStatus.INPUT)
        with m.Else():
            m.d.comb += self.status.eq(VectorStatus.PIPELINE)
