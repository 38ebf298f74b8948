"""The graph retriever: the queries of highest expected utility in the whole universe, for any typed text.

The typed text may become certain queries (`Beginnings` says which, also for a misspelt one), each with a weight: how
often it is issued, and how often this text is typed on the way. Their demands add up to the demand of the context, and
the best queries are those whose pages meet it best. Nothing is guessed that could be computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import pyarrow as pa
from cachetools import LRUCache, cached
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.context_affinity import Affinity
from wayword.completion.prefix_matcher import Beginnings
from wayword.completion.sparse_topk import Graph, Lift
from wayword.logs.contexts import PREFIX
from wayword.request import ANY, PREFIXED
from wayword.store.compressed_rows import WeightedRows

LIVE_DOCUMENTS = 1000
"""So many most wanted documents of a context are followed, which bounds the time of an answer; the rest hardly changes
which queries are best. Evaluation and serving share it, so what is measured is what is served."""
GUESSED_DOCUMENTS, GUESSED_QUERIES = 300, 2000
"""The same for a text that is no beginning as it stands, and so many queries at most that it may become, the most
popular ones: it has no finished list, so its answer is always computed."""
SAMPLED = 16
"""Where there are very many, one in so many is looked at first."""
REMEMBERED, OF_EACH = 1 << 20, 50
"""What texts may become is remembered for so many queries of all texts together, 9 bytes each (each text itself takes
as much as some queries): 10 MB, in every process that answers."""
GOING_ON = ("exact", "typo")
"""Texts found in these ways go on from what was typed, or from its correction."""
Match = tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.bool_], int]
_SOURCE = {"exact": SOURCES.index("graph")} | {
    name: SOURCES.index(name) for name in ("typo", "words", "similar", "shorter")
}


@dataclass(frozen=True)
class Typed:
    """What contexts may become: a row of queries with weights each, and how they were found (places in `SOURCES`)."""

    members: WeightedRows
    source: NDArray[np.int8]
    onward: NDArray[np.bool_]
    """Of each member, whether it goes on from the text as it was understood. A recorded prefix may become others."""

    def within(self, mode: str) -> WeightedRows | None:
        """What may be shown in a mode: None is everything."""
        if mode != PREFIXED:
            return None
        return self.members.select(self.onward)


@dataclass(frozen=True)
class Recorded:
    """Prefixes as they were typed, if the log has them: how many searches of each query showed each of them."""

    prefixes: list[str]
    searches: WeightedRows
    of_query: NDArray[np.float32]


class GraphRetriever:
    """Queries are numbered in the order of their texts."""

    def __init__(
        self,
        texts: Sequence[str],
        beginnings: Beginnings,
        graph: Graph,
        *,
        typed: NDArray[np.float32],
        own: NDArray[np.float32],
        popularity: NDArray[np.int64],
        recorded: Recorded | None = None,
        documents_in: Affinity | None = None,
        queries_in: Affinity | None = None,
        threads: int = 1,
    ) -> None:
        """`typed[q]` is how often each prefix of q is shown by a search for q, `own[q]` the utility of q for those who
        issue it."""
        self.graph = graph
        self.texts, self.beginnings, self.popularity = texts, beginnings, popularity
        self.typing, self.own = typed, own
        self.recorded = recorded
        self._place = {prefix: n for n, prefix in enumerate(recorded.prefixes)} if recorded else {}
        self.documents_in, self.queries_in = documents_in, queries_in
        self._threads = threads
        cache: LRUCache[str, Match] = LRUCache(REMEMBERED, getsizeof=lambda match: OF_EACH + len(match[0]))
        self._matched = cached(cache, key=str, lock=Lock())(self._match)

    def retrieve(self, contexts: pa.Table, k: int, mode: str = ANY) -> Candidates:
        """See `Retriever.retrieve`. The score is the expected utility as a multiple of that of the queries that the
        text becomes: 1 is as good as to type on."""
        typed = self.typed(contexts)
        return self.score(contexts, typed, k, within=typed.within(mode))

    def retrieve_text(self, text: str, k: int, mode: str = ANY) -> Candidates:
        """As `retrieve`, for one text of whose context nothing is known: to make a table of it takes a while."""
        query, weight, onward, source = self._matched(text)
        typed = Typed(WeightedRows.single(query, weight), np.array([source], np.int8), onward)
        return self._best(typed, k, typed.within(mode), lift=None)

    def score(
        self, contexts: pa.Table, typed: Typed, k: int, within: WeightedRows | None = None
    ) -> Candidates:
        """The best k for each context, of all queries or only those `within`."""
        lift = Lift(*self.documents_in.rows(contexts)) if self.documents_in else None
        return self._best(typed, k, within, lift)

    def _best(self, typed: Typed, k: int, within: WeightedRows | None, lift: Lift | None) -> Candidates:
        found = self.graph.best(
            typed.members,
            k,
            lift=lift,
            within=within,
            documents=documents_followed(typed),
            threads=self._threads,
        )
        score = found.score / self.own_utility(typed)[found.context]
        return Candidates(found.context, found.query, score.astype(np.float32), typed.source[found.context])

    def own_utility(self, typed: Typed) -> NDArray[np.float64]:
        """That of typing on: what the queries that each context becomes do for those who issue them. Never zero."""
        members = typed.members
        utility = members.weights * self.own[members.values]
        total = np.bincount(members.owner, weights=utility, minlength=len(members))
        return np.maximum(total, 1e-12)

    def accepted(self, typed: Typed, k: int, mode: str = ANY) -> Candidates:
        """The k queries that each context becomes most often, with how probable that is."""
        members = typed.within(mode) or typed.members
        context = members.owner.astype(np.int32)
        weight = members.weights * self.popularity[members.values]
        total = np.bincount(context, weights=weight, minlength=len(members))
        share = (weight / np.maximum(total, 1e-12)[context]).astype(np.float32)
        kept = np.flatnonzero(share > 0)
        return Candidates.sorted(
            context[kept], members.values[kept], share[kept], typed.source[context[kept]]
        ).top(k)

    def demand(self, contexts: pa.Table, typed: Typed) -> csr_array:
        """contexts × documents."""
        mixed = typed.members.matrix(self.graph.universe) @ self.graph.rates.matrix(self.graph.documents)
        if self.documents_in:
            factor, row = self.documents_in.rows(contexts)
            if len(factor):
                owner = np.repeat(np.arange(mixed.shape[0]), np.diff(mixed.indptr))
                mixed.data = mixed.data * factor[row[owner], mixed.indices]
        return mixed

    def followed(self, contexts: pa.Table, typed: Typed) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The documents that the scores of a single context follow, with their demand, added up as `Graph.best` does:
        products as float32, in their order, sums as float64."""
        rates, members = self.graph.rates, typed.members
        lengths = rates.offsets[members.values + 1] - rates.offsets[members.values]
        before = np.cumsum(lengths) - lengths
        at = np.arange(int(lengths.sum())) + np.repeat(rates.offsets[members.values] - before, lengths)
        document, amount = rates.values[at], np.repeat(members.weights, lengths) * rates.weights[at]
        if self.documents_in:
            factor, row = self.documents_in.rows(contexts)
            if row[0] >= 0:
                amount = amount * factor[row[0], document]
        positive = amount > 0
        demand = np.bincount(document[positive], amount[positive].astype(np.float64))
        wanted = np.flatnonzero(demand)
        most = int(documents_followed(typed)[0])
        if len(wanted) > most:
            least = np.partition(demand[wanted], -most)[-most]
            wanted = wanted[demand[wanted] >= least]
        return wanted.astype(np.int64), np.asarray(demand[wanted], np.float64)

    def typed(self, contexts: pa.Table) -> Typed:
        """What each context may become."""
        found = [self._matched(prefix) for prefix in contexts[PREFIX].to_pylist()]
        lengths = np.fromiter((len(query) for query, *_ in found), np.int64, len(found))
        query = np.concatenate([*(query for query, *_ in found), np.zeros(0, np.int32)])
        weight = np.concatenate([*(weight for _, weight, *_ in found), np.zeros(0, np.float32)])
        onward = np.concatenate([*(onward for *_, onward, _ in found), np.zeros(0, np.bool_)])
        if self.queries_in:
            factor, row = self.queries_in.rows(contexts)
            if len(factor):
                weight = weight * factor[np.repeat(row, lengths), query]
        source = np.fromiter((source for *_, source in found), np.int8, len(found))
        return Typed(WeightedRows.from_lengths(query, lengths, weight), source, onward)

    def _match(self, prefix: str) -> Match:
        """Queries, their weights, whether each goes on from the prefix, and the source."""
        found = self.beginnings.matches(prefix)
        query, weight = found.query, found.weight
        if found.source != "exact" and len(query) > GUESSED_QUERIES:
            popular = largest(self.popularity[query], GUESSED_QUERIES)
            query, weight = query[popular], weight[popular]
        if found.source != "similar":  # who types a similar query never shows this text
            weight = weight * self.typing[query]
        if found.source == "exact" and len(query) > 1 and self.texts[query[0]] == prefix:
            query, weight = query[1:], weight[1:]  # a prefix always leaves something to complete
        onward = np.full(len(query), found.source in GOING_ON)
        if not self.recorded or prefix not in self._place:
            return query, weight, onward, _SOURCE[found.source]
        if found.source not in GOING_ON:  # then what people did with this very text says more
            query, weight = query[:0], weight[:0]
        both, shown = _as_recorded(self.recorded, self._place[prefix], query, weight)
        source = found.source if found.source in GOING_ON else "exact"
        return both, shown, np.isin(both, query), _SOURCE[source]


def documents_followed(typed: Typed) -> NDArray[np.int64]:
    """How many of the most wanted documents of each context the score follows."""
    return np.where(typed.source == _SOURCE["exact"], LIVE_DOCUMENTS, GUESSED_DOCUMENTS)


def largest(values: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The places of the largest values, ascending; of equal ones the first. There are `most` or more.

    Of very many values, some of them tell first how large one must be at least: to look at all closely takes long.

    >>> largest(np.array([3, 1, 3, 2, 3]), 2)
    array([0, 2])
    """
    if len(values) > 4 * most:
        some = np.sort(values[::SAMPLED])
        enough = np.flatnonzero(values >= some[-(2 * most // SAMPLED) - 1])
        if most <= len(enough) < len(values):
            return np.asarray(enough[largest(values[enough], most)])
    least = np.partition(values, len(values) - most)[len(values) - most]
    kept = values > least
    kept[np.flatnonzero(values == least)[: most - np.count_nonzero(kept)]] = True
    return np.flatnonzero(kept)


def _as_recorded(
    recorded: Recorded, place: int, query: NDArray[np.int32], weight: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The share of each query's searches that showed this prefix, one search more typed as cut prefixes are."""
    at = recorded.searches.span(place)
    both = np.union1d(recorded.searches.values[at], query).astype(np.int32)
    shown = np.zeros(len(both), np.float32)
    shown[np.searchsorted(both, recorded.searches.values[at])] = recorded.searches.weights[at]
    shown[np.searchsorted(both, query)] += weight
    return both, shown / (recorded.of_query[both] + np.float32(1.0))
