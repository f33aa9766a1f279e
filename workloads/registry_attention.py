"""The entry of the registry for attention."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rtl import Design
from ..rtl.design_fields import FieldSpec, FlagField
from .attention import Attention, Quantised, RandomAttention
from .errors import WorkloadError
from .files import read_npy
from .parameters import Parameter, WorkloadSpec, integer, option_text

__all__ = ["ATTENTION"]

NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True)
class ArrayFile(FieldSpec):
    """Any array in a .npy file; the workload checks it."""

    @property
    def range(self) -> str:
        return "a .npy file"

    def check(self, value: Any) -> np.ndarray:
        return read_npy(value)


@dataclass(frozen=True)
class ScaleField(FieldSpec):
    """A number above 0."""

    @property
    def range(self) -> str:
        return "a number above 0"

    def parse(self, text: str) -> Any:
        return float(text) if NUMBER.fullmatch(text) else text

    def check(self, value: Any) -> float:
        if isinstance(value, float) and 0 < value < math.inf:
            return value
        raise self.refuse(self.range, value)


class _FileAttention(Attention):
    """Attention of arrays from files; refusals of their elements name them."""
    options: Mapping[str, str] = {}

    def _operands(self, design: Design) -> Quantised:
        try:
            return super()._operands(design)
        except WorkloadError as error:
            raise WorkloadError(f"{option_text(self.options, ['q', 'k', 'v'])}: "
                                f"{error}") from None


def _attention(options: Mapping[str, str], values: dict[str, Any],
               seed: int | None) -> Attention:
    files = [name for name in ("q", "k", "v") if name in options]
    try:
        if not files:
            return RandomAttention(**values, seed=seed or 0)
        for name in ("rows", "keys", "head_dim"):
            if name in options:
                raise WorkloadError(f"{name} comes from the files of q, k and v; leave it out")
            del values[name]
        if len(files) < 3:
            missing = next(name for name in ("q", "k", "v") if name not in options)
            raise WorkloadError(f"needs {missing} too, -p {missing}=FILE.npy")
        if seed is not None:
            raise WorkloadError("files leave nothing random; leave --seed out")
        attention = _FileAttention(**values)
    except WorkloadError as error:
        raise type(error)(f"{option_text(options, options)}: {error}") from None
    attention.options = options
    return attention


ATTENTION = WorkloadSpec(
    "attention", "softmax(q k^T * scale) v, of random operands or of three files, integers or "
    "floats, which are quantised", (
        integer("rows", "rows", "query rows", 16),
        integer("keys", "keys", "keys and values", 32),
        integer("head_dim", "elements", "width of a head", 8),
        integer("heads", "heads", "query heads", 1),
        integer("kv_heads", "heads", "heads of keys and values; heads is a multiple", None,
                "heads"),
        *(Parameter(ArrayFile(name, "", text), None, "random") for name, text in (
            ("q", "queries [rows, heads * head_dim], with k and v"),
            ("k", "keys [keys, kv_heads * head_dim]"),
            ("v", "values, as k"))),
        Parameter(ArrayFile("mask", "", "bool [rows, keys], the keys that each row sees"), None,
                  "all"),
        Parameter(FlagField("causal", "", "row r sees the keys up to r + keys - rows"), False),
        Parameter(ScaleField("scale", "", "a logit is scale * q k"), None, "1/sqrt(head_dim)"),
        integer("rows_per_group", "rows", "rows that pass the hand-off at a time", None,
                "as fits"),
        integer("block_keys", "keys", "keys of a block; fewer than keys stream them", None,
                "all, if they fit"),
        Parameter(FlagField("resident", "", "q is in the slots, and the FIFO full, before the "
                            "run"), False),
        Parameter(FlagField("store_output", "", "write the result to memory"), True)),
    _attention)
