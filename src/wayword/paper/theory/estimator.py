"""The estimator û: unbiased (Proposition 1), of bounded variance (Propositions 2 and 3), and with a bound on it.

    û ≤ B,   Var û(x, q | q̄) = Σ p_q² / p_q̄ − (E û)² ≤ B · E û − (E û)²

The utility in the bound must be the visible one, E û(x, q | q̄): B·t − t² decreases from t = B/2 on, so a larger
u(x, q) can make the bound too small. Bounding û trades bias for variance: for the mean over n searches of û_b,

    mean squared error = (E û_b − E û)² + Var(û_b) / n

averaged over all contexts, logged queries and candidates. `max_ratio` bounds p[rank_q] / p[k] (the paper's B),
`max_weight` bounds p[1] / p[k].
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from wayword.paper.theory import model
from wayword.paper.theory.intervals import mean_interval, student, variance_interval
from wayword.paper.theory.model import Floats, Integers, Rng, World
from wayword.simulation.click_model import examination_probabilities

KINDS = ("max_ratio", "max_weight")
GRID = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 14.0)


@dataclass(frozen=True)
class Unbiasedness:
    """One row per context and candidate; in each context one candidate, `logged`, was issued in all searches."""

    context: Integers
    logged: Integers
    query: Integers
    utility: Floats  # u(x, q)
    truth: Floats  # the visible part of u(x, q): the expected value of û
    mean: Floats
    low: Floats
    high: Floats
    z: Floats  # (mean − truth) / standard error
    naive: Floats  # mean over searches of p[rank_q(a)] / p[1]: without the correction for the clicked rank
    naive_truth: Floats  # Σ p_q · p_q̄ / p[1], its expected value
    clicks_only: Floats  # mean of û over searches with a click
    clicks_truth: Floats  # truth / u(x, q̄), its expected value
    _: KW_ONLY
    logs: int
    searches: int  # in each log
    threshold: float  # the largest |z| that chance explains at 95% over all rows (Bonferroni)
    invisible: float  # the share of utility that the logs do not show, over all logged queries

    @property
    def largest_z(self) -> float:
        """The largest |z| of all rows."""
        return float(np.abs(self.z).max())

    @property
    def holds(self) -> bool:
        """Whether no row is further from the truth than chance explains."""
        return self.largest_z <= self.threshold

    @property
    def misordered(self) -> tuple[int, int]:
        """How many pairs of queries of a context the uncorrected means order wrongly (exact), and how many differ."""
        same = np.triu(self.context[:, None] == self.context, 1)
        true, naive = (np.sign(np.round(of[:, None] - of, 12)) for of in (self.truth, self.naive_truth))
        return int(np.sum(same & (true * naive < 0))), int(np.sum(same & (true != 0)))


def unbiasedness(rng: Rng, world: World, *, logs: int, searches: int) -> Unbiasedness:
    """Simulate `logs` logs of `searches` searches for each context, of one logged query each."""
    contexts, candidates = world.candidates.shape
    of = (np.arange(contexts), rng.integers(candidates, size=contexts))
    counts = model.draw_logs(rng, world.law, searches, (contexts, logs))
    per_log = np.swapaxes(model.means_of_logs(counts, model.estimates(world)[of]), 1, 2)
    mean, low, high = mean_interval(per_log)
    utility, truth, plain = model.utilities(world), model.visible(world)[of], model.naive(world)
    all_counts = counts.sum(axis=1, keepdims=True)
    clicks = np.sum(all_counts * (plain[of].max(axis=2)[:, None, :] > 0), axis=2)
    names = (np.repeat(of[0], candidates), np.repeat(world.candidates[of], candidates), world.candidates)
    z = divide(mean - truth, np.asarray(stats.sem(per_log, axis=-1)))
    uncorrected = (model.means_of_logs(all_counts, plain[of]), model.moments(world.law, plain)[0][of])
    per_click = (divide(mean * logs * searches, clicks), divide(truth, utility[of][:, None]))
    rows: tuple[Any, ...] = (*names, utility, truth, mean, low, high, z, *uncorrected, *per_click)
    limits: Any = {"threshold": student(logs, tests=truth.size), "invisible": model.invisible_share(world)}
    return Unbiasedness(*(values.ravel() for values in rows), logs=logs, searches=searches, **limits)


def divide(above: Floats, below: Floats | Integers) -> Floats:
    """above / below, and 0 where both are 0: a query that is never clicked has utility 0."""
    empty = (below == 0) & (np.abs(above) <= 0)
    return np.where(empty, 0.0, above) / np.where(empty, 1.0, below)


@dataclass(frozen=True)
class Variance:
    """One row per context, logged candidate and candidate."""

    context: Integers
    logged: Integers
    query: Integers
    utility: Floats  # E û: the visible utility
    measured: Floats
    low: Floats
    high: Floats
    exact: Floats
    bound: Floats  # B · E û − (E û)² with the world's B
    own_bound: Floats  # the same with the largest ratio of this row alone
    largest: Floats  # the largest û in the simulated searches
    _: KW_ONLY
    ratio: float  # B of Assumption 5
    searches: int  # of each context and logged candidate

    @property
    def holds(self) -> bool:
        """Whether û ≤ B in all searches and the exact variance is within both bounds."""
        slack = 1 + 1e-9
        within = (self.exact <= self.bound * slack) & (self.exact <= self.own_bound * slack + 1e-12)
        return bool(np.all(within) and self.largest.max() <= self.ratio * slack)

    @property
    def covered(self) -> float:
        """The share of rows whose interval holds the exact variance: 0.95 is expected."""
        return float(np.mean((self.low <= self.exact + 1e-12) & (self.exact <= self.high + 1e-12)))

    @property
    def share(self) -> Floats:
        """The measured variance as a share of its bound; unknown (NaN) where that is 0."""
        return self.measured / np.where(self.bound > 0, self.bound, np.nan)


def variance(rng: Rng, world: World, *, searches: int) -> Variance:
    """Simulate `searches` searches of each context and logged candidate."""
    values, mean, b = model.estimates(world), model.visible(world), model.largest_ratio(world)
    counts = model.draw_logs(rng, world.law, searches, mean.shape[:2])
    context, logged, query = np.indices(mean.shape)
    names = (context, world.candidates[context, logged], world.candidates[context, query], mean)
    bounds = (b * mean - mean**2, model.ratios(world).max(axis=3) * mean - mean**2)
    measured = (*variance_interval(counts, values), model.variances(world), *bounds)
    rows: tuple[Any, ...] = (*names, *measured, np.max(values * (counts[..., None] > 0), axis=2))
    return Variance(*(column.ravel() for column in rows), ratio=b, searches=searches)


@dataclass(frozen=True)
class Unbounded:
    """One shared document: q shows it at rank 1, q̄ at `rank`."""

    rank: Integers
    ratio: Floats  # B = p[1] / p[rank]
    exact: Floats  # p[1]² / p[rank] − p[1]²
    measured: Floats
    low: Floats
    high: Floats
    bound: Floats  # B · u − u², which is the exact variance here
    printed: Floats  # p[1]² / p[rank]² − p[1]²: the formula in the paper's proof
    _: KW_ONLY
    utility: float  # u(x, q) = p[1]
    searches: int

    @property
    def holds(self) -> bool:
        """Whether the variance grows with the rank, as the bound does."""
        return bool(np.all(np.diff(self.exact) > 0) and np.allclose(self.exact, self.bound, rtol=1e-9))


def shared_document(rank: int, law: Floats) -> World:
    """Query 0 shows the only relevant document at rank 1, query 1 at `rank`."""
    ranks = np.zeros((2, len(law) + 1), np.int64)
    ranks[:, 0] = 1, rank
    relevant = np.arange(ranks.shape[1])[None, :] == 0
    return World(law, ranks, relevant, np.array([[0, 1]]), np.ones(1))


def unbounded(rng: Rng, *, searches: int, places: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100)) -> Unbounded:
    """Measure the variance of û(q | q̄) for each rank of the shared document in the logged query."""
    law = examination_probabilities(max(places))
    worlds = [shared_document(place, law) for place in places]
    values = np.stack([model.estimates(world)[0, 1, :, :1] for world in worlds])
    measured = variance_interval(model.draw_logs(rng, law, searches, len(places)), values)
    first, other = law[0], law[np.array(places) - 1]
    exact = np.array([model.variances(world)[0, 1, 0] for world in worlds])
    bounds = (first / other * first - first**2, first**2 / other**2 - first**2)
    rows: tuple[Any, ...] = (first / other, exact, *(column[:, 0] for column in measured), *bounds)
    return Unbounded(np.array(places), *rows, utility=float(first), searches=searches)


@dataclass(frozen=True)
class Bounding:
    """One row per number of searches, kind of bound and bound; the last bound of each kind changes no estimate."""

    searches: Integers
    kind: NDArray[np.str_]
    bound: Floats
    bias: Floats  # the root of the mean squared bias: exact
    variance: Floats  # the mean variance of one search: exact
    error: Floats  # the mean squared error: exact
    measured: Floats  # the mean squared error over simulated logs
    low: Floats
    high: Floats
    _: KW_ONLY
    logs: int

    @property
    def best(self) -> NDArray[np.bool_]:
        """Whether the exact error is the smallest of its kind at this number of searches, the first of ties."""
        groups = np.char.add(self.kind, self.searches.astype(str))
        order = np.lexsort((self.error, groups))
        best = np.zeros(len(order), np.bool_)
        best[order[np.unique(groups[order], return_index=True)[1]]] = True
        return best

    def best_bound(self, searches: int, kind: str) -> float:
        """The bound with the smallest exact error."""
        return float(self.bound[(self.searches == searches) & (self.kind == kind) & self.best][0])

    @property
    def holds(self) -> bool:
        """Whether the best bound grows with the number of searches, for both kinds."""
        best = [[self.best_bound(n, kind) for n in np.unique(self.searches)] for kind in KINDS]
        return bool(np.all(np.diff(np.array(best), axis=1) >= 0))


def bounds_of(world: World, kind: str) -> Floats:
    """The grid below the largest value, and that value itself: p[1]/p[depth] for weights, B for ratios."""
    largest = model.largest_ratio(world) if kind == "max_ratio" else float(world.law[0] / world.law[-1])
    return np.array([*(b for b in GRID if b < largest and (kind == "max_ratio" or b >= 1)), largest])


def bounding(rng: Rng, world: World, *, logs: int, searches: tuple[int, ...] = (100, 10_000)) -> Bounding:
    """The error of every bound, exact and over `logs` simulated logs of each number of searches."""
    tables = [
        (kind, b, model.estimates(world, **{kind: b})) for kind in KINDS for b in bounds_of(world, kind)
    ]
    truth = model.visible(world)
    rows = []
    for number in searches:
        counts = model.draw_logs(rng, world.law, number, (*truth.shape[:2], logs))
        rows += [(number, kind, b, *errors(world, table, counts, truth)) for kind, b, table in tables]
    return Bounding(*(np.array(column) for column in zip(*rows, strict=True)), logs=logs)


def errors(world: World, table: Floats, counts: Integers, truth: Floats) -> tuple[float, ...]:
    """Bias, variance and error of one table of û, exact; then the measured error with its interval."""
    mean, spread = model.moments(world.law, table)
    bias, variance = float(np.mean((mean - truth) ** 2)), float(np.mean(spread))
    off = model.means_of_logs(counts, table) - truth[:, :, None, :]
    measured = mean_interval(np.mean(off**2, axis=(0, 1, 3)))
    error = bias + variance / int(counts[0, 0, 0].sum())
    return float(np.sqrt(bias)), variance, error, *map(float, measured)
