"""Qwen3-8B as a network: the matrix products of a prefill or of one decode step."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from .checks import check_integer
from .errors import WorkloadError
from .gemm import RandomGemm
from .network import Layer, Network

__all__ = ["PHASES", "SCOPES", "Model", "Qwen3"]

PHASES = ("decode", "prefill")
SCOPES = ("model", "layer")


@dataclass(frozen=True)
class Model:
    """The sizes of a decoder with grouped-query attention and a gated feed-forward part.

    Attributes
    ----------
    layers, hidden, heads, kv_heads, head_dim, intermediate, vocabulary : int
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
    """The matrix products of Qwen3-8B, one network layer for each operator and shape.

    * decode: one step of `batch` requests, each at `context` positions, its own token included.
      A projection has one row for each request.
    * prefill: `batch` prompts of `tokens` tokens. A projection has a row for each token of all
      prompts; the head computes the last position of each prompt only.
    * Attention is one product for each request and key-value head: the rows are those of the
      query heads that share it (4 here), so that its keys (QK) and values (PV) are the weights
      and are read once for all of them.
    * Prefill attention is causal and runs in blocks of `query_block` tokens, each against the
      keys up to its own last token. Above the diagonal within a block, products are executed
      whose results the mask discards: they count as `masked_macs`, not as useful. What is useful
      is exact: n (n + 1) / 2 keys for a prompt of n tokens.
    * Norms, rotary embedding, softmax, activation and residuals are vector work and not part of
      it; nor is the embedding, which is a look-up.

    Parameters
    ----------
    phase : str
        "decode" or "prefill".
    context : int
        decode: positions that a step attends to; 8192 unless given.
    tokens : int
        prefill: length of a prompt; 4096 unless given.
    query_block : int
        prefill: tokens of a block of attention; 128 unless given.
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
                                             ("query_block", query_block, "prefill", 128)):
            if phase == belongs:
                self._sizes[name] = check_integer(name, default if size is None else size, 1)
            elif size is not None:
                raise WorkloadError(f"{name} belongs to phase {belongs}, not {phase}")
        self._repeat = model.layers if scope == "model" else 1
        notes = ["matrix products only: softmax and the other vector operators join with attention"]
        if phase == "prefill":
            notes.append(f"causal attention in blocks of {self._sizes['query_block']} tokens; "
                         f"MACs and utilization leave out what the mask discards")
        super().__init__("qwen3-8b", self._operators(), {
            "phase": phase, "scope": scope, "batch": batch, **self._sizes, "seed": seed}, notes)

    def _operators(self) -> Iterator[Layer]:
        """Layers in the order in which they run; attention comes before the output projection."""
        model = self.model
        rows = self.batch * self._sizes.get("tokens", 1)
        for name, k, n in model.projections():
            if name == "o_proj":
                yield from self._attention()
            yield Layer(name, RandomGemm(rows, k, n, self._seed), self._repeat)
        if self.scope == "model":
            yield Layer("lm_head", RandomGemm(self.batch, model.hidden, model.vocabulary,
                                              self._seed))

    def _attention(self) -> Iterator[Layer]:
        """QK of all blocks, then PV: each product is that of one request and key-value head."""
        model = self.model
        count = self._repeat * self.batch * model.kv_heads
        for name in ("qk", "pv"):
            for start, size in self._blocks():
                rows, keys = model.group * size, start + size
                k, n = (model.head_dim, keys) if name == "qk" else (keys, model.head_dim)
                masked = model.group * model.head_dim * (size * (size - 1) // 2)
                # Probabilities are unsigned.
                product = RandomGemm(rows, k, n, self._seed, unsigned=name == "pv")
                label = name if self.phase == "decode" else f"{name}[{start}:{keys}]"
                yield Layer(label, product, count, masked, group=name)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """First token and tokens of each block of queries, which sees the keys up to its end."""
        if self.phase == "decode":
            yield self._sizes["context"] - 1, 1
            return
        tokens, block = self._sizes["tokens"], self._sizes["query_block"]
        for start in range(0, tokens, block):
            yield start, min(block, tokens - start)
