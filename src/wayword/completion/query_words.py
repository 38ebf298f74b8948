"""Words of queries, weighted by rarity, to compare two queries. Inflected forms of a word count as the same word."""

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


def forms_in_use(words: Sequence[str], contents: CompressedRows) -> NDArray[np.int32]:
    """Number words so that inflected forms that are used alike have the same number; see `word_forms`."""
    counts = np.bincount(contents.values, minlength=len(words))
    return word_forms(words, counts, word_contexts(contents, len(words)))


@dataclass(frozen=True)
class QueryWords:
    """Row q of `words` has the numbers of the words of query q, ascending, with their weights; the weights of a query
    sum to 1."""

    words: WeightedRows
    vocabulary: int

    @classmethod
    def of(cls, texts: Sequence[str], forms: FormOf | None = None) -> "QueryWords":
        """Split normalised texts; `forms` numbers the distinct words, sorted, so that forms of a word share a number.

        >>> rows = QueryWords.of(["tv stand", "tv"]).words
        >>> rows.values.tolist(), rows.weights.sum().item()
        ([0, 1, 1], 2.0)
        """
        split = [sorted(set(query_terms(text))) for text in texts]
        vocabulary = sorted({word for one in split for word in one})
        number = {word: place for place, word in enumerate(vocabulary)}
        flat = np.fromiter((number[word] for one in split for word in one), np.int64)
        lengths = np.fromiter(map(len, split), np.int64, len(split))
        contents = CompressedRows.from_lengths(flat, lengths)
        form = np.arange(len(vocabulary)) if forms is None else forms(vocabulary, contents)
        rows = CompressedRows.from_lengths(form[flat].astype(np.int32), lengths).distinct()
        texts_with = np.bincount(rows.values, minlength=len(vocabulary))
        rarity = np.log((len(split) + 1) / np.maximum(texts_with, 1))
        weight = np.maximum(rarity[rows.values], 1e-3)
        total = np.bincount(rows.owner, weights=weight, minlength=len(split))
        share = (weight / total[rows.owner]).astype(np.float32)
        return cls(WeightedRows(rows.offsets, rows.values, share), len(vocabulary))

    def save(self, folder: Path) -> None:
        """Write the arrays."""
        self.words.save(folder, "word_forms")

    @classmethod
    def load(cls, folder: Path, queries: int) -> "QueryWords":
        """Map the arrays of `save` into memory."""
        words = WeightedRows.load(folder, "word_forms", rows=queries, below=2**31 - 1)
        return cls(words, int(words.values.max(initial=-1)) + 1)
