"""The core: queues, units, buffers and counters."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .accumulator import Accumulators
from .array_control import ArrayControl
from .commands import array_layout, load_layout, store_layout
from .counters import COUNTER_BITS, CounterBank, CounterNumber
from .formats import IntegerFormat
from .handoff import HandoffUnit
from .loader import Loader
from .matrix_unit import MatrixUnit
from .memory_interface import MemorySignature
from .operand_slots import OperandSlots
from .output_control import OutputControl
from .queue import Queue
from .status import ArrayStatus, HandoffStatus, LoaderStatus, StoreStatus, VectorStatus
from .store import StoreUnit
from .vector_commands import handoff_layout, vector_layout
from .vector_fill import VectorFill
from .vector_unit import VectorUnit
from .weight_fifo import WeightFifo

__all__ = ["Core", "QUEUE_DEPTH"]

QUEUE_DEPTH = 4  # commands in each queue


class Core(wiring.Component):
    """A core. Each unit executes its own queue of commands in order.

    The units meet through the ids of slots and banks and through the places of the weight FIFO;
    no unit knows of another's commands.

    Parameters
    ----------
    design : Design

    Members
    -------
    loads, jobs, vectors, handoffs, stores : In(stream.Signature(...))
        Commands of loader, array, vector unit, hand-off and store.
    memory : Out(MemorySignature)
    count : In(1)
        Count cycles and events.
    clear : In(1)
        Clear counters and the overflow flag; only while not `active`.
    counter_select : In(CounterNumber)
        A counter, of those of :class:`CounterBank`.
    counter : Out(COUNTER_BITS)
        What it showed in the cycle before. If nothing is connected here synthesis leaves all
        counters out.
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
        self.vector = VectorUnit(design=design)
        self.vector_fill = VectorFill(design=design)
        self.handoff = HandoffUnit(design=design)
        self.store = StoreUnit(design=design)
        self.counters = CounterBank()
        self.accumulators = Accumulators(design=design, format=IntegerFormat.of(design))
        layouts = {"load": load_layout, "job": array_layout, "vector": vector_layout,
                   "handoff": handoff_layout, "store": store_layout}
        self.queues = {name: Queue(shape=layout(design), depth=QUEUE_DEPTH)
                       for name, layout in layouts.items()}
        super().__init__({
            "loads": In(stream.Signature(load_layout(design))),
            "jobs": In(stream.Signature(array_layout(design))),
            "vectors": In(stream.Signature(vector_layout(design))),
            "handoffs": In(stream.Signature(handoff_layout(design))),
            "stores": In(stream.Signature(store_layout(design))),
            "memory": Out(MemorySignature(design)),
            "count": In(1),
            "clear": In(1),
            "counter_select": In(CounterNumber),
            "counter": Out(COUNTER_BITS),
            "active": Out(1),
            "overflow": Out(1),
        })

    @property
    def design(self):
        return self._design

    def elaborate(self, platform):
        m = Module()
        design = self._design
        m.submodules.loader = self.loader
        m.submodules.fifo = fifo = WeightFifo(design=design)
        m.submodules.slots = slots = OperandSlots(design=design)
        m.submodules.matrix = matrix = MatrixUnit(design=design)
        m.submodules.control = self.control
        m.submodules.accumulators = self.accumulators
        m.submodules.vector = self.vector
        m.submodules.vector_fill = fill = self.vector_fill
        m.submodules.handoff = self.handoff
        m.submodules.store = self.store
        for name, port, unit in (("load", self.loads, self.loader),
                                 ("job", self.jobs, self.control),
                                 ("vector", self.vectors, self.vector),
                                 ("handoff", self.handoffs, self.handoff),
                                 ("store", self.stores, self.store)):
            m.submodules[f"{name}_queue"] = queue = self.queues[name]
            connect(m, flipped(port), queue.i)
            connect(m, queue.o, unit.i)

        memory = flipped(self).memory
        connect(m, self.loader.o, memory.load)
        connect(m, self.store.o, memory.store)
        connect(m, self.store.write, memory.rows)
        connect(m, memory.weights, fifo.i)
        connect(m, memory.operands, slots.i)
        connect(m, memory.vectors, fill.i)
        self._connect_buffers(m, fifo, slots)
        self._connect_array(m, fifo, slots, matrix)
        self._connect_vector(m, fill)
        self._connect_handoff(m, slots)
        self._connect_store(m)
        self._count(m, fifo)
        return m

    def _connect_buffers(self, m, fifo, slots):
        loader, control = self.loader, self.control
        m.d.comb += [
            loader.slots_taken.eq(slots.taken),
            loader.vector_taken.eq(self.vector.taken),
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

    def _connect_array(self, m, fifo, slots, matrix):
        control, accumulators = self.control, self.accumulators
        m.d.comb += [
            control.slots_ready.eq(slots.ready),
            control.banks_free.eq(accumulators.free),
            control.groups_taken.eq(self.vector.taken),
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
            self.overflow.eq(accumulators.overflow | self.vector.overflow),
        ]

    def _connect_vector(self, m, fill):
        """Hand-shakes of the vector slots, and data loaded into them."""
        vector, control, loader = self.vector, self.control, self.loader
        m.d.comb += [
            vector.clear.eq(self.clear),
            vector.array_take.eq(control.take_group),
            vector.array_take_slot.eq(control.group),
            vector.array_release.eq(control.release_group),
            vector.array_release_slot.eq(control.group),
            vector.load_take.eq(loader.vector_take),
            vector.load_take_slot.eq(loader.vector_take_slot),
        ]
        for name in ("write", "slot", "unit", "address", "count", "data", "filled",
                     "filled_slot"):
            m.d.comb += getattr(vector, f"load_{name}").eq(getattr(fill, f"load_{name}"))

    def _connect_handoff(self, m, slots):
        handoff, vector, accumulators = self.handoff, self.vector, self.accumulators
        m.d.comb += [
            handoff.banks_full.eq(accumulators.handoff_full),
            handoff.slots_taken.eq(slots.taken),
            handoff.vector_taken.eq(vector.taken),
            handoff.results.eq(vector.results),
            accumulators.handoff_read.eq(handoff.read),
            accumulators.handoff_bank.eq(handoff.bank),
            accumulators.handoff_row.eq(handoff.row),
            accumulators.handoff_release.eq(handoff.release),
            accumulators.handoff_release_bank.eq(handoff.bank),
            handoff.data.eq(accumulators.handoff_o),
            handoff.vector_read_data.eq(
                vector.handoff_read_data.as_value()[:len(handoff.vector_read_data.as_value())]),
        ]
        for name in ("write", "slot", "unit", "address", "count", "data", "read", "read_slot",
                     "read_unit", "read_address", "take", "take_slot", "filled", "filled_slot",
                     "use", "use_slot"):
            m.d.comb += getattr(vector, f"handoff_{name}").eq(getattr(handoff, f"vector_{name}"))
        for name in ("write", "slot", "row", "data", "take", "take_slot", "ready",
                     "ready_slot"):
            m.d.comb += getattr(slots, f"handoff_{name}").eq(getattr(handoff, f"operand_{name}"))

    def _connect_store(self, m):
        store, accumulators, vector = self.store, self.accumulators, self.vector
        m.d.comb += [
            store.banks_full.eq(accumulators.full),
            store.results.eq(vector.results),
            store.stays.eq(self.memory.store_stays),
            store.under_way.eq(self.memory.stores_under_way),
            store.data.eq(accumulators.o),
            accumulators.read.eq(store.read),
            accumulators.read_bank.eq(store.bank),
            accumulators.read_row.eq(store.row),
            accumulators.release.eq(store.release),
            accumulators.release_bank.eq(store.bank),
            vector.store_read.eq(store.vector_read),
            vector.store_read_slot.eq(store.vector_slot),
            vector.store_read_unit.eq(store.vector_unit),
            vector.store_read_address.eq(store.vector_address),
            vector.store_use.eq(store.use),
            vector.store_use_slot.eq(store.vector_slot),
            vector.store_release.eq(store.vector_release),
            vector.store_release_slot.eq(store.vector_slot),
            store.vector_data.eq(
                vector.store_read_data.as_value()[:len(store.vector_data.as_value())]),
        ]

    def _count(self, m, fifo):
        m.submodules.counters = counters = self.counters
        memory, loader, control = self.memory, self.loader, self.control
        vector, handoff, store = self.vector, self.handoff, self.store
        starts_load = Signal()
        starts_store = Signal()
        works = Signal()
        worked = Signal()
        vector_busy = Signal()
        handoff_busy = Signal()
        m.d.comb += [
            starts_load.eq(memory.load.valid & memory.load.ready),
            starts_store.eq(memory.store.valid & memory.store.ready),
            vector_busy.eq(vector.status == VectorStatus.BUSY),
            handoff_busy.eq(handoff.status == HandoffStatus.BUSY),
            works.eq(worked | memory.loading | memory.storing | control.enter | vector_busy
                     | handoff_busy),
            counters.enable.eq(self.count),
            counters.clear.eq(self.clear),
            counters.select.eq(self.counter_select),
            self.counter.eq(counters.selected),
            counters.status_memory.eq(memory.loading | memory.storing),
            counters.status_loader.eq(loader.status),
            counters.status_array.eq(control.status),
            counters.status_vector.eq(vector.status),
            counters.status_handoff.eq(handoff.status),
            counters.status_store.eq(store.status),
            counters.add_span.eq(works),
            counters.add_activation_rows.eq(control.enter),
            counters.add_useful_macs.eq(Mux(control.enter, control.macs, 0)),
            counters.add_weight_rows.eq(fifo.shifting | control.shift),
            counters.add_accumulator_rows.eq(self.accumulators.written),
            counters.add_vector_commands.eq(vector.i.valid & vector.i.ready),
            counters.add_both_busy.eq(vector_busy & control.enter),
            counters.add_handoffs.eq(handoff.i.valid & handoff.i.ready),
            counters.add_handoff_bytes.eq(handoff.bytes),
            counters.add_exchange_bytes.eq(
                handoff.bytes if self._design.handoff == "staged" else 0),
            counters.add_loads.eq(starts_load),
            counters.add_stores.eq(starts_store),
            counters.add_bytes_read.eq(memory.request_bytes),
            counters.add_bytes_written.eq(memory.request_bytes),
            counters.add_window_bytes.eq(memory.window_bytes),
            counters.add_transactions.eq(memory.request_transactions),
            self.active.eq((loader.status != LoaderStatus.IDLE) | memory.loads_under_way
                           | (control.status != ArrayStatus.IDLE)
                           | (vector.status != VectorStatus.IDLE)
                           | (handoff.status != HandoffStatus.IDLE)
                           | (store.status != StoreStatus.IDLE) | memory.stores_under_way),
        ]
        m.d.sync += worked.eq(works & ~self.clear)
        self._count_exposed(m)

    def _count_exposed(self, m):
        """The times in which nothing moves but what is under way in the memory."""
        memory, control = self.memory, self.control
        waits = Signal()
        waited = Signal()
        moves = [memory.loading, memory.storing, control.running, control.enter,
                 self.store.status == StoreStatus.BUSY,
                 *(self.vector.status == status for status in (
                     VectorStatus.BUSY, VectorStatus.DRAIN, VectorStatus.PIPELINE)),
                 *(self.handoff.status == status for status in (
                     HandoffStatus.BUSY, HandoffStatus.DRAIN))]
        m.d.comb += [
            waits.eq((memory.loads_under_way | memory.stores_under_way) & ~Cat(moves).any()),
            self.counters.add_exposed_requests.eq(waits & ~waited),
        ]
        m.d.sync += waited.eq(waits)
