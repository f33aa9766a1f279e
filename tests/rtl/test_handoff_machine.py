"""A whole machine in which row groups go from the matrix to the vector unit and back."""

import numpy as np
import pytest
from harness import MachineBench

from cubewave.rtl import Design
from cubewave.rtl.commands import ArrayJob, Destination, Load, Store
from cubewave.rtl.machine import Machine
from cubewave.rtl.vector_commands import (
    Direction,
    Handoff,
    Operand,
    VectorCommand,
    VectorOp,
    output_slot,
)

WEIGHT, OPERAND, VECTOR = Destination
M, K, N = 5, 3, 4
SHIFT = 4


class Chain:
    """`low bits of (half up(a @ first / 2**SHIFT) + added) @ second`, and the sums stored too.

    3 rows, 2 columns: two tiles of `first` side by side in a bank, two of `second` in the K
    direction. Everything is one row group in hand-off slot 0.
    """

    def __init__(self, design, seed):
        rng = np.random.default_rng(seed)
        self.design = design
        self.a, self.first, self.second, self.added = (
            rng.integers(low, high, size, endpoint=True) for low, high, size in (
                (-128, 127, (M, K)), (-128, 127, (K, N)), (-128, 127, (N, 2)),
                (-128, 127, (M, N))))
        self.contents, self.loads = b"", []
        self._load(self.a, OPERAND, slot=0, take=1, last=1)
        self._load(self.first[:, :2], WEIGHT)
        self._load(self.first[:, 2:], WEIGHT)
        for part in range(2):
            self._load(self.added[:, 2 * part:2 * part + 2], VECTOR, slot=output_slot(design, 1),
                       word=2 * part, pitch=N, element_bytes=1, take=1 - part, last=part)
        self._load(self.second[:3], WEIGHT)
        self._load(self.second[3:], WEIGHT)
        self.product_at, self.sums_at = len(self.contents), len(self.contents) + M * 2 * 4
        self.size = self.sums_at + M * N * 2

    def _load(self, matrix, destination, **fields):
        data = matrix.astype(np.int8).tobytes()
        self.loads.append(Load(destination=destination, base=len(self.contents),
                               rows=len(matrix), bytes_per_row=matrix.shape[1],
                               row_stride=matrix.shape[1], **fields))
        self.contents += data

    @property
    def commands(self):
        sums = output_slot(self.design, 1)
        job = {"rows": M, "inner": 3, "outer": 2}
        port = self.design.buffer_port_rows
        pitch = next(pitch for pitch in range(M, 2 * M) if pitch % port == 1 % port)
        jobs = [
            ArrayJob(slot=0, row=0, bank=0, acc_row=0, take_bank=1, take_group=1, **job),
            ArrayJob(slot=0, row=0, bank=0, acc_row=M, finish_bank=1, free_slot=1, store=2, **job),
            ArrayJob(slot=1, row=0, bank=1, acc_row=0, take_bank=1, **job),
            ArrayJob(slot=1, row=pitch, bank=1, acc_row=0, accumulate=1, finish_bank=1, free_slot=1,
                     free_group=1, **job)]
        move = {"rows": M, "length": N, "pitch": N}
        handoffs = [
            Handoff(Direction.TO_VECTOR, slot=0, buffer=0, piece_pitch=M, shift=SHIFT,
                    element_bytes=4, **move),
            Handoff(Direction.TO_MATRIX, slot=0, buffer=1, piece_pitch=pitch, take=1, **move)]
        add = {"op": VectorOp.ADD, "rows": M, "length": N, "a_pitch": N, "d_pitch": N}
        vectors = [
            VectorCommand(a_slot=0, d_slot=0, b=Operand.VECTOR, b_slot=sums, b_pitch=N, wait_a=1,
                          wait_b=1, **add),
            VectorCommand(a_slot=0, d_slot=sums, **add),
            VectorCommand(a_slot=sums, d_slot=sums, done=1, **add),
            VectorCommand(a_slot=0, d_slot=0, done=1, **add)]
        stores = [Store(vector=1, bank=sums, acc_row=2 * part, rows=M, pitch=N, element_bytes=2,
                        base=self.sums_at + 4 * part, bytes_per_row=4, row_stride=2 * N,
                        wait=1 - part, keep=1 - part) for part in range(2)]
        stores.append(Store(bank=1, acc_row=0, rows=M, base=self.product_at, bytes_per_row=8,
                            row_stride=8))
        return {"loader": self.loads, "array": jobs, "vector": vectors, "handoff": handoffs,
                "store": stores}


@pytest.mark.parametrize("handoff", ["direct", "staged"])
@pytest.mark.parametrize("units", [1, 2])
@pytest.mark.parametrize("bandwidth,schedule,port", [
    (16, "sequential", 1), (1, "pipelined", 2), (16, "pipelined", 3)])
def test_to_the_vector_unit_and_back(handoff, units, bandwidth, schedule, port):
    design = Design(rows=3, cols=2, input_slots=2, slot_bytes=36, accumulator_rows=16,
                    buffer_port_rows=port,
                    handoff_slots=2, handoff=handoff, handoff_bytes_per_cycle=6,
                    vector_units=units, vector_schedule=schedule,
                    memory_bytes_per_cycle=bandwidth)
    chain = Chain(design, units)
    machine = Machine(design=design, lines=32, commands=8)
    # The program twice: the second run needs what the first has freed.
    bench = MachineBench(machine).run(chain.commands, chain.commands, contents=chain.contents)
    scores = (chain.a @ chain.first + (1 << SHIFT - 1) >> SHIFT) + chain.added
    sums = np.frombuffer(bench.memory[chain.sums_at:chain.size], np.int16).reshape(M, N)
    assert (sums == scores).all()
    product = np.frombuffer(bench.memory[chain.product_at:chain.sums_at], np.int32).reshape(M, 2)
    assert (product == scores.astype(np.int8).astype(int) @ chain.second).all()
    moved = M * N * (4 + 1) * (2 if handoff == "staged" else 1)
    assert [bench.counters[name] for name in (
        "handoffs", "handoff_bytes", "exchange_bytes", "vector_commands")] == [
            2, moved, moved if handoff == "staged" else 0, 4]
