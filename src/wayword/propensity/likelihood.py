"""Conditional likelihood of which rank was clicked, in strata that were shown at several ranks.

Where the relevance γ of a stratum is the same at all ranks, a click falls on rank k with probability

    π_k = n_k p_k / Σ_l n_l p_l          (n_k: how often the stratum was shown at rank k)

whatever γ is: no model of relevance is needed. The log-likelihood Σ_k c_k log π_k is concave in log p; its score has
mean 0 for every number of impressions, also where clicks are not rare. Only ratios of p are determined; p = 1 at the
first rank of the fit.

The covariance is that of resampled searches, to first order: a search adds the residuals (c − γ̂ p) of its impressions
to the score. A residual has less variance than the click, as γ̂ was fitted to it; dividing it by √(1 − leverage), with
leverage p_k / Σ_l n_l p_l, restores the variance. Resampling the searches themselves would not: it draws the only
impression of a stratum at a rank twice or not at all.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from wayword.numba_jit import compiled
from wayword.propensity.strata import Floats, Integers, Rows, Strata

STEPS = 100
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Curve:
    """Estimated log p of ranks, with the covariance of the estimates (0 at the first rank)."""

    ranks: Integers
    log_p: Floats
    covariance: Floats


def probabilities(strata: Strata, log_p: Floats) -> Floats:
    """π of each cell: where a click of its stratum falls."""
    weight = strata.shown * np.exp(log_p[strata.rank])
    return np.asarray(weight / np.bincount(strata.owner, weight, len(strata.cells))[strata.owner])


def log_likelihood(strata: Strata, log_p: Floats) -> float:
    """The conditional log-likelihood of the clicks' ranks."""
    return float(strata.clicked @ np.log(probabilities(strata, log_p)))


def score(strata: Strata, log_p: Floats) -> Floats:
    """The derivatives of the log-likelihood by log p."""
    expected = strata.clicks[strata.owner] * probabilities(strata, log_p)
    return strata.at_ranks(strata.clicked - expected)


def information(strata: Strata, log_p: Floats) -> Floats:
    """The negative second derivatives of the log-likelihood."""
    pi = probabilities(strata, log_p)
    clicks = strata.clicks
    shape = (len(strata.cells), len(strata.ranks))
    weighted = csr_array((pi * np.sqrt(clicks)[strata.owner], strata.rank, strata.cells.offsets), shape=shape)
    crossed = (weighted.T @ weighted).toarray()
    return np.asarray(np.diag(strata.at_ranks(clicks[strata.owner] * pi)) - crossed)


def fit(strata: Strata, start: Floats | None = None) -> Floats:
    """Maximise the likelihood by Newton's method with halved steps; log p of the first rank is 0.

    The maximum exists if the ranks are joined (see `rank_groups`).
    """
    log_p = -np.log(strata.ranks / strata.ranks[0]) if start is None else start - start[0]
    value = log_likelihood(strata, log_p)
    for _ in range(STEPS):
        step = np.zeros(len(log_p))
        gradient = score(strata, log_p)[1:]
        step[1:] = np.linalg.solve(information(strata, log_p)[1:, 1:], gradient)
        if step[1:] @ gradient < TOLERANCE:
            break
        size = 1.0
        while (tried := log_likelihood(strata, log_p + size * step)) < value and size > 1e-6:
            size /= 2
        log_p, value = log_p + size * step, tried
    return log_p


def fit_monotone(strata: Strata, start: Floats) -> Floats:
    """Maximise the likelihood among the curves that never rise with the rank."""

    def loss(steps: Floats) -> tuple[float, Floats]:
        log_p = np.r_[0.0, -np.cumsum(steps)]
        gradient = score(strata, log_p)[1:]
        return -log_likelihood(strata, log_p), np.cumsum(gradient[::-1])[::-1]

    first = np.maximum(-np.diff(start), 0.0)
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(first))
    return np.r_[0.0, -np.cumsum(found.x)]


def covariance(strata: Strata, rows: Rows, log_p: Floats) -> Floats:
    """The covariance of log p over resampled searches. `rows` refer to the same strata and cells."""
    p = np.exp(log_p)
    pi = probabilities(strata, log_p)
    exposure = np.bincount(strata.owner, strata.shown * p[strata.rank], len(strata.cells))
    scores = _outer_scores(
        rows.searches,
        rows.stratum,
        rows.cell,
        rows.clicked,
        strata.cells.offsets,
        strata.rank,
        pi,
        p,
        strata.clicks / exposure,
        1 / exposure,
    )
    inverse = np.zeros_like(scores)
    inverse[1:, 1:] = np.linalg.inv(information(strata, log_p)[1:, 1:])
    return np.asarray(inverse @ scores @ inverse)


@compiled
def _outer_scores(searches, stratum, cell, clicked, offsets, rank, pi, p, relevance, leverage):  # type: ignore[no-untyped-def]
    """Σ over searches of g gᵀ, where g is the search's part of the score."""
    width = len(p)
    total = np.zeros((width, width))
    part = np.zeros(width)
    for s in range(len(searches) - 1):
        first, last = searches[s], searches[s + 1]
        for row in range(first, last):
            i, k = stratum[row], rank[cell[row]]
            left = 1.0 - leverage[i] * p[k]
            residual = (1.0 if clicked[row] else 0.0) - relevance[i] * p[k]
            residual /= np.sqrt(max(left, 1e-12))
            part[k] += residual
            for other in range(offsets[i], offsets[i + 1]):
                part[rank[other]] -= residual * pi[other]
        if last > first:
            for a in range(width):
                if part[a] != 0.0:
                    for b in range(width):
                        total[a, b] += part[a] * part[b]
            for a in range(width):
                part[a] = 0.0
    return total


def curve(strata: Strata, rows: Rows, *, monotone: bool = False) -> Curve:
    """Fit strata that are all informative, with the covariance of the free curve."""
    free = fit(strata)
    log_p = fit_monotone(strata, free) if monotone else free
    return Curve(strata.ranks, log_p, covariance(strata, rows, free))
