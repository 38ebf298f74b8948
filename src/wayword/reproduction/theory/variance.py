"""Proposition 3: û ≤ B and Var û ≤ B · E û − (E û)², and Proposition 2: without a B there is no bound.

    Var û(x, q | q̄) = Σ p_q² / p_q̄ − (E û)²

The utility in the bound must be the visible one, E û(x, q | q̄): as B·t − t² falls from t = B/2 on, a larger u(x, q)
could make it too small.
"""

from dataclasses import dataclass

import numpy as np

from wayword.reproduction.theory.estimator import draw_logs, estimates
from wayword.reproduction.theory.intervals import variance_interval
from wayword.reproduction.theory.model import (
    Floats,
    Integers,
    World,
    largest_ratio,
    ratios,
    variances,
    visible,
)
from wayword.simulation.click_model import look_law


@dataclass(frozen=True)
class Variance:
    """One row per context, logged candidate and candidate."""

    context: Integers
    logged: Integers
    query: Integers
    utility: Floats
    """E û: the visible utility."""
    measured: Floats
    low: Floats
    high: Floats
    exact: Floats
    bound: Floats
    """B · E û − (E û)² with the world's B."""
    own_bound: Floats
    """The same with the largest ratio of this row alone."""
    largest: Floats
    """The largest û that was seen."""
    ratio: float
    """B of Assumption 5."""
    searches: int
    """Of each context and logged candidate."""

    @property
    def holds(self) -> bool:
        """Whether û ≤ B in all searches and the exact variance is within both bounds."""
        slack = 1 + 1e-9
        within = (self.exact <= self.bound * slack) & (self.exact <= self.own_bound * slack + 1e-12)
        return bool(np.all(within) and self.largest.max() <= self.ratio * slack)

    @property
    def covered(self) -> float:
        """The share of rows whose interval holds the exact variance: 0.95 is expected."""
        inside = (self.low <= self.exact + 1e-12) & (self.exact <= self.high + 1e-12)
        return float(inside.mean())


def variance(rng: np.random.Generator, world: World, *, searches: int) -> Variance:
    """Simulate `searches` searches of each context and logged candidate."""
    values, mean = estimates(world), visible(world)
    counts = draw_logs(rng, world.law, searches=searches, shape=mean.shape[:2])
    found = variance_interval(counts, values)
    context, logged, query = np.indices(mean.shape)
    b = largest_ratio(world)
    return Variance(
        context=context.ravel(),
        logged=world.candidates[context, logged].ravel(),
        query=world.candidates[context, query].ravel(),
        utility=mean.ravel(),
        measured=found.value.ravel(),
        low=found.low.ravel(),
        high=found.high.ravel(),
        exact=variances(world).ravel(),
        bound=(b * mean - mean**2).ravel(),
        own_bound=(ratios(world).max(axis=3) * mean - mean**2).ravel(),
        largest=np.max(values * (counts[..., None] > 0), axis=2).ravel(),
        ratio=b,
        searches=searches,
    )


@dataclass(frozen=True)
class Unbounded:
    """One shared document: q shows it at rank 1, q̄ at `rank`."""

    rank: Integers
    ratio: Floats
    """B = p[1] / p[rank]."""
    exact: Floats
    """p[1]² / p[rank] − p[1]²."""
    measured: Floats
    low: Floats
    high: Floats
    bound: Floats
    """B · u − u², which is the exact variance here."""
    printed: Floats
    """p[1]² / p[rank]² − p[1]²: what the paper's proof writes."""
    utility: float
    """u(x, q) = p[1]."""
    searches: int

    @property
    def holds(self) -> bool:
        """Whether the variance grows with the rank, as the bound does."""
        return bool(np.all(np.diff(self.exact) > 0) and np.allclose(self.exact, self.bound, rtol=1e-9))


def shared_document(rank: int, law: Floats) -> World:
    """Query 0 shows the only relevant document at rank 1, query 1 at `rank`."""
    ranks = np.zeros((2, len(law) + 1), np.int64)
    ranks[0, 0] = 1
    ranks[1, 0] = rank
    relevant = np.arange(ranks.shape[1])[None, :] == 0
    return World(law, ranks, relevant, np.array([[0, 1]]), np.ones(1))


def unbounded(
    rng: np.random.Generator, *, searches: int, places: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100)
) -> Unbounded:
    """Measure the variance of û(q | q̄) for each rank of the shared document in the logged query."""
    law = look_law(max(places))
    worlds = [shared_document(place, law) for place in places]
    values = np.stack([estimates(world)[0, 1, :, :1] for world in worlds])
    found = variance_interval(draw_logs(rng, law, searches=searches, shape=len(places)), values)
    first, other = law[0], law[np.array(places) - 1]
    return Unbounded(
        rank=np.array(places),
        ratio=first / other,
        exact=np.array([variances(world)[0, 1, 0] for world in worlds]),
        measured=found.value[:, 0],
        low=found.low[:, 0],
        high=found.high[:, 0],
        bound=first / other * first - first**2,
        printed=first**2 / other**2 - first**2,
        utility=float(first),
        searches=searches,
    )
