"""Memory channel: a timed model of the memory behind a core, contents included."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from .commands import Destination, WindowRegister
from .memory_cost import MemoryCost
from .memory_interface import MemorySignature
from .memory_mover import TIME_BITS, MemoryMover, transfer_layout
from .memory_storage import MemoryStorage
from .memory_timing import MemoryTiming
from .queue import Queue
from .store import StoreUnit

__all__ = ["MemoryChannel"]


class MemoryChannel(wiring.Component):
    """Serves one descriptor after another and delivers load data after the latency.

    A descriptor starts when the channel and, for a load, the write port of its destination are
    free and every earlier request has started. It occupies the channel for
    :meth:`MemoryTiming.occupancy` cycles and the port for :meth:`MemoryTiming.hold`. With a start
    in cycle k, the last rows of a load leave in cycle k + hold + latency + `LATENCY`; a store is
    complete before cycle k + max(occupancy, rows) + latency, but never before its last row has
    come, in cycle k + rows - 1 + :attr:`StoreUnit.ROW_LATENCY`. The rows of a load come in its
    last cycles, one beat a cycle; those of a store are taken as they come.

    Throughput 1 descriptor per cycle (unlimited bandwidth); loads never stall on the way back.

    Parameters
    ----------
    design : Design
    lines : int
        Capacity in storage lines.

    Members
    -------
    core : In(MemorySignature)
    """

    LATENCY = Queue.LATENCY  # beside hold and memory latency: the queue of started loads

    def __init__(self, *, design, lines):
        self._design = design
        self._timing = MemoryTiming.of(design)
        self.storage = MemoryStorage(design=design, readers=2 * design.buffer_port_rows + 1,
                                     lines=lines)
        super().__init__({"core": In(MemorySignature(design))})

    def elaborate(self, platform):
        m = Module()
        core = self.core
        now = Signal(TIME_BITS)
        m.d.sync += now.eq(now + 1)
        starts_load = Signal()
        starts_store = Signal()
        m.d.comb += [
            starts_load.eq(core.load.valid & core.load.ready),
            starts_store.eq(core.store.valid & core.store.ready),
        ]
        cost = self._elaborate_cost(m)
        occupancy = cost.occupancy
        ports_free = {each: Signal(name=f"{each.name.lower()}_port_free")
                      for each in Destination}
        self._elaborate_order(m, now, occupancy, starts_load, starts_store, ports_free)
        self._elaborate_loads(m, now, cost, starts_load, ports_free)
        complete_at = Signal(TIME_BITS)
        with m.If(starts_store):
            rows, latency = core.store.payload.rows, self._timing.latency
            come = rows + max(latency, StoreUnit.ROW_LATENCY)
            m.d.sync += complete_at.eq(
                now + Mux(occupancy + latency > come, occupancy + latency, come))
        m.d.comb += core.stores_under_way.eq(now < complete_at)
        m.submodules.storage = self.storage
        connect(m, flipped(self).core.rows, self.storage.write)
        return m

    def _elaborate_cost(self, m):
        """Cost of the request that may start next."""
        core = self.core
        load, store = core.load.payload, core.store.payload
        m.submodules.cost = cost = MemoryCost(
            timing=self._timing, row_bits=max(len(load.rows), len(store.rows)),
            row_bytes_bits=max(len(load.bytes_per_row), len(store.bytes_per_row)),
            segment_bits=len(load.segments))
        for field in ("rows", "bytes_per_row", "row_stride"):
            m.d.comb += getattr(cost, field).eq(Mux(core.store_next, store[field], load[field]))
        m.d.comb += [
            cost.vector.eq(load.destination == Destination.VECTOR),
            cost.window.eq(load.window & ~core.store_next),
            cost.configure.eq((load.configure != WindowRegister.NONE) & ~core.store_next),
            cost.bytes.eq(load.bytes),
            cost.segments.eq(Mux(load.window, load.segments, 1)),
            core.request_bytes.eq(cost.nbytes),
            core.request_transactions.eq(cost.transactions),
        ]
        return cost

    def _elaborate_order(self, m, now, occupancy, starts_load, starts_store, ports_free):
        """Request order, the channel's occupancy, and what the core sees of them."""
        core = self.core
        free_at = Signal(TIME_BITS)
        last_is_store = Signal()   # kind of the last descriptor started
        store_waits = Signal()     # the store has waited longer than the load
        chosen_store = Signal()
        channel_free = Signal()
        port_free = Signal()
        m.d.comb += [
            channel_free.eq(now >= free_at),
            port_free.eq(Cat(
                free & (core.load.payload.destination == each)
                for each, free in ports_free.items()).any()),
            chosen_store.eq(core.store.valid & (store_waits | ~core.load.valid)),
            core.load.ready.eq(channel_free & port_free & ~chosen_store),
            core.store.ready.eq(channel_free & chosen_store),
            core.store_next.eq(chosen_store),
            core.loading.eq(starts_load | (~channel_free & ~last_is_store)),
            core.storing.eq(starts_store | (~channel_free & last_is_store)),
            core.store_stays.eq(Mux(starts_store, occupancy != 1,
                                    last_is_store & (now + 1 < free_at))),
        ]
        m.d.sync += store_waits.eq(
            core.store.valid & ~starts_store & (store_waits | starts_load | ~core.load.valid))
        with m.If(starts_load | starts_store):
            m.d.sync += [free_at.eq(now + occupancy), last_is_store.eq(starts_store)]

    def _elaborate_loads(self, m, now, cost, starts_load, ports_free):
        """Write ports, loads under way, and delivery."""
        design, core, timing = self._design, self.core, self._timing
        load = core.load.payload
        hold = Signal(TIME_BITS)
        m.d.comb += hold.eq(Mux(cost.occupancy > cost.beats, cost.occupancy, cost.beats))
        transfer = Signal(transfer_layout(design))
        m.d.comb += [
            transfer.request.eq(load),
            transfer.first_at.eq(now + hold - cost.beats + timing.latency + 1),
        ]
        under_way, windows_read = [], []
        first_reader, port_rows = 0, design.buffer_port_rows
        for destination, lanes, row_bits, windows in (
                (Destination.WEIGHT, port_rows, design.cols * design.weight_bits, {}),
                (Destination.OPERAND, port_rows, design.rows * design.activation_bits, {
                    "window_bytes": design.window_row_bytes,
                    "window_element_bits": design.activation_bits}),
                (Destination.VECTOR, 1, 8 * design.vector_row_bytes, {
                    "window_bytes": design.cols * design.activation_bytes})):
            name = destination.name.lower()
            mine = Signal(name=f"starts_{name}")
            port_free_at = Signal(TIME_BITS, name=f"{name}_port_free_at")
            m.d.comb += [
                mine.eq(starts_load & (load.destination == destination)),
                ports_free[destination].eq(now >= port_free_at),
            ]
            with m.If(mine):
                m.d.sync += port_free_at.eq(now + hold)
            # A load is in the queue for latency + 1 cycles after its wait for the port at most.
            queue = Queue(shape=transfer_layout(design), depth=timing.latency + 2)
            mover = MemoryMover(design=design, row_bits=row_bits,
                                line_bytes=self.storage.line_bytes, lanes=lanes, **windows)
            m.submodules[f"{name}_transfers"] = queue
            m.submodules[f"{name}_mover"] = mover
            m.d.comb += [
                queue.i.valid.eq(mine),
                queue.i.payload.eq(transfer),
                mover.now.eq(now),
            ]
            connect(m, queue.o, mover.i)
            self._deliver(m, destination, mover)
            for lane in range(lanes):
                reader = first_reader + lane
                m.d.comb += [
                    self.storage.address[reader].eq(mover.address[lane]),
                    self.storage.enable[reader].eq(mover.enable[lane]),
                    mover.data[lane].eq(self.storage.data[reader]),
                ]
            first_reader += lanes
            under_way.append(mover.under_way)
            windows_read.append(mover.windows_read)
        m.d.comb += [
            core.loads_under_way.eq(Cat(*under_way).any()),
            core.window_bytes.eq(sum(windows_read)),
        ]

    def _deliver(self, m, destination, mover):
        """Beats to the core; to the vector slots a row at a time, its bytes counted."""
        core = flipped(self).core
        if destination is not Destination.VECTOR:
            connect(m, mover.o, core.weights if destination is Destination.WEIGHT
                    else core.operands)
            return
        beat = mover.o.payload
        m.d.comb += [
            self.core.vectors.valid.eq(mover.o.valid),
            self.core.vectors.payload.row.eq(beat.rows[0]),
            self.core.vectors.payload.bytes.eq(mover.bytes),
            *(self.core.vectors.payload[name].eq(beat[name])
              for name in ("first", "last", "tag")),
        ]
