"""Parameters of the analytic models: default, unit, range, and how text becomes a value."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from ...rtl.design_fields import show
from ..errors import OptionError

__all__ = ["Parameter", "Value", "choice", "fraction", "integer", "real"]

#: A parameter's or a result's value; a result that does not exist is None.
Value = int | float | str | None

INTEGER = re.compile(r"[+-]?[0-9]+(_[0-9]+)*", re.ASCII)
REAL = re.compile(r"[+-]?([0-9]+(_[0-9]+)*\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
LARGEST_INTEGER = 10 ** 15
LARGEST_REAL = 1e15


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model.

    Attributes
    ----------
    name, unit, description : str
    default : int, float, str or None
        None: taken from the data table that `source` names.
    low, high : float
        The range; `low` itself is excluded if `above`.
    whole : bool
        Only integers.
    choices : tuple of str
        A word instead of a number.
    source : str
        PICK.KEY: the value comes from the entry that the model's parameter PICK chooses.
    """
    name: str
    default: Value
    unit: str
    description: str
    low: float = 0
    high: float = LARGEST_REAL
    above: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()
    source: str = ""

    @property
    def range(self) -> str:
        """The allowed values, as listings and messages show them."""
        if self.choices:
            return " or ".join(self.choices)
        low, high = f"{self.low:.15g}", f"{self.high:.15g}"
        return f"above {low} to {high}" if self.above else f"{low} to {high}"

    def check(self, value: Any) -> int | float | str:
        """The value, if it is in the range.

        Raises
        ------
        OptionError
            The message names the parameter and the range.
        """
        if self.choices:
            if isinstance(value, str) and value in self.choices:
                return value
            raise self._refuse(value)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise self._refuse(value)
        if isinstance(value, Integral):
            number: int | float = int(value)
        else:
            number = float(value)
            if self.whole and number.is_integer():
                number = int(number)
        if self.whole and not isinstance(number, int):
            raise self._refuse(value)
        inside = self.low < number if self.above else self.low <= number
        if not (math.isfinite(number) and inside and number <= self.high):
            raise self._refuse(value)
        return number

    def parse(self, text: str) -> int | float | str:
        """The value of a command line's text."""
        if self.choices:
            return self.check(text)
        if len(text) <= 40:
            if INTEGER.fullmatch(text):
                return self.check(int(text))
            if REAL.fullmatch(text):
                return self.check(float(text))
        return self.check(text)

    def _refuse(self, value: Any) -> OptionError:
        if self.choices:
            return OptionError(f"{self.name} must be {self.range}, not {show(value)}")
        kind = "an integer" if self.whole else "a number"
        rule = self.range if self.above else f"from {self.range}"
        return OptionError(f"{self.name} must be {kind} {rule} {self.unit}".rstrip()
                           + f", not {show(value)}")


def integer(name: str, default: int | None, unit: str, description: str, *, low: int = 1,
            high: int = LARGEST_INTEGER, source: str = "") -> Parameter:
    """A whole number, from 1 unless `low` says otherwise."""
    return Parameter(name, default, unit, description, low, high, whole=True, source=source)


def real(name: str, default: float | None, unit: str, description: str, *, low: float = 0,
         high: float = LARGEST_REAL, above: bool = True, source: str = "") -> Parameter:
    """A number above 0; with `above=False` also 0."""
    return Parameter(name, default, unit, description, low, high, above=above, source=source)


def fraction(name: str, default: float, description: str, *, above: bool = True,
             high: float = 1) -> Parameter:
    """A ratio above 0, up to 1 unless `high` says otherwise."""
    return Parameter(name, default, "ratio", description, 0, high, above=above)


def choice(name: str, choices: Sequence[str], description: str) -> Parameter:
    """One of several words; the first is the default."""
    return Parameter(name, choices[0], "", description, choices=tuple(choices))
