"""The core behind ports named as those of AXI4-Stream."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .checks import ceil_div
from .core import Core

__all__ = ["AxiCore", "axi_ports"]

#: Streams of the wrapper and those of the core that they are.
_COMMANDS = {"s_axis_load": "loads", "s_axis_job": "jobs", "s_axis_vector": "vectors",
             "s_axis_handoff": "handoffs", "s_axis_store": "stores"}
_REQUESTS = {"m_axis_mem_load": "load", "m_axis_mem_store": "store"}
_BEATS = {"s_axis_mem_weights": "weights", "s_axis_mem_operands": "operands",
          "s_axis_mem_vectors": "vectors"}
_ROWS = {"m_axis_mem_rows": "rows"}
_SIDEBANDS = ("loading", "storing", "store_next", "store_stays", "loads_under_way",
              "stores_under_way", "request_bytes", "request_transactions")


def axi_ports(design):
    """The ports of :class:`AxiCore`: name -> (flow, bits, port of the core as a path or None).

    None is a ready that is constantly high.
    """
    core = Core(design=design)
    ports = {}

    def stream(prefix, path, flow, always_ready):
        payload = Value.cast(_member(core, (*path, "payload")))
        ports[f"{prefix}_tdata"] = (flow, 8 * ceil_div(len(payload), 8), (*path, "payload"))
        ports[f"{prefix}_tvalid"] = (flow, 1, (*path, "valid"))
        if not (always_ready and flow is Out):
            ports[f"{prefix}_tready"] = (In if flow is Out else Out, 1,
                                         None if always_ready else (*path, "ready"))

    for prefix, name in _COMMANDS.items():
        stream(prefix, (name,), In, False)
    for streams, flow, always_ready in ((_REQUESTS, Out, False), (_BEATS, In, True),
                                        (_ROWS, Out, True)):
        for prefix, name in streams.items():
            stream(prefix, ("memory", name), flow, always_ready)
    for name in _SIDEBANDS:
        value = Value.cast(_member(core, ("memory", name)))
        ports[f"mem_{name}"] = (In, len(value), ("memory", name))
    for name, flow in (("count", In), ("clear", In), ("active", Out), ("overflow", Out)):
        ports[name] = (flow, 1, (name,))
    return ports


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
    count, clear, active, overflow
        As in :class:`Core`.
    """

    def __init__(self, *, design):
        self._design = design
        self._ports = axi_ports(design)
        super().__init__({name: flow(bits) for name, (flow, bits, _path) in self._ports.items()})

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = core = Core(design=self._design)
        for name, (flow, _bits, path) in self._ports.items():
            port = getattr(self, name)
            inside = C(1) if path is None else Value.cast(_member(core, path))
            m.d.comb += inside.eq(port) if flow is In else port.eq(inside)
        return m
