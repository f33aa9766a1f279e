"""Text as the word pieces of uncased BERT models."""

import unicodedata
from collections.abc import Iterator, Sequence

__all__ = ["WordPieces"]

LONGEST_WORD = 100  # characters; a longer one is unknown
UNKNOWN, BEGIN, END = "[UNK]", "[CLS]", "[SEP]"


class WordPieces:
    """Splits text as BERT does: lower case, no accents, punctuation by itself, then greedily
    into the longest pieces of the vocabulary, those within a word after "##".

    Parameters
    ----------
    vocabulary : sequence of str
        The number of a piece is its place.
    """

    def __init__(self, vocabulary: Sequence[str]):
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}

    def encode(self, text: str) -> list[int]:
        """The pieces of a text, between the marks of its begin and end."""
        pieces = [BEGIN, *(piece for word in _words(text) for piece in self._pieces(word)), END]
        return [self._numbers[piece] for piece in pieces]

    def _pieces(self, word: str) -> list[str]:
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                if prefix + word[start:end] in self._numbers:
                    pieces.append(prefix + word[start:end])
                    break
            else:
                return [UNKNOWN]
            start = end
        return pieces if len(word) <= LONGEST_WORD else [UNKNOWN]


def _words(text: str) -> Iterator[str]:
    """Words and punctuation marks."""
    word = ""
    for character in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(character)
        if kind == "Mn" or kind.startswith("C") and not character.isspace():
            continue  # an accent, or nothing visible
        alone = _punctuation(character, kind) or _ideograph(character)
        if word and (alone or character.isspace()):
            yield word
            word = ""
        if alone:
            yield character
        elif not character.isspace():
            word += character
    if word:
        yield word


def _punctuation(character: str, kind: str) -> bool:
    """In ASCII everything that is neither letter, digit nor space."""
    return kind.startswith("P") or (character.isascii() and character.isprintable()
                                    and not character.isalnum() and not character.isspace())


def _ideograph(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in (
        (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2CEAF), (0xF900, 0xFAFF),
        (0x2F800, 0x2FA1F)))
