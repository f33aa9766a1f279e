"""The core behind ports named as those of AXI4-Stream."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .checks import ceil_div
from .core import Core
from .memory_interface import MemorySignature

__all__ = ["AxiCore", "axi_ports"]

#: Streams of commands, and what the core calls them.
_COMMANDS = {"s_axis_load": "loads", "s_axis_job": "jobs", "s_axis_vector": "vectors",
             "s_axis_handoff": "handoffs", "s_axis_store": "stores"}


def axi_ports(core):
    """Ports of :class:`AxiCore` around a core: name -> (flow, shape, the core's port as a path).

    The path of a ready that is constantly high is None.
    """
    ports = {}
    for prefix, name in _COMMANDS.items():
        _add_stream(ports, prefix, core, (name,), In)
    for name, member in MemorySignature(core.design).members.items():
        path = "memory", name
        if member.is_signature:
            prefix = "m_axis_mem_" if member.flow is Out else "s_axis_mem_"
            _add_stream(ports, prefix + name, core, path, member.flow)
        else:
            ports[f"mem_{name}"] = (member.flow, Shape.cast(member.shape).width, path)
    for name in ("count", "clear", "counter_select", "counter", "active", "overflow"):
        member = core.signature.members[name]
        ports[name] = (member.flow, member.shape, (name,))
    return ports


def _add_stream(ports, prefix, core, path, flow):
    """A stream of the core; one that is always ready has a constant, or no tready."""
    payload = Value.cast(_member(core, (*path, "payload")))
    always_ready = not isinstance(_member(core, (*path, "ready")), Signal)
    ports[f"{prefix}_tdata"] = (flow, 8 * ceil_div(len(payload), 8), (*path, "payload"))
    ports[f"{prefix}_tvalid"] = (flow, 1, (*path, "valid"))
    if not always_ready:
        ports[f"{prefix}_tready"] = (flow.flip(), 1, (*path, "ready"))
    elif flow is In:
        ports[f"{prefix}_tready"] = (Out, 1, None)


def _member(component, path):
    for step in path:
        component = getattr(component, step)
    return component


class AxiCore(wiring.Component):
    """A core whose streams are named and padded as AXI4-Stream asks for. Adds no register.

    tdata is the core's payload in whole bytes; bits above it are ignored at inputs and zero at
    outputs. A stream without tready must be taken in every cycle.

    Parameters
    ----------
    design : Design

    Members
    -------
    s_axis_load, s_axis_job, s_axis_vector, s_axis_handoff, s_axis_store
        Commands of loader, array, vector unit, hand-off and store.
    m_axis_mem_load, m_axis_mem_store
        Requests to the memory.
    s_axis_mem_weights, s_axis_mem_operands, s_axis_mem_vectors
        Load data; always ready.
    m_axis_mem_rows
        Result rows of the store under way, with their addresses; never stalled.
    mem_<name> : In
        What the memory says about requests, see :class:`MemorySignature`.
    count, clear, counter_select, counter, active, overflow
        As in :class:`Core`.
    """

    def __init__(self, *, design):
        self.core = Core(design=design)
        self._ports = axi_ports(self.core)
        super().__init__({name: flow(shape) for name, (flow, shape, _path) in self._ports.items()})

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = self.core
        for name, (flow, _shape, path) in self._ports.items():
            port = Value.cast(getattr(self, name))
            inside = C(1) if path is None else Value.cast(_member(self.core, path))
            m.d.comb += inside.eq(port) if flow is In else port.eq(inside)
        return m
