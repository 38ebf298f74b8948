"""Diagnostics of an estimate: whether it depends on few searches.

Each search contributes v_s ≥ 0 to the sum (its utility, a sum of p[rank_q] / p[logged rank]).

    effective n     (Σ v)² / Σ v²                      Kish: as many equal contributions vary as much
    Pareto k̂        shape of a generalised Pareto distribution fitted to the largest contributions
    largest weight  the largest contribution, in searches that type on: max v / mean û(s, q̄)

With k̂ below 0.5 the variance is finite and the interval can be trusted; from 0.7 the sum depends on rare searches
that a log of this size holds by chance (Vehtari et al., "Pareto smoothed importance sampling").
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from wayword.utility import Floats

FEWEST = 5
"""Fewer contributions above the threshold say nothing about the tail."""
PRIOR_SHAPE, PRIOR_COUNT = 0.5, 10
"""The shape is shrunk towards 0.5 as by 10 further contributions, as in Pareto smoothed importance sampling."""


ENOUGH = 100
"""Effective number of searches below which an estimate should not be trusted."""
FINITE_VARIANCE, FINITE_MEAN = 0.5, 0.7
"""k̂ from which the variance, and the mean itself, should not be trusted."""
LARGE_SHARE = 0.1
"""The same for the share of all searches that the largest weight counts for."""


def worry(row: Mapping[str, Any]) -> str | None:
    """Say in a sentence why an estimate should not be trusted; None if nothing speaks against it.

    >>> fine = {"n": 1000, "effective_n": 400.0, "pareto_k": 0.3, "largest_weight": 9.0}
    >>> worry(fine), worry(fine | {"pareto_k": 0.8})
    (None, 'Pareto k̂ is 0.80, so rare searches with large weights decide it; collect more clicks.')
    """
    shape, largest, size = row["pareto_k"], row["largest_weight"], row["effective_n"]
    if shape is not None and shape >= FINITE_MEAN:
        return f"Pareto k̂ is {shape:.2f}, so rare searches with large weights decide it; collect more clicks."
    if largest is not None and largest > LARGE_SHARE * row["n"]:
        return f"one search counts as much as {largest:,.0f} of the {row['n']:,} test searches; collect more clicks."
    if size < ENOUGH:
        return (
            f"it rests on as much as {size:,.0f} equal searches of the {row['n']:,}; expected {ENOUGH} or more: "
            "collect more clicks."
        )
    if shape is not None and shape >= FINITE_VARIANCE:
        return f"Pareto k̂ is {shape:.2f}, so its interval may be too narrow; collect more clicks."
    return None


def effective_n(values: Floats) -> Floats:
    """Kish's effective number of searches, by column; 0 for a column of zeros.

    >>> effective_n(np.array([[1.0, 4.0], [1.0, 0.0]])).tolist()
    [2.0, 1.0]
    """
    squares = (values**2).sum(axis=0)
    return np.divide(values.sum(axis=0) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)


def largest_weight(values: Floats, own: Floats) -> Floats:
    """The largest contribution of each column, in searches that type on.

    >>> largest_weight(np.array([[0.0], [6.0]]), np.array([1.0, 3.0])).tolist()
    [3.0]
    """
    return np.asarray(np.abs(values).max(axis=0) / own.mean())


def pareto_k(contributions: Floats) -> float | None:
    """Estimate the shape of the upper tail of one column; unknown if fewer than `FEWEST` are above its threshold.

    The tail are the min(n/5, 3√n) largest of the n contributions above 0, without those that equal the threshold.

    >>> pareto_k(np.ones(100)) is None
    True
    """
    values = np.sort(contributions[contributions > 0])
    most = int(min(len(values) / 5, 3 * np.sqrt(len(values))))
    if most < FEWEST:
        return None
    threshold = values[-most - 1]
    above = values[-most:] - threshold
    above = above[above > 0]
    return generalised_pareto_shape(above) if len(above) >= FEWEST else None


def generalised_pareto_shape(above: Floats) -> float:
    """Fit the shape of a generalised Pareto distribution to sorted excesses (Zhang & Stephens, 2009).

    The parameter b = −k/σ is averaged over a grid, weighted by its profile likelihood; k(b) = mean log(1 − b x).
    Positive shapes are heavy tails: all moments below 1/k are finite.
    """
    n = len(above)
    grid = 30 + int(np.sqrt(n))
    quartile = above[int(n / 4 + 0.5) - 1]
    steps = 1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = 1 / above[-1] + steps / (3 * quartile)
    b = b[b != 0]  # 0 is the exponential law, between its neighbours
    shape = np.log1p(-b[:, None] * above).mean(axis=1)
    likelihood = n * (np.log(-b / shape) - shape - 1)
    weight = np.exp(likelihood - likelihood.max())
    best = float(b @ weight / weight.sum())
    fitted = float(np.log1p(-best * above).mean())
    return (n * fitted + PRIOR_COUNT * PRIOR_SHAPE) / (n + PRIOR_COUNT)
