"""Surroundings: which queries and which documents are alike, whatever was clicked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.demand.pairs import Pairs
from wayword.demand.wording import Wording
from wayword.numba_jit import compiled

NEIGHBOURS = 20
PAGE = 20
"""Pages are compared by so many first results."""
HEAD = 3
"""Queries that share one of so many first results are a group."""
LONGEST_BEGINNING = 8
"""So many first words, at most, make a group of the queries that begin with them."""
LARGEST_GROUP = 20_000
"""What more have in common says little of any, and would take too long to go through."""


@dataclass(frozen=True)
class Near:
    """The nearest others of each query (or document), -1 where there are fewer, with their similarity."""

    other: NDArray[np.int32]
    similarity: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: csr_array) -> "Near":
        """The nearest rows by cosine."""
        unit = _unit(vectors)
        return cls(*_nearest(arrays(unit), arrays(csr_array(unit.T)), NEIGHBOURS))


@dataclass(frozen=True)
class Surroundings:
    """What does not depend on the clicks."""

    groups: dict[str, csr_array]
    """For each kind, groups × queries."""
    pages: csr_array
    """Queries × documents: what each query shows first, of length 1."""
    texts: csr_array
    """Queries × words, of length 1."""
    near_pages: Near
    near_words: Near
    alike: Near
    """Documents that the same queries return."""
    words: NDArray[np.int64]
    """How many words each query has."""
    wording: Wording

    @classmethod
    def of(
        cls, texts: Sequence[str], names: Sequence[str], titles: Sequence[str], pairs: Pairs
    ) -> "Surroundings":
        """Names and titles are those of documents, a title that is not known is empty.

        Words that queries share are what stands between spaces; a script without spaces is known by its pages.
        """
        words = [text.split() for text in texts]
        first, of_words = _first_results(pairs, PAGE), _grouped(words)
        pages, weighted = _unit(first), _unit(_weighted(of_words))
        return cls(
            {
                "words": of_words,
                "phrases": _grouped([pairwise(w) for w in words]),
                "beginnings": _grouped([[" ".join(w[:n]) for n in _beginnings(w)] for w in words]),
                "endings": _grouped([[" ".join(w[-n:]) for n in range(1, 4)] for w in words]),
                "pages": csr_array(_first_results(pairs, HEAD).T),
            },
            pages,
            weighted,
            Near.of(pages),
            Near.of(weighted),
            Near.of(csr_array(first.T)),
            np.fromiter(map(len, words), np.int64, len(words)),
            Wording.of(texts, names, titles, pairs),
        )


def _beginnings(words: Sequence[str]) -> range:
    return range(1, min(len(words), LONGEST_BEGINNING) + 1)


def _first_results(pairs: Pairs, most: int) -> csr_array:
    """queries × documents with p, the `most` first documents of each query only."""
    shown = pairs.shown
    order = np.lexsort((pairs.document, -shown, pairs.query))
    place = np.arange(len(pairs)) - pairs.starts[pairs.query[order]]
    kept = order[(place < most) & (shown[order] > 0)]
    return csr_array(
        (shown[kept], (pairs.query[kept], pairs.document[kept])), shape=(pairs.queries, pairs.documents)
    )


def _grouped(tokens: Sequence[Iterable[object]]) -> csr_array:
    """groups × queries: which queries have each token."""
    number: dict[object, int] = {}
    found = [sorted({number.setdefault(token, len(number)) for token in of_query}) for of_query in tokens]
    lengths = np.fromiter(map(len, found), np.int64, len(found))
    flat = np.fromiter((n for of_query in found for n in of_query), np.int32, int(lengths.sum()))
    query = np.repeat(np.arange(len(found), dtype=np.int32), lengths)
    return csr_array((np.ones(len(flat)), (flat, query)), shape=(len(number), len(found)))


def _weighted(groups: csr_array) -> csr_array:
    """queries × words, rare words heavy; words of more than 2 % of the queries say nothing of nearness."""
    size = np.diff(groups.indptr)
    queries = groups.shape[1]
    weight = np.where(size <= max(2.0, 0.02 * queries), np.log(queries / np.maximum(size, 1)) + 1.0, 0.0)
    scaled = csr_array(groups, copy=True)
    scaled.data = np.repeat(weight, size)
    scaled.eliminate_zeros()
    return csr_array(scaled.T)


def _unit(vectors: csr_array) -> csr_array:
    """Rows of length 1."""
    length = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    data = vectors.data / np.repeat(np.maximum(length, 1e-12), np.diff(vectors.indptr))
    return csr_array((data, vectors.indices, vectors.indptr), shape=vectors.shape)


def arrays(matrix: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """As compiled code takes it: where rows start, columns, values."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)


@compiled
def _nearest(rows: Any, columns: Any, most: Any) -> Any:
    """The `most` other rows of largest inner product with each row, best first, ties by number."""
    starts, column, value = rows
    across_starts, across_row, across_value = columns
    size = len(starts) - 1
    other, similarity = np.full((size, most), -1, np.int32), np.zeros((size, most), np.float32)
    total, touched = np.zeros(size), np.empty(size, np.int32)
    for row in range(size):
        found = 0
        for i in range(starts[row], starts[row + 1]):
            if across_starts[column[i] + 1] - across_starts[column[i]] > LARGEST_GROUP:
                continue
            for j in range(across_starts[column[i]], across_starts[column[i] + 1]):
                to = across_row[j]
                if total[to] == 0.0:
                    touched[found] = to
                    found += 1
                total[to] += value[i] * across_value[j]
        kept = 0
        for f in range(found):
            to, near = touched[f], np.float32(total[touched[f]])
            total[to] = 0.0
            worst = similarity[row, most - 1]
            if to == row or (
                kept == most and (near < worst or (near == worst and to > other[row, most - 1]))
            ):
                continue
            kept = min(kept + 1, most)
            place = kept - 1
            while place > 0 and (
                similarity[row, place - 1] < near
                or (similarity[row, place - 1] == near and other[row, place - 1] > to)
            ):
                similarity[row, place], other[row, place] = similarity[row, place - 1], other[row, place - 1]
                place -= 1
            similarity[row, place], other[row, place] = near, to
    return other, similarity
