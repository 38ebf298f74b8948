"""Sampling: the pairs that a model is trained on, where there are more than needed."""

import numpy as np
from numpy.typing import NDArray

from wayword.demand.observations import Floats, Observations

UNIFORM_SHARE = 0.2
"""Share of the sample that is drawn uniformly. It bounds the importance weights."""


def sample_pairs(
    observations: Observations,
    clicked: NDArray[np.bool_],
    examination: Floats,
    rng: np.random.Generator,
    *,
    most: int,
) -> tuple[NDArray[np.int64], Floats]:
    """About `most` clicked pairs and as many others, or all if there are fewer, each with its importance weight
    1/P(drawn).

    Unclicked pairs are drawn in proportion to `examination`, the probability of a click if relevant: the missing click
    of a pair that was likely seen says most. Documents that the rankings no longer return are left out, because they
    are known only if they were clicked.
    """
    total = float(examination[~clicked].sum())
    share = examination * ((1 - UNIFORM_SHARE) / total if total > 0 else 0.0)
    chance = np.minimum(most * (share + UNIFORM_SHARE / max(len(share), 1)), 1.0)
    if len(share) <= most:
        chance[:] = 1.0
    chance[clicked] = min(most / max(int(np.count_nonzero(clicked)), 1), 1.0)
    rows = np.flatnonzero((rng.random(len(share)) < chance) & (observations.current_propensity > 0))
    return rows, 1 / chance[rows]
