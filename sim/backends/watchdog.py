"""Names what a machine that has stopped moving waits for."""

from collections.abc import Callable
from typing import Any

from ...rtl.commands import Destination
from ...rtl.machine import Machine
from ...rtl.status import LoaderStatus, StoreStatus

__all__ = ["describe_deadlock"]


def describe_deadlock(machine: Machine, get: Callable[[Any], Any], cycles: int) -> str:
    """One line: every blocked unit and what it waits for.

    Parameters
    ----------
    machine : Machine
    get : callable
        Reads a signal of the machine.
    cycles : int
        For how long nothing has moved.
    """
    core = machine.core
    units = {"loader": core.loader, "array": core.control, "store": core.store}
    reasons = [f"{name} waits for {_reason(name, units[name], get)}"
               for name in units if get(units[name].i.valid)]
    return (f"deadlock: nothing has moved for {cycles} cycles; "
            + ("; ".join(reasons) or "no unit has a command"))


def _reason(name, unit, get):
    command, status = get(unit.i.payload), get(unit.status)
    if name == "loader":
        target = "operands" if command.destination == Destination.OPERAND else "weights"
        return {
            LoaderStatus.SLOT: f"slot {command.slot} to be free",
            LoaderStatus.FIFO: "a place in the weight FIFO",
            LoaderStatus.STORE: "the memory channel, which a store holds",
        }.get(status, f"the memory channel or the write port of the {target}")
    if name == "array":
        if command.take_bank and not get(unit.banks_free) >> command.bank & 1:
            return f"accumulator bank {command.bank} to be free"
        if not get(unit.slots_ready) >> command.slot & 1:
            return f"slot {command.slot} to be ready"
        return "its weight tile"
    return {StoreStatus.RESULT: f"accumulator bank {command.bank} to be full"}.get(
        status, "the memory channel")
