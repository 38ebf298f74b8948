"""Where Theorem 1 says too little: a context of one useful query, padded with queries of utility 0 to K candidates.

The paper pads ("by adding queries with zero utility, we may suppose |Q(x)| = K") and then counts, for its factor
(ρₙ/K)², only pairs of two useful queries. But a pair of a useful and a useless one counts too: here ρ = 1, and all
that there is to learn is in the K − 1 pairs with the useful query. Let it have utility u and be logged always
(so B = 1), and let the class have two rankers, the useful query first or last. A log without a click says nothing, and
one of the two is taken by chance:

    excess = (1 − u)ⁿ · ½ · (2·2u/K)            bound as stated = 4·(1/K)²·Rₙ,   Rₙ = E|ε₁ + … + εₙ|/n
                                                with all the pairs: 4·(2/K)·Rₙ
"""

from dataclasses import dataclass
from math import comb

import numpy as np

from wayword.reproduction.theory.model import Floats, Integers


@dataclass(frozen=True)
class Padding:
    """One row per number of candidates, at n = `searches`; everything is exact."""

    candidates: Integers
    excess: Floats
    bound: Floats
    """4·B·(ρ/K)²·Rₙ."""
    mended: Floats
    """4·B·(pairs with a useful query / C(K,2))·Rₙ."""
    utility: float
    searches: int


def coin_complexity(n: int) -> float:
    """E|ε₁ + … + εₙ|/n: the complexity of a class that can only turn all signs at once.

    >>> coin_complexity(1), coin_complexity(2)
    (1.0, 0.5)
    """
    return sum(comb(n, heads) * abs(2 * heads - n) for heads in range(n + 1)) / 2**n / n


def padding(
    *, candidates: tuple[int, ...] = (2, 4, 8, 16, 32), utility: float = 0.5, searches: int = 1
) -> Padding:
    """The excess and both bounds.

    >>> found = padding(candidates=(16,))
    >>> found.excess.item(), found.bound.item(), found.mended.item()
    (0.03125, 0.015625, 0.5)
    """
    k = np.array(candidates)
    complexity = coin_complexity(searches)
    return Padding(
        candidates=k,
        excess=(1 - utility) ** searches * (2 * utility / k),
        bound=4 / k**2 * complexity,
        mended=4 * (2 / k) * complexity,
        utility=utility,
        searches=searches,
    )
