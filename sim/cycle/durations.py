"""How long things take: the only difference between the timings."""

from dataclasses import dataclass

from ...rtl import Design
from ...rtl.commands import ArrayJob, Destination, Load, Store, WindowRegister
from ...rtl.handoff import HandoffUnit, duration
from ...rtl.matrix_unit import MatrixUnit
from ...rtl.memory_channel import MemoryChannel
from ...rtl.memory_timing import MemoryTiming
from ...rtl.operand_slots import OperandSlots
from ...rtl.output_control import sum_interval, tile_interval
from ...rtl.queue import Queue
from ...rtl.store import StoreUnit
from ...rtl.vector_commands import Handoff, VectorCommand
from ...rtl.vector_fill import VectorFill
from ...rtl.vector_unit import ACCEPT, beats, result_latency
from ...rtl.weight_fifo import WeightFifo
from ...workloads.ideal import handoff_cycles, job_cycles, vector_job_cycles

__all__ = ["Durations"]


@dataclass(frozen=True)
class Durations:
    """Durations in cycles, taken from the components' latency attributes.

    Attributes
    ----------
    design : Design
    memory : MemoryTiming
    first_command : int
        Cycle in which the first command of a queue can start.
    operand_arrival, weight_arrival, vector_arrival : int
        From the end of a load's port time and latency to its buffer being ready.
    shift : int
        Cycles to shift a weight tile into the array.
    result : int
        From the entry of an activation row to the cycle after the write of its sums; output
        stationary: from a tile's last operand pair to the write of all its sums.
    tile_interval, sum_interval : int
        Output stationary: least cycles from a tile's last pair to the next tile's last and first
        pair.
    vector_accept : int
        From the acceptance of a vector command to the entry of its first elements.
    handoff_latency : int
        From the end of a transfer to its destination being ready.
    textbook : bool
        A job takes ceil(MACs / (rows * cols)) cycles, a vector job what chapter 4.4.3 says, a
        transfer its bytes over the bandwidth, twice if staged, and a store just its occupancy;
        otherwise one activation row enters, and one accumulator row leaves, per cycle.
    """
    design: Design
    memory: MemoryTiming
    first_command: int
    operand_arrival: int
    weight_arrival: int
    shift: int
    result: int
    textbook: bool
    tile_interval: int = 0
    sum_interval: int = 0
    vector_arrival: int = 0
    vector_accept: int = 0
    handoff_latency: int = 0

    @classmethod
    def rtl(cls, design: Design) -> "Durations":
        """Timing `rtl`: exactly what the hardware takes."""
        output_stationary = design.dataflow == "output_stationary"
        return cls(design, MemoryTiming.of(design), first_command=Queue.LATENCY,
                   operand_arrival=MemoryChannel.LATENCY + OperandSlots.ARRIVAL,
                   weight_arrival=MemoryChannel.LATENCY + WeightFifo.ARRIVAL,
                   vector_arrival=MemoryChannel.LATENCY + VectorFill.ARRIVAL,
                   vector_accept=ACCEPT, handoff_latency=HandoffUnit.LATENCY,
                   shift=design.rows, textbook=False,
                   result=MatrixUnit.latency(design) + (design.rows if output_stationary else 1),
                   tile_interval=tile_interval(design), sum_interval=sum_interval(design))

    @classmethod
    def ideal(cls, design: Design) -> "Durations":
        """Timing `ideal`: service times only (chapter 4.4.2, 4.4.3)."""
        return cls(design, MemoryTiming.of(design), first_command=0, operand_arrival=0,
                   weight_arrival=0, shift=0, result=1, textbook=True)

    @classmethod
    def of(cls, design: Design, timing: str) -> "Durations":
        """The durations of a timing by its name."""
        return {"rtl": cls.rtl, "ideal": cls.ideal}[timing](design)

    def job(self, job: ArrayJob) -> int:
        """Cycles for which a job has the array to itself."""
        if not self.textbook:
            return job.rows
        return job_cycles(self.design, job)

    def load(self, load: Load) -> tuple[int, int]:
        """Occupancy of the channel and hold of the write port."""
        nbytes, vector = load.nbytes, load.destination is Destination.VECTOR
        occupancy = self.memory.occupancy(nbytes)
        if load.configure is not WindowRegister.NONE:
            return occupancy, occupancy
        return occupancy, max(occupancy, self.memory.beats(load.rows, vector, load.segments))

    def handoff(self, command: Handoff) -> int:
        """Cycles for which a transfer holds the interface (chapter 4.4.3)."""
        if not self.textbook:
            return duration(self.design, command)
        return handoff_cycles(self.design, command)

    def vector_shape(self, command: VectorCommand) -> tuple[int, int]:
        """Rows that follow each other, those of the first unit, and cycles in which one enters."""
        rows = 1 if command.flat else -(-command.rows // self.design.vector_units)
        return rows, beats(self.design, command) // rows

    def vector_beats(self, command: VectorCommand) -> int:
        """Cycles in which the elements of a command enter."""
        return beats(self.design, command)

    def vector_latency(self, command: VectorCommand) -> int:
        """Cycles from the entry of elements to their results."""
        return result_latency(self.design, command.op)

    def vector_job(self, commands: list[VectorCommand]) -> int:
        """Cycles of a vector job with timing ideal."""
        return vector_job_cycles(self.design, commands)

    def store(self, store: Store) -> tuple[int, int, int]:
        """Occupancy of the channel, time until the bank is read and until all is written."""
        occupancy = self.memory.occupancy(store.rows * store.bytes_per_row)
        if self.textbook:
            return occupancy, occupancy, occupancy + self.memory.latency
        hold = max(occupancy, store.rows)
        return occupancy, hold, max(hold + self.memory.latency,
                                    store.rows + StoreUnit.ROW_LATENCY)
