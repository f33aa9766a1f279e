"""Loader: sends strided descriptors to the memory channel."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .commands import Destination, load_layout, request_layout
from .status import LoaderStatus

__all__ = ["Loader"]


class Loader(wiring.Component):
    """Requests the load at the head of its queue as soon as its destination has room.

    Latency 0 from a command to its request; throughput 1 descriptor per cycle; a request waits
    for the channel. Room is taken in the cycle in which the descriptor starts.

    With `keep_shape` a descriptor's rows, bytes per row and stride are those of the last one to
    the same destination, kept in a register; only its base is new.

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
    slots_taken : In(input_slots), fifo_room : In(1)
        Room in the destinations.
    take : Out(1), take_slot : Out
        A slot is taken in this cycle.
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
            "fifo_room": In(1),
            "take": Out(1),
            "take_slot": Out(range(design.input_slots)),
            "reserve": Out(1),
            "loading": In(1),
            "storing": In(1),
            "under_way": In(1),
            "status": Out(LoaderStatus),
        })

    def elaborate(self, platform):
        m = Module()
        load, request = self.i.payload, self.o.payload
        operand = Signal()
        slot_blocked = Signal()
        fifo_blocked = Signal()
        starts = Signal()
        m.d.comb += [
            operand.eq(load.destination == Destination.OPERAND),
            slot_blocked.eq(operand & load.take
                            & self.slots_taken.bit_select(load.slot, 1)),
            fifo_blocked.eq(~operand & ~self.fifo_room),
            self.o.valid.eq(self.i.valid & ~slot_blocked & ~fifo_blocked),
            starts.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(starts),
            self.take.eq(starts & operand & load.take),
            self.take_slot.eq(load.slot),
            self.reserve.eq(starts & ~operand),
            request.destination.eq(load.destination),
            request.base.eq(load.base),
            request.tag.slot.eq(load.slot),
            request.tag.word.eq(load.word),
            request.tag.last.eq(load.last),
        ]
        for field in ("rows", "bytes_per_row", "row_stride"):
            kept = [Signal.like(request[field], name=f"{name}_{field}")
                    for name in ("weight", "operand")]
            shape = Mux(load.keep_shape, Mux(operand, kept[1], kept[0]), load[field])
            m.d.comb += request[field].eq(shape)
            with m.If(starts & operand):
                m.d.sync += kept[1].eq(request[field])
            with m.If(starts & ~operand):
                m.d.sync += kept[0].eq(request[field])

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
