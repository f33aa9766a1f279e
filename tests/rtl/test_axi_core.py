"""Ports of the core behind AXI4-Stream, and the way of each to the core's. What passes through
them is compared with the core's in tests/sim/export/test_equivalence.py."""

import random

import pytest
from amaranth.hdl import Fragment, Module, Shape, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from harness import simulate

from cubewave.rtl import Design
from cubewave.rtl.axi_core import AxiCore, axi_ports

DESIGN = Design(rows=3, cols=2, slot_bytes=64)

COMMANDS = ("load", "job", "vector", "handoff", "store")
BEATS = ("mem_weights", "mem_operands", "mem_vectors")


@pytest.fixture(scope="module")
def wrapper():
    component = AxiCore(design=DESIGN)
    Fragment.get(component, None)  # what is never elaborated is warned about
    return component


def test_streams(wrapper):
    members = wrapper.signature.members
    inputs = {f"s_axis_{name}" for name in (*COMMANDS, *BEATS)}
    outputs = {"m_axis_mem_load", "m_axis_mem_store", "m_axis_mem_rows"}
    assert {name.removesuffix("_tdata") for name in members
            if name.endswith("_tdata")} == inputs | outputs
    for prefix in inputs | outputs:
        to_core = prefix in inputs
        assert (members[f"{prefix}_tvalid"].flow is In) == to_core
        assert (members[f"{prefix}_tdata"].flow is In) == to_core
        assert Shape.cast(members[f"{prefix}_tdata"].shape).width % 8 == 0
        if prefix != "m_axis_mem_rows":
            assert (members[f"{prefix}_tready"].flow is In) != to_core
    assert "m_axis_mem_rows_tready" not in members


def test_every_port_of_the_core_is_there_once(wrapper):
    core = wrapper.core
    paths = [path for _flow, _bits, path in axi_ports(core).values() if path is not None]
    names = {path for path, _member, value in core.signature.flatten(core)
             if not str(value).startswith("(const")}
    assert len(paths) == len(set(paths)) and set(paths) == names
    assert {name: flow for name, (flow, _bits, path) in axi_ports(core).items()
            if path is None}.keys() == {f"s_axis_{name}_tready" for name in BEATS}


class Ports(wiring.Component):
    """The ports of a core with nothing behind them."""

    def __init__(self, core):
        self.design = core.design
        super().__init__(core.signature)

    def elaborate(self, platform):
        return Module()


def ways(core):
    """(port of the wrapper, port of the core, whether it leads to the core) of every wire.

    Written down here once more: names, directions and which part of a stream is which.
    """
    streams = [(f"s_axis_{name}", getattr(core, f"{name}s"), True) for name in COMMANDS]
    streams += [(f"s_axis_{name}", getattr(core.memory, name[4:]), True) for name in BEATS]
    streams += [(f"m_axis_mem_{name}", getattr(core.memory, name), False)
                for name in ("load", "store", "rows")]
    for prefix, port, inwards in streams:
        yield f"{prefix}_tdata", port.payload, inwards
        yield f"{prefix}_tvalid", port.valid, inwards
        if prefix.removeprefix("s_axis_") not in BEATS and prefix != "m_axis_mem_rows":
            yield f"{prefix}_tready", port.ready, not inwards
    for name in ("loading", "storing", "store_next", "store_stays", "loads_under_way",
                 "stores_under_way", "request_bytes", "request_transactions", "window_bytes"):
        yield f"mem_{name}", getattr(core.memory, name), True
    for name in ("count", "clear", "counter_select"):
        yield name, getattr(core, name), True
    for name in ("counter", "active", "overflow"):
        yield name, getattr(core, name), False


def test_every_port_has_its_wire(wrapper):
    """Values of all bits, each port's own: whole bytes at streams, zeros above the core's bits."""
    outer = AxiCore(design=DESIGN)
    Fragment.get(outer.core, None)
    outer.core = core = Ports(wrapper.core)
    wires = [(Value.cast(getattr(outer, name)), Value.cast(port), inwards, name)
             for name, port, inwards in ways(core)]
    assert {name for *_rest, name in wires} | {f"s_axis_{name}_tready" for name in BEATS} == set(
        outer.signature.members)
    for outside, inside, _inwards, name in wires:
        in_bytes = 8 * -(-len(inside) // 8)
        assert len(outside) == (in_bytes if name.endswith("tdata") else len(inside)), name

    async def bench(ctx):
        rng = random.Random(1)
        for _ in range(20):
            sent = []
            for outside, inside, inwards, _name in wires:
                source = outside if inwards else inside
                sent.append(rng.getrandbits(len(source)))
                ctx.set(source.as_unsigned(), sent[-1])
            for (outside, inside, inwards, name), value in zip(wires, sent, strict=True):
                got = ctx.get((inside if inwards else outside).as_unsigned())
                assert got == value & (1 << len(inside)) - 1, name
            for name in BEATS:
                ready = getattr(outer, f"s_axis_{name}_tready")
                assert len(ready) == 1 and ctx.get(ready) == 1

    simulate(outer, bench)
