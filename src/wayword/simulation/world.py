"""A simulated world: intents, queries, documents and the production rankings. Its distribution is known exactly.

Every search has an *intent*: a query, and the set of documents that are relevant to the person. An intent has
a probability; the person examines one rank (`click_model`) and clicks if its document is relevant.
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
    """Intents: parallel arrays of query and document numbers.

    Intent i issues `query[i]` with `probability[i]`; `document[j]` is relevant to intent `owner[j]`.
    """

    query: NDArray[np.int64]
    probability: NDArray[np.float64]
    owner: NDArray[np.int64]
    document: NDArray[np.int64]


@dataclass(frozen=True)
class Hits:
    """`document[j]` is relevant to intent `owner[j]`, whose query returns it at `rank[j]`. Sorted by owner and rank."""

    owner: NDArray[np.int64]
    document: NDArray[np.int64]
    rank: NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """Everything that a simulation writes or draws from."""

    documents: pa.Table
    """Columns document and title; others are shown to people."""
    queries: pa.StringArray
    """Every query that a search can issue."""
    rankings: pa.Table
    """Columns query, document, rank: the result list of each query."""
    intents: Intents
    depth: int
    rankings_of: str
    """Which queries a team would collect rankings for: `all`, or those `logged`."""
    notes: tuple[str, ...] = ()
    """Messages about rows of the source that were left out."""
    context_values: pa.StringArray | None = None
    """The true value of the context column for each intent, if the source has one (see `context_column`)."""

    def hits(self) -> Hits:
        """Join intents and rankings: the relevant documents that are returned."""
        width, returned = self.documents.num_rows, self.returned()
        order = np.argsort(returned, kind="stable")
        wanted = self.intents.query[self.intents.owner] * width + self.intents.document
        place, found = find_sorted(returned[order], wanted)
        rank = self.rankings["rank"].to_numpy()[order[place[found]]].astype(np.int64)
        owner, document = self.intents.owner[found], self.intents.document[found]
        by_rank = np.lexsort((rank, owner))
        return Hits(owner[by_rank], document[by_rank], rank[by_rank])

    def returned(self) -> NDArray[np.int64]:
        """Return the pair of each row of the rankings as one number: query × number of documents + document."""
        documents = self._number("document", self.documents["document"])
        return self._number("query", self.queries) * self.documents.num_rows + documents

    def _number(self, column: str, names: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """Return the indices in `names` of a column of the rankings."""
        values = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
        found = pc.index_in(self.rankings[column], value_set=values)
        if found.null_count:
            raise WaywordError(f"The ranker answered with {found.null_count:,} rows of an unknown {column}.")
        numbers: NDArray[np.int64] = found.to_numpy().astype(np.int64)
        return numbers


def find_sorted(
    ascending: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the index of each wanted number in an ascending array, and whether the array contains it.

    >>> find_sorted(np.array([2, 5]), np.array([5, 3, 9]))
    (array([1, 1, 1]), array([ True, False, False]))
    """
    if not len(ascending):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return place, ascending[place] == wanted


def truth(world: World, hits: Hits) -> pa.Table:
    """Return the world's true distribution: columns query, document and

        mass[q, a] = P(a search issues q, a is relevant to the person, q returns a).

    The mean over all searches, 0 without a click, of û(s, q) = p[rank_q(a)] / p[k] (a clicked at rank k)
    converges to Σ_{q̄, a} mass[q̄, a] · p[rank_q(a)] for every query q.
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


def click_rate(world: World, hits: Hits, examination: NDArray[np.float64]) -> float:
    """Return the probability that a search ends in a click: Σ over hits of P(intent) · p[rank]."""
    return float(np.sum(world.intents.probability[hits.owner] * examination[hits.rank - 1]))


def invisible_share(world: World, hits: Hits) -> float:
    """Return the share of relevant documents, weighted by P(intent), that the intent's own query does not return.

    No estimator can see it in a log."""
    probability = world.intents.probability
    return float(1 - probability[hits.owner].sum() / probability[world.intents.owner].sum())
