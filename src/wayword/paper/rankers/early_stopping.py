"""Early stopping of boosting: held-out contexts, and the utility of their lists."""

import numpy as np
from numpy.typing import NDArray

from wayword.paper.rankers.ranker import Examples

SHARE = 0.15
"""Share of the contexts that are held out."""
LEAST = 100
"""With fewer held-out contexts their utility is too noisy, and all trees are kept."""
K = 10


def held_out_groups(examples: Examples, seed: int) -> NDArray[np.bool_]:
    """Choose groups at random; none if they are too few."""
    chosen: NDArray[np.bool_] = np.random.default_rng(seed).random(len(examples.sizes)) < SHARE
    return chosen if chosen.sum() >= LEAST else np.zeros_like(chosen)


class HeldOutUtility:
    """The mean label of the first ten candidates, weighted by 1/position as in Utility@10.

    >>> ones, sizes = np.ones((3, 1), np.float32), np.array([2, 1])
    >>> utility = HeldOutUtility(Examples(ones, np.array([1.0, 4.0, 3.0]), sizes, np.array([1.0, 2.0])))
    >>> utility(np.array([0.5, 0.0, 0.0], np.float32))  # (1/1 + 4/2 + 2 · 3/1) / 3
    3.0
    """

    def __init__(self, examples: Examples) -> None:
        self._labels, self._total = examples.labels, examples.weights.sum()
        self._group = np.repeat(np.arange(len(examples.sizes)), examples.sizes)
        position = np.arange(len(self._group)) - np.repeat(
            np.cumsum(examples.sizes) - examples.sizes, examples.sizes
        )
        self._value = np.where(position < K, examples.weights[self._group] / (position + 1), 0.0)

    def __call__(self, scores: NDArray[np.float32]) -> float:
        """Sort each group by its scores, ties in the order given."""
        order = np.lexsort((-scores, self._group))
        return float(self._labels[order] @ self._value / self._total)
