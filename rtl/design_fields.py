"""The table of a design's fields: what each means, its unit and range, and how it is checked.

Checks, the TOML files, the command line's listing and the docs all read :py:data:`FIELDS`.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

__all__ = ["FIELDS", "DesignError", "FieldSpec", "show", "unknown_name"]

INTEGER = re.compile(r"[+-]?[0-9]+(_[0-9]+)*", re.ASCII)
FRACTION = re.compile(r"([0-9]{1,20})(?:/([0-9]{1,20}))?", re.ASCII)


class DesignError(ValueError):
    """A design was refused. The message is one line that names the field and its range."""


def show(value: Any) -> str:
    """The value as a message shows it: one short line, text in double quotes."""
    if isinstance(value, str):
        text = '"' + repr(value)[1:-1] + '"'
    else:
        try:
            text = " ".join(repr(value).split())
        except ValueError:  # Python refuses to print an integer of thousands of digits
            text = "an integer of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


def unknown_name(kind: str, name: Any, valid: Iterable[str]) -> str:
    """Message for a name that does not exist, with the nearest one that does."""
    valid = list(valid)
    nearest = difflib.get_close_matches(str(name).lower(), valid, n=1, cutoff=0.0)
    return f'unknown {kind} {show(name)}; the nearest valid one is "{nearest[0]}"'


@dataclass(frozen=True)
class FieldSpec:
    """One field of a design.

    ``check`` returns the value in its normal form or raises :py:class:`DesignError`; ``parse``
    turns the text of a command-line option into a value for ``check``.
    """

    name: str
    unit: str
    description: str

    @property
    def range(self) -> str:
        """The allowed values, as listings and messages show them."""
        raise NotImplementedError

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        return text

    def refuse(self, rule: str, value: Any) -> DesignError:
        return DesignError(f"{self.name} must be {rule}, not {show(value)}")


@dataclass(frozen=True)
class IntegerField(FieldSpec):
    low: int
    high: int

    @property
    def range(self) -> str:
        return f"{self.low} to {self.high}"

    def check(self, value: Any) -> int:
        integral = isinstance(value, Integral) and not isinstance(value, bool)
        if not integral or not self.low <= value <= self.high:
            raise self.refuse(f"an integer from {self.range} {self.unit}".rstrip(), value)
        return int(value)

    def parse(self, text: str) -> Any:
        return int(text) if INTEGER.fullmatch(text) and len(text) <= 40 else text


@dataclass(frozen=True)
class ChoiceField(FieldSpec):
    choices: tuple[str, ...]

    @property
    def range(self) -> str:
        return " or ".join(f'"{choice}"' for choice in self.choices)

    def check(self, value: Any) -> str:
        if isinstance(value, str) and value in self.choices:
            return str(value)
        raise self.refuse(self.range, value)


@dataclass(frozen=True)
class FlagField(FieldSpec):
    @property
    def range(self) -> str:
        return "true or false"

    def check(self, value: Any) -> bool:
        # numpy's bool is not a bool; numpy itself is not needed to build hardware.
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        raise self.refuse(self.range, value)

    def parse(self, text: str) -> Any:
        return {"true": True, "false": False}.get(text.lower(), text)


@dataclass(frozen=True)
class RateField(FieldSpec):
    """A positive integer, an exact fraction, or "unlimited"; a whole fraction becomes an int."""

    largest: int

    @property
    def range(self) -> str:
        return (f'a positive integer, a fraction such as "340/7" (numerator and denominator '
                f'up to {self.largest}) or "unlimited"')

    def check(self, value: Any) -> int | Fraction | str:
        if isinstance(value, str) and value == "unlimited":
            return "unlimited"
        rate = self._rate(value)
        if rate is None or not (0 < rate.numerator <= self.largest
                                and rate.denominator <= self.largest):
            raise self.refuse(f"{self.range}, in {self.unit}", value)
        return rate.numerator if rate.denominator == 1 else rate

    def _rate(self, value: Any) -> Fraction | None:
        if isinstance(value, bool):
            return None
        if isinstance(value, Integral):
            return Fraction(int(value))
        if isinstance(value, Fraction):
            return value
        match = FRACTION.fullmatch(value) if isinstance(value, str) else None
        if match is None or int(match[2] or 1) == 0:
            return None
        return Fraction(int(match[1]), int(match[2] or 1))


FIELDS: dict[str, FieldSpec] = {spec.name: spec for spec in (
    IntegerField("rows", "cells", "array size along K; along M when output stationary", 1, 1024),
    IntegerField("cols", "cells", "array size along N", 1, 1024),
    ChoiceField("dataflow", "", "the operand that stays in the cells",
                ("weight_stationary", "output_stationary")),
    IntegerField("activation_bits", "bits", "width of an activation, signed or unsigned per "
                 "command", 4, 16),
    IntegerField("weight_bits", "bits", "width of a weight, signed", 4, 16),
    IntegerField("accumulator_bits", "bits", "width of an element of the accumulator memory, "
                 "signed", 16, 48),
    ChoiceField("accumulator_overflow", "", "what an accumulator update that overflows does; "
                "both set the sticky overflow flag", ("wrap", "saturate")),
    FlagField("weight_double_buffer", "", "whether the next tile's weights are shifted in while "
              "the present tile computes"),
    IntegerField("mac_latency", "cycles", "latency of a cell's multiply-accumulate", 1, 16),
    IntegerField("weight_fifo_depth", "tiles", "weight tiles in the FIFO before the array",
                 1, 1024),
    IntegerField("input_slots", "slots", "operand slots in the local buffer", 1, 64),
    IntegerField("slot_bytes", "bytes", "size of an operand slot", 1, 1 << 26),
    IntegerField("accumulator_banks", "banks", "banks of the accumulator memory", 1, 64),
    IntegerField("accumulator_rows", "rows", "rows of one bank, each of cols elements",
                 1, 1 << 20),
    RateField("memory_bytes_per_cycle", "bytes/cycle", "bandwidth of the memory channel", 1 << 20),
    IntegerField("memory_latency_cycles", "cycles", "from the end of a descriptor's transfer to "
                 "its data being complete", 0, 65535),
    IntegerField("memory_outstanding", "transactions", "transactions of one descriptor in flight "
                 "at most", 1, 65536),
    IntegerField("memory_transaction_bytes", "bytes", "size of a full memory transaction",
                 1, 4096),
    IntegerField("buffer_port_rows", "rows/cycle", "rows that the write port of the weight FIFO "
                 "and that of the operand slots take", 1, 16),
    IntegerField("lanes", "operations/cycle", "ordinary operations per cycle of a vector unit",
                 1, 1024),
    IntegerField("sfu_lanes", "operations/cycle", "exponentials or divisions per cycle of a "
                 "vector unit", 1, 1024),
    IntegerField("vector_units", "units", "vector units, which share the rows of every vector "
                 "command", 1, 2),
    ChoiceField("vector_schedule", "", "whether the phases of a vector job follow each other or "
                "overlap row by row", ("sequential", "pipelined")),
    ChoiceField("handoff", "", "way between matrix and vector unit: over a path of its own, or "
                "written to and read from an exchange memory", ("direct", "staged")),
    IntegerField("handoff_bytes_per_cycle", "bytes/cycle", "bandwidth of the interface between "
                 "matrix and vector unit, shared by both directions", 1, 65536),
    IntegerField("handoff_slots", "slots", "row groups between matrix and vector unit at a time",
                 1, 64),
    IntegerField("score_bits", "bits", "width of a score that crosses the interface, signed",
                 8, 32),
    IntegerField("probability_bits", "bits", "width of a probability that crosses the interface, "
                 "unsigned", 8, 16),
    FlagField("im2col_line_buffer", "", "whether a load of convolution windows reads what earlier "
              "windows have read already from a line buffer, not from memory"),
    IntegerField("clock_hz", "Hz", "clock, for times and rates in seconds and in the waveform",
                 1, 10 ** 11),
)}
