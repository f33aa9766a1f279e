"""Hardware of the simulated accelerators, one component per file."""

from .design import Design, DesignError

__all__ = ["Design", "DesignError"]
