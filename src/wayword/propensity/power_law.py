"""Propensity: the examination probability of each rank, up to a factor; documents not returned have none."""

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from wayword.config import PropensityConfig
from wayword.engines import Engine


def power_law(rank: ArrayLike, *, alpha: float) -> NDArray[np.float64]:
    """p[rank] = rank^-alpha, so that p[1] = 1 (the paper's experiments: alpha = 1).

    >>> power_law([1, 2, 5], alpha=1.0).tolist()
    [1.0, 0.5, 0.2]
    """
    return np.asarray(rank, dtype=np.float64) ** -alpha


def build(engine: Engine, config: PropensityConfig) -> None:
    """Step `propensity` (rank, p, low, high) for rank 1 and every rank in the rankings and the clicks."""
    ranks = engine.arrow(
        """SELECT DISTINCT rank FROM (SELECT rank FROM rankings UNION ALL SELECT rank FROM numbered_clicks
                                     UNION ALL SELECT CAST(1 AS INTEGER) AS rank) AS ranks
           WHERE rank IS NOT NULL ORDER BY rank"""
    )["rank"]
    p = pa.array(power_law(ranks.to_numpy(), alpha=config.alpha))
    engine.load("propensity", pa.table({"rank": ranks, "p": p, "low": p, "high": p}))
