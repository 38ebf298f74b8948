"""Anytime-valid intervals: a confidence sequence for the difference of two arms, valid however often one looks.

An interval of fixed coverage is wrong for whoever looks every day and stops when it excludes 0: sooner or later it
does. An asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas: "Time-uniform central limit
theory and asymptotic confidence sequences", 2021) covers the truth at all looks together with probability 1 − α:

    difference ± √V · √( 2 (η + 1) / η · log( √(η + 1) / α ) ),   η = t ρ²

V is the estimated variance of the difference and t the number of users: σ̂²/t in the paper. ρ decides where it is
narrowest and must not depend on the data; here that is at `TUNED_FOR` users: ρ² = (−2 log α + log(−2 log α) + 1) / t.

The measures are ratios of sums over users, R = Σ top / Σ bottom, so the sum over users is of the linearised
contributions (top_u − R bottom_u) / Σ bottom; a user who has seen both arms contributes to both.

The theory is asymptotic: there is no interval until the estimated variance V of each arm rests on `FEWEST` users,
counted as (Σ c²)² / Σ c⁴ of their contributions c. In the first days a variance may be 0 by chance.
"""

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

TUNED_FOR = 2000
"""Number of users at which the interval is narrowest: 3.04 standard errors at 95 %, where 1.96 would be valid once."""
FEWEST = 10
Floats = NDArray[np.float64]


def multiplier(users: float, level: float) -> float:
    """Half the width of the interval, in standard errors.

    >>> round(multiplier(TUNED_FOR, 0.95), 2), round(multiplier(100, 0.95), 2), round(multiplier(10**6, 0.95), 2)
    (3.04, 4.56, 3.79)
    """
    wrong = 1 - level
    eta = users / TUNED_FOR * (-2 * log(wrong) + log(-2 * log(wrong)) + 1)
    return sqrt(2 * (eta + 1) / eta * log(sqrt(eta + 1) / wrong))


def difference(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], level: float
) -> tuple[float, float] | None:
    """The interval of the difference of the second arm's ratio from the first's; None where there are too few users.

    Each arm is (top, bottom) by user, the same users in both, 0 where a user has not seen the arm.
    """
    if not (first[1].sum() > 0 and second[1].sum() > 0):
        return None
    value = float(second[0].sum() / second[1].sum() - first[0].sum() / first[1].sum())
    parts = [linearised(*first), linearised(*second)]
    if min(map(_users_behind, parts)) < FEWEST:
        return None
    users = int(np.count_nonzero((first[1] > 0) | (second[1] > 0)))
    variance = float(((parts[1] - parts[0]) ** 2).sum()) * users / (users - 1)
    half = multiplier(users, level) * sqrt(variance)
    return value - half, value + half


def linearised(top: Floats, bottom: Floats) -> Floats:
    """The contribution of each user to the error of Σ top / Σ bottom; they sum to 0.

    >>> linearised(np.array([1.0, 0.0]), np.array([1.0, 1.0])).tolist()
    [0.25, -0.25]
    """
    total = bottom.sum()
    return (top - top.sum() / total * bottom) / total


def _users_behind(contributions: Floats) -> float:
    squares = contributions**2
    fourth = float((squares**2).sum())
    return float(squares.sum()) ** 2 / fourth if fourth > 0 else 0.0
