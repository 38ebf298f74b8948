"""Adjacent chain: p[k + 1] / p[k] is the ratio of click rates of strata that were shown at both ranks.

Each stratum counts with its mean click rate at a rank (Agarwal et al., WSDM 2019). Errors multiply along the chain.
"""

import numpy as np

from wayword.propensity.rates import Rates
from wayword.propensity.strata import Floats


def fit(rates: Rates) -> Floats:
    """Return log p, 0 at the first rank; unknown (NaN) from the first rank on without a click in a step.

    >>> fit(Rates(np.array([[8.0, 8.0], [2.0, 2.0]]), np.zeros((2, 2)))) / np.log(2 / 8)
    array([-0.,  1.])
    """
    upper = np.diag(rates.clicked, 1)
    lower = np.diag(rates.clicked, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log(lower) - np.log(upper)
    steps[~np.isfinite(steps)] = np.nan
    return np.r_[0.0, np.cumsum(steps)]
