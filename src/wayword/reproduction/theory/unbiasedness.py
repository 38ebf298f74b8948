"""Proposition 1: the mean of û over searches meets the visible utility, and what it meets without the correction."""

from dataclasses import dataclass

import numpy as np

from wayword.reproduction.theory.estimator import Moments, draw_logs, estimates, means_of_logs, moments, naive
from wayword.reproduction.theory.intervals import mean_interval, standard_error, student
from wayword.reproduction.theory.model import Floats, Integers, World, invisible_share, utilities, visible


@dataclass(frozen=True)
class Unbiasedness:
    """One row per context and candidate; in each context one candidate, `logged`, was issued in all searches."""

    context: Integers
    logged: Integers
    query: Integers
    utility: Floats
    """u(x, q)."""
    truth: Floats
    """The part of u(x, q) that q̄ can tell: what the mean of û must meet."""
    mean: Floats
    low: Floats
    high: Floats
    z: Floats
    """(mean − truth) / standard error."""
    naive: Floats
    """Mean over searches of p[rank_q(a)] / p[1]: without the correction for where the click was."""
    naive_truth: Floats
    """Σ p_q · p_q̄ / p[1], which that meets."""
    clicks_only: Floats
    """Mean of û over searches with a click."""
    clicks_truth: Floats
    """truth / u(x, q̄), which that meets."""
    logs: int
    searches: int
    """In each log."""
    threshold: float
    """How large one of all these |z| may be by chance in one of twenty repetitions (Bonferroni)."""
    invisible: float
    """The share of utility that the logs cannot tell, over all logged queries."""

    @property
    def largest_z(self) -> float:
        """The worst row."""
        return float(np.abs(self.z).max())

    @property
    def holds(self) -> bool:
        """Whether no row is further from the truth than chance explains."""
        return self.largest_z <= self.threshold

    @property
    def misordered(self) -> tuple[int, int]:
        """How many pairs of queries of a context the uncorrected means order wrongly (exact), and how many differ."""
        same = np.triu(self.context[:, None] == self.context, 1)
        true = np.sign(np.round(self.truth[:, None] - self.truth, 12))
        found = np.sign(np.round(self.naive_truth[:, None] - self.naive_truth, 12))
        return int(np.sum(same & (true * found < 0))), int(np.sum(same & (true != 0)))


def unbiasedness(rng: np.random.Generator, world: World, *, logs: int, searches: int) -> Unbiasedness:
    """Simulate `logs` logs of `searches` searches for each context, of one logged query each."""
    contexts, candidates = world.candidates.shape
    chosen = rng.integers(candidates, size=contexts)
    counts = draw_logs(rng, world.law, searches=searches, shape=(contexts, logs))
    values, plain = estimates(world), naive(world)
    of = (np.arange(contexts), chosen)
    per_log = np.swapaxes(means_of_logs(counts, values[of]), 1, 2)
    found, error = mean_interval(per_log), standard_error(per_log)
    truth, all_counts = visible(world)[of], counts.sum(axis=1, keepdims=True)
    clicks = np.sum(all_counts * (plain[of].max(axis=2)[:, None, :] > 0), axis=2)
    exact: Moments = moments(world.law, plain)
    own = utilities(world)[of][:, None]
    return Unbiasedness(
        context=np.repeat(np.arange(contexts), candidates),
        logged=np.repeat(world.candidates[of], candidates),
        query=world.candidates.ravel(),
        utility=utilities(world).ravel(),
        truth=truth.ravel(),
        mean=found.value.ravel(),
        low=found.low.ravel(),
        high=found.high.ravel(),
        z=divide(found.value - truth, error).ravel(),
        naive=means_of_logs(all_counts, plain[of]).ravel(),
        naive_truth=exact.mean[of].ravel(),
        clicks_only=divide(found.value * logs * searches, clicks).ravel(),
        clicks_truth=divide(truth, own).ravel(),
        logs=logs,
        searches=searches,
        threshold=student(logs, tests=truth.size),
        invisible=invisible_share(world),
    )


def divide(above: Floats, below: Floats | Integers) -> Floats:
    """above / below, and 0 where both are: a query that is never clicked is known to have utility 0.

    >>> divide(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    array([0.5, 0. ])
    """
    empty = (below == 0) & (np.abs(above) <= 0)
    return np.where(empty, 0.0, above) / np.where(empty, 1.0, below)
