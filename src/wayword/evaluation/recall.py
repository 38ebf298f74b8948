"""Recall of candidate sources."""

import numpy as np
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates


def recall(wanted: Candidates, *sources: Candidates) -> float:
    """Share of the wanted (context, query) pairs that any of the sources proposes; NaN without wanted pairs.

    >>> wanted = Candidates(np.array([0, 0]), np.array([7, 4]), np.array([2.0, 1.0]))
    >>> recall(wanted, Candidates(np.array([0]), np.array([4]), np.array([1.0])))
    0.5
    """
    width = 1 + max(int(c.query.max(initial=0)) for c in (wanted, *sources))

    def keys(candidates: Candidates) -> NDArray[np.int64]:
        return candidates.context.astype(np.int64) * width + candidates.query

    proposed = np.concatenate([*map(keys, sources), np.zeros(0, np.int64)])
    return float(np.isin(keys(wanted), proposed).mean()) if len(wanted.query) else float("nan")
