"""What the units meet through: slots, banks, places of the weight FIFO, and when they change."""

from ...rtl import Design
from ...rtl.vector_commands import vector_slots

__all__ = ["BEFORE", "Buffers", "Time"]

BEFORE = -(1 << 60)  # a time before every run

Time = int | None    # None: a command that has not started yet will decide it


class Buffers:
    """From when each buffer is free, ready, full, filled or holds a result; None while unknown.

    Attributes
    ----------
    slot_free, slot_ready : list, by operand slot
    bank_free, bank_full, bank_handed : list, by accumulator bank
        `bank_full` for the store, `bank_handed` for the hand-off.
    group_free, filled, result : list, by vector slot
    whole, left_fifo : list of int
        From when each weight tile, in order, is whole in the FIFO, and out of it.
    """

    def __init__(self, design: Design):
        slots = vector_slots(design)
        self.slot_free: list[Time] = [BEFORE] * design.input_slots
        self.slot_ready: list[Time] = [None] * design.input_slots
        self.bank_free: list[Time] = [BEFORE] * design.accumulator_banks
        self.bank_full: list[Time] = [None] * design.accumulator_banks
        self.bank_handed: list[Time] = [None] * design.accumulator_banks
        self.group_free: list[Time] = [BEFORE] * slots
        self.filled: list[Time] = [None] * slots
        self.result: list[Time] = [None] * slots
        self.whole: list[int] = []
        self.left_fifo: list[int] = []
