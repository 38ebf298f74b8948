"""Validation: Utility@k of lists on held-out searches, to choose settings inside the training log."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.evaluation import CUTOFFS, DEEPEST, position_weights
from wayword.retrieval.candidates import Candidates


@dataclass(frozen=True)
class HeldOut:
    """Clicks of held-out searches: the row of the context, the document, and weight/p[logged rank]."""

    context: NDArray[np.int64]
    document: NDArray[np.int64]
    looks: NDArray[np.float64]


class Judge:
    """Knows what every query returns: a sorted list of (query, document) with p[rank]."""

    def __init__(self, exposures: csr_array, held: HeldOut) -> None:
        query = np.repeat(np.arange(exposures.shape[0], dtype=np.int64), np.diff(exposures.indptr))
        keys = query * exposures.shape[1] + exposures.indices
        order = np.argsort(keys, kind="stable")
        self._keys, self._p, self._documents, self._held = (
            keys[order],
            exposures.data[order],
            exposures.shape[1],
            held,
        )

    def utility(self, lists: Candidates, contexts: int) -> float:
        """The mean over `CUTOFFS` of Utility@k, up to the factor that all lists share."""
        shown = np.full((contexts, DEEPEST), -1, np.int64)
        position = lists.position()
        kept = position < DEEPEST
        shown[lists.context[kept], position[kept]] = lists.query[kept]
        query = shown[self._held.context]
        looked = self._exposure(query, self._held.document[:, None]) * self._held.looks[:, None]
        return float(np.mean([(looked[:, :k] @ position_weights(k)).sum() for k in CUTOFFS]))

    def _exposure(self, query: NDArray[np.int64], document: NDArray[np.int64]) -> NDArray[np.float64]:
        """p[rank] of each pair, 0 where the query does not return the document."""
        wanted = query * self._documents + document
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where((query >= 0) & (self._keys[place] == wanted), self._p[place], 0.0)
