"""The fast way to run pysim and the plain one give the same values in every cycle."""

import dataclasses

import pytest
from amaranth.hdl import Elaboratable, Fragment, Module, Signal
from amaranth.hdl._ast import SignalDict
from amaranth.lib.memory import Memory
from amaranth.sim import Simulator
from amaranth.sim.pysim import PySimEngine
from designs import designs, gemms
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.sim.backends import pysim
from cubewave.sim.backends.flatten import FlatDesign, flatten
from cubewave.sim.backends.run import machine_size
from cubewave.sim.backends.settled import SettledEngine
from cubewave.workloads import QProjection


def run_plain(design, program):
    """Without any rewriting: the hierarchy as elaborated, in Amaranth's engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pysim, "flatten",
                      lambda fragment, keep: FlatDesign(fragment, SignalDict()))
        patch.setattr(pysim, "SettledEngine", PySimEngine)
        return pysim.PysimMachine(design, *machine_size(design, program)).run(program)


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_counters_and_results_equal(data):
    design = data.draw(designs())
    program = data.draw(gemms(design, dimensions=(1, 3, 5))).program(design)
    plain, fast = run_plain(design, program), pysim.run_pysim(design, program)
    assert plain.counters == fast.counters
    assert plain.overflow == fast.overflow
    assert all((a == b).all() for a, b in zip(plain.outputs, fast.outputs, strict=True))


class Chain(Elaboratable):
    """Three combinational steps, written last step first, and a signal that is half registers."""

    def __init__(self):
        self.count = Signal(4)
        self.steps = [Signal(6, name=f"step_{number}") for number in range(3)]
        self.mixed = Signal(8)

    def elaborate(self, platform):
        m = Module()
        first, second, third = self.steps
        m.d.comb += [third.eq(second + 1), second.eq(first * 2)]
        with m.If(self.count[0]):
            m.d.comb += first.eq(self.mixed[4:])
        with m.Else():
            m.d.comb += first.eq(self.count)
        m.d.comb += self.mixed[:4].eq(self.count + 3)
        m.d.sync += [self.count.eq(self.count + 1), self.mixed[4:].eq(self.count)]
        return m


def trace(design, signals, engine, cycles=20):
    simulator = Simulator(design, engine=engine)
    simulator.add_clock(1e-8)
    values = []

    async def bench(ctx):
        for _ in range(cycles):
            values.append([ctx.get(signal) for signal in signals])
            await ctx.tick()
    simulator.add_testbench(bench)
    simulator.run()
    return values


def test_order_of_statements_and_shared_signals_do_not_matter():
    traces = []
    for engine in ("pysim", SettledEngine):
        chain = Chain()
        traces.append(trace(chain, [chain.count, *chain.steps, chain.mixed], engine))
    assert traces[0] == traces[1]
    assert len(set(map(tuple, traces[0]))) > 10


def test_readers_see_registers_in_a_signal_whose_other_bits_do_not_change():
    """Stored rows with the same data went to the first one's address."""
    traces = []
    for engine in ("pysim", SettledEngine):
        inner, outer = Chain(), Module()
        mixed, copy = Signal(8), Signal(9)
        outer.submodules.inner = inner
        outer.d.comb += mixed[:4].eq(7)
        with outer.If(inner.count[1]):
            outer.d.sync += mixed[4:].eq(inner.count)
        reader = Module()
        reader.d.comb += copy.eq(mixed + 1)
        outer.submodules.reader = reader
        traces.append(trace(outer, [mixed, copy], engine))
    assert traces[0] == traces[1]
    assert len(set(map(tuple, traces[0]))) > 5


def test_flattening_keeps_values():
    inner, outer = Chain(), Module()
    copy = Signal(6)
    outer.submodules.inner = inner
    outer.d.comb += copy.eq(inner.steps[2])
    flat = flatten(Fragment.get(outer, None))
    assert flat.signal(copy) is inner.steps[2]
    plain = Chain()
    assert trace(flat.fragment, [flat.signal(copy)], SettledEngine) \
        == [[values[0]] for values in trace(plain, [plain.steps[2]], "pysim")]


def test_a_combinational_loop_is_refused():
    module, a, b = Module(), Signal(name="a"), Signal(name="b")
    module.d.comb += [a.eq(~b), b.eq(a)]
    with pytest.raises(ValueError, match="^combinational loop through a, b$"):
        Simulator(module, engine=SettledEngine)


def test_a_combinational_read_port_is_refused():
    module = Module()
    module.submodules.memory = memory = Memory(shape=4, depth=4, init=[])
    memory.read_port(domain="comb")
    with pytest.raises(ValueError, match="combinational read port"):
        Simulator(module, engine=SettledEngine)


def test_a_machine_runs_twice_from_reset():
    design = dataclasses.replace(Design.preset("tiny"), memory_latency_cycles=3)
    program = QProjection(3, 5, 6).program(design)
    machine = pysim.PysimMachine(design, *machine_size(design, program))
    first, second = machine.run(program), machine.run(program)
    assert first.counters == second.counters
    assert (first.outputs[0] == second.outputs[0]).all()
