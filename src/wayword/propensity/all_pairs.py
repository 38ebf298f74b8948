"""All pairs: position-based likelihood of the click rates of strata shown at two ranks, over all pairs of ranks.

    Σ_{a≠b}  ĉ_ab log(p_a r_ab) + n̂_ab log(1 − p_a r_ab)

ĉ_ab and n̂_ab sum rates of clicks and of no clicks at rank a over the strata that were shown at a and b; r_ab = r_ba is
their mean relevance, a parameter of its own for each pair of ranks (Agarwal et al., WSDM 2019).
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from wayword.propensity.rates import Rates
from wayword.propensity.strata import Floats


def fit(rates: Rates) -> Floats:
    """Return log p, 0 at the first rank."""
    count = len(rates.clicked)
    above, below = np.triu_indices(count, k=1)
    joined = rates.clicked[above, below] + rates.clicked[below, above] > 0
    above, below = above[joined], below[joined]
    first, second = np.r_[above, below], np.r_[below, above]
    clicked, skipped = rates.clicked[first, second], rates.skipped[first, second]
    total = max(float(clicked.sum() + skipped.sum()), 1e-300)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        p, r = expit(parameters[:count]), np.tile(expit(parameters[count:]), 2)
        rate = np.clip(p[first] * r, 1e-12, 1 - 1e-12)
        by_log = clicked - skipped * rate / (1 - rate)
        gradient = np.r_[
            np.bincount(first, by_log, count) * (1 - p),
            by_log.reshape(2, -1).sum(axis=0) * (1 - r[: len(above)]),
        ]
        value = clicked @ np.log(rate) + skipped @ np.log1p(-rate)
        return -float(value) / total, -gradient / total

    start = np.zeros(count + len(above))
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-9}
    ).x
    log_p = np.asarray(np.log(expit(found[:count])), np.float64)
    log_p[np.bincount(first, minlength=count) == 0] = np.nan
    return log_p - log_p[0]
