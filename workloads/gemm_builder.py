"""Builds the commands of matrix products."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..rtl import Design
from ..rtl.commands import ArrayJob, Destination, Load, Store
from ..rtl.formats import IntegerFormat
from .epilogue import Epilogue
from .program import Output, Program
from .tiling import Slice, Tile, Tiling

__all__ = ["GemmBuilder", "StoredRows", "keep_shapes", "row_bytes"]


class OperandRows(Protocol):
    """Where the rows of A come from."""

    def load(self, tiling: Tiling, part: Slice) -> Load:
        """The load of a slice, into any slot; asked for in the order of the program."""


@dataclass(frozen=True)
class StoredRows:
    """The rows of A in memory, each tile by tile in whole bytes.

    Attributes
    ----------
    base, stride : int
        Address of the first row; bytes from row to row.
    bits : int
        Of an element.
    """
    base: int
    stride: int
    bits: int

    def load(self, tiling: Tiling, part: Slice) -> Load:
        tiles = tiling.operand_columns
        return Load(
            Destination.OPERAND,
            self.base + part.rows.start * self.stride
            + part.column * row_bytes(tiles[0].size, self.bits),
            part.rows.size, row_bytes(tiles[part.column].size, self.bits), self.stride)


@dataclass
class _Filling:
    """One use of a slot: the slices loaded into it and the jobs that read them."""
    slot: int
    available: int            # weight tile before whose load the slot may be filled
    loads: list[Load] = field(default_factory=list)
    first_job: int = -1
    last_job: int = -1


class GemmBuilder:
    """Writes products into one program, in the order of their tilings.

    The loader's queue holds weight loads in job order. The loads that fill a slot stand among
    them so that the last one comes right before the first tile that needs the slot, the ones
    before it one tile earlier each; but not before the tile at which the slot is expected to be
    free, for the loader would wait there and hold up the weights behind, and at the latest right
    after that first tile, which no wait for the slot can block.

    With an epilogue each output tile goes over the hand-off, in turn through the hand-off slots,
    and is stored from there. Its bias is loaded right after its last weight tile: the loader may
    wait there until the operand slot is free, for which nothing behind is needed.

    Parameters
    ----------
    design : Design
    """

    def __init__(self, design: Design):
        self._design = design
        self._format = IntegerFormat.of(design)
        self._program = Program()
        self._fillings: list[_Filling] = []
        self._resident: set[int] = set()            # fillings loaded before the run
        self._weights: list[Load] = []              # in tile order
        self._job_tile: list[int] = []              # weight tile of each job
        self._jobs: list[ArrayJob] = []
        self._biases: dict[int, Load] = {}          # by the weight tile that they come before
        self._handed_over = 0                       # output tiles
        self._first: list[Load] = []                # before all others

    @property
    def program(self) -> Program:
        """The program; its loads and jobs come with :meth:`finish`."""
        return self._program

    def load_first(self, loads: Iterable[Load]) -> None:
        """Put loads before all of those of the products."""
        self._first.extend(loads)

    def add(self, tiling: Tiling, operands: tuple[np.ndarray | None, np.ndarray] | None, *,
            unsigned: bool, resident: bool, store: bool, accumulate: bool,
            epilogue: Epilogue | None = None, bias: np.ndarray | None = None,
            rows: OperandRows | None = None, result: tuple[int, int] | None = None) -> None:
        """Append one product, a and b of `operands` or of any contents; see :class:`Gemm`.

        Without `rows`, a is put into memory; without `result`, address and bytes from row to
        row, the result has a place of its own, and is an output of the program.
        """
        product = self._place_product(tiling, operands, store, epilogue, bias, rows, result)
        result_goes = 2 if epilogue is not None else int(store)
        first_filling = len(self._fillings)
        held: dict[Slice, tuple[_Filling, int]] = {}
        for number, (block_index, n_index) in enumerate(tiling.output_tiles()):
            if tiling.a_stays == "none" or (tiling.a_stays == "block" and n_index == 0):
                held.clear()
            block = tiling.m_blocks[block_index]
            bank, acc_row = self._bank(number, tiling)
            for k_index in range(len(tiling.k_tiles)):
                self._add_weights(product, k_index, n_index)
                parts = tiling.slices(block_index, k_index)
                for part in parts:
                    if part not in held:
                        fresh = len(self._fillings) == first_filling or (
                            not held and tiling.a_stays != "none")
                        held[part] = self._load_slice(product, part, fresh)
                    job = self._job(
                        tiling, block, k_index, n_index, part, bank=bank, acc_row=acc_row,
                        new_weights=int(part is parts[0]), last_use=int(part is parts[-1]),
                        unsigned=int(unsigned), accumulate=int(accumulate), store=result_goes)
                    padding = tiling.padding(block_index) if job.last_use else 0
                    for piece in _padded(job, padding):
                        self._add_job(*held[part], piece)
            if store:
                self._add_store(product, bank, acc_row, block, tiling.n_tiles[n_index])
        if resident:
            self._resident.update(range(first_filling, len(self._fillings)))

    def finish(self) -> Program:
        """The program of all products added."""
        program, jobs = self._program, self._jobs
        for filling in self._fillings:
            last = filling.last_job
            jobs[last] = jobs[last]._replace(free_slot=1)
            filling.loads[0] = filling.loads[0]._replace(take=1)
            filling.loads[-1] = filling.loads[-1]._replace(last=1)
        program.jobs = jobs
        before: list[list[Load]] = [[] for _ in range(len(self._weights) + 1)]
        latest = 0
        for number, filling in enumerate(self._fillings):
            if number in self._resident:
                program.preload.extend(filling.loads)
                continue
            for index, load in enumerate(filling.loads):
                latest = max(latest, self._position(filling, index))
                before[latest].append(load)
        for tile, bias in self._biases.items():
            before[tile].append(bias)
        for operands, weights in zip(before, [*self._weights, None]):
            program.loads.extend(operands)
            if weights is not None:
                program.loads.append(weights)
        program.preload = keep_shapes(program.preload)
        program.loads = keep_shapes([*self._first, *program.loads])
        return program

    def _position(self, filling: _Filling, index: int) -> int:
        """The weight tile before whose load the filling's load `index` stands."""
        first = filling.first_job
        ahead = self._job_tile[max(0, first - (len(filling.loads) - 1) + index)]
        latest = self._job_tile[first] + 1
        return max(ahead, min(filling.available, latest))

    # -- steps of `add` ------------------------------------------------------------------------

    @staticmethod
    def _job(tiling: Tiling, block: Tile, k_index: int, n_index: int, part: Slice, *,
             acc_row: int, accumulate: int, **fields: int) -> ArrayJob:
        """The job of a slice; its place in the slots comes later."""
        first_k, last_k = k_index == 0, k_index == len(tiling.k_tiles) - 1
        inner = tiling.k_tiles[k_index].size
        if tiling.output_stationary:
            inner = block.size
        else:
            acc_row += part.rows.start - block.start
            accumulate = int(accumulate or not first_k)
        return ArrayJob(
            rows=part.rows.size, slot=0, row=0, inner=inner, outer=tiling.n_tiles[n_index].size,
            acc_row=acc_row, accumulate=accumulate,
            take_bank=int(first_k and fields["new_weights"]),
            finish_bank=int(last_k and fields["last_use"]), **fields)

    def _place_product(self, tiling: Tiling,
                       operands: tuple[np.ndarray | None, np.ndarray] | None,
                       store: bool, epilogue: Epilogue | None, bias: np.ndarray | None,
                       rows: OperandRows | None, result: tuple[int, int] | None) -> "_Product":
        design, format, program = self._design, self._format, self._program
        a, b = (None, None) if operands is None else operands
        if rows is None:
            height = tiling.k if tiling.output_stationary else tiling.m
            if tiling.output_stationary and a is not None:
                a = a.T
            rows = StoredRows(*self._place(a, height, tiling.operand_columns,
                                           format.activation_bits), format.activation_bits)
        b_base, b_stride = self._place(b, tiling.k, tiling.n_tiles, format.weight_bits)
        element = design.result_element_bytes
        bias_base = 0
        if epilogue is not None:
            element = epilogue.element_bytes(design)
            if bias is not None:
                bias_base = program.place_image(epilogue.bias_image(design, bias))
            elif epilogue.biased:
                bias_base = program.place(tiling.n * design.result_element_bytes)
        if result is None:
            result = 0, tiling.n * element
            if store:
                result = program.place(tiling.m * tiling.n * element), tiling.n * element
                program.outputs.append(Output(result[0], tiling.m, tiling.n, element))
        return _Product(tiling, rows, b_base, b_stride, *result, element, epilogue, bias_base)

    def _place(self, matrix: np.ndarray | None, rows: int, tiles: list[Tile],
               bits: int) -> tuple[int, int]:
        """Put a matrix into memory, each row tile by tile in whole bytes; base and row stride."""
        if matrix is None:
            stride = sum(row_bytes(tile.size, bits) for tile in tiles)
            return self._program.place(rows * stride), stride
        packed = np.concatenate(
            [self._format.pack_rows(matrix[:, tile.start:tile.start + tile.size], bits)
             for tile in tiles], axis=1)
        return self._program.place_image(packed), packed.shape[1]

    def _bank(self, number: int, tiling: Tiling) -> tuple[int, int]:
        """Bank and first row of an output tile: banks in turn, then the next free rows."""
        banks = self._design.accumulator_banks
        places = self._design.accumulator_rows // tiling.m_tile
        return number % banks, number // banks % places * tiling.m_tile

    def _add_weights(self, product: "_Product", k_index: int, n_index: int) -> None:
        inner = product.tiling.k_tiles[k_index]
        columns = product.tiling.n_tiles[n_index]
        self._weights.append(Load(
            Destination.WEIGHT,
            product.b_base + inner.start * product.b_stride
            + n_index * self._design.weight_row_bytes,
            inner.size, row_bytes(columns.size, self._format.weight_bits), product.b_stride))

    def _load_slice(self, product: "_Product", part: Slice,
                    fresh: bool) -> tuple[_Filling, int]:
        """Add a slice of A to the current filling of a slot, or start one; filling and row."""
        tiling, port = product.tiling, self._design.buffer_port_rows
        if fresh or len(self._fillings[-1].loads) == tiling.slices_per_slot:
            number = len(self._fillings)
            available = 0
            if number >= tiling.slots:
                before = self._fillings[number - tiling.slots]
                available = self._job_tile[before.last_job] + self._design.weight_fifo_depth + 2
            self._fillings.append(_Filling(number % tiling.slots, available))
        filling = self._fillings[-1]
        row = len(filling.loads) * -(-tiling.slice_rows // port) * port
        filling.loads.append(product.rows.load(tiling, part)._replace(
            slot=filling.slot, word=row // port))
        return filling, row

    def _add_job(self, filling: _Filling, row: int, job: ArrayJob) -> None:
        number = len(self._jobs)
        if filling.first_job < 0:
            filling.first_job = number
        filling.last_job = number
        self._job_tile.append(len(self._weights) - 1)
        self._jobs.append(job._replace(slot=filling.slot, row=row))

    def _add_store(self, product: "_Product", bank: int, acc_row: int, block: Tile,
                   columns: Tile) -> None:
        element = product.element_bytes
        store = Store(bank, acc_row, block.size,
                      product.c_base + block.start * product.c_stride + columns.start * element,
                      columns.size * element, product.c_stride)
        if product.epilogue is not None:
            slot = self._add_epilogue(product, product.epilogue, bank, acc_row, block, columns)
            store = store._replace(bank=slot, acc_row=0, vector=1, pitch=columns.size,
                                   element_bytes=element, wait=1)
        self._program.stores.append(store)

    def _add_epilogue(self, product: "_Product", epilogue: Epilogue, bank: int, acc_row: int,
                      block: Tile, columns: Tile) -> int:
        """From the bank to a result in a hand-off slot, whose number is returned."""
        design, program = self._design, self._program
        slot = self._handed_over % design.handoff_slots
        self._handed_over += 1
        program.handoffs.append(epilogue.handoff(design, slot, bank, acc_row, block.size,
                                                 columns.size))
        program.vectors.extend(epilogue.commands(design, slot, block.size, columns.size))
        if epilogue.biased:
            base = product.bias_base + columns.start * design.result_element_bytes
            self._biases[len(self._weights)] = epilogue.bias_load(design, slot, base,
                                                                  columns.size)
        return slot


@dataclass(frozen=True)
class _Product:
    """Where the matrices of one product lie: addresses and row strides in bytes."""
    tiling: Tiling
    rows: OperandRows                 # of A
    b_base: int
    b_stride: int
    c_base: int
    c_stride: int
    element_bytes: int                # of the result
    epilogue: Epilogue | None
    bias_base: int


def _padded(job: ArrayJob, rows: int) -> list[ArrayJob]:
    """The job, and jobs of `rows` rows that stream its own rows again: none of their MACs is real.

    They can overflow only where the job does, and write accumulator rows that are never stored.
    """
    jobs = [job]
    while rows:
        jobs[-1] = jobs[-1]._replace(last_use=0, finish_bank=0)
        before, size = jobs[-1], min(rows, job.rows)
        jobs.append(job._replace(rows=size, acc_row=before.acc_row + before.rows, inner=0, outer=0,
                                 new_weights=0, take_bank=0))
        rows -= size
    return jobs


def row_bytes(elements: int, bits: int) -> int:
    """Bytes of packed elements, rounded up."""
    return -(-elements * bits // 8)


def keep_shapes(loads: list[Load]) -> list[Load]:
    """Mark the loads that have the shape of the one before to the same destination."""
    latest: dict[Destination, tuple[int, int, int]] = {}
    marked = []
    for load in loads:
        shape = (load.rows, load.bytes_per_row, load.row_stride)
        marked.append(load._replace(keep_shape=int(latest.get(load.destination) == shape)))
        latest[load.destination] = shape
    return marked
