"""Groups of ranks that the log can compare: ranks are joined where a clicked stratum was shown at both.

The likelihood has a maximum only if clicks lead both ways: if no stratum that was shown at ranks 1 and 2 was clicked at
rank 2, p[2] is 0 as far as the log says. So a rank belongs to a group if it can be reached from it, and it from there,
over steps from a rank at which a stratum was shown to one at which it was clicked.
"""

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from wayword.propensity.strata import Integers, Strata


def rank_groups(strata: Strata) -> list[Integers]:
    """Group the ranks of the strata; the group of the first rank comes first, the others by their clicks."""
    from scipy.sparse.csgraph import connected_components  # late: it imports SciPy's linear algebra

    label = connected_components(steps(strata), directed=True, connection="strong")[1]
    clicks = np.bincount(label, strata.by_rank(strata.clicked))
    clicks[label[0]] = np.inf
    place = np.argsort(np.argsort(-clicks, kind="stable"))[label]
    by_group = strata.ranks[np.argsort(place, kind="stable")]
    return np.split(by_group, np.cumsum(np.bincount(place))[:-1])


def steps(strata: Strata) -> csr_array:
    """How many clicks at rank b (columns) have strata that were also shown at rank a (rows)."""
    shape = (len(strata.cells), len(strata.ranks))
    at = csr_array((np.ones(len(strata.rank)), strata.rank, strata.cells.offsets), shape=shape)
    clicked = csr_array((strata.clicked, strata.rank, strata.cells.offsets), shape=shape)
    found = csr_array(at.T @ clicked)
    found.eliminate_zeros()
    return found


def nearest(first: Integers, second: Integers) -> tuple[int, int]:
    """The two closest ranks of two groups.

    >>> nearest(np.array([1, 2, 3]), np.array([7, 9]))
    (3, 7)
    """
    distance = np.abs(first[:, None] - second)
    i, j = np.unravel_index(int(distance.argmin()), distance.shape)
    return int(first[i]), int(second[j])


def spans(ranks: Integers) -> str:
    """Ranks in words.

    >>> spans(np.array([1, 2, 3, 7]))
    '1–3, 7'
    """
    parts = np.split(ranks, np.flatnonzero(np.diff(ranks) > 1) + 1)
    return ", ".join(f"{part[0]}–{part[-1]}" if len(part) > 1 else f"{part[0]}" for part in parts)


def gaps(ranks: Integers) -> str:
    """The ranks from 1 to the last that are missing, in words.

    >>> gaps(np.array([1, 2, 4, 9]))
    '3, 5–8'
    """
    ends = np.r_[0, ranks]
    missing = [(a + 1, b - 1) for a, b in pairwise(ends.tolist()) if b - a > 1]
    return ", ".join(f"{first}–{last}" if last > first else f"{first}" for first, last in missing)
