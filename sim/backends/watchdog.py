"""Names what a machine that has stopped moving waits for."""

from collections.abc import Callable
from typing import Any

from ...rtl.commands import Destination
from ...rtl.core import Core
from ...rtl.machine import Machine
from ...rtl.status import HandoffStatus, LoaderStatus, StoreStatus, VectorStatus

__all__ = ["MOVES", "describe_deadlock", "looked_at"]

#: Counters of which one moves as long as a machine does.
MOVES = ("memory.busy", "activation_rows", "weight_rows", "accumulator_rows", "vector.busy",
         "handoff.busy")


def _units(core: Core) -> dict[str, Any]:
    return {"loader": core.loader, "array": core.control, "vector": core.vector,
            "handoff": core.handoff, "store": core.store}


def looked_at(core: Core) -> list[Any]:
    """The signals of a core that a message may need."""
    return [*(value for unit in _units(core).values()
              for value in (unit.i.valid, unit.i.payload, unit.status)),
            core.control.banks_free, core.control.groups_taken, core.control.slots_ready,
            core.loader.slots_taken, core.vector.filled]


def describe_deadlock(machine: Machine, get: Callable[[Any], Any], cycles: int) -> str:
    """One line: every blocked unit and what it waits for.

    Parameters
    ----------
    machine : Machine
    get : callable
        Reads a signal of the machine, one of :func:`looked_at`.
    cycles : int
        For how long nothing has moved.
    """
    reasons = [f"{name} waits for {_REASONS[name](unit, get(unit.i.payload), get)}"
               for name, unit in _units(machine.core).items() if get(unit.i.valid)]
    return (f"deadlock: nothing has moved for {cycles} cycles; "
            + ("; ".join(reasons) or "no unit has a command"))


def _loader(unit, load, get):
    target = {Destination.OPERAND: "operands", Destination.WEIGHT: "weights",
              Destination.VECTOR: "vector slots"}[load.destination]
    kind = "vector slot" if load.destination == Destination.VECTOR else "slot"
    return {
        LoaderStatus.SLOT: f"{kind} {load.slot} to be free",
        LoaderStatus.FIFO: "a place in the weight FIFO",
        LoaderStatus.STORE: "the memory channel, which a store holds",
    }.get(get(unit.status), f"the memory channel or the write port of the {target}")


def _array(unit, job, get):
    if job.take_bank and not get(unit.banks_free) >> job.bank & 1:
        return f"accumulator bank {job.bank} to be free"
    if job.take_group and get(unit.groups_taken) >> job.group & 1:
        return f"vector slot {job.group} to be free"
    if not get(unit.slots_ready) >> job.slot & 1:
        return f"slot {job.slot} to be ready"
    return "its weight tile"


def _vector(unit, command, get):
    if get(unit.status) == VectorStatus.INPUT:
        filled = get(unit.filled)
        slots = [getattr(command, f"{side}_slot") for side in "ab"
                 if getattr(command, f"wait_{side}")]
        waiting = [str(slot) for slot in slots if not filled >> slot & 1]
        return f"vector slot {' and '.join(waiting)} to be filled"
    return "a command that it is executing"


def _handoff(unit, transfer, get):
    return {
        HandoffStatus.SCORES: f"accumulator bank {transfer.buffer} to be full",
        HandoffStatus.PROBABILITIES: f"vector slot {transfer.slot} to hold a result",
        HandoffStatus.SLOT: f"vector slot {transfer.slot} to be free",
        HandoffStatus.OPERANDS: f"slot {transfer.buffer} to be free",
    }.get(get(unit.status), "the transfer that it is executing")


def _store(unit, store, get):
    if get(unit.status) == StoreStatus.RESULT:
        return (f"vector slot {store.bank} to hold a result" if store.vector
                else f"accumulator bank {store.bank} to be full")
    return "the memory channel"


_REASONS = {"loader": _loader, "array": _array, "vector": _vector, "handoff": _handoff,
            "store": _store}
