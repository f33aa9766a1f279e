"""What an analytic model is, and the registry of all of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...rtl.design_fields import unknown_name
from ..errors import OptionError
from .parameters import Parameter, Value
from .tables import TABLES, entry

__all__ = ["LIMITED_BY", "MODELS", "Model", "ResultField", "Results", "find", "model",
           "registry"]

#: The result field with the name of the resource that takes longest.
LIMITED_BY = "limited_by"

Results = Mapping[str, Value]


@dataclass(frozen=True)
class ResultField:
    """One number, or word, that a model yields."""
    name: str
    unit: str
    description: str


@dataclass(frozen=True)
class Model:
    """A closed formula, or a small event model, with named parameters.

    Calling it checks the parameters, takes defaults for those left out, and returns the result
    fields as a dict.

    Attributes
    ----------
    name, section, summary : str
        `section` of the chapter.
    parameters : tuple of Parameter
    results : tuple of ResultField
    picks : dict of str to str
        Parameters that choose an entry of a data table, as "TABLE:DEFAULT"; other parameters
        whose `source` begins with the pick's name take their value from the entry.
    function : callable
        The formula: takes all parameters by name. Its docstring is the model's documentation.
    """
    name: str
    section: str
    summary: str
    parameters: tuple[Parameter, ...]
    results: tuple[ResultField, ...]
    picks: Mapping[str, str]
    function: Callable[..., Results]

    @property
    def has_limit(self) -> bool:
        """Whether it says which resource limits."""
        return any(field.name == LIMITED_BY for field in self.results)

    @property
    def names(self) -> list[str]:
        """Every name that a caller may give a value."""
        return [*self.picks, *(parameter.name for parameter in self.parameters)]

    @property
    def documentation(self) -> str:
        return self.function.__doc__ or ""

    def parameter(self, name: str) -> Parameter:
        """The parameter of this name.

        Raises
        ------
        OptionError
            There is none; the message lists those there are.
        """
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise OptionError(f"{unknown_name(f'parameter of {self.name}', name, self.names)}; "
                          f"valid are {', '.join(self.names)}")

    def field(self, name: str) -> ResultField:
        """The result field of this name."""
        for field in self.results:
            if field.name == name:
                return field
        raise KeyError(f"{self.name} has no result {name}")

    def values(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """All parameters: those given, checked, and defaults for the others."""
        for name in given:
            if name not in self.picks:
                self.parameter(name)
        entries = {}
        picked: dict[str, Value] = {}
        for name, default in self.picks.items():
            kind, _, built_in = default.partition(":")
            chosen = given.get(name, built_in)
            entries[name] = entry(kind, str(chosen))
            picked[name] = str(chosen)
        for parameter in self.parameters:
            if parameter.name in given:
                value = given[parameter.name]
            elif parameter.source:
                value = self._sourced(parameter, entries, picked)
            else:
                value = parameter.default
            picked[parameter.name] = parameter.check(value)
        return picked

    def _sourced(self, parameter: Parameter, entries: Mapping[str, Mapping[str, Any]],
                 picked: Mapping[str, Value]) -> Any:
        pick, _, key = parameter.source.partition(".")
        if key in entries[pick]:
            return entries[pick][key]
        if parameter.default is not None:
            return parameter.default
        kind = TABLES[self.picks[pick].partition(":")[0]]
        raise OptionError(f"{pick}={picked[pick]}: the {kind} has no {key}; give "
                          f"{parameter.name}=VALUE")

    def parse(self, name: str, text: str) -> int | float | str:
        """The value of a command line's text for one parameter or pick."""
        return text if name in self.picks else self.parameter(name).parse(text)

    def __call__(self, **given: Any) -> dict[str, Value]:
        return self.evaluate(self.values(given))

    def evaluate(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """The results of values that are checked and complete, such as :meth:`values` returns.

        Raises
        ------
        OptionError
            Parameters do not go together, or a result is too large for a number.
        """
        arguments = {parameter.name: values[parameter.name] for parameter in self.parameters}
        try:
            results = self.function(**arguments)
            finite = all(math.isfinite(value) for value in results.values()
                         if isinstance(value, float))
        except OptionError:            # says more than what follows
            raise
        except (OverflowError, ValueError, ZeroDivisionError):  # ValueError: of nan to an integer
            finite = False
        if not finite:
            raise OptionError(f"{self.name}: a result is too large for these parameters")
        return {field.name: results[field.name] for field in self.results}


#: All models by name, in the order of the chapter's subjects.
MODELS: dict[str, Model] = {}


def model(name: str, section: str, summary: str, parameters: Sequence[Parameter],
          results: Mapping[str, tuple[str, str]], picks: Mapping[str, str] | None = None
          ) -> Callable[[Callable[..., Results]], Model]:
    """Register a function as a model.

    Parameters
    ----------
    name, section, summary : str
    parameters : sequence of Parameter
    results : dict of str to (unit, description)
    picks : dict of str to str
        See :class:`Model`.
    """

    def register(function: Callable[..., Results]) -> Model:
        if name in MODELS:
            raise ValueError(f"two models are called {name}")
        fields = tuple(ResultField(field, *texts) for field, texts in results.items())
        MODELS[name] = Model(name, section, summary, tuple(parameters), fields,
                             dict(picks or {}), function)
        return MODELS[name]

    return register


def registry() -> list[Model]:
    """All models, by section and name."""
    from . import models  # noqa: F401  (fills the registry)
    return sorted(MODELS.values(), key=lambda item: (
        [int(part) for part in item.section.split(".")], item.name))


def find(name: str) -> Model:
    """The model of this name.

    Raises
    ------
    OptionError
        There is none.
    """
    registry()
    if name not in MODELS:
        raise OptionError(f"{unknown_name('model', name, MODELS)}; `cubewave model` lists them")
    return MODELS[name]
