"""The parameters of a simulated machine, checked when it is described."""

import dataclasses
import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from .design_fields import FIELDS, DesignError, unknown_name
from .presets import PRESETS
from .toml_file import read_toml

__all__ = ["Design", "DesignError"]


def _field(name: str) -> Any:
    spec = FIELDS[name]
    return dataclasses.field(
        default=PRESETS["tiny"].fields[name][0],
        metadata={"description": spec.description, "unit": spec.unit, "range": spec.range},
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Design:
    """One machine: array, buffers and memory channel.

    Every field has a default, the one of the preset ``tiny``. Meaning, unit and range of each are
    in its ``dataclasses.field`` metadata (``description``, ``unit``, ``range``). A value outside
    its range, or one that does not fit the other fields, is refused here with a
    :py:class:`DesignError`, so that elaboration and the models need no checks. Numpy integers
    become ``int``, and a bandwidth of whole bytes an ``int``: equal machines compare equal and
    have equal hashes.
    """

    rows: int = _field("rows")
    cols: int = _field("cols")
    dataflow: str = _field("dataflow")
    activation_bits: int = _field("activation_bits")
    weight_bits: int = _field("weight_bits")
    accumulator_bits: int = _field("accumulator_bits")
    accumulator_overflow: str = _field("accumulator_overflow")
    weight_double_buffer: bool = _field("weight_double_buffer")
    mac_latency: int = _field("mac_latency")
    weight_fifo_depth: int = _field("weight_fifo_depth")
    input_slots: int = _field("input_slots")
    slot_bytes: int = _field("slot_bytes")
    accumulator_banks: int = _field("accumulator_banks")
    accumulator_rows: int = _field("accumulator_rows")
    memory_bytes_per_cycle: int | Fraction | str = _field("memory_bytes_per_cycle")
    memory_latency_cycles: int = _field("memory_latency_cycles")
    memory_outstanding: int = _field("memory_outstanding")
    memory_transaction_bytes: int = _field("memory_transaction_bytes")
    buffer_port_rows: int = _field("buffer_port_rows")
    lanes: int = _field("lanes")
    sfu_lanes: int = _field("sfu_lanes")
    vector_units: int = _field("vector_units")
    vector_schedule: str = _field("vector_schedule")
    handoff: str = _field("handoff")
    handoff_bytes_per_cycle: int = _field("handoff_bytes_per_cycle")
    handoff_slots: int = _field("handoff_slots")
    score_bits: int = _field("score_bits")
    probability_bits: int = _field("probability_bits")
    im2col_line_buffer: bool = _field("im2col_line_buffer")
    clock_hz: int = _field("clock_hz")

    def __post_init__(self) -> None:
        for name, spec in FIELDS.items():
            object.__setattr__(self, name, spec.check(getattr(self, name)))
        least = self.buffer_port_rows * self.activation_row_bytes
        if self.slot_bytes < least:
            raise DesignError(
                f"slot_bytes must be at least {least} bytes, to hold buffer_port_rows = "
                f"{self.buffer_port_rows} activation rows of {self.activation_row_bytes} bytes "
                f"each, not {self.slot_bytes}")

    # Derived values

    @property
    def activation_row_bytes(self) -> int:
        """Bytes of one activation row, ``rows`` activations packed."""
        return -(-self.rows * self.activation_bits // 8)

    @property
    def activation_bytes(self) -> int:
        """Bytes of an element of an image, from which windows are formed: whole ones."""
        return -(-self.activation_bits // 8)

    @property
    def window_row_bytes(self) -> int:
        """Bytes of ``rows`` elements of an image."""
        return self.rows * self.activation_bytes

    @property
    def weight_row_bytes(self) -> int:
        """Bytes of one weight row, ``cols`` weights packed."""
        return -(-self.cols * self.weight_bits // 8)

    @property
    def result_element_bytes(self) -> int:
        """Bytes of one stored accumulator: ``accumulator_bits`` in whole bytes."""
        return -(-self.accumulator_bits // 8)

    @property
    def result_row_bytes(self) -> int:
        """Bytes of one stored row of ``cols`` results."""
        return self.cols * self.result_element_bytes

    @property
    def vector_row_bytes(self) -> int:
        """Most bytes of a row of ``cols`` elements between memory and bank or vector slot."""
        return self.cols * max(4, self.result_element_bytes)

    @property
    def slot_rows(self) -> int:
        """Activation rows that one operand slot holds, a multiple of ``buffer_port_rows``."""
        rows = self.slot_bytes // self.activation_row_bytes
        return rows - rows % self.buffer_port_rows

    @property
    def macs_per_cycle(self) -> int:
        """Multiply-accumulates per cycle at the peak: ``rows * cols``."""
        return self.rows * self.cols

    @property
    def memory_bandwidth(self) -> Fraction | None:
        """Bandwidth of the memory channel in bytes per cycle, exact; None when unlimited."""
        rate = self.memory_bytes_per_cycle
        return None if isinstance(rate, str) else Fraction(rate)

    # Presets, files and the command line

    @classmethod
    def presets(cls) -> tuple[str, ...]:
        """Names of the presets, the smallest first."""
        return tuple(PRESETS)

    @classmethod
    def preset(cls, name: str) -> "Design":
        """The named design; :py:mod:`.presets` states the source of each of its fields."""
        if not isinstance(name, str) or name not in PRESETS:
            raise DesignError(unknown_name("preset", name, PRESETS))
        return cls(**PRESETS[name].values())  # type: ignore[arg-type]  # checked when built

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Design":
        """The design that :py:meth:`to_dict` described.

        Fields left out come from the preset named by the optional key ``preset``, or ``tiny``.
        """
        values = dict(values)
        base = cls.preset(values.pop("preset", "tiny"))
        for name in values:
            if name not in FIELDS:
                raise DesignError(unknown_name("field", name, FIELDS))
        return dataclasses.replace(base, **values)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "Design":
        """The design in a TOML file: the keys of :py:meth:`from_dict`, without tables."""
        try:
            return cls.from_dict(read_toml(path))
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
        except DesignError as error:
            reason = str(error)
        except ValueError as error:
            reason = f"not valid TOML: {error}"
        raise DesignError(f"{os.fspath(path)}: {reason}")

    def to_dict(self) -> dict[str, int | str | bool]:
        """All fields as JSON can hold them: a fractional bandwidth is text, "340/7"."""
        return {
            name: str(value) if isinstance(value, Fraction) else value
            for name, value in dataclasses.asdict(self).items()
        }

    def to_toml(self) -> str:
        """Text that :py:meth:`from_toml` reads back, each field with its unit and meaning."""
        lines = []
        for name, value in self.to_dict().items():
            spec = FIELDS[name]
            text = f'"{value}"' if isinstance(value, str) else str(value).lower()
            unit = f"{spec.unit}: " if spec.unit else ""
            lines.append(f"{name} = {text}  # {unit}{spec.description}\n")
        return "".join(lines)

    def override(self, options: Mapping[str, str]) -> "Design":
        """This design with fields set from text, as by the options ``-s FIELD=VALUE``.

        The message of a refused one begins with the option.
        """
        values = {}
        for name, text in options.items():
            try:
                if name not in FIELDS:
                    raise DesignError(unknown_name("field", name, FIELDS))
                values[name] = FIELDS[name].check(FIELDS[name].parse(text))
            except DesignError as error:
                raise DesignError(f"-s {name}={text}: {error}") from None
        try:
            return dataclasses.replace(self, **values)
        except DesignError as error:
            named = " ".join(f"-s {name}={text}" for name, text in options.items())
            raise DesignError(f"{named}: {error}") from None
