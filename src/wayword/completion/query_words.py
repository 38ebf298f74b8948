"""Words of queries, weighted by rarity, to compare two queries.

Half of a word's weight is that of its form: inflected and misspelt forms that are used alike are one. The other half is
that of its beginning, so that "networking" has something in common with "network". Truncation to the first letters is
the simplest stemmer that works in many languages (McNamee, Nicholas and Mayfield, "Addressing morphological variation
in alphabetic languages", SIGIR 2009).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword.completion.word_forms import word_contexts, word_forms
from wayword.rankings.terms import query_terms
from wayword.store.compressed_rows import CompressedRows, WeightedRows

FormOf = Callable[[Sequence[str], CompressedRows], NDArray[np.int32]]
"""Numbers distinct words, given the words of each text, so that forms of one word have the same number."""
BEGINNING = 5
"""Letters of a word's beginning."""


def forms_in_use(words: Sequence[str], contents: CompressedRows) -> NDArray[np.int32]:
    """Number words so that inflected forms that are used alike have the same number; see `word_forms`."""
    counts = np.bincount(contents.values, minlength=len(words))
    return word_forms(words, counts, word_contexts(contents, len(words)))


def beginnings(words: Sequence[str], contents: CompressedRows) -> NDArray[np.int32]:  # noqa: ARG001
    """Number words by their first letters.

    >>> beginnings(["net", "network", "networks"], CompressedRows.from_lengths(np.arange(3), np.ones(3, int))).tolist()
    [0, 1, 1]
    """
    number = {start: n for n, start in enumerate(dict.fromkeys(word[:BEGINNING] for word in words))}
    return np.fromiter((number[word[:BEGINNING]] for word in words), np.int32, len(words))


def whole(words: Sequence[str], contents: CompressedRows) -> NDArray[np.int32]:  # noqa: ARG001
    """Number each word as it is."""
    return np.arange(len(words), dtype=np.int32)


@dataclass(frozen=True)
class QueryWords:
    """Row q of `words` has the numbers of the words of query q, ascending, with their weights; the weights of a query
    sum to 1."""

    words: WeightedRows
    vocabulary: int

    @classmethod
    def of(cls, texts: Sequence[str], *forms: FormOf) -> "QueryWords":
        """Split normalised texts. Each of `forms` numbers the distinct words, which are sorted, in its way, and has an
        equal part of a word's weight; without any, words are taken as they are.

        >>> rows = QueryWords.of(["tv stand", "tv"]).words
        >>> rows.values.tolist(), rows.weights.sum().item()
        ([0, 1, 1], 2.0)
        """
        split = [sorted(set(query_terms(text))) for text in texts]
        vocabulary = sorted({word for one in split for word in one})
        number = {word: place for place, word in enumerate(vocabulary)}
        flat = np.fromiter((number[word] for one in split for word in one), np.int64)
        contents = CompressedRows.from_lengths(flat, np.fromiter(map(len, split), np.int64, len(split)))
        ways = [form(vocabulary, contents) for form in forms or (whole,)]
        firsts = np.cumsum([0, *(int(way.max(initial=-1)) + 1 for way in ways)])
        parts = [_weighted(contents, way) for way in ways]
        owner = np.concatenate([part.owner for part in parts])
        values = np.concatenate([part.values + first for part, first in zip(parts, firsts, strict=False)])
        weights = np.concatenate([part.weights for part in parts]) / len(parts)
        order = np.lexsort((values, owner))
        rows = WeightedRows.from_lengths(
            values[order].astype(np.int32),
            np.bincount(owner, minlength=len(texts)),
            weights[order].astype(np.float32),
        )
        return cls(rows, int(firsts[-1]))

    def save(self, folder: Path) -> None:
        """Write the arrays."""
        self.words.save(folder, "word_forms")

    @classmethod
    def load(cls, folder: Path, queries: int) -> "QueryWords":
        """Map the arrays of `save` into memory."""
        words = WeightedRows.load(folder, "word_forms", rows=queries, below=2**31 - 1)
        return cls(words, int(words.values.max(initial=-1)) + 1)


def _weighted(contents: CompressedRows, form: NDArray[np.int32]) -> WeightedRows:
    """Number the words of each text, and weight them by rarity; the weights of a text sum to 1."""
    rows = CompressedRows.from_lengths(form[contents.values], contents.lengths).distinct()
    texts_with = np.bincount(rows.values, minlength=len(form))
    rarity = np.log((len(contents) + 1) / np.maximum(texts_with, 1))
    weight = np.maximum(rarity[rows.values], 1e-3)
    total = np.bincount(rows.owner, weights=weight, minlength=len(contents))
    return WeightedRows(rows.offsets, rows.values, (weight / total[rows.owner]).astype(np.float32))
