"""Pairwise learning to rank with logistic regression: the variant that the paper's section 5 analyses.

Within each group the features of two candidates with different labels are subtracted, and a linear
classifier learns from the difference which of the two is better. Every pair is the better minus the worse
candidate, with label 1; the reverse, with label -1, would add the same loss, so there is no intercept.
With σ the logistic function, minimise

    Σ_groups weight · 1/C(n, 2) · Σ_{label_i > label_j} -log σ(w·(f_i - f_j))   +   ½ |w|² / strength

over standardised features; the score of a candidate is w·f. Features that are equal for all
candidates of a context (the vector of the prefix, the context columns) cancel and get weight 0: only trees use them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.config import RankerConfig
from wayword.errors import WorkspaceError
from wayword.paper.rankers.ranker import Examples
from wayword.progress import SILENT, Progress

MAX_PAIRS = 64
"""Most pairs drawn from a group; they are weighted up to all pairs of the group."""
STRENGTH = 1.0
"""Inverse regularisation strength, as scikit-learn's C. The mean weight of a pair is 1."""
ITERATIONS = 1000
WEIGHTS = "weights.npy"
_CHUNK = 1 << 22


@dataclass(frozen=True)
class LinearRanker:
    """score = weights · (features - centre); the centre shifts all scores equally and keeps float32 precise."""

    centre: NDArray[np.float32]
    weights: NDArray[np.float32]

    @classmethod
    def fit(
        cls,
        examples: Examples,
        config: RankerConfig,
        *,
        threads: int = 1,  # noqa: ARG003 - one thread is enough, and gives the same bits everywhere
        progress: Progress = SILENT,
    ) -> "LinearRanker":
        """Draw pairs and minimise the loss. If no group has two different labels, all weights and scores are 0.

        `progress` counts iterations; on early convergence it jumps to the maximum.
        """
        centre = examples.features.mean(axis=0, dtype=np.float64)
        scale = _deviation_within_groups(examples)
        better, worse, weight = pairs(examples, MAX_PAIRS, np.random.default_rng(config.seed))
        usable = np.flatnonzero(scale > 0)
        weights = np.zeros(len(centre))
        if len(better) and len(usable):
            columns = examples.features[:, usable]
            difference = (columns[better].astype(np.float64) - columns[worse]) / scale[usable]
            weights[usable] = _minimise(difference, weight / weight.mean(), progress) / scale[usable]
        progress.advance(ITERATIONS, ITERATIONS)
        return cls(centre.astype(np.float32), weights.astype(np.float32))

    def score(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Score row by row, without a matrix product, whose rounding depends on the number of rows."""
        centred = np.subtract(features, self.centre, dtype=np.float32, order="C")
        scores: NDArray[np.float32] = np.einsum("ij,j->i", centred, self.weights)
        return scores

    def save(self, folder: Path) -> None:
        """Write centre and weights as the two rows of one array."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / WEIGHTS, np.stack([self.centre, self.weights]), allow_pickle=False)

    @classmethod
    def load(cls, folder: Path, *, threads: int = 1) -> "LinearRanker":  # noqa: ARG003
        """Read the folder that `save` wrote."""
        try:
            saved = np.load(folder / WEIGHTS, allow_pickle=False)
        except (OSError, ValueError, EOFError) as problem:
            raise WorkspaceError(
                f"Cannot read {folder / WEIGHTS}: {problem}. Train the ranker again."
            ) from problem
        if saved.ndim != 2 or len(saved) != 2 or saved.dtype != np.float32:
            raise WorkspaceError(f"{folder / WEIGHTS} is not a linear ranker. Train the ranker again.")
        return cls(saved[0], saved[1])


def pairs(
    examples: Examples, most: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Draw at most `most` pairs with different labels from each group: rows (better, worse) and weights.

    The weights of a group sum to the group's weight times the share of its pairs whose labels differ.
    """
    first = np.cumsum(examples.sizes) - examples.sizes
    drawn = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for size in np.unique(examples.sizes[examples.sizes > 1]):
        one, other = np.triu_indices(int(size), k=1)
        groups = np.flatnonzero(examples.sizes == size)
        step = max(1, _CHUNK // len(one))
        for start in range(0, len(groups), step):
            chosen = groups[start : start + step]
            rows = first[chosen, None] + np.arange(size)
            drawn.append(
                _draw(
                    examples.labels[rows],
                    rows,
                    one=one,
                    other=other,
                    weights=examples.weights[chosen],
                    most=most,
                    generator=generator,
                )
            )
    better, worse, weight = (np.concatenate(part) for part in zip(*drawn, strict=True))
    return better, worse, weight


def _draw(
    labels: NDArray[np.float64],
    rows: NDArray[np.int64],
    *,
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    weights: NDArray[np.float64],
    most: int,
    generator: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Draw the pairs of groups of one size: a row of `labels` and `rows` is a group, (one, other) its pairs."""
    first, second = labels[:, one], labels[:, other]
    different = first != second
    available = different.sum(axis=1)
    random_key = np.where(different, generator.random(different.shape), 2.0)
    taken = np.argsort(random_key, axis=1, kind="stable")[:, :most]
    group, rank = np.nonzero(np.take_along_axis(different, taken, axis=1))
    pair = taken[group, rank]
    first_is_better = first[group, pair] > second[group, pair]
    left, right = rows[group, one[pair]], rows[group, other[pair]]
    share = weights * available / len(one) / np.maximum(np.minimum(available, most), 1)
    return np.where(first_is_better, left, right), np.where(first_is_better, right, left), share[group]


def _deviation_within_groups(examples: Examples) -> NDArray[np.float64]:
    """Return the standard deviation of each feature within groups; exactly 0 if constant in every group."""
    first = np.cumsum(examples.sizes) - examples.sizes
    first, sizes = first[examples.sizes > 0], examples.sizes[examples.sizes > 0]
    result = np.zeros(examples.features.shape[1])
    for column in range(len(result)):
        values = examples.features[:, column].astype(np.float64)
        constant = np.maximum.reduceat(values, first) == np.minimum.reduceat(values, first)
        if not constant.all():
            mean = np.add.reduceat(values, first) / sizes
            result[column] = np.sqrt(np.mean((values - np.repeat(mean, sizes)) ** 2))
    return result


def _minimise(
    difference: NDArray[np.float64], weight: NDArray[np.float64], progress: Progress
) -> NDArray[np.float64]:
    from scipy import optimize
    from threadpoolctl import threadpool_limits

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = difference @ w
        value = weight @ np.logaddexp(0.0, -margin) + w @ w / (2 * STRENGTH)
        slope = -weight * np.exp(-np.logaddexp(0.0, margin))
        return float(value), slope @ difference + w / STRENGTH

    done = 0

    def report(_: NDArray[np.float64]) -> None:
        nonlocal done
        done += 1
        progress.advance(min(done, ITERATIONS - 1), ITERATIONS)

    minimize: Any = optimize.minimize  # the stubs lack a loss that returns its gradient
    options = {"maxiter": ITERATIONS, "gtol": 1e-6 * len(difference)}
    with threadpool_limits(1):  # the same bits with any number of cores
        start = np.zeros(difference.shape[1])
        minimum = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=report,
            options=options,
        )
    result: NDArray[np.float64] = minimum.x
    return result
