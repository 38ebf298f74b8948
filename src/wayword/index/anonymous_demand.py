"""Searches of queries with few users, counted for public queries so that nobody can be singled out (k-anonymity).

The text of a rare query p is not in the index, nor any number of its own. Its searches count, in part, for one public
query q that shares a beginning with it: for the share of people who would accept q instead, and what they find there,

    share(q | p) = a(q | p) · min(û(q | p), 1)

q is the query of the highest share behind which there are enough people: at least k = `min_users` users searched for
the rare queries that count for q. Where they are fewer, these try their next best query; what finds none is dropped.

The searches of q grow by the sum, and its demand and own utility in proportion. So rare queries tell how much is wanted
behind a beginning, and by the choice of q what; but no click of theirs is in the index, and the only number that
depends on them is one for each public query: a sum over k users or more.
"""

from bisect import bisect_left
from collections.abc import Sequence
from os.path import commonprefix
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion.list_policy import ListPolicy
from wayword.completion.popular import INTENDED, LAST
from wayword.completion.typing_outcomes import Slots
from wayword.engines import tables
from wayword.store.compressed_rows import CompressedRows, WeightedRows

MOST = 20
"""Number of public queries that are compared for each beginning, the most searched."""
LEVELS = 8
"""Number of beginnings that are tried, from the longest on that a public query shares."""
AT_ONCE = 1000
DROPPED = -1


def counted_searches(
    policy: ListPolicy,
    texts: Sequence[str],
    public: NDArray[np.bool_],
    rare: NDArray[np.float64],
    users: CompressedRows,
    least: int,
) -> NDArray[np.float64]:
    """Return the searches of rare queries that count for each public query.

    `policy` knows all queries, whose sorted texts are `texts`; `rare` has the searches of rare queries, 0 for others;
    `users` those who searched for each query.
    """
    searches, numbers = policy.retriever.popularity, np.flatnonzero(public)
    beginnings = Beginnings([texts[number] for number in numbers.tolist()], searches[public])
    queries = np.flatnonzero(rare)
    parts = []
    for first in range(0, len(queries), AT_ONCE):
        part = queries[first : first + AT_ONCE]
        compared = [numbers[beginnings.compared(texts[number])] for number in part.tolist()]
        parts.append(shares(policy, part, compared))
    if not parts:
        return np.zeros_like(rare)
    target, share = choose(WeightedRows.concatenate(parts), users, queries, least)
    kept = target != DROPPED
    counted = np.bincount(target[kept], (share * rare[queries])[kept], minlength=len(rare))
    return np.rint(counted)


def shares(policy: ListPolicy, rare: NDArray[np.int64], compared: list[NDArray[np.int64]]) -> WeightedRows:
    """Return the share of each public query that is compared with a rare one, largest first, without zeros."""
    rows = CompressedRows.from_lengths(
        np.concatenate([*compared, np.zeros(0, np.int64)]),
        np.fromiter(map(len, compared), np.int64, len(compared)),
    )
    query, graph, unused = rows.values, policy.retriever.graph, np.zeros(len(rows.values), np.int64)
    accepted = policy.accepted(
        rare, Slots(rows.offsets, unused, unused, query, np.ones(len(query), np.bool_))
    )
    wanted = graph.demand.matrix(graph.documents)[rare]
    product = (wanted @ graph.exposure.matrix(graph.universe)).tocsr()
    served = (
        product[rows.owner, query] if len(query) else np.zeros(0)
    )  # SciPy gives a sparse array of no pairs
    own = np.maximum(policy.retriever.own_utility[rare][rows.owner], 1e-12)
    share = (accepted * np.minimum(served / own, 1.0)).astype(np.float32)
    order = np.lexsort((query, -share, rows.owner))
    sorted_rows = WeightedRows(rows.offsets, query[order].astype(np.int32), share[order])
    return sorted_rows.select(sorted_rows.weights > 0)


def choose(
    compared: WeightedRows, users: CompressedRows, rare: NDArray[np.int64], least: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the query that each rare query counts for, or `DROPPED`, and its share.

    Row i of `compared` are the choices of the rare query `rare[i]`, best first.

    >>> compared = WeightedRows(np.array([0, 2, 3, 4]), np.array([5, 6, 6, 5]), np.array([0.9, 0.5, 0.8, 0.7]))
    >>> users = CompressedRows(np.array([0, 1, 3, 4]), np.array([7, 8, 9, 7]))
    >>> [found.tolist() for found in choose(compared, users, np.arange(3), 2)]
    [[6, 6, -1], [0.5, 0.8, 0.0]]
    """
    tried = np.zeros(len(compared), np.int64)
    while True:
        left = tried < compared.lengths
        at = np.where(left, compared.offsets[:-1] + tried, -1)
        target = np.where(left, np.r_[compared.values, DROPPED][at], DROPPED).astype(np.int64)
        few = left & (_users_behind(target, users, rare)[target] < least)
        if not few.any():
            return target, np.where(left, np.r_[compared.weights, 0.0][at], 0.0)
        tried[few] += 1


def _users_behind(
    target: NDArray[np.int64], users: CompressedRows, rare: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the distinct users of the rare queries that count for each target."""
    place, user = users.take(rare)
    kept = target[place] != DROPPED
    many = int(user.max(initial=0)) + 1
    pairs = np.unique(target[place][kept] * many + user[kept])
    return np.bincount(pairs // many, minlength=int(target.max(initial=0)) + 1)


class Beginnings:
    """Public queries that share beginnings with others; `texts` are sorted.

    >>> public = Beginnings(["lamp", "lamp red", "lock"], np.array([1, 5, 9]))
    >>> [public.compared(text).tolist() for text in ("lamp of ann", "lz", "x")]
    [[0, 1, 2], [0, 1, 2], []]
    """

    def __init__(self, texts: Sequence[str], searches: NDArray[np.float64]) -> None:
        self._texts, self._searches = texts, searches
        self._known: dict[str, tuple[NDArray[np.int64], str]] = {}

    def compared(self, text: str) -> NDArray[np.int64]:
        """Return the places of the most searched queries for each of the longest beginnings shared with a text."""
        place, found = bisect_left(self._texts, text), [np.zeros(0, np.int64)]
        begin = self._shared(text, place - 1, place)
        while begin and len(found) <= LEVELS:
            if begin not in self._known:
                self._known[begin] = self._most_searched(begin)
            searched, begin = self._known[begin]
            found.append(searched)
        return np.unique(np.concatenate(found))

    def _most_searched(self, begin: str) -> tuple[NDArray[np.int64], str]:
        """Return the most searched queries with a beginning, and the next shorter beginning that more queries share."""
        first, end = bisect_left(self._texts, begin), bisect_left(self._texts, begin + LAST)
        searched = first + np.argsort(-self._searches[first:end], kind="stable")[:MOST]
        return searched, self._shared(begin, first - 1, end)

    def _shared(self, text: str, *places: int) -> str:
        """Return the longest beginning that a text shares with one of the queries at some places, if they exist."""
        others = [self._texts[place] for place in places if 0 <= place < len(self._texts)]
        shared = (commonprefix([text, other]) for other in others)  # noqa: RUF071 - these are no paths
        return max(shared, key=len, default="")


def users_of(rankings: Path, queries: int, acceptance: Path | None = None) -> CompressedRows:
    """Read who searched for each query in training; with `acceptance`, by the queries that were probably intended."""
    searches = tables.read(rankings, "numbered_searches").select(["search", "split", "query", "user_id"])
    searches = searches.filter((pc.field("split") != "test") & pc.field("user_id").is_valid())
    issued = searches.select(["search", "query"])
    if acceptance is not None:
        intended = tables.read(acceptance, INTENDED).select(["search", "query"])
        taken = pc.is_in(issued["search"], value_set=intended["search"].combine_chunks())
        issued = pa.concat_tables([issued.filter(pc.invert(taken)), intended.cast(issued.schema)])
    rows = issued.join(searches.select(["search", "user_id"]), "search", join_type="inner")
    user = rows["user_id"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    query = rows["query"].to_numpy()
    lengths = np.bincount(query, minlength=queries)
    return CompressedRows.from_lengths(user[np.argsort(query, kind="stable")], lengths).distinct()
