"""The click model: a person examines one rank of the result page and clicks if its document is relevant.

The examined rank is k of 1..depth with probability

    p[k] = k^-alpha / Σ_{i ≤ depth} i^-alpha,

also where the query returns fewer documents: an examined rank below the last document gets no click.
"""

import numpy as np
from numpy.typing import NDArray


def examination_probabilities(depth: int, *, alpha: float = 1.0) -> NDArray[np.float64]:
    """Return p[1], …, p[depth].

    >>> examination_probabilities(3) * (1 + 1 / 2 + 1 / 3)
    array([1.        , 0.5       , 0.33333333])
    """
    powers: NDArray[np.float64] = np.arange(1, depth + 1, dtype=np.float64) ** -alpha
    probabilities: NDArray[np.float64] = powers / powers.sum()
    return probabilities


def draw(rng: np.random.Generator, probabilities: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Draw `size` indices of `probabilities` by inverse transform sampling.

    >>> draw(np.random.default_rng(0), np.array([0.0, 1.0, 0.0]), 4)
    array([1, 1, 1, 1])
    """
    cumulative = np.cumsum(probabilities)
    indices = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    within: NDArray[np.int64] = np.minimum(
        indices, np.flatnonzero(probabilities)[-1]
    )  # rounding may reach past the last index
    return within
