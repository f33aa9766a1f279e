"""A core with its memory and its programs: what a simulation runs."""

from typing import TYPE_CHECKING

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from .commands import array_layout, load_layout, store_layout
from .core import Core
from .memory_channel import MemoryChannel
from .sequencer import Sequencer
from .vector_commands import handoff_layout, vector_layout

__all__ = ["Machine", "QUEUES"]

#: The queues of a core and the port of the core that each of them is.
QUEUES = {"loader": "loads", "array": "jobs", "vector": "vectors", "handoff": "handoffs",
          "store": "stores"}


class Machine(wiring.Component):
    """Runs one program to its end without help from outside.

    Cycle 0 of a run is the first in which `go` is high. The run ends, and the counters stop, in
    the last cycle in which any unit has work.

    Parameters
    ----------
    design : Design
    lines : int
        Capacity of the memory in storage lines.
    commands : int
        Commands that each program memory holds.

    Members
    -------
    go : In(1)
        Run; low before and between runs.
    clear : In(1)
        Clear counters, rewind the programs; for one cycle or more before a run.
    <queue>_length : In
        Commands of each program.
    done : Out(1)
        The run has ended. Low in its first cycle unless all programs are empty.
    """

    if TYPE_CHECKING:
        go: Signal
        clear: Signal
        done: Signal

    def __init__(self, *, design, lines, commands):
        self._design = design
        self.core = Core(design=design)
        self.channel = MemoryChannel(design=design, lines=lines)
        layouts = {"loader": load_layout, "array": array_layout, "vector": vector_layout,
                   "handoff": handoff_layout, "store": store_layout}
        self.sequencers = {name: Sequencer(shape=layouts[name](design), depth=commands)
                           for name in QUEUES}
        super().__init__({
            "go": In(1),
            "clear": In(1),
            "done": Out(1),
            **{f"{name}_length": In(range(commands + 1)) for name in QUEUES},
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = core = self.core
        m.submodules.channel = channel = self.channel
        pending = []
        for name, port in QUEUES.items():
            m.submodules[f"{name}_program"] = sequencer = self.sequencers[name]
            connect(m, sequencer.o, getattr(core, port))
            m.d.comb += [
                sequencer.length.eq(getattr(self, f"{name}_length")),
                sequencer.go.eq(self.go),
                sequencer.rewind.eq(self.clear),
            ]
            pending.append(sequencer.o.valid)
        connect(m, core.memory, channel.core)
        m.d.comb += [
            core.clear.eq(self.clear),
            self.done.eq(~(Cat(*pending).any() | core.active)),
            core.count.eq(self.go & ~self.done),
        ]
        return m
