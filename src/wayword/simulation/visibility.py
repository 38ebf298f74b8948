"""The invisible share of a world as a setting: how much of what people want their own query does not return.

A wanted document is made visible by putting it on the page of the query, at a rank that visible ones have in this
world; the results from there on move down. One is made invisible by taking it off the page. So where wanted documents
stand stays as it is, and only how many of them are there changes.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.simulation.world import World, find_sorted


def with_invisible_share(world: World, share: float, rng: np.random.Generator) -> World:
    """Return the world in which people's own queries do not return this share of what they want, as `invisible_share`
    counts it. The wanted documents of a smaller share contain those of a larger one, for the same generator."""
    width = world.documents.num_rows
    returned, rank = world.returned(), world.rankings["rank"].to_numpy().astype(np.float64)
    intents = world.intents
    wanted, member = np.unique(intents.query[intents.owner] * width + intents.document, return_inverse=True)
    mass = np.bincount(member, weights=intents.probability[intents.owner])
    by_key = np.argsort(returned, kind="stable")
    place, visible = find_sorted(returned[by_key], wanted)
    order = np.lexsort((rng.random(len(wanted)), ~visible))  # the visible first
    kept = np.zeros(len(wanted), np.bool_)
    kept[order] = np.cumsum(mass[order]) <= (1 - share) * mass.sum() + 1e-9
    ranks = rank[by_key[place[visible]]]
    drawn = ranks[rng.integers(len(ranks), size=len(wanted))]
    stays = ~np.isin(returned, wanted[visible & ~kept])
    added = kept & ~visible
    keys = np.r_[returned[stays], wanted[added]]
    return replace(world, rankings=_pages(world, keys, np.r_[rank[stays], drawn[added] - 0.5]))


def _pages(world: World, keys: NDArray[np.int64], rank: NDArray[np.float64]) -> pa.Table:
    """Return the rankings of these pairs of query and document in the order of `rank`, counted from 1 to the depth."""
    query, document = np.divmod(keys, world.documents.num_rows)
    order = np.lexsort((document, rank, query))
    query, document = query[order], document[order]
    places = np.arange(len(query)) - np.searchsorted(query, query) + 1
    shown = places <= world.depth
    return pa.table(
        {
            "query": world.queries.take(pa.array(query[shown])),
            "document": world.documents["document"].combine_chunks().take(pa.array(document[shown])),
            "rank": pa.array(places[shown].astype(np.int32)),
        }
    )
