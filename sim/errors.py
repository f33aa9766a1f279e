"""Refusals of options."""

__all__ = ["OptionError"]


class OptionError(ValueError):
    """An option of a simulation is refused."""
