"""Attention: softmax(q k^T * scale) v, heads and all."""

import copy
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..rtl import Design
from ..rtl.formats import IntegerFormat
from . import attention_reference as numbers
from .attention_builder import AttentionBuilder
from .attention_plan import AttentionPlan, AttentionShape
from .attention_vectors import AttentionVectors
from .checks import check_integer
from .errors import WorkloadError
from .operands import as_array, check_range
from .program import Program
from .quantise import quantise
from .softmax import exponent_scale

__all__ = ["Attention", "RandomAttention"]


class Quantised(NamedTuple):
    """Integer operands; a logit is `scale` * q k, a value `v_scale` * v."""
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    scale: float
    v_scale: float


class Attention:
    """Attention of `heads` query heads over `kv_heads` heads of keys and values.

    Query head h reads the keys and values of head h // (heads / kv_heads). The output is
    [rows, heads * head_dim], in units of v times :meth:`output_scale`; rows that see no key are 0.

    Parameters
    ----------
    q : array [rows, heads * head_dim]
    k, v : array [keys, kv_heads * head_dim]
        Integers within the operand formats; or floats, which are quantised per tensor as finely
        as no product in the accumulators can overflow.
    causal : bool
        Row r sees the keys up to r + keys - rows: the last row sees all, whatever the number of
        rows (end-aligned).
    mask : array of bool [rows, keys] or None
        The keys that each row sees, those that `causal` hides apart.
    heads, kv_heads : int
        `heads` a multiple of `kv_heads` (grouped queries); `kv_heads` defaults to `heads`.
    scale : float or None
        A logit is `scale` * q k; 1 / sqrt(head_dim) by default.
    rows_per_group, block_keys : int or None
        Rows that pass the hand-off at a time, keys of a block, at most all. `block_keys` less
        than the keys streams them: running maximum and sum, rescaled output, bounded buffers.
        Defaults: see :class:`AttentionPlan`.
    resident : bool
        Q is in the operand slots, and the first weight tiles are in the FIFO, before the run.
    store_output : bool
        Write the result to memory. Otherwise it stays on chip and `output` is None.

    Raises
    ------
    WorkloadError
        Shapes or values that do not fit, here or when the program for a design is built.
    """

    name = "attention"

    def __init__(self, q: Any, k: Any, v: Any, *, causal: bool = False, mask: Any = None,
                 heads: int = 1, kv_heads: int | None = None, scale: float | None = None,
                 rows_per_group: int | None = None, block_keys: int | None = None,
                 resident: bool = False, store_output: bool = True):
        self.q, self.k, self.v = (_matrix(name, x) for name, x in (("q", q), ("k", k), ("v", v)))
        self._set_shape(self.q.shape, self.k.shape, self.v.shape, heads, kv_heads, causal)
        self._set_choices(mask, scale, rows_per_group, block_keys, resident, store_output)

    def _set_shape(self, q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...], heads: int,
                   kv_heads: int | None, causal: bool) -> None:
        heads = check_integer("heads", heads, 1)
        kv_heads = heads if kv_heads is None else check_integer("kv_heads", kv_heads, 1)
        if heads % kv_heads:
            raise WorkloadError(f"heads must be a multiple of kv_heads = {kv_heads}, not {heads}")
        if q[1] % heads:
            raise WorkloadError(f"q must have columns for each of {heads} heads, not {q[1]}")
        head_dim = q[1] // heads
        for name, columns in (("k", k[1]), ("v", v[1])):
            if columns != kv_heads * head_dim:
                raise WorkloadError(f"{name} must have {kv_heads} * {head_dim} columns, as many "
                                    f"as its heads have, not {columns}")
        if k[0] != v[0]:
            raise WorkloadError(f"v must have as many rows as k ({k[0]}), not {v[0]}")
        if not isinstance(causal, bool):
            raise WorkloadError(f"causal must be true or false, not {causal!r}")
        self.shape = AttentionShape(q[0], k[0], head_dim, heads, kv_heads, causal)

    def _set_choices(self, mask: Any, scale: float | None, rows_per_group: int | None,
                     block_keys: int | None, resident: bool, store_output: bool) -> None:
        self.mask = None if mask is None else self._mask(mask)
        if scale is not None and (isinstance(scale, bool) or not isinstance(scale, int | float)
                                  or not 0 < scale <= sys.float_info.max):
            raise WorkloadError(f"scale must be a number above 0, not {scale!r}")
        self._scale = scale
        if rows_per_group is not None:
            check_integer("rows_per_group", rows_per_group, 1)
        if block_keys is not None:
            check_integer("block_keys", block_keys, 1, self.shape.keys)
        for name, flag in (("resident", resident), ("store_output", store_output)):
            if not isinstance(flag, bool):
                raise WorkloadError(f"{name} must be true or false, not {flag!r}")
        self._latest: tuple[Design, Quantised] | None = None
        self.rows_per_group, self.block_keys = rows_per_group, block_keys
        self.resident, self.store_output = resident, store_output

    def _mask(self, mask: Any) -> np.ndarray:
        mask, wanted = as_array("mask", mask), (self.shape.rows, self.shape.keys)
        if mask.dtype != bool or mask.shape != wanted:
            raise WorkloadError(f"mask must be an array of bool of {wanted[0]} rows and "
                                f"{wanted[1]} keys, not {mask.dtype} of shape {mask.shape}")
        return mask

    # -- what simulations ask ------------------------------------------------------------------

    def seeded(self, seed: int) -> "Attention":
        """This workload with its random operands, if it has any, drawn with `seed`."""
        check_integer("seed", seed, 0)
        return self

    def describe(self) -> dict[str, Any]:
        """What was run, for reports: JSON-able."""
        shape = self.shape
        return {"name": self.name, "rows": shape.rows, "keys": shape.keys,
                "head_dim": shape.head_dim, "heads": shape.heads, "kv_heads": shape.kv_heads,
                "causal": shape.causal, "masked": self.mask is not None,
                "resident": self.resident, "store_output": self.store_output,
                **{name: value for name, value in (
                    ("scale", self._scale), ("rows_per_group", self.rows_per_group),
                    ("block_keys", self.block_keys)) if value is not None}}

    def check(self, design: Design) -> None:
        """Raise :class:`WorkloadError` unless the attention fits the design."""
        self.plan(design)
        self.operands(design)

    def plan(self, design: Design) -> AttentionPlan:
        return AttentionPlan.choose(design, self.shape, self.rows_per_group, self.block_keys)

    def operands(self, design: Design) -> Quantised:
        """Integers q, k, v for a design, and what they stand for."""
        if self._latest is None or self._latest[0] != design:
            self._latest = design, self._operands(design)
        return self._latest[1]

    def _operands(self, design: Design) -> Quantised:
        format, scale = IntegerFormat.of(design), self.logit_scale
        given = self.q, self.k, self.v
        if any(x.dtype.kind == "f" for x in given):
            bits = self._bits(design)
            (q, q_scale), (k, k_scale), (v, v_scale) = (
                quantise(x, size, name=name) for name, x, size in zip("qkv", given, bits))
            return Quantised(q, k, v, scale * q_scale * k_scale, v_scale)
        check_range("q", self.q, *format.activation_range())
        check_range("k", self.k, *format.weight_range())
        check_range("v", self.v, *format.weight_range())
        return Quantised(*given, scale, 1.0)

    @property
    def logit_scale(self) -> float:
        """The logit of q k = 1."""
        return 1 / math.sqrt(self.shape.head_dim) if self._scale is None else self._scale

    def _bits(self, design: Design) -> tuple[int, int, int]:
        """Bits of q, k and v, as many as no sum in the accumulators overflows with.

        Raises
        ------
        WorkloadError
            Not even two bits each are possible.
        """
        limit = (1 << design.accumulator_bits - 1) - 1
        across = math.isqrt(limit // self.shape.head_dim).bit_length()
        down = (limit // self._greatest_weight(self.plan(design))).bit_length()
        bits = (min(design.activation_bits, across), min(design.weight_bits, across),
                min(design.weight_bits, down))
        if min(bits) < 2:
            raise WorkloadError(f"accumulator_bits = {design.accumulator_bits} is too small for "
                                f"attention over {self.shape.keys} keys of "
                                f"{self.shape.head_dim}: sums of 2-bit operands overflow")
        return bits

    def _greatest_weight(self, plan: AttentionPlan) -> int:
        """The greatest sum of codes that meet the values in one accumulator."""
        bits = numbers.code_bits(plan.design, plan.block_keys if plan.streaming else None)
        if plan.streaming:
            return ((1 << bits) - 1) * plan.block_keys
        return (1 << bits) - 1 + self.shape.keys

    def _scores(self, design: Design) -> tuple[float, int]:
        """The logit of a score, and the bits that scores lose so that none saturates."""
        operands = self.operands(design)
        return operands.scale, numbers.score_shift(
            design, self.shape.head_dim, _greatest(operands.q), _greatest(operands.k))

    def program(self, design: Design, contents: bool = True) -> Program:
        """The commands for a design and, with `contents`, the operands in memory."""
        return self.builder(design, contents).build()

    def builder(self, design: Design, contents: bool = False) -> AttentionBuilder:
        """What writes the commands for a design."""
        plan = self.plan(design)
        scale, score_shift = self._scores(design)
        try:
            multiplier, shift = exponent_scale(scale, score_shift)
        except WorkloadError as error:
            if scale == self.logit_scale:
                raise
            raise WorkloadError(self._beyond(scale, error)) from None
        vectors = AttentionVectors(plan, multiplier, shift, self.mask is not None)
        return AttentionBuilder(plan, vectors, score_shift, self.store_output, self.resident,
                                *((self.operands(design)[:3], self.mask) if contents else ()))

    def _beyond(self, step: float, _error: WorkloadError) -> str:
        """The refusal of operands whose steps make logits of `step`."""
        return (f"q up to {np.abs(self.q).max():.3g} and k up to {np.abs(self.k).max():.3g} with "
                f"scale = {self.logit_scale:.6g} are beyond the softmax of this design: a step of "
                f"both would be a logit of {step:.3g}")

    def repeats(self, design: Design) -> tuple[int, int, Callable[[int], Program]] | None:
        """Equal parts: how many, how many a command can depend on, a program of the first n.

        Groups, if all are alike, or heads. None if Q is resident, which is not the same for
        every part.
        """
        plan = self.plan(design)
        if self.resident:
            return None
        groups = len(plan.groups_of_head)
        alike = not self.shape.causal and self.shape.rows % plan.group_rows == 0
        size = 1 if alike else groups        # groups of a part
        items = sum(1 for item in plan.items_of_head()) // (groups if alike else 1)
        ahead = (design.handoff_slots + design.input_slots + design.accumulator_banks
                 + design.weight_fifo_depth)
        return (groups * self.shape.heads // size, 2 + -(-ahead // items),
                lambda parts: self.builder(design).build(parts * size))

    def tiles(self, design: Design) -> int:
        """Weight tiles that the array takes, about."""
        plan, shape = self.plan(design), self.shape
        blocks = -(-shape.keys // plan.block_keys)
        tiles = sum(-(-size // design.rows) * -(-other // design.cols) for size, other in (
            (shape.head_dim, plan.block_keys), (plan.block_keys, shape.head_dim)))
        return shape.heads * len(plan.groups_of_head) * blocks * tiles

    def parts(self) -> list["Attention"]:
        """The jobs that run one after another: this one."""
        return [self]

    @property
    def useful_macs(self) -> int:
        """MACs of all scores and their products with the values, hidden ones included.

        A causal run has fewer: blocks of keys that a whole group does not see are left out.
        """
        shape = self.shape
        return 2 * shape.rows * shape.keys * shape.head_dim * shape.heads

    def reference(self, design: Design) -> tuple[np.ndarray | None, bool]:
        """The result by numpy, bit by bit, and whether a sum overflows."""
        plan = self.plan(design)
        scale, score_shift = self._scores(design)
        output, overflow = numbers.attention(
            design, *self.operands(design)[:3], **self._seen(), scale=scale,
            block_keys=plan.block_keys if plan.streaming else None, score_shift=score_shift)
        return output if self.store_output else None, overflow

    def output_scale(self, design: Design) -> float:
        """A real number in an element of the output."""
        plan = self.plan(design)
        return self.operands(design).v_scale * numbers.output_scale(
            design, plan.block_keys if plan.streaming else None)

    def float_reference(self, design: Design) -> np.ndarray:
        """The result in floating point, of the operands as they were given."""
        return numbers.float_attention(self.q, self.k, self.v, **self._seen(),
                                       scale=self.logit_scale)

    def _seen(self) -> dict[str, Any]:
        """Heads, and which keys each row sees."""
        shape = self.shape
        valid = numbers.causal_valid(shape.rows, shape.keys) if shape.causal else None
        return {"heads": shape.heads, "kv_heads": shape.kv_heads, "valid": valid,
                "mask": self.mask}


class RandomAttention(Attention):
    """Attention of random operands of a given shape.

    As if normally distributed floats had been quantised, the greatest integers standing for
    `DEVIATIONS` standard deviations; equal seeds give equal operands on equal formats.

    Parameters
    ----------
    rows, keys, head_dim : int
        1 or more each.
    seed : int
        0 or more.
    Others : see :class:`Attention`.
    """

    DEVIATIONS = 4

    def __init__(self, rows: int = 16, keys: int = 32, head_dim: int = 8, *, seed: int = 0,
                 causal: bool = False, heads: int = 1, kv_heads: int | None = None,
                 mask: Any = None, scale: float | None = None,
                 rows_per_group: int | None = None, block_keys: int | None = None,
                 resident: bool = False, store_output: bool = True):
        rows, keys, head_dim, heads = (check_integer(name, value, 1) for name, value in (
            ("rows", rows), ("keys", keys), ("head_dim", head_dim), ("heads", heads)))
        self.seed = check_integer("seed", seed, 0)
        kv_heads = heads if kv_heads is None else check_integer("kv_heads", kv_heads, 1)
        wide = (keys, kv_heads * head_dim)
        self._set_shape((rows, heads * head_dim), wide, wide, heads, kv_heads, causal)
        self._set_choices(mask, scale, rows_per_group, block_keys, resident, store_output)

    def _beyond(self, step: float, error: WorkloadError) -> str:
        return (f"scale = {self.logit_scale:.6g} does not fit operands quantised for this "
                f"design: of integers, {error}")

    def check(self, design: Design) -> None:
        self.plan(design)
        self._bits(design)   # within which all random operands are

    def _operands(self, design: Design) -> Quantised:
        rng, shape = np.random.default_rng(self.seed), self.shape
        wide = (shape.keys, shape.kv_heads * shape.head_dim)
        sizes = ((shape.rows, shape.heads * shape.head_dim), wide, wide)
        drawn, greatest = [], self._most(design)
        for size, most in zip(sizes, greatest):
            values = rng.standard_normal(size, np.float32)
            values *= most / self.DEVIATIONS
            np.clip(np.rint(values, out=values), -most, most, out=values)
            drawn.append(values.astype(np.int16))
        q, k, v = drawn
        return Quantised(q, k, v, self._logit(design), self.DEVIATIONS / greatest[2])

    def _most(self, design: Design) -> list[int]:
        """The greatest integers of q, k and v."""
        return [(1 << bits - 1) - 1 for bits in self._bits(design)]

    def _logit(self, design: Design) -> float:
        q_most, k_most, _v_most = self._most(design)
        return self.logit_scale * self.DEVIATIONS ** 2 / (q_most * k_most)

    def _scores(self, design: Design) -> tuple[float, int]:
        """Without drawing the operands."""
        return self._logit(design), numbers.score_shift(design, self.shape.head_dim,
                                                        *self._most(design)[:2])

    def float_reference(self, design: Design) -> np.ndarray:
        operands = self.operands(design)
        return numbers.float_attention(
            operands.q, operands.k, operands.v * operands.v_scale, **self._seen(),
            scale=operands.scale)

    def seeded(self, seed: int) -> "RandomAttention":
        other = copy.copy(self)
        other.seed, other._latest = check_integer("seed", seed, 0), None
        return other

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "seed": self.seed}


def _greatest(x: np.ndarray) -> int:
    """The greatest magnitude."""
    return max(int(x.max()), -int(x.min()))


def _matrix(name: str, array: Any) -> np.ndarray:
    """An operand: integers, or floats, of which some are not integral."""
    array = as_array(name, array)
    if array.ndim != 2 or 0 in array.shape:
        raise WorkloadError(f"{name} must be a matrix of 1 or more rows and columns, not of shape "
                            f"{array.shape}")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise WorkloadError(f"{name} must hold finite numbers")
        integral = (array == np.rint(array)).all()
        return array.astype(np.int64) if integral and np.abs(array).max() < 2**62 else array
    if array.dtype.kind not in "iu":
        raise WorkloadError(f"{name} must hold integers or floats, not {array.dtype}")
    if array.max() >= 1 << 62:
        raise WorkloadError(f"{name} must be within the operand format, not beyond 62 bits")
    return array.astype(np.int64)

