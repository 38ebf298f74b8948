"""Validation: Utility@k of lists on held-out searches, to choose settings inside the training log."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.candidates import Candidates
from wayword.utility import CUTOFFS, DEEPEST, Floats, utility_at


@dataclass(frozen=True)
class HeldOut:
    """Clicks of held-out searches: the row of the context, the document, and weight/p[logged rank]."""

    context: NDArray[np.int64]
    document: NDArray[np.int64]
    ips_weight: Floats


def significantly_larger(one: Floats, other: Floats) -> bool:
    """Return whether the mean of the first is larger by more than two standard errors of the paired difference.

    >>> significantly_larger(np.array([2.0, 3.0, 2.0]), np.array([1.0, 1.9, 1.1]))
    True
    """
    gain = one - other
    return len(gain) > 1 and float(gain.mean()) > 2 * float(gain.std(ddof=1)) / len(gain) ** 0.5


class Validator:
    """Computes the utility of lists for held-out clicks."""

    def __init__(self, exposures: csr_array, held_out: HeldOut) -> None:
        query = np.repeat(np.arange(exposures.shape[0], dtype=np.int64), np.diff(exposures.indptr))
        keys = query * exposures.shape[1] + exposures.indices
        order = np.argsort(keys, kind="stable")
        self._keys, self._p = keys[order], exposures.data[order]
        self._documents, self._held_out = exposures.shape[1], held_out

    def utilities(self, lists: Candidates, contexts: int) -> Floats:
        """Return, for each held-out click, the mean over `CUTOFFS` of its term of Utility@k, up to a common factor."""
        shown = np.full((contexts, DEEPEST), -1, np.int64)
        position = lists.position()
        kept = position < DEEPEST
        shown[lists.context[kept], position[kept]] = lists.query[kept]
        exposure = self._exposure(shown[self._held_out.context], self._held_out.document[:, None])
        utility = exposure * self._held_out.ips_weight[:, None]
        return np.mean([utility_at(utility, k) for k in CUTOFFS], axis=0)

    def _exposure(self, query: NDArray[np.int64], document: NDArray[np.int64]) -> Floats:
        """Return p[rank] of each pair, 0 where the query does not return the document."""
        keys = query * self._documents + document
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where((query >= 0) & (self._keys[place] == keys), self._p[place], 0.0)
