# amaranth: UnusedElaboratable=no
"""Memories of components that say `collision_free` may show anything in a collision."""

from types import SimpleNamespace

import numpy as np
import pytest
from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import memory
from harness import simulate as run

from cubewave.rtl import Design
from cubewave.rtl.vector_slot import VectorSlot
from cubewave.sim import simulate
from cubewave.workloads import Attention, Gemm

MODULES = ("accumulator", "operand_slots", "vector_slot", "weight_fifo")


class Colliding(memory.Memory):
    """Inverts bits that are read in the cycle in which they are written."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = memory.Memory(self.data)
        for port in self.write_ports:
            inner = storage.write_port(granularity=port.signature.granularity)
            m.d.comb += [Value.cast(getattr(inner, name)).eq(Value.cast(getattr(port, name)))
                         for name in ("addr", "data", "en")]
        for number, port in enumerate(self.read_ports):
            inner = storage.read_port()
            bits = len(Value.cast(port.data))
            wrong = Signal(bits, name=f"wrong_{number}")
            m.d.comb += [inner.addr.eq(port.addr), inner.en.eq(port.en),
                         Value.cast(port.data).eq(Value.cast(inner.data) ^ wrong)]
            written = 0
            for write in self.write_ports:
                each = bits // len(write.en)
                written |= Mux(write.addr == port.addr,
                               Cat(bit.replicate(each) for bit in write.en), 0)
            with m.If(port.en):
                m.d.sync += wrong.eq(written)
        return m


@pytest.fixture
def collisions(monkeypatch):
    """Gives the components such memories; the list of those that were elaborated."""
    made = []

    class Counted(Colliding):
        def elaborate(self, platform):
            made.append(self)
            return super().elaborate(platform)

    for module in MODULES:
        monkeypatch.setattr(f"cubewave.rtl.{module}.memory", SimpleNamespace(
            Memory=Counted, MemoryData=memory.MemoryData))
    return made


def gemm():
    random = np.random.default_rng(1)
    return Gemm(random.integers(-128, 128, (5, 14)), random.integers(-128, 128, (14, 7)))


def attention():
    random = np.random.default_rng(2)
    q, k, v = (random.integers(-40, 40, (6, 5)) for _ in range(3))
    return Attention(q, k, v)


@pytest.mark.parametrize("settings", [
    {}, {"lanes": 2, "sfu_lanes": 1, "cols": 3}, {"handoff": "staged", "input_slots": 2}])
def test_no_result_depends_on_a_collision(collisions, settings):
    # A clock of its own: a machine that exists already has other memories.
    design = Design.from_dict({"rows": 3, "cols": 4, "slot_bytes": 64, "accumulator_rows": 16,
                               "clock_hz": 1_234_567, **settings})
    for workload in (gemm(), attention()):
        result = simulate(design, workload, level="rtl", backend="pysim")
        assert all(check["ok"] for check in result.checks), result.checks
        expected = simulate(design, workload, level="cycle")
        assert (result.output == expected.output).all() and result.cycles == expected.cycles
    assert len(collisions) > 20


def test_such_a_memory():
    dut = Module()
    dut.submodules.memory = storage = Colliding(shape=8, depth=4, init=[1, 2, 3, 4])
    write, read = storage.write_port(), storage.read_port()
    seen = []

    async def bench(ctx):
        ctx.set(read.en, 1)
        ctx.set(read.addr, 1)
        for enable, address in ((0, 1), (1, 1), (1, 2), (0, 0)):
            ctx.set(write.en, enable)
            ctx.set(write.addr, address)
            ctx.set(write.data, 5)
            seen.append((await ctx.tick().sample(read.data))[-1])

    run(dut, bench)
    assert seen == [0, 2, 2 ^ 255, 5]


def test_two_engines_may_collide():
    assert VectorSlot(design=Design.preset("tiny"), ports=1).collision_free
    assert not VectorSlot(design=Design.preset("tiny"), ports=2).collision_free
