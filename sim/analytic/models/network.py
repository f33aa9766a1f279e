"""Shape of a transformer: weights, bytes of a step, work."""

from dataclasses import dataclass

from ..parameters import Parameter, integer, real

__all__ = ["NETWORK", "NETWORK_SHAPE", "Network"]

NETWORK = {"network": "networks:qwen3-8b"}


def _integer(name: str, unit: str, description: str, low: int = 1) -> Parameter:
    return integer(name, None, unit, description, low=low, high=1 << 30,
                   source=f"network.{name}")


NETWORK_SHAPE = [
    _integer("layers", "layers", "layers"),
    _integer("hidden", "elements", "width of the residual stream"),
    _integer("intermediate", "elements", "width of the feed-forward layer, or of one expert"),
    _integer("heads", "heads", "query heads"),
    _integer("kv_heads", "heads", "key and value heads"),
    _integer("head_dim", "elements", "dimension of a head"),
    _integer("vocabulary", "tokens", "tokens of the vocabulary"),
    _integer("experts", "experts", "experts of a layer, 0 for a dense network", low=0),
    _integer("experts_per_token", "experts", "experts that a token uses, 0 if dense", low=0),
    real("weight_bits", None, "bit", "bits of a weight of attention and feed-forward",
         high=64, source="network.weight_bits"),
    _integer("weight_group", "elements", "weights that share a scale, 0 for none", low=0),
    real("scale_bytes", None, "byte", "bytes of a scale", high=64, above=False,
         source="network.scale_bytes"),
]


@dataclass(frozen=True)
class Network:
    """A transformer with grouped-query attention and gated feed-forward layers or experts.

    Embedding and head are separate; both, router, norms, keys and values have 16 bits. Source:
    chapter 4.1.3, 4.3.1, 4.3.3.
    """
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    experts: int
    experts_per_token: int
    weight_bits: float
    weight_group: int
    scale_bytes: float

    @property
    def weight_bytes(self) -> float:
        """Bytes of a weight with its share of the scale."""
        scale = self.scale_bytes / self.weight_group if self.weight_group else 0
        return self.weight_bits / 8 + scale

    @property
    def attention_weights(self) -> int:
        """Weights of Q, O, K and V of a layer: 2 h (q d) + 2 h (kv d)."""
        return 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)

    @property
    def expert_weights(self) -> int:
        """Weights of one expert, or of the feed-forward layer: 3 h i."""
        return 3 * self.hidden * self.intermediate

    @property
    def linear_weights(self) -> int:
        """Weights that a token multiplies with in a layer, router not counted."""
        return self.attention_weights + max(1, self.experts_per_token) * self.expert_weights

    @property
    def kv_bytes_per_token(self) -> int:
        """Keys and values of a position, all layers."""
        return 2 * 2 * self.layers * self.kv_heads * self.head_dim

    @property
    def small_bytes(self) -> int:
        """Router and norms: L E h + L (2 h + 2 d) + h, of 2 bytes."""
        return 2 * (self.layers * self.experts * self.hidden
                    + self.layers * (2 * self.hidden + 2 * self.head_dim) + self.hidden)

    @property
    def resident_bytes(self) -> float:
        """All weights."""
        layer = self.attention_weights + max(1, self.experts) * self.expert_weights
        return (self.layers * layer * self.weight_bytes
                + 2 * 2 * self.vocabulary * self.hidden + self.small_bytes)

    def step_weight_bytes(self, experts_used: int, embedding_rows: int) -> float:
        """Weights that a decode step reads, with so many different experts in each layer."""
        layer = self.attention_weights + max(1, experts_used) * self.expert_weights
        return (self.layers * layer * self.weight_bytes + self.small_bytes
                + 2 * self.hidden * (self.vocabulary + embedding_rows))

    def attention_flops(self, context: int) -> int:
        """QK and PV of one token over the context: 4 L S (heads d)."""
        return 4 * self.layers * context * self.heads * self.head_dim

    @property
    def linear_flops(self) -> int:
        return 2 * self.layers * self.linear_weights

    @property
    def head_flops(self) -> int:
        return 2 * self.hidden * self.vocabulary
