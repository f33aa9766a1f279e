"""Ports of the core behind AXI4-Stream. What passes through them is compared with the core's in
tests/sim/export/test_equivalence.py."""

import pytest
from amaranth.hdl import Fragment, Shape
from amaranth.lib.wiring import In

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
