"""A small world whose truth is a sum over documents, the estimator û in it, and logs as counts of looks.

A person in context x issues one of the candidate queries Q(x), looks at one rank k with probability p[k]
(`simulation.click_model`), and clicks if the document there is relevant to x. Then, with p[absent] = 0,

    u(x, q)          = Σ p[rank_q(a)]  over the relevant a                              (utility)
    E û(x, q | q̄)    = Σ p[rank_q(a)]  over the relevant a that q̄ returns               (visible utility)
    Var û(x, q | q̄)  = Σ p[rank_q(a)]² / p[rank_q̄(a)]  over the same a  −  (E û)²
    B                = max p[rank_q(a)] / p[rank_q̄(a)]  over x, q, q̄ and the same a    (Assumption 5)

The difference of the first two is invisible: no log of q̄ contains it. A search of q̄ that looks at rank k and finds the
relevant document a there gives, for every candidate q, and 0 if there is no click,

    û = min(p[rank_q(a)] · min(1 / p[k], max_weight / p[1]), max_ratio)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.simulation.click_model import examination_probabilities

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rng = np.random.Generator


@dataclass(frozen=True)
class World:
    """Contexts x, queries q, documents a and candidates j of a context, all numbered."""

    law: Floats  # p[1], …, p[depth]
    rank: Integers  # rank[q, a] from 1, and 0 where q does not return a
    relevant: NDArray[np.bool_]  # relevant[x, a]
    candidates: Integers  # candidates[x, j]: the queries of Q(x)
    share: Floats  # how often each context occurs

    @property
    def exposure(self) -> Floats:
        """exposure[q, a] = p[rank_q(a)], 0 where q does not return a."""
        return np.concatenate(([0.0], self.law))[self.rank]

    @property
    def wanted(self) -> Floats:
        """wanted[x, j, a] = p[rank_j(a)] where a is relevant to x, else 0: the probability of a click on a."""
        return self.exposure[self.candidates] * self.relevant[:, None, :]


def make_world(
    rng: Rng,
    *,
    contexts: int = 4,
    candidates: int = 5,
    queries: int = 8,
    documents: int = 20,
    depth: int = 20,
    alpha: float = 1.0,
) -> World:
    """Draw a world: each query returns half to all of `depth` documents in an order of its own; three to six
    documents are relevant to a context, whichever query returns them."""
    length = rng.integers((depth + 1) // 2, depth + 1, size=queries)
    place = shuffled(rng, queries, documents) + 1
    rank = np.where(place <= length[:, None], place, 0)
    chosen = shuffled(rng, contexts, queries)[:, :candidates]
    relevant = shuffled(rng, contexts, documents) < rng.integers(3, 7, size=(contexts, 1))
    share = rng.dirichlet(np.full(contexts, 5.0))
    return World(examination_probabilities(depth, alpha=alpha), rank, relevant, chosen, share)


def shuffled(rng: Rng, rows: int, width: int) -> Integers:
    """`rows` permutations of 0..width-1."""
    return rng.permuted(np.tile(np.arange(width), (rows, 1)), axis=1)


def utilities(world: World) -> Floats:
    """u[x, j] = Σ over the relevant a of p[rank_j(a)]."""
    return np.asarray(world.wanted.sum(axis=2))


def visible(world: World) -> Floats:
    """visible[x, l, j] = E û(x, q_j | q_l): the part of u(x, q_j) that searches of candidate l show."""
    wanted = world.wanted
    return np.einsum("xla,xja->xlj", (wanted > 0).astype(np.float64), wanted)


def ratios(world: World) -> Floats:
    """ratios[x, l, j, a] = p[rank_j(a)] / p[rank_l(a)] for the relevant a that l returns, else 0."""
    wanted = world.wanted
    logged, looked = wanted[:, :, None, :], wanted[:, None, :, :]
    return np.where(logged > 0, looked / np.where(logged > 0, logged, 1.0), 0.0)


def largest_ratio(world: World) -> float:
    """B of Assumption 5, over the relevant documents that the logged query returns."""
    return float(ratios(world).max(initial=0.0))


def variances(world: World) -> Floats:
    """variances[x, l, j] = Σ p_j²/p_l − visible²: the exact Var û(x, q_j | q_l) of one search."""
    return np.einsum("xlja,xja->xlj", ratios(world), world.wanted) - visible(world) ** 2


def invisible_share(world: World) -> float:
    """The share of the candidates' utility that the logs do not show when each candidate is logged equally often:
    1 − Σ_x share · mean over q̄ of Σ_q E û(x, q | q̄)  /  Σ_x share · Σ_q u(x, q)."""
    seen = world.share @ visible(world).mean(axis=1).sum(axis=1)
    return float(1 - seen / (world.share @ utilities(world).sum(axis=1)))


def estimates(world: World, *, max_ratio: float = np.inf, max_weight: float = np.inf) -> Floats:
    """û[x, l, k, j]: the estimate for candidate j from a search of candidate l in context x, look at rank k + 1."""
    weight = np.minimum(1 / world.law, max_weight / world.law[0])
    return np.minimum(clicked(world) * weight[:, None], max_ratio)


def naive(world: World) -> Floats:
    """The biased variant [x, l, k, j]: p[rank_q(a)] / p[1] of the clicked document, wherever it was shown."""
    return clicked(world) / world.law[0]


def clicked(world: World) -> Floats:
    """[x, l, k, j]: p[rank_j(a)] of the relevant document a that l shows at rank k + 1; 0 if there is none."""
    queries, documents = world.rank.shape
    at = np.full((queries, len(world.law)), documents)  # the document after the last stands for none
    query, document = np.nonzero(world.rank)
    at[query, world.rank[query, document] - 1] = document
    wanted = np.pad(world.wanted, ((0, 0), (0, 0), (0, 1)))
    found = np.take_along_axis(wanted[:, None], at[world.candidates][:, :, None, :], axis=3)
    return np.swapaxes(found, 2, 3)


def moments(law: Floats, values: Floats) -> tuple[Floats, Floats]:
    """The exact mean and variance [x, l, j] of values[x, l, k, j] under the law of looks k."""
    mean = np.einsum("k,xlkj->xlj", law, values)
    return mean, np.einsum("k,xlkj->xlj", law, values**2) - mean**2


def draw_logs(rng: Rng, law: Floats, searches: int, shape: int | tuple[int, ...]) -> Integers:
    """`shape` logs of `searches` looks: how many of them fell on each place of `law` (last axis)."""
    return rng.multinomial(searches, law / law.sum(), size=shape)


def means_of_logs(counts: Integers, values: Floats) -> Floats:
    """The mean over searches, those without click counting 0: counts[..., r, k] and values[..., k, j] → [..., r, j]."""
    return (counts.astype(np.float64) @ values) / counts.sum(axis=-1, keepdims=True)
