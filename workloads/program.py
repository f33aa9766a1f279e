"""Programs: the commands of every queue and the memory that they work on."""

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field

import numpy as np

from ..rtl.commands import ArrayJob, Load, Store
from ..rtl.vector_commands import Handoff, VectorCommand

__all__ = ["Command", "MemoryImage", "Output", "Program"]

Command = Load | ArrayJob | VectorCommand | Handoff | Store


@dataclass(frozen=True)
class MemoryImage:
    """Bytes in memory before a run: `data[i]` (uint8) at address `base` + i."""
    base: int
    data: np.ndarray


@dataclass(frozen=True)
class Output:
    """A result matrix in memory after a run.

    `rows` x `cols` elements of `element_bytes` bytes, little-endian and signed, rows adjoining.
    """
    base: int
    rows: int
    cols: int
    element_bytes: int

    @property
    def nbytes(self) -> int:
        return self.rows * self.cols * self.element_bytes

    def decode(self, data: np.ndarray) -> np.ndarray:
        """The matrix (int64) from its `nbytes` bytes."""
        digits = data.reshape(self.rows, self.cols, self.element_bytes).astype(np.int64)
        value = (digits << (8 * np.arange(self.element_bytes))).sum(axis=2)
        sign = 1 << (8 * self.element_bytes - 1)
        return (value ^ sign) - sign


@dataclass
class Program:
    """What the units execute, in queue order.

    Attributes
    ----------
    loads, jobs, vectors, handoffs, stores : list
        Commands of loader, array, vector unit, hand-off and store.
    preload : list of Load
        Executed before the run and not counted: data that is in the buffers when it starts.
    images : list of MemoryImage
        Memory before the run.
    outputs : list of Output
        Result matrices, one for each job that stores its result.
    memory_bytes : int
        Memory that the program touches, from address 0.
    """
    loads: list[Load] = field(default_factory=list)
    jobs: list[ArrayJob] = field(default_factory=list)
    vectors: list[VectorCommand] = field(default_factory=list)
    handoffs: list[Handoff] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    preload: list[Load] = field(default_factory=list)
    images: list[MemoryImage] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    memory_bytes: int = 0

    def queue(self, name: str) -> SequenceOf[Command]:
        """The commands of the queue "loader", "array", "vector", "handoff" or "store"."""
        queues: dict[str, SequenceOf[Command]] = {
            "loader": self.loads, "array": self.jobs, "vector": self.vectors,
            "handoff": self.handoffs, "store": self.stores}
        return queues[name]

    def place(self, nbytes: int) -> int:
        """Reserve `nbytes` bytes of memory, aligned to 64; returns their address."""
        base = -(-self.memory_bytes // 64) * 64
        self.memory_bytes = base + nbytes
        return base

    def put(self, base: int, data: np.ndarray) -> None:
        """Put a uint8 array into memory that has been reserved."""
        self.images.append(MemoryImage(base, np.ascontiguousarray(data, np.uint8).reshape(-1)))

    def place_image(self, data: np.ndarray) -> int:
        """Put a uint8 array into memory; returns its address."""
        base = self.place(data.size)
        self.put(base, data)
        return base
