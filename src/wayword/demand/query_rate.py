"""Query rate: how many times the first result of a query is examined during the log.

A relevant document of query q that is shown at propensity p gets Poisson(rate[q] · p) clicks. The rates of queries
follow a Gamma distribution whose shape is learned by empirical Bayes: the rate of a query with few clicks is shrunk to
the mean. A large shape means that queries are equally frequent, a small one that they differ by orders of magnitude.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from wayword.demand.observations import Floats

SHAPES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


@dataclass(frozen=True)
class QueryRate:
    """The rate of every query, and the Gamma prior they come from: `mean` per unit of `searches`, and `shape`."""

    of_query: Floats
    mean: float
    shape: float


def fit(clicks: Floats, relevant: Floats, searches: Floats) -> QueryRate:
    """Fit by each query's clicks, the sum of p over its relevant documents, and how often it was issued.

    Where the log holds only searches with a click, the number of searches is unknown: pass ones.

    >>> rate = fit(np.array([20.0, 18.0, 22.0, 0.0]), np.ones(4) * 2, np.ones(4))
    >>> rate.mean, rate.of_query.round(1).tolist()
    (7.5, [9.8, 8.9, 10.8, 0.5])
    """
    exposed = relevant * searches
    total = float(exposed.sum())
    mean = float(clicks.sum()) / total if total > 0 else 1.0
    shape = max(SHAPES, key=lambda s: _log_likelihood(clicks, mean * exposed, s))
    rate = (clicks + shape) / (exposed + shape / mean) if mean > 0 else np.zeros_like(clicks)
    return QueryRate(searches * rate, mean, shape)


def _log_likelihood(clicks: Floats, expected_clicks: Floats, shape: float) -> float:
    """The negative binomial log-likelihood (Poisson counts with Gamma rates), up to a constant."""
    known = expected_clicks > 0
    n, mu = clicks[known], expected_clicks[known]
    return float(
        np.sum(
            gammaln(n + shape)
            - gammaln(shape)
            + shape * np.log(shape / (shape + mu))
            + n * np.log(mu / (shape + mu))
        )
    )
