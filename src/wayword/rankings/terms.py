"""Search terms of a text: words, or character bigrams in scripts without spaces.

>>> query_terms("Video-Player")
['video', 'player']
>>> query_terms("東京タワー 2")
['東京', '京タ', 'タワ', 'ワー', '2']

Documents are also indexed by single characters of such a script:

>>> document_terms("東京tower")
['東', '京', '東京', 'tower']
>>> query_terms("京")
['京']
"""

from collections.abc import Iterator
from itertools import pairwise

import regex

from wayword.text import normalise

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_RUNS = regex.compile(rf"(?P<unspaced>[{_UNSPACED}][{_UNSPACED}\p{{M}}]*)|[^\s{_UNSPACED}]+")
_GRAPHEME = regex.compile(r"\X")


def query_terms(text: str) -> list[str]:
    """The terms of a query."""
    plain = normalise(text)
    return plain.split(" ") if plain.isascii() and plain else list(_terms(plain, singles=False))


def document_terms(text: str) -> list[str]:
    """The indexed terms of a document: those of `query_terms`, and single characters of scripts without spaces."""
    plain = normalise(text)
    return plain.split(" ") if plain.isascii() and plain else list(_terms(plain, singles=True))


def _terms(plain: str, *, singles: bool) -> Iterator[str]:
    for run in _RUNS.finditer(plain):
        if run["unspaced"] is None:
            yield run[0]
            continue
        characters = _GRAPHEME.findall(run[0])
        if singles or len(characters) == 1:
            yield from characters
        yield from map("".join, pairwise(characters))
