"""Candidates: queries proposed for contexts, as parallel arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

SOURCES = ("unknown", "popular", "pecos", "graph", "typo", "words", "similar")
"""Sources of candidates: a retriever, or the strategy of `prefix_matcher` for a text that no query starts with ("graph"
stands for exact matches). A `source` is an index into this tuple."""


@dataclass(frozen=True)
class Candidates:
    """`query[i]` is a candidate for row `context[i]` of a table of contexts, with `score[i]` and possibly `source[i]`.

    Rows are sorted by context. Within a context, the best comes first: by descending score, then by query number; a
    list that was chosen as a whole (`list_policy`) has an order of its own.
    """

    context: NDArray[np.int32]
    query: NDArray[np.int32]
    score: NDArray[np.float32]
    source: NDArray[np.int8] | None = None

    @classmethod
    def sorted(
        cls,
        context: NDArray[np.int32],
        query: NDArray[np.int32],
        score: NDArray[np.float32],
        source: NDArray[np.int8] | None = None,
        *,
        popularity: NDArray[np.float64] | None = None,
    ) -> "Candidates":
        """Sort arbitrary rows into the order stated above; given the `popularity` of all queries, ties go to the more
        searched one, then to the lower number.

        >>> both, searched = np.array([1, 0], np.int32), np.array([3.0, 9.0])
        >>> tied = Candidates.sorted(np.zeros(2, np.int32), both, np.ones(2, np.float32), popularity=searched)
        >>> tied.query.tolist()
        [1, 0]
        """
        searched = np.zeros(len(query)) if popularity is None else popularity[query]
        return cls(context, query, score, source).take(np.lexsort((query, -searched, -score, context)))

    @classmethod
    def empty(cls) -> "Candidates":
        """Return no candidates."""
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))

    @classmethod
    def concatenate(cls, parts: Sequence["Candidates"]) -> "Candidates":
        """Return the rows of all parts, one after the other. There are sources if all parts have them."""
        if not parts:
            return cls.empty()
        sources = [part.source for part in parts if part.source is not None]
        return cls(
            np.concatenate([part.context for part in parts]),
            np.concatenate([part.query for part in parts]),
            np.concatenate([part.score for part in parts]),
            np.concatenate(sources) if len(sources) == len(parts) else None,
        )

    def take(self, rows: NDArray[np.int64]) -> "Candidates":
        """Return these rows, in this order."""
        source = None if self.source is None else self.source[rows]
        return Candidates(self.context[rows], self.query[rows], self.score[rows], source)

    def top(self, k: int) -> "Candidates":
        """Return the first k candidates of every context."""
        return self.take(np.flatnonzero(self.position() < k))

    def of(self, source: str) -> "Candidates":
        """Return the same candidates with this source."""
        return Candidates(
            self.context, self.query, self.score, np.full(len(self.query), SOURCES.index(source), np.int8)
        )

    def sources(self) -> Sequence[str]:
        """Return the name of each row's source."""
        return (
            [SOURCES[0]] * len(self.query)
            if self.source is None
            else [SOURCES[s] for s in self.source.tolist()]
        )

    def position(self) -> NDArray[np.int64]:
        """Return the 0-based position of each row within its context."""
        n = len(self.context)
        starts = (
            np.flatnonzero(np.r_[True, self.context[1:] != self.context[:-1]]) if n else np.zeros(0, np.int64)
        )
        return np.arange(n) - np.repeat(starts, np.diff(np.r_[starts, n]))


class Retriever(Protocol):
    """Context → candidates. Implementations: `popular`, `expected_utility`, and `pecos_retriever` of the paper."""

    def retrieve(self, contexts: "pa.Table", k: int) -> Candidates:
        """Return at most k candidates for each row of `contexts` (columns: `prefix`, normalised, and extra ones)."""
        ...
