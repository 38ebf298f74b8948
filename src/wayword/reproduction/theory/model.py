"""A tiny world whose truth is a sum over documents: what the theory is checked against.

A person in context x issues one of the candidate queries Q(x), looks at one rank k with probability p[k]
(`simulation.looks`), and clicks if the document there is relevant to x. Then, with p[absent] = 0,

    u(x, q)          = Σ p[rank_q(a)]  over the relevant a                              (utility)
    E û(x, q | q̄)    = Σ p[rank_q(a)]  over the relevant a that q̄ returns               (visible utility)
    Var û(x, q | q̄)  = Σ p[rank_q(a)]² / p[rank_q̄(a)]  over the same a  −  (E û)²
    B                = max p[rank_q(a)] / p[rank_q̄(a)]  over x, q, q̄ and the same a    (Assumption 5)

The difference of the first two is invisible: no log of q̄ can tell of it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.simulation.click_model import look_law

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """Contexts x, queries q, documents a and candidates j of a context, all numbered."""

    law: Floats
    """p[1], …, p[depth]."""
    rank: Integers
    """rank[q, a] from 1, and 0 where q does not return a."""
    relevant: NDArray[np.bool_]
    """relevant[x, a]."""
    candidates: Integers
    """candidates[x, j]: the queries of Q(x)."""
    share: Floats
    """How often each context occurs."""

    @property
    def exposure(self) -> Floats:
        """exposure[q, a] = p[rank_q(a)], 0 where q does not return a."""
        return np.concatenate(([0.0], self.law))[self.rank]

    @property
    def wanted(self) -> Floats:
        """wanted[x, j, a] = p[rank_j(a)] where a is relevant to x, else 0: the probability of a click on a."""
        return self.exposure[self.candidates] * self.relevant[:, None, :]


def make_world(
    rng: np.random.Generator,
    *,
    contexts: int = 4,
    candidates: int = 5,
    queries: int = 8,
    documents: int = 20,
    depth: int = 20,
    alpha: float = 1.0,
) -> World:
    """Each query returns half to all of `depth` documents in an order of its own; three to six documents are
    relevant to a context, whoever returns them."""
    length = rng.integers((depth + 1) // 2, depth + 1, size=queries)
    place = shuffled(rng, queries, documents) + 1
    rank = np.where(place <= length[:, None], place, 0)
    chosen = shuffled(rng, contexts, queries)[:, :candidates]
    relevant = shuffled(rng, contexts, documents) < rng.integers(3, 7, size=(contexts, 1))
    share = rng.dirichlet(np.full(contexts, 5.0))
    return World(look_law(depth, alpha=alpha), rank, relevant, chosen, share)


def shuffled(rng: np.random.Generator, rows: int, width: int) -> Integers:
    """`rows` permutations of 0..width-1."""
    return rng.permuted(np.tile(np.arange(width), (rows, 1)), axis=1)


def utilities(world: World) -> Floats:
    """u[x, j] = Σ over the relevant a of p[rank_j(a)].

    >>> utilities(example())[0] * (1 + 1 / 2 + 1 / 3)
    array([1.33333333, 1.5       ])
    """
    total: Floats = world.wanted.sum(axis=2)
    return total


def visible(world: World) -> Floats:
    """visible[x, l, j] = E û(x, q_j | q_l): what the looks at candidate l can tell of u(x, q_j).

    >>> visible(example())[0, 1] * (1 + 1 / 2 + 1 / 3)  # of document 0 the second query knows nothing
    array([0.33333333, 1.5       ])
    """
    wanted = world.wanted
    return np.einsum("xla,xja->xlj", (wanted > 0).astype(np.float64), wanted)


def ratios(world: World) -> Floats:
    """ratios[x, l, j, a] = p[rank_j(a)] / p[rank_l(a)] for the relevant a that l returns, else 0."""
    wanted = world.wanted
    logged, looked = wanted[:, :, None, :], wanted[:, None, :, :]
    return np.where(logged > 0, looked / np.where(logged > 0, logged, 1.0), 0.0)


def largest_ratio(world: World) -> float:
    """B of Assumption 5, over the relevant documents that the logged query returns.

    >>> round(largest_ratio(example()), 9)  # the first query has document 1 at rank 3, the second at rank 1
    3.0
    """
    return float(ratios(world).max(initial=0.0))


def variances(world: World) -> Floats:
    """variances[x, l, j] = Σ p_j²/p_l − visible²: the exact Var û(x, q_j | q_l) of one search."""
    second = np.einsum("xlja,xja->xlj", ratios(world), world.wanted)
    return second - visible(world) ** 2


def invisible_share(world: World) -> float:
    """How much of the utility of its candidates the logs of a context do not tell when each is logged equally often.

    1 − Σ_x share · mean over q̄ of Σ_q E û(x, q | q̄)  /  Σ_x share · Σ_q u(x, q)
    """
    told = world.share @ visible(world).mean(axis=1).sum(axis=1)
    return float(1 - told / (world.share @ utilities(world).sum(axis=1)))


def example() -> World:
    """One context, two queries, three documents of which all are relevant, depth 3.

    The first query returns documents 0 and 1 at ranks 1 and 3; the second returns 1 and 2 at ranks 1 and 2.
    """
    return World(
        law=look_law(3),
        rank=np.array([[1, 3, 0], [0, 1, 2]]),
        relevant=np.ones((1, 3), np.bool_),
        candidates=np.array([[0, 1]]),
        share=np.ones(1),
    )
