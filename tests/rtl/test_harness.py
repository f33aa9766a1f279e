"""The harness itself: a test bench that never runs proves nothing."""

import re

import pytest
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from harness import CycleLimitError, drive, lockstep, simulate, transfers

from cubewave.rtl.queue import Queue


class Register(wiring.Component):
    """o is i of the cycle before."""
    i: In(signed(9))
    o: Out(signed(9), init=5)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i)
        return m


class Wires(wiring.Component):
    """A combinational design: it has no clock of its own."""
    i: In(data.StructLayout({"a": signed(3), "b": data.ArrayLayout(unsigned(2), 2)}))
    o: Out(data.StructLayout({"a": signed(3), "b": data.ArrayLayout(unsigned(2), 2)}))

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(self.i)
        return m


def test_lockstep_counts_cycles_from_0_and_reads_signed_values_f123():
    steps = [{"i": -30}, {"i": 255}, {}, {"i": -1}, {}]
    assert lockstep(Register(), steps, ["o"]) == [
        {"o": 5}, {"o": -30}, {"o": 255}, {"o": 0}, {"o": -1}]


def test_lockstep_of_a_structure_without_clock():
    value = {"a": -3, "b": [3, 1]}
    assert lockstep(Wires(), [{}, {"i": value}, {}], ["o"]) == [
        {"o": {"a": 0, "b": [0, 0]}}, {"o": value}, {"o": {"a": 0, "b": [0, 0]}}]


def test_a_failing_bench_fails():
    async def bench(ctx):
        await ctx.tick()
        raise AssertionError("seen")
    with pytest.raises(AssertionError, match=r"^seen$"):
        simulate(Register(), bench)


def test_a_bench_that_hangs_is_stopped():
    async def bench(ctx):
        while True:
            await ctx.tick()
    with pytest.raises(CycleLimitError, match=r"^still running after 7 cycles$"):
        simulate(Register(), bench, max_cycles=7)


def test_max_cycles_is_enough_for_a_bench_of_as_many():
    async def bench(ctx):
        await ctx.tick().repeat(7)
    simulate(Register(), bench, max_cycles=8)


def test_drive_with_gaps_and_transfers():
    class Sink(wiring.Component):
        i: In(stream.Signature(8))

        def elaborate(self, platform):
            m = Module()
            m.d.sync += self.i.ready.eq(~self.i.ready)  # ready in cycles 1, 3, 5, ...
            return m

    sink, log = Sink(), []

    async def bench(ctx):
        await drive(ctx, sink.i, [10, 11, 12, 13], gaps=[0, 0, 4])
    simulate(sink, bench, monitors=[transfers(sink.i, log)])
    assert log == [(1, 10), (3, 11), (9, 12), (11, 13)]


def test_drive_leaves_the_port_idle():
    queue = Queue(shape=4, depth=8)

    async def bench(ctx):
        await drive(ctx, queue.i, [1, 2, 3])
        await ctx.tick().repeat(5)
        assert ctx.get(queue.level) == 3
    simulate(queue, bench)


def test_a_waveform_is_written_by_option(tmp_path):
    async def bench(ctx):
        await ctx.tick().repeat(3)
    simulate(Register(), bench, vcd=tmp_path / "register.vcd")
    assert re.search(r"\$var wire 9 \S+ o", (tmp_path / "register.vcd").read_text())


@pytest.mark.parametrize("phase", [0.5, 1.0])
def test_shifted_stimulus_gives_the_same_outputs_f112(phase):
    """Stimulus that changes at the inactive edge, or right after the active one."""
    queue = Queue(shape=8, depth=3)
    simulator = Simulator(queue)
    simulator.add_clock(1e-6, phase=phase * 1e-6)
    got = []

    async def bench(ctx):
        for cycle in range(20):
            if phase == 1.0 and cycle:
                await ctx.delay(0.5e-6)
            ctx.set(queue.i.valid, cycle % 3 != 0)
            ctx.set(queue.i.payload, cycle)
            ctx.set(queue.o.ready, cycle % 4 == 1)
            got.append((await ctx.tick().sample(
                queue.i.ready, queue.o.valid, queue.o.payload, queue.level))[2:])
    simulator.add_testbench(bench)
    simulator.run()

    steps = [{"i.valid": cycle % 3 != 0, "i.payload": cycle, "o.ready": cycle % 4 == 1}
             for cycle in range(20)]
    watch = ["i.ready", "o.valid", "o.payload", "level"]
    assert [tuple(row.values()) for row in lockstep(Queue(shape=8, depth=3), steps, watch)] == got
