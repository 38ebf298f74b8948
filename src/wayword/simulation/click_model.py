"""The one-look model: a person looks at one rank of the result page, and clicks if what is there is relevant.

The rank looked at is k of 1..depth with probability

    p[k] = k^-alpha / Σ_{i ≤ depth} i^-alpha,

whether or not the query returns so many documents: a look below the last one sees nothing.
"""

import numpy as np
from numpy.typing import NDArray


def look_law(depth: int, *, alpha: float = 1.0) -> NDArray[np.float64]:
    """p[1], …, p[depth].

    >>> look_law(3) * (1 + 1 / 2 + 1 / 3)
    array([1.        , 0.5       , 0.33333333])
    """
    powers: NDArray[np.float64] = np.arange(1, depth + 1, dtype=np.float64) ** -alpha
    law: NDArray[np.float64] = powers / powers.sum()
    return law


def draw(rng: np.random.Generator, law: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """`size` places of `law`, each with its probability, by inverting the cumulative law.

    >>> draw(np.random.default_rng(0), np.array([0.0, 1.0, 0.0]), 4)
    array([1, 1, 1, 1])
    """
    cumulative = np.cumsum(law)
    places = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    within: NDArray[np.int64] = np.minimum(places, np.flatnonzero(law)[-1])  # rounding may reach the very end
    return within
