"""What a run of a network yields, the same for every level."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..rtl import Design
from ..workloads.network import Layer, Omitted
from .analytic import executed_macs
from .result import SCHEMA, Check, Result
from .result import document as single_document

__all__ = ["LayerResult", "NetworkResult", "document"]


@dataclass(frozen=True)
class LayerResult:
    """One layer of a network.

    Attributes
    ----------
    layer : Layer
    result : Result
        Of one repetition, and of all layers of the same shape.
    """
    layer: Layer
    result: Result

    @property
    def cycles(self) -> int:
        """Of all repetitions, as are the other numbers."""
        return self.layer.count * self.result.cycles

    @property
    def masked_macs(self) -> int:
        return self.layer.count * self.layer.discarded_macs(self.result.useful_macs)

    @property
    def useful_macs(self) -> int:
        return self.layer.count * self.result.useful_macs - self.masked_macs

    @property
    def executed_macs(self) -> int:
        """MACs of all cells while rows enter: useful ones, padding and masked ones."""
        rows = self.result.counters.get("activation_rows", 0)
        return self.layer.count * executed_macs(self.result.design, rows)

    @property
    def bytes_read(self) -> int:
        return self.layer.count * self.result.bytes_read

    @property
    def bytes_written(self) -> int:
        return self.layer.count * self.result.bytes_written

    def to_dict(self) -> dict[str, Any]:
        """The layer's entry in the JSON's `results`: the numbers of one repetition."""
        count, design = self.layer.count, self.result.design
        return {"layer": self.layer.name, "count": count,
                "workload": self.layer.product.describe(), **self.result.to_dict(),
                "useful_macs": self.useful_macs // count, "masked_macs": self.masked_macs // count,
                "utilization": self.useful_macs / (design.macs_per_cycle * self.cycles),
                "shape_efficiency": _ratio(self.useful_macs, self.executed_macs)}


@dataclass(frozen=True)
class NetworkResult:
    """One run of a network on a design at one level. Cycles, work and bytes are those of all
    layers with all their repetitions.

    Attributes
    ----------
    design : Design
    workload : dict
    level, backend, timing : str
        See :class:`Result`.
    layers : list of LayerResult
    notes : tuple of str
        What the numbers leave out or assume.
    omitted : tuple of Omitted
        Operators that the layers leave out.
    runs : list of Result
        What was simulated: one result for each distinct shape.
    checks : list of dict
        Every comparison made; the name begins with the layer's.
    """
    design: Design
    workload: dict[str, Any]
    level: str
    backend: str
    timing: str
    layers: list[LayerResult]
    notes: tuple[str, ...]
    runs: list[Result]
    omitted: tuple[Omitted, ...] = ()
    checks: list[Check] = field(default_factory=list)

    def _sum(self, name: str) -> int:
        return sum(getattr(layer, name) for layer in self.layers)

    @property
    def cycles(self) -> int:
        return self._sum("cycles")

    @property
    def formula_cycles(self) -> int:
        """Those of the cycles that come from a formula though the level is not analytic."""
        return 0 if self.level == "analytic" else sum(
            layer.cycles for layer in self.layers if layer.result.level == "analytic")

    @property
    def useful_macs(self) -> int:
        return self._sum("useful_macs")

    @property
    def masked_macs(self) -> int:
        return self._sum("masked_macs")

    @property
    def bytes_read(self) -> int:
        return self._sum("bytes_read")

    @property
    def bytes_written(self) -> int:
        return self._sum("bytes_written")

    @property
    def utilization(self) -> float:
        """Useful MACs / (rows * cols * cycles), from 0 to 1."""
        return self.useful_macs / (self.design.macs_per_cycle * self.cycles)

    @property
    def shape_efficiency(self) -> float | None:
        """Useful MACs over those of all cells while rows enter the array."""
        return _ratio(self.useful_macs, self._sum("executed_macs"))

    @property
    def overflow(self) -> bool | None:
        """Some accumulator overflowed in some layer; None when not all outputs were computed."""
        flags = [result.overflow for result in self.runs if result.level != "analytic"]
        if any(flags):
            return True
        return None if None in flags or not flags else False

    @property
    def simulate_seconds(self) -> float:
        return sum(result.simulate_seconds for result in self.runs)

    @property
    def ok(self) -> bool:
        """All checks hold."""
        return all(check["ok"] for check in self.checks)

    def totals(self) -> dict[str, Any]:
        """The entry of this level in the JSON's `totals`."""
        return {"level": self.level, "backend": self.backend, "timing": self.timing,
                "layers": sum(layer.layer.count for layer in self.layers),
                "simulated": len(self.runs), "cycles": self.cycles,
                "formula_cycles": self.formula_cycles, "useful_macs": self.useful_macs,
                "masked_macs": self.masked_macs, "utilization": self.utilization,
                "shape_efficiency": self.shape_efficiency, "bytes_read": self.bytes_read,
                "bytes_written": self.bytes_written, "overflow": self.overflow,
                "simulate_seconds": self.simulate_seconds}

    def to_json(self) -> dict[str, Any]:
        """The document of the command line's JSON for this one level."""
        return _network_document([self])


def document(results: Sequence[Result | NetworkResult]) -> dict[str, Any]:
    """The JSON document of results of one workload on one design, a network or not."""
    networks = [result for result in results if isinstance(result, NetworkResult)]
    singles = [result for result in results if isinstance(result, Result)]
    return _network_document(networks) if networks else single_document(singles)


def _network_document(results: Sequence[NetworkResult]) -> dict[str, Any]:
    return {"schema": SCHEMA, "workload": results[0].workload,
            "design": results[0].design.to_dict(), "notes": list(results[0].notes),
            "results": [layer.to_dict() for result in results for layer in result.layers],
            "totals": [result.totals() for result in results],
            "checks": [entry for result in results for entry in result.checks]}


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
