"""Loader: sends strided descriptors to the memory channel."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .commands import (
    WINDOW_FIELDS,
    Destination,
    WindowRegister,
    load_layout,
    request_layout,
)
from .status import LoaderStatus
from .vector_commands import vector_slots

__all__ = ["Loader"]


class Loader(wiring.Component):
    """Requests the load at the head of its queue as soon as its destination has room.

    Latency 0 from a command to its request; throughput 1 descriptor per cycle; a request waits
    for the channel. Room is taken in the cycle in which the descriptor starts.

    With `keep_shape` a descriptor's rows, bytes per row and stride are those of the last one to
    the same destination, kept in a register; only its base is new. A configuring load waits for
    a slot like another, but does not take it.

    Status, first that applies: `BUSY` a load occupies the channel; without a command `DRAIN`,
    `IDLE`; with one `SLOT`, `FIFO`, `STORE`, `PORT`.

    Parameters
    ----------
    design : Design

    Members
    -------
    i : In(stream.Signature(load_layout))
        Loads.
    o : Out(stream.Signature(request_layout))
        Requests.
    slots_taken : In(input_slots), vector_taken : In(vector_slots), fifo_room : In(1)
        Room in the destinations.
    take : Out(1), take_slot : Out
        A slot is taken in this cycle.
    vector_take : Out(1), vector_take_slot : Out
        A vector slot is taken in this cycle.
    reserve : Out(1)
        A place of the weight FIFO is taken in this cycle.
    loading : In(1)
        A load occupies the channel, this cycle included.
    storing : In(1)
        A store occupies the channel or is to start before the load that waits.
    under_way : In(1)
        Data of some load has not arrived.
    status : Out(LoaderStatus)
    """

    LATENCY = 0  # cycles from a command at the head to its request

    def __init__(self, *, design):
        self._design = design
        super().__init__({
            "i": In(stream.Signature(load_layout(design))),
            "o": Out(stream.Signature(request_layout(design, "load"))),
            "slots_taken": In(design.input_slots),
            "vector_taken": In(vector_slots(design)),
            "fifo_room": In(1),
            "take": Out(1),
            "take_slot": Out(range(design.input_slots)),
            "vector_take": Out(1),
            "vector_take_slot": Out(range(vector_slots(design))),
            "reserve": Out(1),
            "loading": In(1),
            "storing": In(1),
            "under_way": In(1),
            "status": Out(LoaderStatus),
        })

    def elaborate(self, platform):
        m = Module()
        load, request = self.i.payload, self.o.payload
        to = {each: Signal(name=f"to_{each.name.lower()}") for each in Destination}
        weight, operand, vector = to.values()
        slot_blocked = Signal()
        fifo_blocked = Signal()
        starts = Signal()
        takes = Signal()
        m.d.comb += [
            *(signal.eq(load.destination == each) for each, signal in to.items()),
            slot_blocked.eq(load.take & (
                (operand & self.slots_taken.bit_select(load.slot, 1))
                | (vector & self.vector_taken.bit_select(load.slot, 1)))),
            fifo_blocked.eq(weight & ~self.fifo_room),
            self.o.valid.eq(self.i.valid & ~slot_blocked & ~fifo_blocked),
            starts.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(starts),
            takes.eq(starts & load.take & (load.configure == WindowRegister.NONE)),
            self.take.eq(takes & operand),
            self.take_slot.eq(load.slot),
            self.vector_take.eq(takes & vector),
            self.vector_take_slot.eq(load.slot),
            self.reserve.eq(starts & weight),
            request.destination.eq(load.destination),
            request.base.eq(load.base),
            request.tag.slot.eq(load.slot),
            request.tag.word.eq(load.word),
            request.tag.last.eq(load.last),
            request.tag.pitch.eq(load.pitch),
            request.tag.element_bytes.eq(load.element_bytes),
            *(request[name].eq(load[name]) for name in WINDOW_FIELDS),
        ]
        for field in ("rows", "bytes_per_row", "row_stride"):
            kept = [Signal.like(request[field], name=f"{each.name.lower()}_{field}")
                    for each in Destination]
            last = Mux(vector, kept[2], Mux(operand, kept[1], kept[0]))
            m.d.comb += request[field].eq(Mux(load.keep_shape, last, load[field]))
            for mine, register in zip(to.values(), kept):
                with m.If(starts & mine):
                    m.d.sync += register.eq(request[field])

        with m.If(self.loading):
            m.d.comb += self.status.eq(LoaderStatus.BUSY)
        with m.Elif(~self.i.valid):
            m.d.comb += self.status.eq(Mux(self.under_way, LoaderStatus.DRAIN,
                                           LoaderStatus.IDLE))
        with m.Elif(slot_blocked):
            m.d.comb += self.status.eq(LoaderStatus.SLOT)
        with m.Elif(fifo_blocked):
            m.d.comb += self.status.eq(LoaderStatus.FIFO)
        with m.Elif(self.storing):
            m.d.comb += self.status.eq(LoaderStatus.STORE)
        with m.Else():
            m.d.comb += self.status.eq(LoaderStatus.PORT)
        return m
