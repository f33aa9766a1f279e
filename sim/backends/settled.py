"""pysim with few processes that do only what is needed.

pysim runs a process for the combinational logic of every module whenever one of its inputs has
changed, so a chain through several modules runs each of them several times in a clock cycle; and
all clocked logic at every edge. Here one process runs all combinational statements, each at most
once for a change of registers or inputs, after those that it depends on, and one all clocked
statements; blocks of one module none of whose inputs has changed are left out. Values, in every
cycle, are the same.
"""

from amaranth.hdl._mem import MemoryInstance
from amaranth.sim.pysim import PySimEngine

from .block_order import ordered
from .block_process import clocked_process, combinational_process
from .fragments import fragments
from .memory_writes import compile_writes, take_writes

__all__ = ["SettledEngine"]


class SettledEngine(PySimEngine):
    """An engine for `Simulator(..., engine=SettledEngine)`.

    Memories must have clocked read ports only, and no combinational loop may go through the
    statements, as holds for everything in this project.
    """

    def __init__(self, design):
        combinational, clocked, domains = [], {}, {}
        for number, fragment in enumerate(fragments(design.fragment)):
            if isinstance(fragment, MemoryInstance) and any(
                    port._domain == "comb" for port in fragment._read_ports):
                raise ValueError("a memory with a combinational read port cannot be settled")
            for name in list(fragment.statements):
                statements = fragment.statements.pop(name)
                if name == "comb":
                    combinational.extend((number, statement) for statement in statements)
                else:
                    domain = domains[name] = fragment.domains[name]
                    if domain.clk_edge != "pos" or domain.async_reset:
                        raise ValueError(f"domain {name} cannot be settled: it must have a "
                                         f"rising edge and no asynchronous reset")
                    clocked.setdefault(name, []).append(statements)
        writes = take_writes(design.fragment)
        super().__init__(design)
        if writes:
            self._processes.add(compile_writes(self._state, writes))
        for name, blocks in clocked.items():
            self._processes.add(clocked_process(self._state, domains[name], blocks))
        if combinational:
            self._processes.add(combinational_process(self._state, ordered(combinational)))
