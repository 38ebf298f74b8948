"""Similarity: which queries and which documents resemble each other by text and by results, independent of clicks."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.demand.observations import Observations
from wayword.demand.text_match import TextMatch
from wayword.numba_jit import compiled, subroutine

CsrArrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
"""A sparse matrix as compiled code takes it: row starts, columns, values."""

NEIGHBOURS = 20
PAGE_SIZE = 20
"""Number of first results by which result pages are compared."""
TOP_RESULTS = 3
"""Queries that share one of this many first results form a group."""
LONGEST_PREFIX = 8
"""Number of first words, at most, that form a group of the queries that start with them."""
SPANS = 8
"""Parts of the rows for each thread."""
MOST_COMPARED = 20_000
"""About this many other rows are compared with a row: those that share its rarest columns."""
LARGEST_GROUP = 20_000
"""Larger groups are ignored: they carry little information and take long to process."""


@dataclass(frozen=True)
class Neighbours:
    """The most similar other rows of each row, best first, -1 where there are fewer, with their cosine."""

    other: NDArray[np.int32]
    similarity: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: csr_array, *, threads: int = 1) -> "Neighbours":
        """Find the nearest rows by cosine."""
        unit = _unit(vectors)
        rows, columns, size = csr_arrays(unit), csr_arrays(csr_array(unit.T)), unit.shape[0]
        found = cls(np.full((size, NEIGHBOURS), -1, np.int32), np.zeros((size, NEIGHBOURS), np.float32))
        bounds = np.linspace(0, size, threads * SPANS + 1).astype(int).tolist() if threads > 1 else [0, size]

        def fill(span: tuple[int, int]) -> None:
            _nearest(span, rows, columns, found.other, found.similarity)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, pairwise(bounds)))
        return found


@dataclass(frozen=True)
class Similarity:
    """Groups and neighbours of queries and documents."""

    groups: dict[str, csr_array]
    """For each kind of group, a matrix groups × queries."""
    page_vectors: csr_array
    """Queries × documents: p[rank] of the first results, rows of length 1."""
    word_vectors: csr_array
    """Queries × words, weighted by rarity, rows of length 1."""
    page_neighbours: Neighbours
    word_neighbours: Neighbours
    similar_documents: Neighbours
    """Documents that the same queries return."""
    word_count: NDArray[np.int64]
    """Number of words of each query."""
    text_match: TextMatch

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        names: Sequence[str],
        titles: Sequence[str],
        observations: Observations,
        *,
        threads: int = 1,
    ) -> "Similarity":
        """`names` and `titles` are those of the documents; an unknown title is empty.

        Words are what stands between spaces. Queries in a script without spaces are compared by their pages only.
        """
        words = [text.split() for text in texts]
        (first, top), by_word = _first_results(observations, PAGE_SIZE, TOP_RESULTS), _grouped(words)
        page_vectors, word_vectors = _unit(first), _unit(_weighted(by_word))
        return cls(
            {
                "word": by_word,
                "phrase": _grouped([pairwise(w) for w in words]),
                "prefix": _grouped([[" ".join(w[:n]) for n in _prefix_lengths(w)] for w in words]),
                "suffix": _grouped([[" ".join(w[-n:]) for n in range(1, 4)] for w in words]),
                "result": csr_array(top.T),
            },
            page_vectors,
            word_vectors,
            Neighbours.of(page_vectors, threads=threads),
            Neighbours.of(word_vectors, threads=threads),
            Neighbours.of(csr_array(first.T), threads=threads),
            np.fromiter(map(len, words), np.int64, len(words)),
            TextMatch.of(texts, names, titles, observations),
        )


def _prefix_lengths(words: Sequence[str]) -> range:
    return range(1, min(len(words), LONGEST_PREFIX) + 1)


def _first_results(observations: Observations, *depths: int) -> list[csr_array]:
    """For each depth, queries × documents with p[rank] of the first documents of each query."""
    p = observations.current_propensity
    order = np.lexsort((observations.document, -p, observations.query))
    place = (
        np.arange(len(observations)) - observations.starts[observations.query]
    )  # sorted by query as before
    place[p[order] <= 0] = np.iinfo(np.int64).max
    shape = (observations.queries, observations.documents)
    kept = [order[place < depth] for depth in depths]
    return [
        csr_array((p[rows], (observations.query[rows], observations.document[rows])), shape=shape)
        for rows in kept
    ]


def _grouped(tokens: Sequence[Iterable[object]]) -> csr_array:
    """groups × queries: which queries have each token."""
    number: dict[object, int] = {}
    rows = [sorted({number.setdefault(token, len(number)) for token in of_query}) for of_query in tokens]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    flat = np.fromiter((n for of_query in rows for n in of_query), np.int32, int(lengths.sum()))
    query = np.repeat(np.arange(len(rows), dtype=np.int32), lengths)
    return csr_array((np.ones(len(flat)), (flat, query)), shape=(len(number), len(rows)))


def _weighted(groups: csr_array) -> csr_array:
    """queries × words with inverse document frequencies; words of more than 2 % of the queries are left out."""
    size = np.diff(groups.indptr)
    queries = groups.shape[1]
    weight = np.where(size <= max(2.0, 0.02 * queries), np.log(queries / np.maximum(size, 1)) + 1.0, 0.0)
    scaled = csr_array(groups, copy=True)
    scaled.data = np.repeat(weight, size)
    scaled.eliminate_zeros()
    return csr_array(scaled.T)


def _unit(vectors: csr_array) -> csr_array:
    """Scale the rows to length 1."""
    length = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    data = vectors.data / np.repeat(np.maximum(length, 1e-12), np.diff(vectors.indptr))
    return csr_array((data, vectors.indices, vectors.indptr), shape=vectors.shape)


def csr_arrays(matrix: csr_array) -> CsrArrays:
    """The three arrays of a matrix, in the types that compiled code expects."""
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    return (
        indptr.astype(np.int64),
        indices.astype(np.int32, copy=False),
        data.astype(np.float64, copy=False),
    )


@subroutine
def _largest_used(columns: NDArray[np.int32], starts: NDArray[np.int64]) -> int:
    """The size of the largest columns that are used for a row: at most `LARGEST_GROUP`; and smaller ones come first,
    until they have more than `MOST_COMPARED` entries together."""
    largest, total = np.int64(0), np.int64(0)
    while total <= MOST_COMPARED:
        following, together = np.int64(LARGEST_GROUP + 1), np.int64(0)
        for column in columns:  # the next larger size, and how many entries the columns of this size have
            size = starts[column + 1] - starts[column]
            if largest < size < following:
                following, together = size, size
            elif size == following:
                together += size
        if following > LARGEST_GROUP:
            return LARGEST_GROUP
        if largest > 0 and total + together > MOST_COMPARED:
            break
        largest, total = following, total + together
    return int(largest)


@compiled
def _nearest(
    span: tuple[int, int],
    rows: CsrArrays,
    columns: CsrArrays,
    other: NDArray[np.int32],
    similarity: NDArray[np.float32],
) -> None:
    """Fill in the other rows of largest inner product with each row of a span, best first, ties by number."""
    starts, column, value = rows
    column_starts, column_row, column_value = columns
    size, count = other.shape
    total, touched = np.zeros(size), np.empty(size, np.int32)
    for row in range(span[0], span[1]):
        found = 0
        largest = _largest_used(column[starts[row] : starts[row + 1]], column_starts)
        for i in range(starts[row], starts[row + 1]):
            if column_starts[column[i] + 1] - column_starts[column[i]] > largest:
                continue
            for j in range(column_starts[column[i]], column_starts[column[i] + 1]):
                to = column_row[j]
                if total[to] == 0.0:
                    touched[found] = to
                    found += 1
                total[to] += value[i] * column_value[j]
        kept = 0
        for f in range(found):
            to, near = touched[f], np.float32(total[touched[f]])
            total[to] = 0.0
            worst = similarity[row, count - 1]
            if to == row or (
                kept == count and (near < worst or (near == worst and to > other[row, count - 1]))
            ):
                continue
            kept = min(kept + 1, count)
            place = kept - 1
            while place > 0 and (
                similarity[row, place - 1] < near
                or (similarity[row, place - 1] == near and other[row, place - 1] > to)
            ):
                similarity[row, place], other[row, place] = similarity[row, place - 1], other[row, place - 1]
                place -= 1
            similarity[row, place], other[row, place] = near, to
