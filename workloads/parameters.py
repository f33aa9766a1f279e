"""Parameters of workloads on the command line, and how a workload is built from them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..rtl.design_fields import INTEGER, DesignError, FieldSpec, IntegerField, unknown_name
from .epilogue import REQUANTIZE_RANGE, Requantize
from .errors import WorkloadError
from .files import read_npy

__all__ = ["LARGEST", "BiasFile", "Parameter", "RequantizeField", "WorkloadSpec", "integer",
           "option_text"]

LARGEST = 1 << 20   # of a dimension


@dataclass(frozen=True)
class Parameter:
    """One parameter of a workload.

    Attributes
    ----------
    spec : FieldSpec
        Name, unit, description, range, and how text becomes a value.
    default : object
        Taken when the parameter is left out; None leaves the choice to the workload.
    rule : str
        What the workload then chooses, for listings.
    """
    spec: FieldSpec
    default: Any
    rule: str = ""

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def default_text(self) -> str:
        """The default as it is written on the command line, or the rule."""
        if self.default is None:
            return self.rule
        if isinstance(self.default, tuple):
            return ",".join(map(str, self.default))
        return str(self.default).lower() if isinstance(self.default, bool) else str(self.default)

    def value(self, text: str) -> Any:
        """The value of an option's text.

        Raises
        ------
        WorkloadError
            Not in the range; the message begins with the option.
        """
        try:
            return self.spec.check(self.spec.parse(text))
        except DesignError as error:
            raise WorkloadError(f"-p {self.name}={text}: {error}") from None
        except WorkloadError as error:
            raise type(error)(f"-p {self.name}={text}: {error}") from None


@dataclass(frozen=True)
class BiasFile(FieldSpec):
    """A vector in a .npy file, or "random"."""

    @property
    def range(self) -> str:
        return "a .npy file or random"

    def check(self, value: Any) -> Any:
        return value if value == "random" else read_npy(value)


@dataclass(frozen=True)
class RequantizeField(FieldSpec):
    """Three integers with commas between them."""

    @property
    def range(self) -> str:
        return REQUANTIZE_RANGE

    def parse(self, text: str) -> Any:
        parts = text.split(",")
        numbers = [INTEGER.fullmatch(part) and len(part) <= 40 for part in parts]
        return tuple(map(int, parts)) if all(numbers) else text

    def check(self, value: Any) -> Requantize:
        return Requantize.of(value)


@dataclass(frozen=True)
class WorkloadSpec:
    """One named workload.

    Attributes
    ----------
    name, description : str
    parameters : tuple of Parameter
    make : callable
        Takes the options as given (name to text), all values (those of the options and the
        defaults), and the seed or None; returns the workload.
    """
    name: str
    description: str
    parameters: tuple[Parameter, ...]
    make: Callable[[Mapping[str, str], dict[str, Any], int | None], Any]

    def build(self, options: Mapping[str, str], seed: int | None = None) -> Any:
        """See :func:`build`."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in options:
            if name not in known:
                raise WorkloadError(f"-p {name}={options[name]}: "
                                    + unknown_name(f"parameter of {self.name}", name, known)
                                    + f"; valid are {', '.join(known)}")
        values = {parameter.name: parameter.default for parameter in self.parameters
                  if parameter.default is not None}
        values |= {name: known[name].value(text) for name, text in options.items()}
        return self.make(options, values, seed)


def integer(name: str, unit: str, description: str, default: int | None, rule: str = "",
            low: int = 1, high: int = LARGEST) -> Parameter:
    """An integer parameter."""
    return Parameter(IntegerField(name, unit, description, low, high), default, rule)


def option_text(options: Mapping[str, str], names: Iterable[str]) -> str:
    """The named options as the user wrote them."""
    return " ".join(f"-p {name}={options[name]}" for name in names if name in options)
