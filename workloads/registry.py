"""The workloads of the command line, by name, and their parameters.

A workload joins with one entry of :data:`WORKLOADS`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rtl import Design
from ..rtl.design_fields import (
    ChoiceField,
    FieldSpec,
    FlagField,
    IntegerField,
    unknown_name,
)
from ..rtl.formats import IntegerFormat
from .errors import WorkloadError
from .files import read_npy
from .gemm import Gemm, QProjection, RandomGemm
from .operands import check_range, integer_matrix
from .parameters import (
    LARGEST,
    BiasFile,
    Parameter,
    RequantizeField,
    WorkloadSpec,
    option_text,
)
from .registry_attention import ATTENTION
from .registry_conv2d import CONV2D
from .registry_networks import NETWORKS
from .registry_vector import VECTOR
from .tiling import ORDERS

__all__ = ["WORKLOADS", "Parameter", "WorkloadSpec", "build", "read_npy"]


@dataclass(frozen=True)
class MatrixFile(FieldSpec):
    """A matrix in a .npy file."""

    @property
    def range(self) -> str:
        return "a .npy file"

    def check(self, value: Any) -> np.ndarray:
        return integer_matrix(self.name, read_npy(value))


def build(name: str, options: Mapping[str, str], seed: int | None = None) -> Any:
    """The named workload.

    Parameters
    ----------
    name : str
    options : mapping of str to str
        Parameters as text, as after `-p` on the command line.
    seed : int or None
        Of random operands; None means 0.

    Raises
    ------
    WorkloadError
        An unknown name, a parameter out of its range, a file that does not hold a matrix of
        integers, or a seed for a workload without random operands. The message is one line and
        names the option.
    """
    if name not in WORKLOADS:
        raise WorkloadError(unknown_name("workload", name, WORKLOADS))
    return WORKLOADS[name].build(options, seed)


# -- matrix products ---------------------------------------------------------------------------

FILES = (
    Parameter(MatrixFile("a", "", "left operand, with b"), None, "random"),
    Parameter(MatrixFile("b", "", "right operand, with a"), None, "random"),
)

CHOICES = (
    Parameter(FlagField("unsigned", "", "elements of a are unsigned"), False),
    Parameter(FlagField("a_resident", "", "a is in the slots before the run"), False),
    Parameter(FlagField("store_output", "", "write the result to memory"), True),
    Parameter(FlagField("accumulate", "", "add to the accumulators, 0 at first"), False),
    Parameter(IntegerField("m_tile", "rows", "rows of a whose sums share a bank; at most "
                           "accumulator_rows", 1, LARGEST), None, "most"),
    Parameter(ChoiceField("order", "", "loops over output tiles, outer first", ORDERS),
              ORDERS[0]),
    Parameter(IntegerField("slices_per_slot", "slices", "parts of a that share a slot; at most "
                           "as many as fit", 1, LARGEST), None, "even"),
    Parameter(IntegerField("tile_rows", "rows", "rows of the matrix unit's tiles, which are filled "
                           "up with rows that are executed but not useful; at most "
                           "accumulator_rows", 1, LARGEST), None, "1"),
    Parameter(BiasFile("bias", "", "vector of n elements, added to every row; random with random "
                       "operands"), None, "none"),
    Parameter(FlagField("relu", "", "negative results become 0, after the bias"), False),
    Parameter(RequantizeField("requantize", "", "results times multiplier / 2**shift, rounded half "
                              "up, saturated to so many bits"), None, "none"),
)

#: Options that a product may be refused for when it is made.
NAMED = ("a", "b", "bias", "relu", "requantize", "store_output")


def _sizes(m: int, k: int, n: int) -> tuple[Parameter, ...]:
    return (Parameter(IntegerField("m", "rows", "rows of a", 1, LARGEST), m),
            Parameter(IntegerField("k", "columns", "columns of a, rows of b", 1, LARGEST), k),
            Parameter(IntegerField("n", "columns", "columns of b", 1, LARGEST), n))


class _Named:
    """A product whose refusals of a file's elements name the file."""
    options: Mapping[str, str] = {}

    def bias_values(self, design: Design) -> np.ndarray | None:
        try:
            return super().bias_values(design)  # type: ignore[misc]  # beside a product
        except WorkloadError as error:
            raise WorkloadError(f"{option_text(self.options, ['bias'])}: {error}") from None


class _FileGemm(_Named, Gemm):
    """A product of matrices from files."""

    def check_operands(self, design: Design) -> None:
        format = IntegerFormat.of(design)
        for name, matrix, limits in (("a", self.a, format.activation_range(self.unsigned)),
                                     ("b", self.b, format.weight_range())):
            check_range(f"{option_text(self.options, [name])}: {name}", matrix, *limits)


class _RandomGemm(_Named, RandomGemm):
    pass


class _QProjection(_Named, QProjection):
    pass


def _product(kind: Any, options: Mapping[str, str], values: dict[str, Any]) -> Any:
    """The product of a class above."""
    try:
        product = kind(**values)
    except WorkloadError as error:
        raise type(error)(f"{option_text(options, NAMED)}: {error}") from None
    product.options = options
    return product


def _gemm(options: Mapping[str, str], values: dict[str, Any], seed: int | None) -> Gemm:
    files = [name for name in ("a", "b") if name in options]
    if not files:
        return _product(_RandomGemm, options, {**values, "seed": seed or 0})
    sizes = [name for name in ("m", "k", "n") if name in options]
    if sizes:
        raise WorkloadError(f"{option_text(options, [*sizes, *files])}: m, k and n come from the "
                            f"files of a and b; leave them out")
    if len(files) == 1:
        missing = "b" if files == ["a"] else "a"
        raise WorkloadError(f"{option_text(options, files)}: needs {missing} too, -p "
                            f"{missing}=FILE.npy")
    if seed is not None:
        raise WorkloadError(f"--seed {seed}: {option_text(options, files)} leave nothing random; "
                            f"leave the seed out")
    if options.get("bias") == "random":
        raise WorkloadError(f"{option_text(options, ['bias', *files])}: a random bias needs random "
                            f"operands; give a .npy file")
    for name in ("m", "k", "n"):
        del values[name]
    return _product(_FileGemm, options, values)


def _q_projection(options: Mapping[str, str], values: dict[str, Any],
                  seed: int | None) -> QProjection:
    return _product(_QProjection, options, {**values, "seed": seed or 0})


WORKLOADS = {spec.name: spec for spec in (
    WorkloadSpec("gemm", "matrix product a[m, k] x b[k, n] of random integers that cannot "
                 "overflow, or of two files", (*_sizes(5, 9, 10), *FILES, *CHOICES), _gemm),
    WorkloadSpec("q-projection", "Qwen3-8B's query projection a[m, 4096] x b[4096, 4096] of random "
                 "integers that cannot overflow", (*_sizes(16, 4096, 4096), *CHOICES),
                 _q_projection),
    CONV2D,
    ATTENTION,
    *VECTOR,
    *NETWORKS,
)}
