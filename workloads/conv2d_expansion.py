"""The explicit way: the im2col matrix is written to memory before it is used."""

from collections.abc import Iterator

from ..rtl import Design
from ..rtl.commands import Destination, Load, Store, WindowRegister
from ..rtl.vector_commands import VectorCommand, VectorOp
from .conv2d_windows import WindowRows
from .tiling import Tile, cut

__all__ = ["Expansion", "chunks"]


def chunks(design: Design, m: int, k: int) -> Iterator[tuple[Tile, Tile]]:
    """Output pixels and elements of the parts of an im2col matrix that vector slots hold.

    A part's rows fill at most a store, each of up to `cols` elements; output stationary, its
    rows are those of the transpose.
    """
    if design.dataflow == "output_stationary":
        sizes = design.cols, design.accumulator_rows
    else:
        sizes = design.accumulator_rows, design.cols
    pixels, elements = cut(m, sizes[0]), cut(k, sizes[1])
    yield from ((block, part) for block in pixels for part in elements)


class Expansion:
    """Writes im2col matrices to memory, part by part, through all of the vector slots in turn.

    A part is a load of windows into a slot, a vector command that marks it as a result, and a
    store. Whatever is loaded after :meth:`finish` finds all of them in memory: the loader waits
    until the store has left the slot.

    Parameters
    ----------
    design : Design
    """

    def __init__(self, design: Design):
        self._design = design
        self._parts = 0
        self.loads: list[Load] = []
        self.vectors: list[VectorCommand] = []
        self.stores: list[Store] = []

    def _slot(self, part: int) -> int:
        return part % (3 * self._design.handoff_slots)

    def add(self, rows: WindowRows, base: int, m: int, k: int) -> int:
        """One matrix [m, k], or its transpose, to memory; the bytes from row to row."""
        size = self._design.activation_bytes
        transposed = self._design.dataflow == "output_stationary"
        stride = size * (m if transposed else k)
        for pixels, elements in chunks(self._design, m, k):
            slot = self._slot(self._parts)
            self._parts += 1
            lines, words = (elements, pixels) if transposed else (pixels, elements)
            self.loads.append(rows.part(Destination.VECTOR, pixels, pixels, elements)._replace(
                slot=slot, take=1, last=1, pitch=words.size, element_bytes=size))
            self.vectors.append(self.mark(slot))
            self.stores.append(Store(
                slot, 0, lines.size, base + lines.start * stride + words.start * size,
                words.size * size, stride, vector=1, pitch=words.size, element_bytes=size,
                wait=1))
        return stride

    @staticmethod
    def mark(slot: int) -> VectorCommand:
        """Adds nothing to one element: the slot then holds a result."""
        return VectorCommand(VectorOp.ADD, slot, slot, 1, 1, wait_a=1, done=1, chain=2, last=1)

    def finish(self) -> None:
        """Wait until everything is stored."""
        self.loads.append(Load(Destination.VECTOR, 0, 0, 0, 0, slot=self._slot(self._parts - 1),
                               take=1, configure=WindowRegister.WAIT))
