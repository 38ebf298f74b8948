"""Theorem 1: how far the ranker that is best on a log falls short of the best in its class.

    gain      L(S)   = E_x  1/C(K,2) Σ_{q<q'} (u(x,q) − u(x,q')) S(x,q,q')       S = 1 if q goes before q', else −1
    on a log  L̂ₙ(S)  = 1/n Σ_i 1/C(K,2) Σ_{q<q'} (û_i(q) − û_i(q')) S(x_i,q,q')
    excess    E[L(S*) − L(Sₙ)] ≤ 4·B·(ρₙ/K)²·Rₙ(F)        S* and Sₙ *maximise* L and L̂ₙ over the class

The sum goes over unordered pairs, so that L is a mean over the C(K,2) pairs: the proof counts C(ρ,2) terms, and
with ordered pairs gain and excess would double while the bound would not. The paper calls L a loss and writes argmin,
but it is larger for better rankers, so we maximise. As û tells of visible utility only, so does L here; what that
costs in utility itself is reported beside it.

The class is that of all linear rankers of two features (`arcs`), and so both maxima are exact.
"""

from dataclasses import dataclass

import numpy as np

from wayword.reproduction.theory.arcs import Arcs, arcs
from wayword.reproduction.theory.estimator import draw_logs, estimates
from wayword.reproduction.theory.intervals import mean_interval, slope_interval
from wayword.reproduction.theory.model import Floats, Integers, World, largest_ratio, utilities, visible
from wayword.reproduction.theory.rademacher import gain_suprema, suprema

SEARCHES = (25, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800)
TIE = 1e-12


@dataclass(frozen=True)
class Generalization:
    """One row per number of searches."""

    searches: Integers
    """n, with those that end without a click."""
    excess: Floats
    """Mean of L(S*) − L(Sₙ) over simulated logs."""
    low: Floats
    high: Floats
    utility_excess: Floats
    """The same in utility, with what the logs cannot tell; it falls to `floor`, not to 0."""
    perfect: Floats
    """The share of logs whose Sₙ is S* itself."""
    rademacher: Floats
    """Rₙ(F) of the worst pair."""
    rademacher_mean: Floats
    """The mean over pairs."""
    relevant: Floats
    """ρₙ."""
    bound: Floats
    """4·B·(ρₙ/K)²·Rₙ(F)."""
    summed: Floats
    """4·B/C(K,2) · Σ Rₙ(q,q') over the pairs that are candidates together and not both without utility."""
    direct: Floats
    """2·E sup_S 1/n Σ ε_i · (gain of search i under S): the proof's first step, with nothing given away after it."""
    slope: float
    """Of log excess against log n."""
    slope_low: float
    slope_high: float
    bound_slope: float
    bound_slope_low: float
    bound_slope_high: float
    ratio: float
    """B."""
    candidates: int
    """K."""
    contexts: int
    queries: int
    rankers: int
    """How many arcs the class has."""
    best_gain: float
    """L(S*)."""
    full_gain: float
    """The gain of the best order of every context, which no ranker of the class reaches."""
    floor: float
    """What S* loses in utility against the best in class, because it knows visible utility only."""
    click_rate: float
    logs: int

    @property
    def holds(self) -> bool:
        """Whether the excess is within the paper's bound at every n, with its interval."""
        return bool(np.all(self.high <= self.bound))


def make_features(rng: np.random.Generator, world: World, *, noise: float = 1.0) -> Floats:
    """φ[x, q, 2]: utility with noise, and a part of it with other noise; no direction orders all contexts right."""
    value = np.einsum("qa,xa->xq", world.exposure, world.relevant.astype(np.float64))
    known = (value - value.mean()) / value.std()
    hidden = rng.standard_normal((2, *value.shape))
    return np.stack([known + noise * hidden[0], known / 2 + noise * hidden[1]], axis=-1)


def pair_gains(values: Floats, signs: Floats) -> Floats:
    """1/C(K,2) Σ_{q<q'} (v(q) − v(q'))·S(q,q') for values[..., K] and signs[arc, pair] → [..., arc].

    >>> pair_gains(np.array([3.0, 1.0]), np.array([[1.0], [-1.0]]))
    array([ 2., -2.])
    """
    first, second = np.triu_indices(values.shape[-1], 1)
    return (values[..., first] - values[..., second]) @ signs.T / len(first)


def gains(share: Floats, values: Floats, signs: Floats) -> Floats:
    """L of every arc: Σ_x share[x] · the gain in x, for values[x, K] and signs[arc, x, pair]."""
    each = [pair_gains(values[x], signs[:, x]) for x in range(len(share))]
    return share @ np.array(each)


def best_on_logs(logged: Floats, width: Floats) -> Floats:
    """The chance of each arc [log, arc] when w is drawn evenly from the maximisers of a log's gain.

    >>> best_on_logs(np.array([[1.0, 2.0, 2.0]]), np.array([1.0, 1.0, 3.0]))
    array([[0.  , 0.25, 0.75]])
    """
    weight = (logged >= logged.max(axis=1, keepdims=True) - TIE) * width
    return weight / weight.sum(axis=1, keepdims=True)


def relevant_queries(world: World, searches: Integers) -> Floats:
    """ρₙ = Σ_q 1 − (1 − P(q is a candidate with utility above 0))ⁿ, for each n."""
    hit = (utilities(world) > 0) * world.share[:, None]
    chance = np.bincount(world.candidates.ravel(), weights=hit.ravel(), minlength=len(world.rank))
    return np.sum(1 - (1 - np.minimum(chance, 1.0)) ** searches[:, None], axis=1)


def pairs_that_count(world: World) -> Floats:
    """Which of the unordered pairs of queries are candidates of one context where not both have utility 0 (1 or 0)."""
    first, second = np.triu_indices(world.candidates.shape[1], 1)
    of, other = world.candidates[:, first], world.candidates[:, second]
    some = (utilities(world)[:, first] > 0) | (utilities(world)[:, second] > 0)
    table = np.zeros((len(world.rank), len(world.rank)))
    table[np.minimum(of, other)[some], np.maximum(of, other)[some]] = 1.0
    return table[np.triu_indices(len(world.rank), 1)]


def rankers(world: World, features: Floats) -> Arcs:
    """The class on the candidates: signs[arc, x, pair]."""
    own = np.take_along_axis(features, world.candidates[:, :, None], axis=1)
    first, second = np.triu_indices(world.candidates.shape[1], 1)
    return arcs(own[:, first] - own[:, second])


@dataclass(frozen=True)
class Learning:
    """What the searches of a world are worth to each arc."""

    law: Floats
    """The probability of each kind of search (context, logged candidate, look), in one row."""
    worth: Floats
    """worth[kind, arc]: what one such search adds to n·L̂ₙ."""
    gain: Floats
    """L of each arc in visible utility, the mean over logged candidates."""
    utility_gain: Floats
    """L of each arc in utility."""
    width: Floats


def learning(world: World, found: Arcs) -> Learning:
    """Every kind of search, and what each arc gains from it; all candidates are logged equally often."""
    contexts, k = world.candidates.shape
    table = estimates(world)
    worth = np.stack([pair_gains(table[x], found.signs[:, x]) for x in range(contexts)])
    law = np.broadcast_to((world.share / k)[:, None, None] * world.law, table.shape[:3])
    return Learning(
        law=law.ravel(),
        worth=worth.reshape(law.size, -1),
        gain=gains(world.share, visible(world).mean(axis=1), found.signs),
        utility_gain=gains(world.share, utilities(world), found.signs),
        width=found.width,
    )


def learn(
    rng: np.random.Generator, task: Learning, *, searches: int, logs: int
) -> tuple[Floats, Floats, Floats]:
    """For each of `logs` logs: the excess, the excess in utility, and how likely Sₙ is S*."""
    counts = draw_logs(rng, task.law, searches=searches, shape=logs)
    chance = best_on_logs(counts.astype(np.float64) @ task.worth / searches, task.width)
    excess = chance @ (task.gain.max() - task.gain)
    utility = chance @ (task.utility_gain.max() - task.utility_gain)
    return excess, utility, chance @ (task.gain >= task.gain.max() - TIE)


def generalization(
    rng: np.random.Generator,
    world: World,
    features: Floats,
    *,
    logs: int,
    draws: int,
    searches: tuple[int, ...] = SEARCHES,
) -> Generalization:
    """Learn from `logs` logs of each size; Rademacher complexities from `draws` draws of signs."""
    found = rankers(world, features)
    task = learning(world, found)
    grid = np.array(searches)
    results = [learn(rng, task, searches=n, logs=logs) for n in searches]
    excess, utility, perfect = (np.stack(column) for column in zip(*results, strict=True))
    first, second = np.triu_indices(features.shape[1], 1)
    differences = np.swapaxes(features[:, first] - features[:, second], 0, 1)
    sups = [suprema(rng, differences, world.share, searches=n, draws=draws) for n in searches]
    each = np.stack([sup.mean(axis=1) for sup in sups])
    worst = np.stack([sup[place] for sup, place in zip(sups, each.argmax(axis=1), strict=True)])
    direct = [gain_suprema(rng, task.law, task.worth, searches=n, draws=logs).mean() for n in searches]
    k = world.candidates.shape[1]
    b, rho = largest_ratio(world), relevant_queries(world, grid)
    factor = 4 * b * (rho / k) ** 2
    fitted = slope_interval(rng, grid.astype(np.float64), excess)
    of_bound = slope_interval(rng, grid.astype(np.float64), worst, factor=factor)
    shown = mean_interval(excess)
    seen = visible(world).mean(axis=1)
    top = np.abs(seen[:, :, None] - seen[:, None, :]).sum(axis=(1, 2)) / (k * (k - 1))
    return Generalization(
        searches=grid,
        excess=shown.value,
        low=shown.low,
        high=shown.high,
        utility_excess=utility.mean(axis=1),
        perfect=perfect.mean(axis=1),
        rademacher=worst.mean(axis=1),
        rademacher_mean=each.mean(axis=1),
        relevant=rho,
        bound=factor * worst.mean(axis=1),
        summed=4 * b / (k * (k - 1) / 2) * (each @ pairs_that_count(world)),
        direct=2 * np.array(direct),
        slope=fitted[0],
        slope_low=fitted[1],
        slope_high=fitted[2],
        bound_slope=of_bound[0],
        bound_slope_low=of_bound[1],
        bound_slope_high=of_bound[2],
        ratio=b,
        candidates=k,
        contexts=len(world.share),
        queries=len(world.rank),
        rankers=len(found.width),
        best_gain=float(task.gain.max()),
        full_gain=float(world.share @ top),
        floor=float(task.utility_gain.max() - task.utility_gain[task.gain.argmax()]),
        click_rate=float(world.share @ utilities(world).mean(axis=1)),
        logs=logs,
    )
