"""Refusals of workloads."""

__all__ = ["WorkloadError", "OperandTypeError"]


class WorkloadError(ValueError):
    """A workload, one of its parameters or one of its arrays is refused."""


class OperandTypeError(WorkloadError, TypeError):
    """An array whose elements are not integers."""
