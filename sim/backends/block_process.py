"""Processes that run only those blocks of statements of which an input has changed."""

from amaranth.hdl._ast import SignalDict, SignalSet
from amaranth.hdl._xfrm import LHSMaskCollector  # type: ignore[attr-defined]  # not in the stubs
from amaranth.sim._pyrtl import (
    PyRTLProcess,
    _LHSValueCompiler,
    _PythonEmitter,
    _RHSValueCompiler,
    _StatementCompiler,
    _ValueCompiler,
    edge_waker,
)

__all__ = ["clocked_process", "combinational_process"]


class _BlockProcess(PyRTLProcess):
    """Runs the blocks that are marked. A combinational one runs when some block is."""

    __slots__ = ("marks",)

    def __init__(self, blocks, is_comb):
        self.marks = [True] * blocks
        super().__init__(is_comb=is_comb)

    def reset(self):
        super().reset()
        self.marks[:] = [True] * len(self.marks)

    def waker(self, block):
        """Marks a block when one of its inputs changes."""
        marks = self.marks
        if not self.is_comb:
            def mark(curr, next):
                marks[block] = True
                return True
            return mark

        def wake(curr, next):
            marks[block] = True
            self.runnable = True
            return True
        return wake

    def compile(self, state, bodies):
        """Set `run`; a body is the text of a block and what it does with each driven signal."""
        emitter = _PythonEmitter()
        emitter.append("def run():")
        emitter._level += 1
        emitter.append("pass")
        for number, (text, updates) in enumerate(bodies):
            emitter.append(f"if marks[{number}]:")
            with emitter.indent():
                emitter.append(f"marks[{number}] = False")
                emitter._buffer.append(text)
                for index, mask, readers in updates:
                    emitter.append(f"if slots[{index}].next != next_{index}:")
                    with emitter.indent():
                        emitter.append(f"slots[{index}].update(next_{index}, {mask:#x})")
                        for reader in readers:
                            emitter.append(f"marks[{reader}] = True")
        names = {"slots": state.slots, "marks": self.marks, **_ValueCompiler.helpers,
                 **_StatementCompiler.helpers}
        exec(compile(emitter.flush(), "<blocks>", "exec"), names)
        self.run = names["run"]


class _Values(_RHSValueCompiler):
    """Reads signals that an earlier statement has computed as they will be.

    `computed`: by the block itself, in variables; `settled`: by blocks before it.
    """

    def __init__(self, state, emitter, settled):
        super().__init__(state, emitter, mode="curr", inputs=SignalSet())
        self.computed, self.settled, self.read = SignalSet(), settled, SignalSet()

    def on_Signal(self, value):
        if value in self.computed:
            return f"next_{self.state.get_signal(value)}"
        self.read.add(value)
        if value not in self.settled:
            return super().on_Signal(value)
        return f"slots[{self.state.get_signal(value)}].next"


class _Block:
    """Compiles the statements of a block."""

    def __init__(self, state, settled):
        self.state, self.emitter = state, _PythonEmitter()
        self.emitter._level = 2
        self.values = _Values(state, self.emitter, settled)
        self.driven = {}   # index of a signal -> mask of the bits driven
        self.partly = SignalSet()  # combinational signals of which other bits are registers
        self._compiler = _StatementCompiler(state, self.emitter)
        self._compiler.rhs = self.values
        self._compiler.lhs = _LHSValueCompiler(state, self.emitter, rhs=self.values)

    def combinational(self, signal, index, mask):
        """What a combinational signal is before its statements."""
        self.state.slots[index].is_comb = True
        if mask == (1 << len(signal)) - 1:
            return f"{signal.init:#x}"
        self.values.read.add(signal)
        self.partly.add(signal)
        return f"slots[{index}].curr & {~mask:#x} | {signal.init & mask:#x}"

    def add(self, statements, start):
        """Compile statements; `start(signal, index, mask)` is what a driven signal starts as."""
        masks = LHSMaskCollector()
        masks.visit_stmt(statements)
        for signal, mask in masks.masks():
            index = self.state.get_signal(signal)
            self.emitter.append(f"next_{index} = {start(signal, index, mask)}")
            if signal.shape().signed and mask & 1 << (len(signal) - 1):
                mask |= -1 << len(signal)
            self.driven[index] = mask
        for statement in statements:
            self._compiler(statement)
        return masks


def combinational_process(state, blocks):
    """One process for all blocks of `ordered`."""
    process = _BlockProcess(len(blocks), is_comb=True)
    settled = SignalDict()           # signal -> the block that drives it
    partly = SignalSet()             # those of which other bits are registers
    readers = [{} for _ in blocks]   # of each block: index of a driven signal -> blocks
    compiled = []
    for number, groups in enumerate(blocks):
        block = _Block(state, settled)

        for group in groups:
            block.add([statement for _order, statement in group.statements], block.combinational)
            block.values.computed.update(group.driven)
        for signal in block.values.read:
            if signal in settled:
                readers[settled[signal]].setdefault(state.get_signal(signal), []).append(number)
            if signal not in settled or signal in partly:
                state.add_signal_waker(signal, process.waker(number))
        partly.update(block.partly)
        for group in groups:
            for signal in group.driven:
                settled[signal] = number
        compiled.append(block)
    process.compile(state, [
        (block.emitter.flush(), [(index, mask, readers[number].get(index, ()))
                                 for index, mask in block.driven.items()])
        for number, block in enumerate(compiled)])
    return process


def clocked_process(state, domain, blocks):
    """One process for lists of statements, each a block, at the rising edge of a domain's clock.

    A block whose inputs are what they were at the edge before would find the same values again.
    """
    process = _BlockProcess(len(blocks), is_comb=False)
    compiled = []
    for number, statements in enumerate(blocks):
        block = _Block(state, SignalDict())
        masks = block.add(statements, lambda signal, index, mask: f"slots[{index}].next")
        if domain.rst is not None:
            block.emitter.append(f"if 1 & {block.values(domain.rst)}:")
            with block.emitter.indent():
                block.emitter.append("pass")
                for signal, _mask in masks.masks():
                    if not signal.reset_less:
                        index = state.get_signal(signal)
                        block.emitter.append(f"next_{index} = {signal.init}")
        for signal in block.values.read:
            state.add_signal_waker(signal, process.waker(number))
        compiled.append(block)
    process.compile(state, [
        (block.emitter.flush(), [(index, mask, ()) for index, mask in block.driven.items()])
        for block in compiled])
    state.add_signal_waker(domain.clk, edge_waker(process, 1))
    return process
