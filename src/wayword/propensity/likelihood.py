"""Conditional likelihood of which rank was clicked, in strata that were shown at several ranks.

Where the relevance γ of a stratum is the same at all ranks, a click falls on rank k with probability

    π_k = n_k p_k / Σ_l n_l p_l          (n_k: how often the stratum was shown at rank k)

whatever γ is: no model of relevance is needed. The log-likelihood Σ_k c_k log π_k is concave in log p. Its score
Σ (c_k − C π_k), with C = Σ_k c_k, has mean 0 for any numbers of impressions, as E c_k = n_k p_k γ; clicks need not be
rare, nor independent of each other within a search. Only ratios of p are determined; p = 1 at the first rank.

The covariance of the score sums, over searches, the outer product of the search's part of it: (c − γ̂ p)(e_k − π) of
its impressions, γ̂ = C / Σ_l n_l p_l. As γ̂ was fitted to the same clicks, a residual has the variance of its click times
1 − h, with h = p_k / Σ_l n_l p_l; dividing it by √(1 − h) restores the variance. That is what resampling searches gives
where strata are shown often. Where they are not, resampling would give too much: it draws the only impression of a
stratum at a rank twice or not at all.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from wayword.propensity.strata import Floats, Impressions, Strata

STEPS = 100
LARGEST = 3.0
"""Of a step of Newton's method in log p: far from the maximum it may overshoot by more than numbers can hold."""
TOLERANCE = 1e-9
FULL = 1 - 1e-9
"""Largest leverage: that of an impression which alone decides γ̂, whose residual is 0."""


@dataclass(frozen=True)
class Curve:
    """Estimated log p of ranks, with the covariance of the estimates (0 at the first rank)."""

    log_p: Floats
    covariance: Floats


def probabilities(strata: Strata, log_p: Floats) -> Floats:
    """π of each cell: where a click of its stratum falls.

    A stratum that was shown three times at rank 1 and once at rank 2, where p = 1/2:

    >>> from wayword.store.compressed_rows import CompressedRows
    >>> cells = CompressedRows(np.array([0, 2]), np.array([0, 1]))
    >>> strata = Strata(np.array([1, 2]), cells, np.array([3.0, 1.0]), np.array([2.0, 0.0]), *np.zeros((2, 1), int))
    >>> probabilities(strata, np.log([1, 1 / 2])) * (3 + 1 / 2)
    array([3. , 0.5])
    """
    weight = strata.shown * np.exp(log_p[strata.rank])
    return np.asarray(weight / strata.by_stratum(weight)[strata.owner])


def log_likelihood(strata: Strata, log_p: Floats) -> float:
    """The conditional log-likelihood of the clicks' ranks."""
    return float(strata.clicked @ np.log(probabilities(strata, log_p)))


def score(strata: Strata, log_p: Floats) -> Floats:
    """The derivatives of the log-likelihood by log p."""
    expected = strata.clicks[strata.owner] * probabilities(strata, log_p)
    return strata.by_rank(strata.clicked - expected)


def information(strata: Strata, log_p: Floats) -> Floats:
    """The negative second derivatives of the log-likelihood: Σ C (diag π − π πᵀ)."""
    pi, clicks = probabilities(strata, log_p), strata.clicks
    weighted = _matrix(strata, pi * np.sqrt(clicks)[strata.owner])
    return np.asarray(np.diag(strata.by_rank(clicks[strata.owner] * pi)) - (weighted.T @ weighted).toarray())


def _matrix(strata: Strata, values: Floats) -> csr_array:
    """Values of cells as a matrix (strata × ranks)."""
    return csr_array(
        (values, strata.rank, strata.cells.offsets), shape=(len(strata.cells), len(strata.ranks))
    )


def fit(strata: Strata) -> Floats:
    """Maximise the likelihood by Newton's method with halved steps; log p of the first rank is 0.

    The maximum exists if the ranks are joined (see `rank_groups`).
    """
    log_p = -np.log(strata.ranks / strata.ranks[0])
    value = log_likelihood(strata, log_p)
    for _ in range(STEPS):
        step = np.zeros(len(log_p))
        gradient = score(strata, log_p)[1:]
        step[1:] = np.linalg.solve(information(strata, log_p)[1:, 1:], gradient)
        if step[1:] @ gradient < TOLERANCE:
            break
        size = min(1.0, LARGEST / float(np.abs(step).max()))
        while (tried := log_likelihood(strata, log_p + size * step)) < value and size > 1e-6:
            size /= 2
        log_p, value = log_p + size * step, tried
    return log_p


def fit_monotone(strata: Strata, start: Floats) -> Floats:
    """Maximise the likelihood among the curves that never rise with the rank."""

    def loss(drops: Floats) -> tuple[float, Floats]:
        log_p = np.r_[0.0, -np.cumsum(drops)]
        gradient = score(strata, log_p)[1:]
        return -log_likelihood(strata, log_p), np.cumsum(gradient[::-1])[::-1]

    first = np.maximum(-np.diff(start), 0.0)
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(first))
    return np.r_[0.0, -np.cumsum(found.x)]


def curve(data: Impressions) -> Curve:
    """Fit impressions in strata that are all informative, with the covariance over searches."""
    strata, rows = data.strata, data.rows
    log_p = fit(strata)
    p, pi = np.exp(log_p), probabilities(strata, log_p)
    exposure = strata.by_stratum(strata.shown * p[strata.rank])
    stratum, rank = strata.owner[rows.cell], strata.rank[rows.cell]
    residual = rows.clicked - (strata.clicks / exposure)[stratum] * p[rank]
    residual /= np.sqrt(1 - np.minimum(p[rank] / exposure[stratum], FULL))
    at_rank = csr_array((residual, rank, rows.searches), shape=(len(rows), len(p)))
    of_stratum = csr_array((residual, stratum, rows.searches), shape=(len(rows), len(strata.cells)))
    part = at_rank - of_stratum @ _matrix(strata, pi)
    inverse = np.zeros((len(p), len(p)))
    inverse[1:, 1:] = np.linalg.inv(information(strata, log_p)[1:, 1:])
    return Curve(log_p, np.asarray(inverse @ (part.T @ part).toarray() @ inverse))
