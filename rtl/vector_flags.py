"""What the vector slots hold: who may fill, use or free them."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .vector_commands import vector_slots

__all__ = ["VectorFlags", "flag_events"]

FLAGS = {"taken": ("take", "release"), "filled": ("filled", "wait"), "results": ("done", "use")}
OUTSIDE = {"take": ("array", "handoff", "load"), "release": ("array", "store"),
           "filled": ("handoff", "load"), "use": ("handoff", "store")}


def flag_events(engines=0):
    """Names of the events, `<who>_<event>`, by event; without engines those from outside."""
    inside = {"release": [f"engine_{number}_{side}" for number in range(engines) for side in "ab"],
              "done": [f"engine_{number}" for number in range(engines)],
              "wait": ["head_a", "head_b"] if engines else []}
    return {event: [f"{who}_{event}" for who in (*OUTSIDE.get(event, ()), *inside.get(event, ()))]
            for events in FLAGS.values() for event in events}


class VectorFlags(wiring.Component):
    """Three flags for each slot, each set by one kind of event and cleared by another.

    `taken` between *take* and *release*: the slot is in use. `filled` between *filled* and
    *wait*: input for the vector unit is in it. `results` between *done* and *use*: it holds a
    result for the hand-off or the store. A flag changes in the cycle after its event; setting
    wins.

    Parameters
    ----------
    design : Design
    engines : int

    Members
    -------
    <who>_<event> : In(1), <who>_<event>_slot : In
        The event, with its slot; see :func:`flag_events`.
    taken, filled, results : Out(vector_slots)
        One bit a slot.
    """

    def __init__(self, *, design, engines):
        self._slots, self._events = vector_slots(design), flag_events(engines)
        members = {name: Out(self._slots) for name in FLAGS}
        for names in self._events.values():
            for name in names:
                members |= {name: In(1), f"{name}_slot": In(range(self._slots))}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        for name, events in FLAGS.items():
            flag = getattr(self, name)
            changes = []
            for event in events:
                slots = Signal(self._slots, name=f"{name}_{event}")
                m.d.comb += slots.eq(self._slots_of(event))
                changes.append(slots)
            on, off = changes
            m.d.sync += flag.eq((flag & ~off) | on)
        return m

    def _slots_of(self, event):
        """One bit for each slot that the event happens to."""
        slots = C(0)
        for name in self._events[event]:
            slots |= getattr(self, name) << getattr(self, f"{name}_slot")
        return slots
