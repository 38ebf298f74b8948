"""The protocol of rankers and their training examples. Members: `rankers.boosted`, `rankers.linear`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates
from wayword.config import RankerConfig
from wayword.errors import LogError
from wayword.progress import SILENT, Progress


@dataclass(frozen=True)
class Examples:
    """Training examples: one group of candidates per distinct context, in consecutive rows.

    `labels` are the mean utilities of the candidates over the searches of their context. With one group per
    click instead, a pairwise ranker, which uses only the order within a group, would learn the same from every
    estimator of utility. `weights` has one number per group: the number of searches of the context.
    """

    features: NDArray[np.float32]
    labels: NDArray[np.float64]
    sizes: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        rows, groups = len(self.features), len(self.sizes)
        if not rows:
            raise LogError(
                "No context of the ranker's split has a candidate, so there is nothing to learn from. "
                "Give a longer log, or a retriever that proposes more queries."
            )
        if len(self.labels) != rows or int(self.sizes.sum()) != rows or len(self.weights) != groups:
            raise ValueError(
                f"{rows} rows of features, {len(self.labels)} labels, {int(self.sizes.sum())} rows in "
                f"{groups} groups and {len(self.weights)} weights: they must describe the same candidates"
            )
        for name in ("features", "labels", "weights"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"The {name} hold NaN or infinite values")

    @classmethod
    def of(
        cls,
        features: NDArray[np.float32],
        labels: NDArray[Any],
        context: NDArray[Any],
        searches: NDArray[Any],
    ) -> "Examples":
        """Build from the context of each row (`Candidates.context`) and the number of searches of every context.

        >>> features = np.ones((3, 1), dtype=np.float32)
        >>> examples = Examples.of(features, np.ones(3), np.array([0, 0, 2]), np.array([5, 6, 7]))
        >>> examples.sizes.tolist(), examples.weights.tolist()
        ([2, 1], [5.0, 7.0])
        """
        first = (
            np.flatnonzero(np.r_[True, context[1:] != context[:-1]])
            if len(context)
            else np.zeros(0, np.int64)
        )
        sizes = np.diff(np.r_[first, len(context)]).astype(np.int64)
        weights = np.asarray(searches, dtype=np.float64)[context[first]]
        return cls(features, np.asarray(labels, dtype=np.float64), sizes, weights)

    def of_groups(self, chosen: NDArray[np.bool_]) -> "Examples":
        """Return the examples of the chosen groups."""
        rows = np.repeat(chosen, self.sizes)
        return Examples(self.features[rows], self.labels[rows], self.sizes[chosen], self.weights[chosen])


class Ranker(Protocol):
    """Scores candidates by their features; larger is better."""

    @classmethod
    def fit(
        cls, examples: Examples, config: RankerConfig, *, threads: int = 1, progress: Progress = SILENT
    ) -> Self:
        """Train. The same examples, settings and threads give the same ranker, bit for bit."""
        ...

    def score(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return one score per row; a row has the same bits in any batch."""
        ...

    def save(self, folder: Path) -> None:
        """Write the folder that `load` reads, without pickle."""
        ...

    @classmethod
    def load(cls, folder: Path, *, threads: int = 1) -> Self:
        """Read the folder that `save` wrote."""
        ...


def reorder(candidates: Candidates, scores: NDArray[np.float32]) -> Candidates:
    """Sort candidates by the ranker's scores, best first; equal scores keep the retriever's order.

    So a ranker with equal scores leaves every list as the retriever ordered it.

    >>> proposed = Candidates(np.array([0, 0, 0]), np.array([7, 3, 5]), np.array([0.9, 0.8, 0.7]))
    >>> reorder(proposed, np.array([1.0, 2.0, 1.0])).query
    array([3, 7, 5])
    """
    order = np.lexsort((candidates.position(), -scores, candidates.context))
    return Candidates(candidates.context[order], candidates.query[order], scores[order])
