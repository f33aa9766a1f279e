"""Errors of simulations."""

__all__ = ["DeadlockError", "OptionError"]


class OptionError(ValueError):
    """An option of a simulation is refused."""


class DeadlockError(RuntimeError):
    """A program cannot end; the message names who waits for what."""
