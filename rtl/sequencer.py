"""Feeds a command queue from a program memory."""

from amaranth import *
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .stand_in import left_out, stand_in

__all__ = ["Sequencer"]


class Sequencer(wiring.Component):
    """Offers the first `length` commands of its memory, one per cycle, while `go` is high.

    Latency 0 from `go` to the first command. `rewind` starts over; it must be high for a cycle
    after the memory has been filled, and wins over a transfer.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a command.
    depth : int
        Commands that the memory holds.

    Members
    -------
    length : In(range(depth + 1))
    go, rewind : In(1)
    o : Out(stream.Signature(shape))
    """

    def __init__(self, *, shape, depth):
        self._depth = depth
        self.program = memory.MemoryData(shape=shape, depth=depth, init=[])
        super().__init__({
            "length": In(range(depth + 1)),
            "go": In(1),
            "rewind": In(1),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        if left_out(platform, self):
            return m
        place = Signal(range(self._depth + 1))
        following = Signal.like(place)
        m.d.comb += [
            self.o.valid.eq(self.go & (place != self.length)),
            following.eq(Mux(self.rewind, 0, place + (self.o.valid & self.o.ready))),
        ]
        ports = {"address": following, "data": self.o.payload}
        if (program := stand_in(platform, self, **ports)) is not None:
            m.submodules.memory = program
        else:
            m.submodules.memory = program = memory.Memory(self.program)
            read = program.read_port()
            m.d.comb += [read.addr.eq(following), self.o.payload.eq(read.data)]
        m.d.sync += place.eq(following)
        return m
