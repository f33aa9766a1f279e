"""Networks: named workloads that run one after another, each on an idle machine."""

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from .attention import Attention, RandomAttention
from .checks import check_integer
from .conv2d import Conv2d, RandomConv2d
from .errors import WorkloadError
from .gemm import Gemm, RandomGemm, Sequence
from .reduction import Reduction
from .residual import RandomResidual
from .rope import RandomRope
from .vector_workload import VectorWorkload

__all__ = ["Layer", "Network", "Omitted"]

# Their runs do not depend on their elements.
RANDOM = (RandomAttention, RandomConv2d, RandomGemm, RandomResidual, RandomRope)


@dataclass(frozen=True)
class Layer:
    """One layer of a network.

    Attributes
    ----------
    name : str
        Need not be unique.
    product : Gemm, Sequence, Attention, Conv2d, VectorWorkload or Reduction
        What runs.
    count : int
        Repetitions, which are identical: they are simulated once and counted so often.
    masked_macs : int
        MACs of one repetition whose results a causal mask discards: executed, but not useful.
        Those of causal attention depend on its plan and need not be given.
    group : str
        Layers of the same group share a row of the report; "" is a row of its own.
    """
    name: str
    product: Gemm | Sequence | Attention | Conv2d | VectorWorkload | Reduction
    count: int = 1
    masked_macs: int = 0
    group: str = ""

    def __post_init__(self) -> None:
        check_integer(f"count of layer {self.name}", self.count, 1)
        check_integer(f"masked_macs of layer {self.name}", self.masked_macs, 0,
                      self.product.useful_macs)

    @property
    def useful_macs(self) -> int:
        """Of all repetitions, without what a mask discards."""
        macs = self.product.useful_macs
        return self.count * (macs - self.discarded_macs(macs))

    def discarded_macs(self, macs: int) -> int:
        """How many of the MACs of one repetition the mask discards.

        Causal attention executes more or less of them, for it leaves out the keys that no row of
        a group sees; what remains, two MACs for each element of each key that a row sees, is
        the same.
        """
        if not isinstance(self.product, Attention) or not self.product.shape.causal:
            return self.masked_macs
        shape = self.product.shape
        seen = sum(max(0, shape.valid(row)) for row in range(shape.rows))
        return macs - 2 * seen * shape.head_dim * shape.heads


@dataclass(frozen=True)
class Omitted:
    """An operator of the model that is not simulated: its name, how often, what it is."""
    name: str
    count: int
    what: str


class Network:
    """Layers one after another. Each starts on an idle machine, so that their cycles add up.

    Parameters
    ----------
    name : str
    layers : iterable of Layer
        One or more.
    parameters : dict
        What made these layers, for reports: JSON-able.
    notes : iterable of str
        Sentences for the reader of a report: what the layers leave out or assume.
    omitted : iterable of Omitted
        Operators that the layers leave out; reports list them beside the layers.
    """

    def __init__(self, name: str, layers: Iterable[Layer],
                 parameters: Mapping[str, Any] | None = None, notes: Iterable[str] = (),
                 omitted: Iterable[Omitted] = ()):
        self.name = name
        self._layers = list(layers)
        self._parameters = dict(parameters or {})
        self.notes, self.omitted = tuple(notes), tuple(omitted)
        if not self._layers:
            raise WorkloadError(f"{name} must have at least 1 layer, not 0")

    def layers(self) -> list[Layer]:
        return list(self._layers)

    def distinct(self) -> dict[str, Layer]:
        """One layer for each shape, by a key that equal shapes share; see :meth:`key`."""
        distinct: dict[str, Layer] = {}
        for layer in self._layers:
            distinct.setdefault(self.key(layer), layer)
        return distinct

    @staticmethod
    def key(layer: Layer) -> str:
        """Equal for layers whose runs have the same cycles and counters.

        Those depend on shapes and choices alone. Random operands never overflow; given ones may,
        so each set of them has a key of its own.
        """
        given = [id(part) for part in layer.product.parts() if not isinstance(part, RANDOM)]
        return json.dumps([_without_seed(layer.product.describe()), given])

    def parts(self) -> list[Gemm | Attention | Conv2d | VectorWorkload]:
        """The jobs of one repetition of every distinct layer: what a simulation runs."""
        return [part for layer in self.distinct().values() for part in layer.product.parts()]

    def seeded(self, seed: int) -> "Network":
        """This network with its random operands drawn with `seed`."""
        other = copy.copy(self)
        other._layers = [replace(layer, product=layer.product.seeded(seed))
                         for layer in self._layers]
        other._parameters = {**self._parameters, "seed": seed}
        return other

    @property
    def useful_macs(self) -> int:
        return sum(layer.useful_macs for layer in self._layers)

    def describe(self) -> dict[str, Any]:
        """What was run, for reports: JSON-able."""
        return {"name": self.name, **self._parameters, "layers": len(self._layers)}

    def program(self, *arguments: Any, **options: Any) -> NoReturn:
        raise WorkloadError(f"{self.name} is a network, which has no program of its own: "
                            f"simulate_network runs its layers")


def _without_seed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_seed(inner) for key, inner in value.items() if key != "seed"}
    if isinstance(value, list):
        return [_without_seed(inner) for inner in value]
    return value
