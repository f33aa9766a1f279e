"""All memories' writes in one process: the contents are those of Amaranth's own processes."""

import random

import pytest
from amaranth.hdl import Elaboratable, Fragment, Module, Signal
from amaranth.hdl._mem import MemoryInstance
from amaranth.lib.memory import Memory
from amaranth.sim import Simulator

from cubewave.sim.backends import memory_writes
from cubewave.sim.backends.fragments import fragments
from cubewave.sim.backends.memory_writes import take_writes
from cubewave.sim.backends.settled import SettledEngine

CASES = {   # width, depth, granularity of each write port
    "bytes and a whole row": (16, 6, (8, None)),
    "bits": (5, 4, (1,)),
    "three ports": (12, 3, (4, 3, None)),
    "a single row": (7, 1, (None, 7)),
}


class Memories(Elaboratable):
    """A memory with these write ports, and a read port that may look through the first one."""

    def __init__(self, width, depth, granularities, transparent=False):
        self.memory = Memory(shape=width, depth=depth, init=range(1, depth + 1))
        self.writes = [self.memory.write_port(granularity=each) for each in granularities]
        self.read = self.memory.read_port(transparent_for=self.writes[:1] if transparent else ())

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self.memory
        return m


def contents(case, engine, *, transparent=False, cycles=300):
    """All rows and the read data after each cycle of random writes."""
    design, rng, seen = Memories(*case, transparent=transparent), random.Random(str(case)), []
    _width, depth, _granularities = case

    async def bench(ctx):
        for cycle in range(cycles):
            quiet = cycle // 20 % 3 / 2     # none at all in a third of the cycles
            for port in design.writes:
                enable = rng.getrandbits(len(port.en)) if rng.random() >= quiet else 0
                ctx.set(port.en, enable)
                ctx.set(port.addr, rng.randrange(depth))
                ctx.set(port.data, rng.getrandbits(len(port.data)))
            ctx.set(design.read.addr, rng.randrange(depth))
            await ctx.tick()
            seen.append((ctx.get(design.read.data),
                         *(ctx.get(design.memory.data[row]) for row in range(depth))))

    simulator = Simulator(design, engine=engine)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


@pytest.mark.parametrize("transparent", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_contents_equal_those_of_plain_pysim(name, transparent):
    expected = contents(CASES[name], "pysim", transparent=transparent)
    assert contents(CASES[name], SettledEngine, transparent=transparent) == expected
    assert len(set(expected)) > 50


def test_masks_are_right_after_more_enables_than_are_kept(monkeypatch):
    monkeypatch.setattr(memory_writes, "MASKS_KEPT", 3)
    case = CASES["three ports"]
    assert contents(case, SettledEngine) == contents(case, "pysim")


@pytest.mark.parametrize("transparent,left", [(False, 0), (True, 2)])
def test_ports_that_a_read_port_looks_through_are_left(transparent, left):
    top = Fragment.get(Memories(8, 4, (None, 4), transparent), None)
    memory, = (each for each in fragments(top) if isinstance(each, MemoryInstance))
    taken = take_writes(top)
    assert (len(taken), len(memory._write_ports)) == (2 - left, left)
    assert all(fragment is memory for fragment, _port in taken)


def test_writes_follow_the_clock_of_their_domain():
    """A write waits for its own domain's edge, of which there is one for two of the other's."""
    m, now = Module(), Signal(4)
    m.submodules.memory = memory = Memory(shape=4, depth=2, init=[])
    slow = memory.write_port(domain="slow")
    memory.read_port(domain="sync")
    m.d.comb += [slow.en.eq(1), slow.data.eq(now)]
    m.d.sync += now.eq(now + 1)
    seen = []

    async def bench(ctx):
        for _ in range(8):
            await ctx.tick()
            seen.append(ctx.get(memory.data[0]))

    simulator = Simulator(m, engine=SettledEngine)
    simulator.add_clock(2e-8, phase=1e-8)
    simulator.add_clock(4e-8, phase=2e-8, domain="slow")
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [0, 1, 1, 3, 3, 5, 5, 7]
