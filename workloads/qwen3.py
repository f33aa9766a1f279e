"""Qwen3-8B as a network: a prefill or one decode step, operator by operator."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

import numpy as np

from .attention import RandomAttention
from .checks import check_integer
from .errors import WorkloadError
from .gemm import RandomGemm
from .network import Layer, Network, Omitted
from .residual import RandomResidual
from .rope import RandomRope

__all__ = ["PHASES", "SCOPES", "Model", "Qwen3"]

PHASES = ("decode", "prefill")
SCOPES = ("model", "layer")


@dataclass(frozen=True)
class Model:
    """The sizes of a decoder with grouped-query attention and a gated feed-forward part.

    Attributes
    ----------
    layers, hidden, heads, kv_heads, head_dim, intermediate, vocabulary : int
    rope_base : float
        Of the angles of the rotary embedding.
    tied_embedding : bool
        Whether the output head is the embedding's matrix.
    """
    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    rope_base: float
    tied_embedding: bool

    @classmethod
    def load(cls, name: str) -> "Model":
        """The inventory in this package's file `name`.toml, which states its source."""
        text = resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8")
        return cls(**tomllib.loads(text))

    @property
    def group(self) -> int:
        """Query heads that share a key-value head."""
        return self.heads // self.kv_heads

    def projections(self) -> Iterator[tuple[str, int, int]]:
        """Name, K and N of the products with a layer's weights, in the order in which they run."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        yield "q_proj", self.hidden, queries
        yield "k_proj", self.hidden, keys
        yield "v_proj", self.hidden, keys
        yield "o_proj", queries, self.hidden
        yield "gate_proj", self.hidden, self.intermediate
        yield "up_proj", self.hidden, self.intermediate
        yield "down_proj", self.intermediate, self.hidden


class Qwen3(Network):
    """Qwen3-8B, one network layer for each operator and shape.

    * decode: one step of `batch` requests, each at `context` positions, its own token included.
      A projection has one row for each request.
    * prefill: `batch` prompts of `tokens` tokens. A projection has a row for each token of all
      prompts; the head computes the last position of each prompt only.
    * Attention is one run for each request: products, softmax and hand-off. In a decode step the
      query heads that share a key-value head (4 here) are its rows, so that its keys and values
      are read once for all of them. In a prefill they are heads of their own, causal, and each
      group of rows reads the keys up to its last one. What it executes above the diagonal counts
      as `masked_macs`, not as useful. What is useful is exact: n (n + 1) / 2 keys for a prompt of
      n tokens.
    * The rotary embedding of queries and keys, and both residual additions, run on the vector
      unit, on elements of `activation_bits`.
    * RMS norms and SiLU are not there: the vector unit has no operations for them. Reports list
      them. Nor is the embedding, which is a look-up.

    Parameters
    ----------
    phase : str
        "decode" or "prefill".
    context : int
        decode: positions that a step attends to; 8192 unless given.
    tokens : int
        prefill: length of a prompt; 4096 unless given.
    query_block : int
        prefill: rows of a head that pass the hand-off at a time (`rows_per_group` of
        :class:`Attention`); as many as fit unless given.
    batch : int
        Requests.
    scope : str
        "model": all layers and the head. "layer": one layer.
    seed : int
        Of the random operands.
    model : Model or None
        None: Qwen3-8B.
    """

    def __init__(self, phase: str = "decode", *, context: int | None = None,
                 tokens: int | None = None, query_block: int | None = None, batch: int = 1,
                 scope: str = "model", seed: int = 0, model: Model | None = None):
        for name, value, valid in (("phase", phase, PHASES), ("scope", scope, SCOPES)):
            if value not in valid:
                raise WorkloadError(f"{name} must be one of {', '.join(valid)}, not {value!r}")
        self.model = model = model or Model.load("qwen3_8b")
        self.phase, self.scope, self._seed = phase, scope, seed
        self.batch = check_integer("batch", batch, 1)
        self._sizes = {}
        for name, size, belongs, default in (("context", context, "decode", 8192),
                                             ("tokens", tokens, "prefill", 4096),
                                             ("query_block", query_block, "prefill", None)):
            if size is not None and phase != belongs:
                raise WorkloadError(f"{name} belongs to phase {belongs}, not {phase}")
            if phase == belongs and (size or default) is not None:
                self._sizes[name] = check_integer(name, default if size is None else size, 1)
        self._repeat = model.layers if scope == "model" else 1
        notes = ["RMS norms and SiLU are not simulated: the vector unit has no operations for "
                 "them"]
        if phase == "prefill":
            notes.append("causal attention: MACs and utilization leave out what the mask discards")
        super().__init__("qwen3-8b", self._operators(), {
            "phase": phase, "scope": scope, "batch": batch, **self._sizes, "seed": seed}, notes,
            self._omitted())

    @property
    def _rows(self) -> int:
        """Rows of a projection."""
        return self.batch * self._sizes.get("tokens", 1)

    def _operators(self) -> Iterator[Layer]:
        """Layers in the order in which they run; attention comes before the output projection."""
        model, rows = self.model, self._rows
        residual = RandomResidual(rows, model.hidden, seed=self._seed)
        for name, k, n in model.projections():
            if name == "o_proj":
                yield self._rope()
                yield self._attention()
            yield Layer(name, RandomGemm(rows, k, n, self._seed), self._repeat)
            if name in ("o_proj", "down_proj"):
                yield Layer("residual", residual, self._repeat)
        if self.scope == "model":
            yield Layer("lm_head", RandomGemm(self.batch, model.hidden, model.vocabulary,
                                              self._seed))

    def _rope(self) -> Layer:
        """Queries and keys of all heads, which share the coefficients of their positions."""
        model, heads = self.model, self.model.heads + self.model.kv_heads
        if self.phase == "decode":
            positions = np.full(self.batch, self._sizes["context"] - 1)
            rope = RandomRope(self.batch, heads, model.head_dim, seed=self._seed,
                              positions=positions, base=model.rope_base)
            return Layer("rope", rope, self._repeat)
        rope = RandomRope(self._sizes["tokens"], heads, model.head_dim, seed=self._seed,
                          base=model.rope_base)
        return Layer("rope", rope, self._repeat * self.batch)

    def _attention(self) -> Layer:
        """Attention of one request."""
        model = self.model
        if self.phase == "decode":
            attention = RandomAttention(model.group, self._sizes["context"], model.head_dim,
                                        heads=model.kv_heads, seed=self._seed)
        else:
            tokens = self._sizes["tokens"]
            attention = RandomAttention(
                tokens, tokens, model.head_dim, heads=model.heads, kv_heads=model.kv_heads,
                causal=True, rows_per_group=self._sizes.get("query_block"), seed=self._seed)
        return Layer("attention", attention, self._repeat * self.batch)

    def _omitted(self) -> Iterator[Omitted]:
        """The vector operators that are not there."""
        model, rows, repeat = self.model, self._rows, self._repeat
        final = int(self.scope == "model")
        yield Omitted("rms_norm", 2 * repeat + final, f"{rows}x{model.hidden}")
        yield Omitted("qk_norm", repeat,
                      f"{rows}x{(model.heads + model.kv_heads) * model.head_dim}")
        yield Omitted("silu_mul", repeat, f"{rows}x{model.intermediate}")
