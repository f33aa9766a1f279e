"""The analytic models; importing this package fills the registry."""

from . import (
    economics,
    energy,
    formats,
    handoff,
    inference,
    links,
    matrix,
    memory,
    movement,
    network,
    projection,
    storage,
    task,
    vector,
)

__all__ = ["economics", "energy", "formats", "handoff", "inference", "links", "matrix",
           "memory", "movement", "network", "projection", "storage", "task", "vector"]
