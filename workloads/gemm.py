"""Tiled matrix product, and Qwen3-8B's Q projection as its best known case."""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..rtl import Design
from ..rtl.formats import IntegerFormat
from .checks import check_integer
from .epilogue import Epilogue, Requantize, bias_vector, random_bias
from .errors import WorkloadError
from .gemm_builder import GemmBuilder
from .operands import (
    check_range,
    exact_product,
    integer_matrix,
    random_matrix,
    safe_amplitude,
)
from .program import Program
from .tiling import Tiling

__all__ = ["Gemm", "QProjection", "RandomGemm", "Sequence"]

Geometry = tuple[int, int, int]


class Gemm:
    """The product of a[M, K] and b[K, N].

    Parameters
    ----------
    a, b : array of integers (floats only when integral)
        Values must fit the design's operand formats.
    unsigned : bool
        Activations (a) are unsigned.
    a_resident : bool
        A is in the slots before the run; refused when it does not fit.
    store_output : bool
        Write the result to memory. Otherwise it stays on chip and `output` is None.
    accumulate : bool
        Add to what the accumulators hold, in a :class:`Sequence`; refused when the accumulators
        cannot hold the whole result.
    bias : array of N integers, or None
        Added to every row, each element within the accumulators' range.
    relu : bool
        Negative results become 0.
    requantize : (multiplier, shift, bits) or None
        Results are x * multiplier / 2**shift, rounded half up once and saturated to `bits` bits
        signed, and stored in ceil(bits / 8) bytes. multiplier from 1 to 2**31 - 1, shift from 0
        to 63, bits from 2 to accumulator_bits.

        Bias, ReLU and requantisation follow each other in this order, in the vector unit; see
        :class:`Epilogue`. Each needs `store_output`.
    m_tile, order, slices_per_slot, tile_rows
        Choices of the :class:`Tiling`, which has the rule for their defaults.

    Raises
    ------
    WorkloadError
        Shapes or values that do not fit, here or when the program for a design is built.
    OperandTypeError
        Elements that are not integers.
    """

    name = "gemm"

    def __init__(self, a: Any, b: Any, *, unsigned: bool = False, a_resident: bool = False,
                 store_output: bool = True, accumulate: bool = False, bias: Any = None,
                 relu: bool = False, requantize: Any = None, m_tile: int | None = None,
                 order: str = "mn", slices_per_slot: int | None = None,
                 tile_rows: int | None = None):
        self.a, self.b = integer_matrix("a", a), integer_matrix("b", b)
        if self.a.shape[1] != self.b.shape[0]:
            raise WorkloadError(f"b must have as many rows as a has columns "
                                f"({self.a.shape[1]}), not {self.b.shape[0]}")
        for name, value in (("unsigned", unsigned), ("a_resident", a_resident),
                            ("store_output", store_output), ("accumulate", accumulate),
                            ("relu", relu)):
            if not isinstance(value, bool):
                raise WorkloadError(f"{name} must be true or false, not {value!r}")
        self.unsigned, self.a_resident = unsigned, a_resident
        self.store_output, self.accumulate = store_output, accumulate
        self._choices: dict[str, Any] = {"m_tile": m_tile, "order": order,
                                         "slices_per_slot": slices_per_slot,
                                         "tile_rows": tile_rows}
        self.bias = None if bias is None else self._bias(bias)
        self.relu = relu
        self.requantize = None if requantize is None else Requantize.of(requantize)
        if not store_output and self.epilogue is not None:
            raise WorkloadError(f"{self.epilogue.names[0]} needs store_output: the vector unit "
                                f"changes results on their way to memory")

    def _bias(self, value: Any) -> Any:
        """The argument, checked."""
        return bias_vector(value, self.shape[2])

    @property
    def epilogue(self) -> Epilogue | None:
        """What the vector unit does with the sums, if anything."""
        epilogue = Epilogue(self.bias is not None, self.relu, self.requantize)
        return epilogue if epilogue.names else None

    def bias_values(self, design: Design) -> np.ndarray | None:
        """The bias, checked against the design's accumulators; None without one."""
        if self.bias is not None:
            Epilogue.check_bias(design, self.bias)
        return self.bias

    @property
    def shape(self) -> Geometry:
        """M, K, N."""
        return self.a.shape[0], self.a.shape[1], self.b.shape[1]

    @property
    def useful_macs(self) -> int:
        """M * K * N."""
        m, k, n = self.shape
        return m * k * n

    def parts(self) -> list["Gemm"]:
        """The jobs that run one after another: this one."""
        return [self]

    def seeded(self, seed: int) -> "Gemm":
        """This workload with its random operands, if it has any, drawn with `seed`."""
        check_integer("seed", seed, 0)
        return self

    def describe(self) -> dict[str, Any]:
        """What was run, for reports: JSON-able."""
        m, k, n = self.shape
        return {"name": self.name, "m": m, "k": k, "n": n, "unsigned": self.unsigned,
                "a_resident": self.a_resident, "store_output": self.store_output,
                "accumulate": self.accumulate,
                **{key: value for key, value in self._choices.items() if value is not None},
                **self._describe_epilogue()}

    def _describe_epilogue(self) -> dict[str, Any]:
        """The parts that there are."""
        values: dict[str, Any] = {"bias": "given", "relu": True, "requantize": self.requantize}
        if isinstance(self.bias, str):
            values["bias"] = self.bias
        if self.requantize is not None:
            values["requantize"] = list(self.requantize)
        return {name: values[name] for name in (self.epilogue.names if self.epilogue else ())}

    def check(self, design: Design) -> None:
        """Raise :class:`WorkloadError` unless the product fits the design."""
        self.check_operands(design)
        if self.epilogue is not None:
            self.epilogue.check(design)
            self.bias_values(design)
        tiling = self.tiling(design)
        if self.a_resident and tiling.a_stays != "all":
            raise WorkloadError(
                f"a_resident needs all of A in the slots: {tiling.slice_count} slices, but they "
                f"hold {tiling.slots * tiling.slices_per_slot}")
        if self.accumulate:
            fit = design.accumulator_rows // tiling.m_tile * design.accumulator_banks
            tiles = len(tiling.m_blocks) * len(tiling.n_tiles)
            if tiles > fit:
                raise WorkloadError(f"accumulate needs the whole result in the accumulators: "
                                    f"{tiles} tiles, but they hold {fit}")

    def check_operands(self, design: Design) -> None:
        """Raise :class:`WorkloadError` unless the operands fit the design's formats."""
        format = IntegerFormat.of(design)
        check_range("a", self.a, *format.activation_range(self.unsigned))
        check_range("b", self.b, *format.weight_range())

    def operands(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """a and b, checked against the design's formats."""
        self.check_operands(design)
        return self.a, self.b

    def tiling(self, design: Design) -> Tiling:
        return Tiling.choose(design, *self.shape, **self._choices)

    def program(self, design: Design, contents: bool = True) -> Program:
        """The commands for a design and, with `contents`, the operands in memory."""
        return build_program(design, self.parts(), contents)

    def reference(self, design: Design) -> tuple[np.ndarray | None, bool]:
        """The result by numpy and whether an accumulator overflows; see :func:`reference`."""
        return reference(design, self.parts())


class RandomGemm(Gemm):
    """The product of random operands of a given shape.

    Elements are uniform over the operand range of the design, narrowed to what K products of
    cannot overflow an accumulator; equal seeds give equal operands on equal formats.

    Parameters
    ----------
    m, k, n : int
        Rows of a, columns of a, columns of b; 1 or more each.
    seed : int
        0 or more.
    bias : "random" also
        Drawn with the same seed, about as large as the sums.
    Others : see :class:`Gemm`.
    """

    def __init__(self, m: int, k: int, n: int, seed: int = 0, **choices: Any):
        m, k, n = (check_integer(name, value, 1)
                   for name, value in (("m", m), ("k", k), ("n", n)))
        self._shape: Geometry = (m, k, n)
        super().__init__(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.int64), **choices)
        self.seed = check_integer("seed", seed, 0)

    @property
    def shape(self) -> Geometry:
        return self._shape

    def _bias(self, value: Any) -> Any:
        return value if isinstance(value, str) and value == "random" else super()._bias(value)

    def bias_values(self, design: Design) -> np.ndarray | None:
        if not isinstance(self.bias, str):
            return super().bias_values(design)
        format, (_m, k, n) = IntegerFormat.of(design), self.shape
        return random_bias(format, k, n, safe_amplitude(format, k), self.seed)

    def seeded(self, seed: int) -> "RandomGemm":
        other = copy.copy(self)
        other.seed = check_integer("seed", seed, 0)
        return other

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "seed": self.seed}

    def check_operands(self, design: Design) -> None:
        """Random operands are made to fit."""

    def operands(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        format = IntegerFormat.of(design)
        m, k, n = self.shape
        rng = np.random.default_rng(self.seed)
        amplitude = safe_amplitude(format, k)
        return (random_matrix(rng, m, k, format.activation_range(self.unsigned), amplitude),
                random_matrix(rng, k, n, format.weight_range(), amplitude))


class QProjection(RandomGemm):
    """Q projection X[M, K] x W[K, N] with random operands; Qwen3-8B's shape is K = N = 4096.

    Parameters
    ----------
    m, k, n : int
        Rows, input width, output width.
    Others : see :class:`RandomGemm`.
    """

    name = "q-projection"

    def __init__(self, m: int = 16, k: int = 4096, n: int = 4096, seed: int = 0, **choices: Any):
        super().__init__(m, k, n, seed, **choices)


class Sequence:
    """Jobs one after another on one machine, accumulator contents and all.

    The output is the last stored result.

    Parameters
    ----------
    jobs : iterable of Gemm
        One or more. With `accumulate`, a job must have the M, N and tiling of the job before.
    """

    name = "sequence"

    def __init__(self, jobs: Iterable[Gemm]):
        self._jobs = [part for job in jobs for part in job.parts()]
        if not self._jobs:
            raise WorkloadError("jobs must hold at least 1 job, not 0")
        for before, job in zip([None, *self._jobs], self._jobs):
            if job.a_resident and before is not None:
                raise WorkloadError("a_resident is possible for the first job of a sequence only")
            if job.accumulate and before is not None and (
                    (before.shape[0], before.shape[2]) != (job.shape[0], job.shape[2])):
                raise WorkloadError("accumulate needs a job of the same M and N before it")
            if job.accumulate and before is not None and before.epilogue is not None:
                raise WorkloadError(f"accumulate needs the sums of the job before it, which has "
                                    f"{before.epilogue.names[0]}: only the last job that adds to "
                                    f"the accumulators may change its result")

    @property
    def useful_macs(self) -> int:
        return sum(job.useful_macs for job in self._jobs)

    def parts(self) -> list[Gemm]:
        return self._jobs

    def seeded(self, seed: int) -> "Sequence":
        """This workload with its random operands drawn with `seed`, the next one and so on."""
        other = copy.copy(self)
        other._jobs = [job.seeded(seed + number) for number, job in enumerate(self._jobs)]
        return other

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "jobs": [job.describe() for job in self._jobs]}

    def program(self, design: Design, contents: bool = True) -> Program:
        return build_program(design, self._jobs, contents)

    def reference(self, design: Design) -> tuple[np.ndarray | None, bool]:
        return reference(design, self._jobs)


def build_program(design: Design, jobs: list[Gemm], contents: bool = True) -> Program:
    """One program for jobs that follow each other; without `contents` memory stays empty."""
    builder = GemmBuilder(design)
    tiling = None
    for job in jobs:
        previous, tiling = tiling, job.tiling(design)
        if job.accumulate and previous is not None and (
                (previous.m_tile, previous.order) != (tiling.m_tile, tiling.order)):
            raise WorkloadError("accumulate needs the m_tile and order of the job before it")
        job.check(design)
        builder.add(tiling, job.operands(design) if contents else None, unsigned=job.unsigned,
                    resident=job.a_resident, store=job.store_output, accumulate=job.accumulate,
                    epilogue=job.epilogue,
                    bias=job.bias_values(design) if contents else None)
    return builder.finish()


def reference(design: Design, jobs: list[Gemm]) -> tuple[np.ndarray | None, bool]:
    """The last stored result by numpy, and whether any accumulator overflows on the way.

    Overflow can happen at an accumulator update only: K tile by K tile, in program order (output
    stationary: all of K at once), or in the sum with a bias (:class:`Epilogue`). Where none is
    possible the product is computed at once.
    """
    format = IntegerFormat.of(design)
    limit = format.accumulator_range()[1]
    total: np.ndarray | None = None
    output, overflow = None, False
    for job in jobs:
        a, b = job.operands(design)
        old = total if job.accumulate and total is not None else None
        bound = a.shape[1] * int(np.abs(a).max()) * int(np.abs(b).max())
        bound += 0 if old is None else int(np.abs(old).max())
        if bound <= limit:
            total = exact_product(a, b) + (0 if old is None else old)
        else:
            total = np.zeros((a.shape[0], b.shape[1]), np.int64) if old is None else old
            for tile in job.tiling(design).update_tiles:
                part = slice(tile.start, tile.start + tile.size)
                total, outside = format.accumulate(
                    total, exact_product(a[:, part], b[part]), design.accumulator_overflow)
                overflow |= outside
        if job.store_output:
            output = total
            if job.epilogue is not None:
                output, outside = job.epilogue.apply(design, total, job.bias_values(design))
                overflow |= outside
    return output, overflow
