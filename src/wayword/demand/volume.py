"""Volume: how many looks a query gets in the time of the log, i.e. how often its first result is looked at.

A wanted document of query q that is shown at p gets Poisson(volume[q] · p) clicks. Volumes of different queries vary as
a Gamma distribution does, whose shape is learned: where the log says little of a query, its volume is near the mean
(empirical Bayes). So queries may be all alike (a strong prior) or differ by orders of magnitude (a weak one).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from wayword.demand.pairs import Floats

SHAPES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


@dataclass(frozen=True)
class Volume:
    """The volume of every query, and the law they come from: `mean` per unit of `searches`, and `shape`."""

    of_query: Floats
    mean: float
    shape: float


def fit(clicks: Floats, wanted: Floats, searches: Floats) -> Volume:
    """From each query's clicks, the sum of p over the documents wanted there, and how often it was issued.

    Where the log holds only searches with a click, give ones as `searches`: how often a query was issued is unknown.

    >>> found = fit(np.array([20.0, 18.0, 22.0, 0.0]), np.ones(4) * 2, np.ones(4))
    >>> found.mean, found.of_query.round(1).tolist()
    (7.5, [9.8, 8.9, 10.8, 0.5])
    """
    shown = wanted * searches
    total = float(shown.sum())
    mean = float(clicks.sum()) / total if total > 0 else 1.0
    shape = max(SHAPES, key=lambda s: _likelihood(clicks, mean * shown, s))
    rate = (clicks + shape) / (shown + shape / mean) if mean > 0 else np.zeros_like(clicks)
    return Volume(searches * rate, mean, shape)


def _likelihood(clicks: Floats, expected: Floats, shape: float) -> float:
    """The log-likelihood of counts that are Poisson with Gamma rates (negative binomial), but for a constant."""
    known = expected > 0
    n, mu = clicks[known], expected[known]
    return float(
        np.sum(
            gammaln(n + shape)
            - gammaln(shape)
            + shape * np.log(shape / (shape + mu))
            + n * np.log(mu / (shape + mu))
        )
    )
