"""Click rates of strata at pairs of ranks: what adjacent chain and all pairs are fitted to."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from wayword.propensity.strata import Floats, Strata


@dataclass(frozen=True)
class Rates:
    """Sums over the strata shown at ranks a (rows) and b (columns) of their click rates at rank a."""

    clicked: Floats
    skipped: Floats
    """Of the rates of no click."""

    @classmethod
    def of(cls, strata: Strata, weight: Floats | None = None) -> "Rates":
        """Sum the rates of the strata, each counted `weight` times."""
        each = np.ones(len(strata.rank)) if weight is None else weight[strata.owner]
        shape = (len(strata.cells), len(strata.ranks))

        def matrix(values: Floats) -> csr_array:
            return csr_array((values, strata.rank, strata.cells.offsets), shape=shape)

        rate, at = strata.clicked / strata.shown, matrix(np.ones(len(each)))
        clicked, skipped = ((matrix(values * each).T @ at).toarray() for values in (rate, 1 - rate))
        return cls(clicked, skipped)
