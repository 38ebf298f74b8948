"""Queries as suggestions: their words, pages, variants and lengths, saved as memory-mapped arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.completion.lookalikes import lookalikes
from wayword.completion.query_words import QueryWords, beginnings, forms_in_use
from wayword.completion.variants import Variants
from wayword.store.arrays import load_array, save_array
from wayword.store.compressed_rows import CompressedRows, WeightedRows

PAGES, GROUP, LOOKALIKE, SHOWN_AS = "pages", "group", "lookalike", "shown_as"
HIDDEN = -1


@dataclass(frozen=True)
class SuggestedQueries:
    """Arrays by query number."""

    words: QueryWords
    pages: WeightedRows
    """Queries × documents: p[rank], best rank first."""
    spelling: CompressedRows
    """The code points of each query."""
    group: NDArray[np.int32]
    """Queries of the same group are one suggestion."""
    lookalike: NDArray[np.int32]
    """Queries of the same number look alike: a list shows one of them."""
    shown_as: NDArray[np.int32]
    """The query that is shown instead of each query; `HIDDEN` for one that is not shown."""

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        spelling: CompressedRows,
        pages: WeightedRows,
        searches: NDArray[np.int64],
        variants: Variants,
    ) -> "SuggestedQueries":
        """Compare queries, given their pages and how often each is searched."""
        lookalike = lookalikes(spelling, searches.astype(np.float64), variants.group)
        words = QueryWords.of(texts, forms_in_use, beginnings)
        return cls(words, pages, spelling, variants.group, lookalike, variants.shown_as)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Characters of each query."""
        return self.spelling.lengths

    def arrays(self, searches: NDArray[np.float64], certainty: NDArray[np.float32]) -> tuple[Any, ...]:
        """The argument `queries` of the functions in `query_pairs`."""
        words, pages = self.words.words.arrays, self.pages.arrays
        return words, pages, self.spelling.indexed, self.group, searches, certainty

    def save(self, folder: Path) -> None:
        """Write the arrays, one file each. The spelling is that of the texts, which are stored elsewhere."""
        self.words.save(folder)
        self.pages.save(folder, PAGES)
        save_array(folder / f"{GROUP}.npy", self.group)
        save_array(folder / f"{LOOKALIKE}.npy", self.lookalike)
        save_array(folder / f"{SHOWN_AS}.npy", self.shown_as)

    @classmethod
    def load(cls, folder: Path, spelling: CompressedRows, documents: int) -> "SuggestedQueries":
        """Map the files of `save` into memory."""
        queries = len(spelling)
        shown_as = load_array(folder / f"{SHOWN_AS}.npy", np.int32, shape=(queries,))
        if len(shown_as) and not (shown_as.min() >= HIDDEN and shown_as.max() < queries):
            raise ValueError(f"found numbers from {shown_as.min()} to {shown_as.max()} of {queries} queries")
        return cls(
            QueryWords.load(folder, queries),
            WeightedRows.load(folder, PAGES, below=documents, rows=queries),
            spelling,
            load_array(folder / f"{GROUP}.npy", np.int32, shape=(queries,)),
            load_array(folder / f"{LOOKALIKE}.npy", np.int32, shape=(queries,)),
            shown_as,
        )


def pages_by_rank(exposure: WeightedRows, queries: int) -> WeightedRows:
    """Transpose an exposure (documents × queries) into pages: the documents of each query, best rank first.

    >>> exposure = WeightedRows(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([0.5, 1, 1], np.float32))
    >>> [part.tolist() for part in pages_by_rank(exposure, 2).arrays]
    [[0, 2, 3], [1, 0, 0], [1.0, 0.5, 1.0]]
    """
    order = np.lexsort((-exposure.weights, exposure.values))
    lengths = np.bincount(exposure.values, minlength=queries)
    documents = exposure.owner[order].astype(np.int32)
    return WeightedRows.from_lengths(documents, lengths, exposure.weights[order])
