"""Adjacent chain: p[k + 1] / p[k] is the ratio of click rates of strata that were shown at both ranks.

Each stratum counts with its mean click rate at a rank (Agarwal et al., WSDM 2019). Errors multiply along the chain.
"""

import numpy as np

from wayword.propensity.rates import Rates
from wayword.propensity.strata import Floats


def fit(rates: Rates) -> Floats:
    """Return log p, 0 at the first rank; unknown (NaN) from the first rank on without a click in a step."""
    places = np.arange(rates.clicked.shape[0] - 1)
    lower, upper = rates.clicked[places + 1, places], rates.clicked[places, places + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log(lower) - np.log(upper)
    steps[~np.isfinite(steps)] = np.nan
    return np.r_[0.0, np.cumsum(steps)]
