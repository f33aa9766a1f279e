"""The entries of the registry that run on the vector unit alone, and the head of a real model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..rtl.design_fields import FieldSpec, FlagField
from .attention_head import AttentionHead
from .errors import WorkloadError
from .parameters import Parameter, WorkloadSpec, integer, option_text
from .registry_attention import ArrayFile, ScaleField
from .residual import RandomResidual, Residual
from .rope import RandomRope, Rope

__all__ = ["VECTOR"]

Options = Mapping[str, str]
Values = dict[str, Any]


@dataclass(frozen=True)
class BaseField(ScaleField):
    """A number of at least 1."""

    @property
    def range(self) -> str:
        return "a number from 1"

    def check(self, value: Any) -> float:
        if isinstance(value, float) and 1 <= value < math.inf:
            return value
        raise self.refuse(self.range, value)


@dataclass(frozen=True)
class TextField(FieldSpec):
    """Any text."""

    @property
    def range(self) -> str:
        return "a text"

    def check(self, value: Any) -> str:
        return value


def _made(options: Options, values: Values, seed: int | None, given: Any, random: Any,
          files: tuple[str, ...], sizes: tuple[str, ...]) -> Any:
    """A workload of files if there are any, and otherwise of random operands."""
    there = [name for name in files if name in options]
    try:
        if not there:
            return random(**values, seed=seed or 0)
        for name in sizes:
            if name in options:
                raise WorkloadError(f"{name} comes from the file of {there[0]}; leave it out")
            values.pop(name)
        for name in files:
            if name not in options:
                raise WorkloadError(f"needs {name} too, -p {name}=FILE.npy")
        if seed is not None:
            raise WorkloadError("files leave nothing random; leave --seed out")
        return given(**values)
    except WorkloadError as error:
        raise type(error)(f"{option_text(options, options)}: {error}") from None


def _rope(options: Options, values: Values, seed: int | None) -> Rope:
    # With a file the width of a head follows from its columns.
    return _made(options, values, seed, Rope, RandomRope, ("x",), ("rows", "head_dim"))


def _residual(options: Options, values: Values, seed: int | None) -> Residual:
    return _made(options, values, seed, Residual, RandomResidual, ("x", "y"),
                 ("rows", "columns"))


def _head(options: Options, values: Values, seed: int | None) -> AttentionHead:
    try:
        if seed is not None:
            raise WorkloadError("a sentence leaves nothing random; leave --seed out")
        return AttentionHead(**values)
    except WorkloadError as error:
        named = option_text(options, options)
        raise WorkloadError(f"{named}: {error}" if named else str(error)) from None


VECTOR = (
    WorkloadSpec("rope", "rotary embedding: pairs of elements turned by their position's angles, "
                 "on the vector unit", (
                     integer("rows", "rows", "positions", 16),
                     integer("heads", "heads", "heads, which share a position's coefficients", 4),
                     integer("head_dim", "elements", "width of a head, even", 8),
                     Parameter(ArrayFile("x", "", "integers [rows, heads * head_dim]"), None,
                               "random"),
                     integer("start", "tokens", "position of the first row", 0, low=0),
                     Parameter(BaseField("base", "", "of the angles"), 10000.0),
                     integer("bits", "bits", "of an element, before and after", None,
                             "activation_bits", low=2, high=16)), _rope),
    WorkloadSpec("residual", "x + y, element by element, on the vector unit", (
        integer("rows", "rows", "rows of x and y", 16),
        integer("columns", "columns", "columns of x and y", 32),
        Parameter(ArrayFile("x", "", "integers, with y"), None, "random"),
        Parameter(ArrayFile("y", "", "integers, with x"), None, "random"),
        integer("bits", "bits", "of an element, before and after", None, "activation_bits", low=2,
                high=32)), _residual),
    WorkloadSpec("attention-head", "a head of the small language model all-MiniLM-L6-v2 on a "
                 "sentence, quantised for the design", (
                     Parameter(TextField("text", "", "the sentence"), None, "of two banks"),
                     integer("layer", "", "layer, from 0", 0, low=0, high=5),
                     integer("head", "", "head, from 0", 0, low=0, high=11),
                     Parameter(FlagField("causal", "", "a row sees the keys up to its own, which "
                                         "the model does not ask for"), False),
                     integer("rows_per_group", "rows", "rows that pass the hand-off at a time",
                             None, "as fits"),
                     integer("block_keys", "keys", "keys of a block; fewer than keys stream them",
                             None, "all, if they fit")), _head),
)
