"""The core: queues, loader, buffers, array, accumulators, store and counters."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .accumulator import Accumulators
from .array_control import ArrayControl
from .commands import array_layout, load_layout, store_layout
from .counters import CounterBank
from .formats import IntegerFormat
from .loader import Loader
from .matrix_unit import MatrixUnit
from .memory_interface import MemorySignature
from .operand_slots import OperandSlots
from .output_control import OutputControl
from .queue import Queue
from .status import ArrayStatus, LoaderStatus, StoreStatus
from .store import StoreUnit
from .weight_fifo import WeightFifo

__all__ = ["Core", "QUEUE_DEPTH"]

QUEUE_DEPTH = 4  # commands in each queue


class Core(wiring.Component):
    """A matrix core. Each unit executes its own queue of commands in order.

    The units meet through the ids of slots and banks and through the places of the weight FIFO;
    no unit knows of another's commands.

    Parameters
    ----------
    design : Design

    Members
    -------
    loads, jobs, stores : In(stream.Signature(...))
        Commands of loader, array and store.
    memory : Out(MemorySignature)
    count : In(1)
        Count cycles and events.
    clear : In(1)
        Clear counters and the overflow flag; only while not `active`.
    active : Out(1)
        Some unit has a command or work under way.
    overflow : Out(1)
        Sticky: an accumulator overflowed since `clear`.
    """

    def __init__(self, *, design):
        self._design = design
        self.loader = Loader(design=design)
        control = OutputControl if design.dataflow == "output_stationary" else ArrayControl
        self.control = control(design=design,
                               max_rows_in_flight=MatrixUnit.latency(design) + 2 * design.rows)
        self.store = StoreUnit(design=design)
        self.counters = CounterBank()
        self.accumulators = Accumulators(design=design, format=IntegerFormat.of(design))
        super().__init__({
            "loads": In(stream.Signature(load_layout(design))),
            "jobs": In(stream.Signature(array_layout(design))),
            "stores": In(stream.Signature(store_layout(design))),
            "memory": Out(MemorySignature(design)),
            "count": In(1),
            "clear": In(1),
            "active": Out(1),
            "overflow": Out(1),
        })

    @property
    def design(self):
        return self._design

    def elaborate(self, platform):
        m = Module()
        design = self._design
        m.submodules.loader = loader = self.loader
        m.submodules.fifo = fifo = WeightFifo(design=design)
        m.submodules.slots = slots = OperandSlots(design=design)
        m.submodules.matrix = matrix = MatrixUnit(design=design)
        m.submodules.control = control = self.control
        m.submodules.accumulators = accumulators = self.accumulators
        m.submodules.store = store = self.store
        for name, port, unit in (("load_queue", self.loads, loader),
                                 ("job_queue", self.jobs, control),
                                 ("store_queue", self.stores, store)):
            queue = Queue(shape=port.payload.shape(), depth=QUEUE_DEPTH)
            m.submodules[name] = queue
            connect(m, flipped(port), queue.i)
            connect(m, queue.o, unit.i)

        memory = flipped(self).memory
        connect(m, loader.o, memory.load)
        connect(m, store.o, memory.store)
        connect(m, store.write, memory.rows)
        connect(m, memory.weights, fifo.i)
        connect(m, memory.operands, slots.i)
        self._connect_buffers(m, loader, fifo, slots, control)
        self._connect_array(m, fifo, slots, matrix, control, accumulators)
        self._connect_store(m, store, accumulators)
        self._count(m, loader, fifo, control, store, accumulators)
        return m

    def _connect_buffers(self, m, loader, fifo, slots, control):
        m.d.comb += [
            loader.slots_taken.eq(slots.taken),
            loader.fifo_room.eq(fifo.room),
            slots.take.eq(loader.take),
            slots.take_slot.eq(loader.take_slot),
            fifo.reserve.eq(loader.reserve),
            loader.loading.eq(self.memory.loading),
            loader.storing.eq(self.memory.store_next | self.memory.storing),
            loader.under_way.eq(self.memory.loads_under_way),
            slots.read.eq(control.enter),
            slots.read_slot.eq(control.slot),
            slots.read_row.eq(control.row),
            slots.release.eq(control.release),
            slots.release_slot.eq(control.slot),
        ]

    def _connect_array(self, m, fifo, slots, matrix, control, accumulators):
        m.d.comb += [
            control.slots_ready.eq(slots.ready),
            control.banks_free.eq(accumulators.free),
            control.whole.eq(fifo.whole),
            control.shifting.eq(fifo.shifting),
            control.shift_ends.eq(fifo.ends),
            control.clear.eq(self.clear),
            control.retire.eq(accumulators.written),
            fifo.shift.eq(control.shift),
            matrix.activations.eq(slots.o),
            matrix.enter.eq(control.enter),
            matrix.unsigned.eq(control.unsigned),
            matrix.first.eq(control.first),
            matrix.turn.eq(control.turn),
            matrix.tile_rows.eq(control.tile_rows),
            matrix.tag.eq(control.tag),
            matrix.weights.eq(fifo.o),
            matrix.weights_valid.eq(fifo.valid),
            accumulators.tag.eq(matrix.tag_out),
            accumulators.sums.eq(matrix.sums),
            accumulators.take.eq(control.take),
            accumulators.take_bank.eq(control.bank),
            accumulators.clear.eq(self.clear),
            self.overflow.eq(accumulators.overflow),
        ]

    def _connect_store(self, m, store, accumulators):
        m.d.comb += [
            store.banks_full.eq(accumulators.full),
            store.stays.eq(self.memory.store_stays),
            store.under_way.eq(self.memory.stores_under_way),
            store.data.eq(accumulators.o),
            accumulators.read.eq(store.read),
            accumulators.read_bank.eq(store.bank),
            accumulators.read_row.eq(store.row),
            accumulators.release.eq(store.release),
            accumulators.release_bank.eq(store.bank),
        ]

    def _count(self, m, loader, fifo, control, store, accumulators):
        m.submodules.counters = counters = self.counters
        memory = self.memory
        starts_load = Signal()
        starts_store = Signal()
        waits = Signal()
        waited = Signal()
        works = Signal()
        worked = Signal()
        m.d.comb += [
            starts_load.eq(memory.load.valid & memory.load.ready),
            starts_store.eq(memory.store.valid & memory.store.ready),
            # Nothing moves but what is under way in the memory.
            waits.eq((memory.loads_under_way | memory.stores_under_way)
                     & ~memory.loading & ~memory.storing & ~control.running & ~control.enter
                     & (store.status != StoreStatus.BUSY)),
            counters.enable.eq(self.count),
            counters.clear.eq(self.clear),
            counters.status_memory.eq(memory.loading | memory.storing),
            counters.status_loader.eq(loader.status),
            counters.status_array.eq(control.status),
            counters.status_store.eq(store.status),
            works.eq(worked | memory.loading | memory.storing | control.enter),
            counters.add_span.eq(works),
            counters.add_activation_rows.eq(control.enter),
            counters.add_useful_macs.eq(Mux(control.enter, control.macs, 0)),
            counters.add_weight_rows.eq(fifo.shifting | control.shift),
            counters.add_accumulator_rows.eq(accumulators.written),
            counters.add_loads.eq(starts_load),
            counters.add_stores.eq(starts_store),
            counters.add_bytes_read.eq(Mux(starts_load, memory.request_bytes, 0)),
            counters.add_bytes_written.eq(Mux(starts_store, memory.request_bytes, 0)),
            counters.add_transactions.eq(
                Mux(starts_load | starts_store, memory.request_transactions, 0)),
            counters.add_exposed_requests.eq(waits & ~waited),
            self.active.eq((loader.status != LoaderStatus.IDLE) | memory.loads_under_way
                           | (control.status != ArrayStatus.IDLE)
                           | (store.status != StoreStatus.IDLE) | memory.stores_under_way),
        ]
        m.d.sync += [waited.eq(waits), worked.eq(works & ~self.clear)]
