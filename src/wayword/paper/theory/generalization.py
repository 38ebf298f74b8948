"""Theorem 1: how far the ranker that is best on a log falls short of the best in its class.

    gain      L(S)   = E_x  1/C(K,2) Σ_{q<q'} (u(x,q) − u(x,q')) S(x,q,q')       S = 1 if q goes before q', else −1
    on a log  L̂ₙ(S)  = 1/n Σ_i 1/C(K,2) Σ_{q<q'} (û_i(q) − û_i(q')) S(x_i,q,q')
    excess    E[L(S*) − L(Sₙ)] ≤ 4·B·(ρₙ/K)²·Rₙ(F)        S* and Sₙ *maximise* L and L̂ₙ over the class

The sum goes over unordered pairs, as in the proof, and is maximised, though the paper calls it a loss. û estimates
visible utility only, and so does L here; the cost in utility itself is reported beside it. The class is that of all
linear rankers of two features (`linear_rankers`), and so both maxima are exact.

`padding` is a counterexample to the theorem as stated: the factor (ρₙ/K)² counts pairs of two useful queries only, but
a pair of a useful and a useless one counts too. One useful query of utility u, logged always (so B = 1), is padded with
queries of utility 0 to K; the class has two rankers, the useful query first or last. A log without a click says
nothing, and one of the two is taken by chance:

    excess = (1 − u)ⁿ · ½ · (2·2u/K)            bound as stated = 4·(1/K)²·Rₙ,   Rₙ = E|ε₁ + … + εₙ|/n
                                                with all the pairs: 4·(2/K)·Rₙ
"""

from dataclasses import dataclass
from math import comb

import numpy as np

from wayword.paper.theory import model
from wayword.paper.theory.intervals import mean_interval, slope, slope_interval
from wayword.paper.theory.linear_rankers import Arcs, arcs, arcs_of_each, suprema
from wayword.paper.theory.model import Floats, Integers, Rng, World

SEARCHES = (25, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800)
TIE = 1e-12


@dataclass(frozen=True)
class Generalization:
    """One row per number of searches."""

    searches: Integers  # n, with those that end without a click
    excess: Floats  # mean of L(S*) − L(Sₙ) over simulated logs
    low: Floats
    high: Floats
    utility_excess: Floats  # the same in utility, with its invisible part; it falls to `floor`, not to 0
    perfect: Floats  # the share of logs whose Sₙ is S* itself
    rademacher: Floats  # Rₙ(F) of the worst pair
    rademacher_mean: Floats  # the mean over pairs
    relevant: Floats  # ρₙ
    bound: Floats  # 4·B·(ρₙ/K)²·Rₙ(F)
    summed: Floats  # 4·B/C(K,2) · Σ Rₙ(q,q') over the pairs of one context that are not both without utility
    direct: Floats  # 2·E sup_S 1/n Σ ε_i · (gain of search i under S): the proof's first step alone
    slope: float  # of log excess against log n
    slope_low: float
    slope_high: float
    ratio: float  # B
    candidates: int  # K
    contexts: int
    queries: int
    rankers: int  # the number of arcs of the class
    best_gain: float  # L(S*)
    full_gain: float  # the gain of the best order of every context, which no ranker of the class reaches
    floor: float  # the loss of S* in utility against the best in class, because it knows visible utility only
    click_rate: float
    logs: int

    @property
    def holds(self) -> bool:
        """Whether the excess is within the paper's bound at every n, with its interval."""
        return bool(np.all(self.high <= self.bound))

    @property
    def bound_slope(self) -> float:
        """The slope of log bound against log n."""
        return float(slope(self.searches, self.bound[None, :])[0])

    @property
    def room(self) -> Floats:
        """How many times the excess the bound is; unknown (NaN) without any excess."""
        return self.bound / np.where(self.excess > 0, self.excess, np.nan)


def make_features(rng: Rng, world: World, *, noise: float = 1.0) -> Floats:
    """φ[x, q, 2]: utility with noise, and a part of it with other noise; no direction orders all contexts right."""
    value = np.einsum("qa,xa->xq", world.exposure, world.relevant.astype(np.float64))
    known = (value - value.mean()) / value.std()
    hidden = rng.standard_normal((2, *value.shape))
    return np.stack([known + noise * hidden[0], known / 2 + noise * hidden[1]], axis=-1)


def pair_gains(values: Floats, signs: Floats) -> Floats:
    """1/C(K,2) Σ_{q<q'} (v(q) − v(q'))·S(q,q') for values[..., K] and signs[arc, pair] → [..., arc]."""
    first, second = np.triu_indices(values.shape[-1], 1)
    return (values[..., first] - values[..., second]) @ signs.T / len(first)


def gains(values: Floats, signs: Floats) -> Floats:
    """The same in each context: values[x, ..., K] and signs[arc, x, pair] → [x, ..., arc]."""
    return np.stack([pair_gains(of, signs[:, x]) for x, of in enumerate(values)])


def best_on_logs(logged: Floats, width: Floats) -> Floats:
    """The chance of each arc [log, arc] when w is drawn evenly from the maximisers of a log's gain."""
    weight = (logged >= logged.max(axis=1, keepdims=True) - TIE) * width
    return weight / weight.sum(axis=1, keepdims=True)


def relevant_queries(world: World, searches: Integers) -> Floats:
    """ρₙ = Σ_q 1 − (1 − P(q is a candidate with utility above 0))ⁿ, for each n."""
    hit = (model.utilities(world) > 0) * world.share[:, None]
    chance = np.bincount(world.candidates.ravel(), weights=hit.ravel(), minlength=len(world.rank))
    return np.sum(1 - (1 - np.minimum(chance, 1.0)) ** searches[:, None], axis=1)


def pairs_that_count(world: World) -> Floats:
    """Which of the unordered pairs of queries are candidates of one context where not both have utility 0 (1 or 0)."""
    first, second = np.triu_indices(world.candidates.shape[1], 1)
    of, other = world.candidates[:, first], world.candidates[:, second]
    some = (model.utilities(world)[:, first] > 0) | (model.utilities(world)[:, second] > 0)
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
    """The gain of each arc from every kind of search."""

    law: Floats  # the probability of each kind of search (context, logged candidate, look), in one row
    worth: Floats  # worth[kind, arc]: the amount that one such search adds to n·L̂ₙ
    gain: Floats  # L of each arc in visible utility, the mean over logged candidates
    utility_gain: Floats  # L of each arc in utility
    width: Floats


def learning(world: World, found: Arcs) -> Learning:
    """Every kind of search with the gain of each arc from it; all candidates are logged equally often."""
    worth = gains(model.estimates(world), found.signs)
    each = world.share / world.candidates.shape[1]
    law = np.broadcast_to(each[:, None, None] * world.law, worth.shape[:3])
    values = (model.visible(world).mean(axis=1), model.utilities(world))
    gain, utility = (world.share @ gains(of, found.signs) for of in values)
    return Learning(law.ravel(), worth.reshape(law.size, -1), gain, utility, found.width)


def learn(rng: Rng, task: Learning, *, searches: int, logs: int) -> tuple[Floats, Floats, Floats]:
    """For each of `logs` logs: the excess, the excess in utility, and how likely Sₙ is S*."""
    counts = model.draw_logs(rng, task.law, searches, logs)
    chance = best_on_logs(counts.astype(np.float64) @ task.worth / searches, task.width)
    excess = chance @ (task.gain.max() - task.gain)
    utility = chance @ (task.utility_gain.max() - task.utility_gain)
    return excess, utility, chance @ (task.gain >= task.gain.max() - TIE)


def generalization(
    rng: Rng, world: World, features: Floats, *, logs: int, draws: int, searches: tuple[int, ...] = SEARCHES
) -> Generalization:
    """Learn from `logs` logs of each size; Rademacher complexities from `draws` draws of signs."""
    found, grid = rankers(world, features), np.array(searches)
    task = learning(world, found)
    results = [learn(rng, task, searches=n, logs=logs) for n in searches]
    excess, utility, perfect = (np.stack(column) for column in zip(*results, strict=True))
    first, second = np.triu_indices(features.shape[1], 1)
    pairs = arcs_of_each(np.swapaxes(features[:, first] - features[:, second], 0, 1))
    sups = [suprema(rng, world.share, pairs, searches=n, draws=draws) for n in searches]
    each = np.stack([sup.mean(axis=1) for sup in sups])
    worst = np.stack([sup[place] for sup, place in zip(sups, each.argmax(axis=1), strict=True)])
    direct = [suprema(rng, task.law, task.worth, searches=n, draws=logs).mean() for n in searches]
    k = world.candidates.shape[1]
    b, rho = model.largest_ratio(world), relevant_queries(world, grid)
    factor = 4 * b * (rho / k) ** 2
    seen = model.visible(world).mean(axis=1)
    top = np.abs(seen[:, :, None] - seen[:, None, :]).sum(axis=(1, 2)) / (k * (k - 1))
    return Generalization(
        grid,
        *mean_interval(excess),
        *(utility.mean(axis=1), perfect.mean(axis=1)),
        *(worst.mean(axis=1), each.mean(axis=1), rho, factor * worst.mean(axis=1)),
        *(4 * b / (k * (k - 1) / 2) * (each @ pairs_that_count(world)), 2 * np.array(direct)),
        *slope_interval(rng, grid, excess),
        ratio=b,
        candidates=k,
        contexts=len(world.share),
        queries=len(world.rank),
        rankers=len(found.width),
        best_gain=float(task.gain.max()),
        full_gain=float(world.share @ top),
        floor=float(task.utility_gain.max() - task.utility_gain[task.gain.argmax()]),
        click_rate=float(world.share @ model.utilities(world).mean(axis=1)),
        logs=logs,
    )


@dataclass(frozen=True)
class Padding:
    """One row per number of candidates, at n = `searches`; everything is exact."""

    candidates: Integers
    excess: Floats
    bound: Floats  # 4·B·(ρ/K)²·Rₙ
    mended: Floats  # 4·B·(pairs with a useful query / C(K,2))·Rₙ
    utility: float
    searches: int


def coin_complexity(n: int) -> float:
    """E|ε₁ + … + εₙ|/n: the complexity of a class that can only turn all signs at once."""
    return sum(comb(n, heads) * abs(2 * heads - n) for heads in range(n + 1)) / 2**n / n


def padding(candidates: tuple[int, ...] = (2, 4, 8, 16, 32)) -> Padding:
    """The excess and both bounds, for one search and a useful query that is clicked every second time."""
    utility, searches = 0.5, 1
    k, complexity = np.array(candidates), coin_complexity(searches)
    excess = (1 - utility) ** searches * (2 * utility / k)
    return Padding(k, excess, 4 / k**2 * complexity, 4 * (2 / k) * complexity, utility, searches)
