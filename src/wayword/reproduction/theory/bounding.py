"""Bounding û trades bias for variance. For the mean over n searches of û bounded by b,

    mean squared error = (E û_b − E û)² + Var(û_b) / n

averaged over all contexts, logged queries and candidates. `max_ratio` bounds p[rank_q] / p[k] (the paper's B),
`max_weight` bounds p[1] / p[k].
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.reproduction.theory.estimator import draw_logs, estimates, means_of_logs, moments
from wayword.reproduction.theory.intervals import mean_interval
from wayword.reproduction.theory.model import Floats, Integers, World, largest_ratio, visible

KINDS = ("max_ratio", "max_weight")
GRID = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 14.0)


@dataclass(frozen=True)
class Bounding:
    """One row per number of searches, kind of bound and bound; the last bound of each kind takes nothing away."""

    searches: Integers
    kind: NDArray[np.str_]
    bound: Floats
    bias: Floats
    """The root of the mean squared bias: exact."""
    variance: Floats
    """The mean variance of one search: exact."""
    error: Floats
    """The mean squared error: exact."""
    measured: Floats
    """The mean squared error over simulated logs."""
    low: Floats
    high: Floats
    best: NDArray[np.bool_]
    """Whether the exact error is the smallest of its kind at this number of searches."""
    logs: int

    def best_bound(self, searches: int, kind: str) -> float:
        """The bound with the smallest exact error."""
        return float(self.bound[(self.searches == searches) & (self.kind == kind) & self.best][0])

    @property
    def holds(self) -> bool:
        """Whether the best bound grows with the number of searches, for both kinds."""
        numbers = np.unique(self.searches)
        found = np.array([[self.best_bound(n, kind) for n in numbers] for kind in KINDS])
        return bool(np.all(np.diff(found, axis=1) >= 0))


def bounds_of(world: World, kind: str) -> Floats:
    """The grid below the largest value, and that value itself: p[1]/p[depth] for weights, B for ratios."""
    largest = largest_ratio(world) if kind == "max_ratio" else float(world.law[0] / world.law[-1])
    grid = np.array([b for b in GRID if b < largest and (kind == "max_ratio" or b >= 1)])
    return np.append(grid, largest)


def bounded(world: World, kind: str, bound: float) -> Floats:
    """û[x, l, k, j] under one bound."""
    return estimates(world, max_ratio=bound) if kind == "max_ratio" else estimates(world, max_weight=bound)


def bounding(
    rng: np.random.Generator, world: World, *, logs: int, searches: tuple[int, ...] = (100, 10_000)
) -> Bounding:
    """The error of every bound, exact and over `logs` simulated logs of each number of searches."""
    tables = [(kind, b, bounded(world, kind, b)) for kind in KINDS for b in bounds_of(world, kind)]
    truth = visible(world)
    parts = []
    for number in searches:
        counts = draw_logs(rng, world.law, searches=number, shape=(*truth.shape[:2], logs))
        parts += [(number, kind, b, *errors(world, table, counts, truth)) for kind, b, table in tables]
    number_of, kind_of, bound, bias, spread, error, measured, low, high = map(
        np.array, zip(*parts, strict=True)
    )
    return Bounding(
        searches=number_of,
        kind=kind_of,
        bound=bound,
        bias=bias,
        variance=spread,
        error=error,
        measured=measured,
        low=low,
        high=high,
        best=smallest(error, number_of, kind_of),
        logs=logs,
    )


def errors(
    world: World, table: Floats, counts: Integers, truth: Floats
) -> tuple[float, float, float, float, float, float]:
    """Bias, variance and error of one table of û, exact; then the measured error with its interval."""
    exact = moments(world.law, table)
    bias = float(np.mean((exact.mean - truth) ** 2))
    variance = float(np.mean(exact.variance))
    off = means_of_logs(counts, table) - truth[:, :, None, :]
    found = mean_interval(np.mean(off**2, axis=(0, 1, 3)))
    searches = int(counts[0, 0, 0].sum())
    return (
        float(np.sqrt(bias)),
        variance,
        bias + variance / searches,
        float(found.value),
        float(found.low),
        float(found.high),
    )


def smallest(error: Floats, searches: Integers, kind: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Which rows have the smallest error of their number of searches and kind, the first of ties.

    >>> smallest(np.array([3.0, 1.0, 1.0]), np.array([9, 9, 9]), np.array(["a", "a", "b"])).tolist()
    [False, True, True]
    """
    best = np.zeros(len(error), np.bool_)
    for number in np.unique(searches):
        for name in np.unique(kind):
            rows = np.flatnonzero((searches == number) & (kind == name))
            best[rows[np.argmin(error[rows])]] = True
    return best
