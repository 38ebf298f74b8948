"""A world: who searches for what and how, and what the production ranker answers. Its law is known exactly.

A search is born from an *intent*: a query, and the set of documents that are relevant to the person. An
intent has a probability; the person looks at one rank (`looks`) and clicks if a relevant document is there.
A *hit* is a relevant document that the intent's query returns, so only hits can be clicked.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.errors import WaywordError


@dataclass(frozen=True)
class Intents:
    """What people want: parallel arrays of numbers of queries and documents.

    Intent i issues `query[i]` with `probability[i]`; `document[j]` is relevant to intent `owner[j]`.
    """

    query: NDArray[np.int64]
    probability: NDArray[np.float64]
    owner: NDArray[np.int64]
    document: NDArray[np.int64]


@dataclass(frozen=True)
class Hits:
    """`document[j]` is relevant to intent `owner[j]`, whose query has it at `rank[j]`. Sorted by both."""

    owner: NDArray[np.int64]
    document: NDArray[np.int64]
    rank: NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """Everything that a simulation writes or draws from."""

    documents: pa.Table
    """Columns document, title, and others for people to look at."""
    queries: pa.StringArray
    """Every query that the law can emit."""
    rankings: pa.Table
    """Columns query, document, rank: the answer to each of these queries."""
    intents: Intents
    depth: int
    rankings_of: str
    """Which queries a team would collect rankings for: `all`, or those `logged`."""
    notes: tuple[str, ...] = ()
    """What was left out of the source, for people to read."""
    parts: pa.StringArray | None = None
    """Which part of the archive the person of each intent browses, if the source says so (see `parts`)."""

    def hits(self) -> Hits:
        """The relevant documents that are returned: the join of intents and rankings."""
        width = self.documents.num_rows
        returned = self._number("query", self.queries) * width + self._number(
            "document", self.documents["document"]
        )
        order = np.argsort(returned, kind="stable")
        wanted = self.intents.query[self.intents.owner] * width + self.intents.document
        place, found = find_sorted(returned[order], wanted)
        rank = self.rankings["rank"].to_numpy()[order[place[found]]].astype(np.int64)
        owner, document = self.intents.owner[found], self.intents.document[found]
        by_rank = np.lexsort((rank, owner))
        return Hits(owner[by_rank], document[by_rank], rank[by_rank])

    def _number(self, column: str, names: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """The places in `names` of a column of the rankings."""
        values = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
        found = pc.index_in(self.rankings[column], value_set=values)
        if found.null_count:
            raise WaywordError(f"The ranker answered with {found.null_count:,} rows of an unknown {column}.")
        numbers: NDArray[np.int64] = found.to_numpy().astype(np.int64)
        return numbers


def find_sorted(
    ascending: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each wanted number stands in an ascending array, and whether it is there at all.

    >>> find_sorted(np.array([2, 5]), np.array([5, 3, 9]))
    (array([1, 1, 1]), array([ True, False, False]))
    """
    if not len(ascending):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return place, ascending[place] == wanted


def truth(world: World, hits: Hits) -> pa.Table:
    """The world's law: columns query, document and

        mass[q, a] = P(a search issues q, a is relevant to the person, q returns a).

    The mean over all searches, 0 without a click, of û(s, q) = p[rank_q(a)] / p[k] (a clicked at rank k)
    meets Σ_{q̄, a} mass[q̄, a] · p[rank_q(a)] for every query q.
    """
    width = world.documents.num_rows
    keys = world.intents.query[hits.owner] * width + hits.document
    distinct, member = np.unique(keys, return_inverse=True)
    mass = np.bincount(member, weights=world.intents.probability[hits.owner], minlength=len(distinct))
    return pa.table(
        {
            "query": world.queries.take(pa.array(distinct // width)),
            "document": world.documents["document"].combine_chunks().take(pa.array(distinct % width)),
            "mass": pa.array(mass, pa.float64()),
        }
    )


def click_rate(world: World, hits: Hits, law: NDArray[np.float64]) -> float:
    """The probability that a search ends in a click: Σ over hits of P(intent) · p[rank]."""
    return float(np.sum(world.intents.probability[hits.owner] * law[hits.rank - 1]))


def invisible_share(world: World, hits: Hits) -> float:
    """How much of what people want their own queries do not return: Σ P(intent) over those relevant documents, as a
    share of all. No estimator can see it in a log."""
    probability = world.intents.probability
    return float(1 - probability[hits.owner].sum() / probability[world.intents.owner].sum())
