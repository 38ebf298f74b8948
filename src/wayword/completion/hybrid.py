"""The hybrid retriever: what several retrievers propose together, each candidate with the first that proposed it."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from wayword.completion.candidates import Candidates, Retriever


@dataclass(frozen=True)
class HybridRetriever:
    """Members in order of trust. Scores of different members do not compare: a candidate's score is one over its best
    position with any of them."""

    members: tuple[Retriever, ...]

    def retrieve(self, contexts: pa.Table, k: int) -> Candidates:
        """See `Retriever.retrieve`: at most k of each member, so more than k together."""
        return union([member.retrieve(contexts, k) for member in self.members])


def union(proposed: list[Candidates]) -> Candidates:
    """Every query that any of them has for a context, once.

    >>> one = Candidates(np.array([0, 0]), np.array([7, 4]), np.array([9.0, 8.0])).of("graph")
    >>> both = union([one, Candidates(np.array([0]), np.array([4]), np.array([1.0])).of("popular")])
    >>> list(zip(both.query.tolist(), both.score.tolist(), both.sources()))
    [(4, 1.0, 'graph'), (7, 1.0, 'graph')]
    """
    context, query = (
        np.concatenate([getattr(found, name) for found in proposed] or [np.zeros(0, np.int32)]).astype(
            np.int64
        )
        for name in ("context", "query")
    )
    score = np.concatenate([1 / (found.position() + 1) for found in proposed] or [np.zeros(0)])
    source = np.concatenate(
        [f.source if f.source is not None else np.zeros(len(f.query), np.int8) for f in proposed]
        or [np.zeros(0, np.int8)]
    )
    width = 1 + int(query.max(initial=0))
    pairs, first, member = np.unique(context * width + query, return_index=True, return_inverse=True)
    best = np.zeros(len(pairs))
    np.maximum.at(best, member, score)
    return Candidates.sorted(
        (pairs // width).astype(np.int32),
        (pairs % width).astype(np.int32),
        best.astype(np.float32),
        source[first],
    )


def recall(found: Candidates, wanted: Candidates) -> float:
    """The share of the wanted (context, query) that were found; NaN if nothing is wanted.

    >>> ten = Candidates(np.array([0, 0]), np.array([7, 4]), np.array([2.0, 1.0]))
    >>> recall(Candidates(np.array([0]), np.array([4]), np.array([1.0])), ten)
    0.5
    """
    width = 1 + int(max(found.query.max(initial=0), wanted.query.max(initial=0)))
    keys = [c.context.astype(np.int64) * width + c.query for c in (found, wanted)]
    return float(np.isin(keys[1], keys[0]).mean()) if len(keys[1]) else float("nan")
