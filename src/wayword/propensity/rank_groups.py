"""Groups of ranks that the log can compare: ranks are joined where a clicked stratum was shown at both.

The likelihood has a maximum only if clicks lead both ways: if no stratum that was shown at ranks 1 and 2 was clicked at
rank 2, p[2] is 0 as far as the log says. So a rank belongs to a group if it can be reached from it, and it from there,
over steps from a rank at which a stratum was shown to one at which it was clicked.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from wayword.propensity.strata import Floats, Integers, Strata


@dataclass(frozen=True)
class RankGroups:
    """The ranks of each group, the largest share of clicks first, and the clicks of each rank."""

    groups: list[Integers]
    clicks: list[float]
    """The clicks at each group's ranks, also of strata that were shown at one rank only."""

    @property
    def shares(self) -> list[float]:
        """The share of all clicks at each group's ranks."""
        total = sum(self.clicks)
        return [clicks / total if total else 0.0 for clicks in self.clicks]

    def missing(self) -> list[tuple[int, int]]:
        """Pairs of ranks, one of each group and the nearest of the first group, that would join all groups."""
        first, *others = self.groups
        return [_nearest(first, other) for other in others]


def _nearest(first: Integers, second: Integers) -> tuple[int, int]:
    """The two closest ranks.

    >>> _nearest(np.array([1, 2, 3]), np.array([7, 9]))
    (3, 7)
    """
    distance = np.abs(first[:, None] - second)
    i, j = np.unravel_index(int(distance.argmin()), distance.shape)
    return int(first[i]), int(second[j])


def rank_groups(strata: Strata) -> RankGroups:
    """Group the ranks of the strata."""
    label = connected_components(steps(strata) > 0, directed=True, connection="strong")[1]
    clicks = strata.at_ranks(strata.clicked)
    by_clicks = np.argsort(-np.bincount(label, clicks), kind="stable")
    groups = [np.flatnonzero(label == group) for group in by_clicks]
    return RankGroups(
        [strata.ranks[group] for group in groups], [float(clicks[group].sum()) for group in groups]
    )


def steps(strata: Strata) -> csr_array:
    """How many clicks at rank b (columns) have strata that were also shown at rank a (rows)."""
    shape = (len(strata.cells), len(strata.ranks))
    at = csr_array((np.ones(len(strata.rank)), strata.rank, strata.cells.offsets), shape=shape)
    clicked: Floats = strata.clicked
    return at.T @ csr_array((clicked, strata.rank, strata.cells.offsets), shape=shape)
