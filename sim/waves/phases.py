"""The phases of a run, which the waveform's markers show."""

import os
from dataclasses import dataclass

import numpy as np

from .reader import Waveform

__all__ = ["Phases", "read_phases"]


@dataclass
class Phases:
    """Cycles at which a run changes its character; None while they have not come.

    Attributes
    ----------
    first_row, last_row : int or None
        First and last cycle in which an activation row enters the array.
    last_store : int or None
        Last cycle in which the store unit is busy: the last write is on its way.
    first_handoff : int or None
        First cycle in which the hand-off is busy.
    """
    first_row: int | None = None
    last_row: int | None = None
    last_store: int | None = None
    first_handoff: int | None = None

    def add(self, cycle: int, row_enters: bool, stores: bool, hands_over: bool) -> None:
        """Note what happens in a cycle; cycles come in order."""
        if row_enters:
            self.last_row = cycle
            if self.first_row is None:
                self.first_row = cycle
        if stores:
            self.last_store = cycle
        if hands_over and self.first_handoff is None:
            self.first_handoff = cycle


def read_phases(path: str | os.PathLike[str]) -> Phases:
    """The phases that a VCD file of ours shows."""
    units = ("array", "store", "handoff")
    waves = Waveform(path, ["machine.cycle", *(f"machine.{unit}_busy" for unit in units)])
    cycles = waves["machine.cycle"]
    rows, stores, handoffs = (cycles[np.flatnonzero(waves[f"machine.{unit}_busy"])]
                              for unit in units)
    return Phases(int(rows[0]) if rows.size else None, int(rows[-1]) if rows.size else None,
                  int(stores[-1]) if stores.size else None,
                  int(handoffs[0]) if handoffs.size else None)
