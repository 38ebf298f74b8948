"""Candidates: queries proposed for contexts, as three parallel arrays."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True)
class Candidates:
    """`query[i]` is proposed for row `context[i]` of a table of contexts with `score[i]`.

    Rows of one context stand together, contexts in order, best score first, ties by query number.
    """

    context: NDArray[np.int32]
    query: NDArray[np.int32]
    score: NDArray[np.float32]

    @classmethod
    def sorted(
        cls, context: NDArray[np.int32], query: NDArray[np.int32], score: NDArray[np.float32]
    ) -> "Candidates":
        """Bring arbitrary rows into the order stated above."""
        order = np.lexsort((query, -score, context))
        return cls(context[order], query[order], score[order])

    def top(self, k: int) -> "Candidates":
        """The first k of every context."""
        keep = self.position() < k
        return Candidates(self.context[keep], self.query[keep], self.score[keep])

    def position(self) -> NDArray[np.int64]:
        """0-based place of each row within its context."""
        n = len(self.context)
        starts = (
            np.flatnonzero(np.r_[True, self.context[1:] != self.context[:-1]]) if n else np.zeros(0, np.int64)
        )
        return np.arange(n) - np.repeat(starts, np.diff(np.r_[starts, n]))


class Retriever(Protocol):
    """Context → candidates. Members: `retrieval.popular`, `retrieval.pecos`."""

    def retrieve(self, contexts: pa.Table, k: int) -> Candidates:
        """At most k candidates for each row of `contexts` (columns: `prefix`, normalised, and extra ones)."""
        ...
