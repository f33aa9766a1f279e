"""Checks of constructor parameters, with one wording for the whole project."""

__all__ = ["check_integer", "ceil_div", "ceil_log2"]


def check_integer(name, value, low, high):
    """Raise unless `value` is an integer from `low` to `high`, both included.

    Raises
    ------
    TypeError
        Not an integer (`True` is not one).
    ValueError
        Out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low} to {high}, not {value}")


def ceil_div(dividend, divisor):
    """The quotient of two integers, rounded up."""
    return -(-dividend // divisor)


def ceil_log2(value):
    """The least n with 2**n >= `value`, for `value` 1 or more."""
    return (value - 1).bit_length()
