"""Where the limiting resource of a model changes along a parameter."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import OptionError
from .model import LIMITED_BY, MODELS, Model
from .parameters import Parameter, Value

__all__ = ["Flip", "find_flips"]

STEPS = 240           # of the first, coarse scan
WIDEST = 1e15         # a scan covers at most this ratio above its lower end
CLOSE = 1e-12         # relative distance of the two sides of a parameter that is not whole


@dataclass(frozen=True)
class Flip:
    """A change of the limiting resource: the parameter and the results on both sides."""
    before: Value
    after: Value
    results_before: Mapping[str, Value]
    results_after: Mapping[str, Value]

    @property
    def resources(self) -> tuple[Value, Value]:
        """The limiting resource before and after."""
        return self.results_before[LIMITED_BY], self.results_after[LIMITED_BY]


def find_flips(model: Model, name: str, given: Mapping[str, Any],
               low: float | None = None, high: float | None = None) -> list[Flip]:
    """All changes along a parameter, in order.

    A scan of its range in steps of equal ratio finds where the resource differs between
    neighbours; bisection narrows each down to neighbouring integers, or to twelve digits. What
    changes and changes back between two steps of the scan is not seen.

    Parameters
    ----------
    model : Model
    name : str
        The parameter that varies.
    given : dict
        Values of other parameters.
    low, high : float
        Part of the range; all of it unless given.

    Raises
    ------
    OptionError
        The model has no limiting resource, or the parameter no range of numbers.
    """
    if not model.has_limit:
        with_limit = [other.name for other in MODELS.values() if other.has_limit]
        raise OptionError(f"{model.name}: has no limiting resource; models that have one are "
                          f"{', '.join(sorted(with_limit))}")
    if name in model.picks:
        raise OptionError(f"{name}: chooses an entry of a table; choose a parameter with a range "
                          f"of numbers")
    parameter = model.parameter(name)
    if parameter.choices:
        raise OptionError(f"{name}: must have a range of numbers, not {parameter.range}")
    if name in given:
        raise OptionError(f"{name}: varies, and cannot have the value {given[name]}; limit it as "
                          f"{name}=LOW:HIGH")
    values = model.values(given)

    def at(value: Value) -> dict[str, Value]:
        return model.evaluate({**values, name: value})

    points = _scan(parameter, low, high)
    flips, before = [], points[0]
    limit = at(before)[LIMITED_BY]
    for point in points[1:]:
        if at(point)[LIMITED_BY] != limit:
            left, right = _bisect(parameter, at, before, point, limit)
            flips.append(Flip(left, right, at(left), at(right)))
            # The other side of this flip may differ from the next point of the scan again.
            while (now := at(right)[LIMITED_BY]) != at(point)[LIMITED_BY]:
                left, right = _bisect(parameter, at, right, point, now)
                flips.append(Flip(left, right, at(left), at(right)))
            limit = at(point)[LIMITED_BY]
        before = point
    return flips


def _scan(parameter: Parameter, low: float | None, high: float | None) -> list[float]:
    """Points of a scan, closest together at the lower end."""
    first = parameter.low if low is None else low
    last = parameter.high if high is None else high
    if parameter.above and first <= parameter.low:
        first = parameter.low + min(1e-9, (last - parameter.low) / 2)
    parameter.check(int(first) if parameter.whole else first)
    parameter.check(int(last) if parameter.whole else last)
    if not first < last:
        raise OptionError(f"{parameter.name}: the range must be LOW:HIGH with LOW below HIGH, "
                          f"not {first:.15g}:{last:.15g}")
    least = max(first, 1 if parameter.whole else min(1e-9, last / 2))
    ratio = min(last / least, WIDEST * 1e9)
    points = [first, *(least * ratio ** (step / STEPS) for step in range(STEPS)), last]
    if parameter.whole:
        points = [math.floor(point) for point in points]
    return sorted({point for point in points if first <= point <= last})


def _bisect(parameter: Parameter, at: Any, low: float, high: float, limit: Value
            ) -> tuple[float, float]:
    """The last point found with this limit and the first without, next to each other."""
    while True:
        middle = (low + high) // 2 if parameter.whole else (low + high) / 2
        if parameter.whole and middle == low:
            return low, high
        if not parameter.whole and (high - low <= CLOSE * abs(high) or middle in (low, high)):
            return low, high
        if at(middle)[LIMITED_BY] == limit:
            low = middle
        else:
            high = middle
