"""Models over several values of their parameters."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import OptionError
from .model import Model
from .parameters import Value

__all__ = ["Point", "Sweep", "parse_sweep"]

MOST_POINTS = 10_000


@dataclass(frozen=True)
class Point:
    """A model at one set of parameters: all values, and the results."""
    values: Mapping[str, Value]
    results: Mapping[str, Value]


@dataclass(frozen=True)
class Sweep:
    """A model, the values given for parameters, and those parameters that have several.

    Attributes
    ----------
    model : Model
    given : dict of str to sequence
        Checked values of each parameter that was given.
    """
    model: Model
    given: Mapping[str, Sequence[Value]]

    @property
    def swept(self) -> list[str]:
        """Parameters with more than one value, in the order given."""
        return [name for name, values in self.given.items() if len(values) > 1]

    def points(self) -> Iterator[Point]:
        """Every combination; the parameter given last changes fastest."""
        for combination in itertools.product(*self.given.values()):
            values = self.model.values(dict(zip(self.given, combination)))
            yield Point(values, self.model.evaluate(values))


def parse_sweep(model: Model, texts: Mapping[str, str]) -> Sweep:
    """A sweep from the texts of a command line, such as slots=1,2,3,4.

    Raises
    ------
    OptionError
        An unknown parameter, a value outside its range, or too many combinations.
    """
    given, combinations = {}, 1
    for name, text in texts.items():
        if name not in model.picks:
            model.parameter(name)
        parts = [part.strip() for part in text.split(",")]
        if not all(parts):
            raise OptionError(f"{name}={text}: a value is missing; give {name}=VALUE or "
                              f"{name}=VALUE,VALUE")
        given[name] = tuple(model.parse(name, part) for part in parts)
        combinations *= len(parts)
    if combinations > MOST_POINTS:
        raise OptionError(f"{model.name}: {combinations:,} combinations of values; at most "
                          f"{MOST_POINTS:,}")
    return Sweep(model, given)
