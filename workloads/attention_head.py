"""One attention head of a real model on a real sentence."""

from typing import Any

from .attention import Attention
from .checks import check_integer
from .errors import WorkloadError
from .minilm import MiniLM

__all__ = ["SENTENCE", "AttentionHead"]

SENTENCE = "The bank of the river was muddy, so we walked to the bank in town."


class AttentionHead(Attention):
    """A head of all-MiniLM-L6-v2 on a sentence: q, k and v are computed in floating point from
    the model's weights, then quantised per tensor for the design.

    Parameters
    ----------
    text : str
        The sentence.
    layer, head : int
        From 0.
    Others : see :class:`Attention`.

    Raises
    ------
    WorkloadError
        A layer or head that the model does not have, a text that is too long, or no weights:
        the message says how to get them.
    """

    name = "attention-head"

    def __init__(self, text: str = SENTENCE, layer: int = 0, head: int = 0, **choices: Any):
        model = MiniLM()
        if not isinstance(text, str):
            raise WorkloadError(f"text must be a text, not {text!r}")
        self.text = text
        self.layer = check_integer("layer", layer, 0, model.layers - 1)
        self.head = check_integer("head", head, 0, model.heads - 1)
        self.tokens = model.encode(text)
        super().__init__(*model.head(self.tokens, self.layer, self.head), **choices)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "model": "all-MiniLM-L6-v2", "layer": self.layer,
                "head": self.head, "text": self.text}
