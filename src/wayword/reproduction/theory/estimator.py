"""The estimator û in a tiny world, as a table by the rank that was looked at, and logs as counts of looks.

A search of q̄ that looks at rank k and finds the relevant document a there gives, for every candidate q,

    û = min(p[rank_q(a)] · min(1 / p[k], max_weight / p[1]), max_ratio)

and 0 if there is no click. The looks of n searches are n draws from p, so a log *is* its counts of looks, and
those are multinomial.
"""

from dataclasses import dataclass

import numpy as np

from wayword.reproduction.theory.model import Floats, Integers, World


def estimates(world: World, *, max_ratio: float = np.inf, max_weight: float = np.inf) -> Floats:
    """û[x, l, k, j]: what a search of candidate l in context x that looks at rank k + 1 says of candidate j.

    >>> from wayword.reproduction.theory.model import example
    >>> estimates(example())[0, 0].round(9).tolist()  # the first query has document 1 at rank 3, the second at 1
    [[1.0, 0.0], [0.0, 0.0], [1.0, 3.0]]
    >>> estimates(example(), max_ratio=2.0)[0, 0, 2].round(9).tolist()
    [1.0, 2.0]
    """
    weight = np.minimum(1 / world.law, max_weight / world.law[0])
    return np.minimum(clicked(world) * weight[:, None], max_ratio)


def naive(world: World) -> Floats:
    """The biased variant [x, l, k, j]: p[rank_q(a)] / p[1] of what was clicked, wherever that was shown."""
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


@dataclass(frozen=True)
class Moments:
    """Exact mean and variance of one search, each [x, l, j]."""

    mean: Floats
    variance: Floats


def moments(law: Floats, values: Floats) -> Moments:
    """Mean and variance of values[x, l, k, j] under the law of looks k.

    >>> moments(np.array([0.5, 0.5]), np.array([0.0, 4.0]).reshape(1, 1, 2, 1)).variance.item()
    4.0
    """
    mean = np.einsum("k,xlkj->xlj", law, values)
    return Moments(mean, np.einsum("k,xlkj->xlj", law, values**2) - mean**2)


def draw_logs(
    rng: np.random.Generator, law: Floats, *, searches: int, shape: int | tuple[int, ...]
) -> Integers:
    """`shape` logs of `searches` looks: how many of them fell on each place of `law` (last axis)."""
    return rng.multinomial(searches, law / law.sum(), size=shape)


def means_of_logs(counts: Integers, values: Floats) -> Floats:
    """The mean over searches, those without click counting 0: counts[..., r, k] and values[..., k, j] → [..., r, j].

    >>> means_of_logs(np.array([[3, 1]]), np.array([[0.0], [2.0]]))
    array([[0.5]])
    """
    return (counts.astype(np.float64) @ values) / counts.sum(axis=-1, keepdims=True)
