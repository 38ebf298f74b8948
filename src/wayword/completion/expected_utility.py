"""The expected-utility retriever: the queries of highest expected utility for any typed text.

`PrefixMatcher` gives the queries that the user may intend, also for a misspelt text. The weight of each is the
probability that a search for it passes through this text; how often it is issued is part of its demand. The weighted
sum of their demands is the demand of the context. The retriever returns the queries, of all queries, whose result pages
serve this demand best.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock

import numpy as np
import pyarrow as pa
from cachetools import LRUCache, cached
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.context_affinity import Affinity
from wayword.completion.prefix_matcher import PrefixMatcher
from wayword.completion.sparse_topk import ContextFactors, DemandGraph
from wayword.logs.contexts import PREFIX
from wayword.request import ANY, PREFIXED
from wayword.store.compressed_rows import CompressedRows, WeightedRows

LIVE_DOCUMENTS = 1000
"""Number of documents of highest demand that a context's scores use. It bounds the time of an answer and hardly changes
the order of queries. Evaluation and serving share it, so that the served lists are the evaluated ones."""
GUESSED_DOCUMENTS, GUESSED_QUERIES = 300, 2000
"""Numbers of documents and of intended queries (the most popular ones) used for a text that no query starts with.
They are lower because such a text has no precomputed list: its answer is always computed on request."""
SAMPLED = 16
"""`largest` first looks at one in this many values."""
CACHE_SIZE, ENTRY_OVERHEAD = 1 << 20, 50
"""Size of the cache of matches and the overhead of an entry, in queries of 9 bytes: about 10 MB per process."""
AT_ONCE = 32
"""So many texts or more are matched together. Fewer are looked up in the cache."""
DOUBT = 0.1
"""See `ExpectedUtilityRetriever.certainty`."""
CONTINUING = ("exact", "typo")
"""Matches of these sources continue the typed text, or its correction."""
Match = tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.bool_], int, NDArray[np.float32]]
_SOURCE = {"exact": SOURCES.index("graph")} | {
    name: SOURCES.index(name) for name in ("typo", "words", "similar")
}


@dataclass(frozen=True)
class Intents:
    """The queries that the user may intend in each context, with weights, and how they were matched."""

    members: WeightedRows
    """One row of queries with weights for each context."""
    source: NDArray[np.int8]
    """For each context, an index into `SOURCES`."""
    continues: NDArray[np.bool_]
    """For each member, whether it continues the text or its correction; members of a recorded prefix need not."""
    typed_probability: NDArray[np.float32]
    """For each member, the probability that a person who intends it types this text on the way. `members.weights` is
    smaller: there a search shows one prefix of many."""
    typed_query: NDArray[np.int32]
    """For each context, the query that is the typed text itself, or -1."""

    def within(self, mode: str) -> WeightedRows | None:
        """Return the queries that may be suggested in a mode; None means all."""
        if mode != PREFIXED:
            return None
        return self.members.select(self.continues)

    @classmethod
    def concatenate(cls, one: "Intents", other: "Intents") -> "Intents":
        """Return the contexts of both, one after the other."""
        return cls(
            WeightedRows.concatenate([one.members, other.members]),
            np.r_[one.source, other.source],
            np.r_[one.continues, other.continues],
            np.r_[one.typed_probability, other.typed_probability],
            np.r_[one.typed_query, other.typed_query],
        )

    def extended(self, members: WeightedRows, typed_probability: NDArray[np.float32]) -> "Intents":
        """Return the contexts with further members, which do not continue the text."""
        contexts = len(self.members)
        added = Intents(
            members,
            np.zeros(contexts, np.int8),
            np.zeros(len(members.values), np.bool_),
            typed_probability,
            np.zeros(contexts, np.int32),
        )
        both = np.stack([np.arange(contexts), contexts + np.arange(contexts)], axis=1).ravel()
        twice = Intents.concatenate(self, added).take(both)
        return replace(
            twice,
            members=replace(twice.members, offsets=twice.members.offsets[::2].copy()),
            source=self.source,
            typed_query=self.typed_query,
        )

    def take(self, rows: NDArray[np.int64]) -> "Intents":
        """Return these contexts, in this order."""
        _, at = CompressedRows(self.members.offsets, np.arange(len(self.members.values))).take(rows)
        return Intents(
            WeightedRows.from_lengths(
                self.members.values[at], self.members.lengths[rows], self.members.weights[at]
            ),
            self.source[rows],
            self.continues[at],
            self.typed_probability[at],
            self.typed_query[rows],
        )


@dataclass(frozen=True)
class RecordedPrefixes:
    """Prefixes that the log recorded while people typed."""

    prefixes: list[str]
    searches: WeightedRows
    """For each prefix, the number of searches of each query that passed through it."""
    of_query: NDArray[np.float32]
    """Number of searches of each query that recorded any prefix."""


class ExpectedUtilityRetriever:
    """Retriever by expected utility. Queries are numbered in the order of their texts."""

    def __init__(
        self,
        texts: Sequence[str],
        matcher: PrefixMatcher,
        graph: DemandGraph,
        *,
        prefix_probability: NDArray[np.float32],
        own_utility: NDArray[np.float32],
        popularity: NDArray[np.float64],
        recorded: RecordedPrefixes | None = None,
        documents_in: Affinity | None = None,
        queries_in: Affinity | None = None,
        threads: int = 1,
    ) -> None:
        """`prefix_probability[q]` is the probability that a search for q passes through a given prefix of q.
        `own_utility[q]` is the utility of q for those who issue it."""
        self.graph = graph
        self.texts, self.matcher, self.popularity = texts, matcher, popularity
        self.prefix_probability, self.own_utility = prefix_probability, own_utility
        self.recorded = recorded
        self._prefix_row = {prefix: n for n, prefix in enumerate(recorded.prefixes)} if recorded else {}
        self.documents_in, self.queries_in = documents_in, queries_in
        self.threads = threads
        cache: LRUCache[str, Match] = LRUCache(
            CACHE_SIZE, getsizeof=lambda match: ENTRY_OVERHEAD + len(match[0])
        )
        self._cached_match = cached(cache, key=str, lock=Lock())(self._match)

    def with_threads(self, threads: int) -> "ExpectedUtilityRetriever":
        """Return the same retriever for this number of threads."""
        other = copy(self)
        other.threads = threads
        return other

    @cached_property
    def certainty(self) -> NDArray[np.float32]:
        """How far û(q | q̄) counts for whether those who intend q̄ accept q: o / (o + `DOUBT`).

        o is what a search for q̄ finds, relative to the average search. Where it is next to nothing, û is a ratio of
        two numbers near 0.
        """
        searches = self.popularity
        own = np.where(searches > 0, self.own_utility, 0).astype(np.float64)
        doubt = DOUBT * own.sum() / max(searches.sum(), 1e-12) * searches
        return np.divide(own, own + doubt, out=np.ones(len(own)), where=own + doubt > 0).astype(np.float32)

    def retrieve(self, contexts: pa.Table, k: int, mode: str = ANY) -> Candidates:
        """See `Retriever.retrieve`. The score is the expected utility relative to that of the intended queries: 1 is as
        useful as typing on."""
        intents = self.intents(contexts)
        return self.score(contexts, intents, k, within=intents.within(mode))

    def retrieve_text(self, text: str, k: int, mode: str = ANY) -> Candidates:
        """Retrieve for one text without context columns: the same list as `retrieve`, without the time for a table."""
        query, weight, continues, source, _ = self._cached_match(text)
        offsets = np.array([0, len(query)], np.int64)
        members, within = WeightedRows(offsets, query, weight), None
        if mode == PREFIXED:
            kept = np.array([0, np.count_nonzero(continues)], np.int64)
            within = WeightedRows(kept, query[continues], weight[continues])
        most = LIVE_DOCUMENTS if source == _SOURCE["exact"] else GUESSED_DOCUMENTS
        best = self.graph.best(members, k, within=within, documents=most, popularity=self.popularity)
        own = np.bincount(np.zeros(len(query), np.int64), weight * self.own_utility[query], minlength=1)
        score = (best.score / np.maximum(own, 1e-12)).astype(np.float32)
        return Candidates(best.context, best.query, score, np.full(len(score), source, np.int8))

    def score(
        self, contexts: pa.Table, intents: Intents, k: int, within: WeightedRows | None = None
    ) -> Candidates:
        """Return the best k queries for each context, of all queries or only of those `within`."""
        factors = ContextFactors(*self.documents_in.rows(contexts)) if self.documents_in else None
        return self._best(intents, k, within, factors)

    def _best(
        self, intents: Intents, k: int, within: WeightedRows | None, factors: ContextFactors | None
    ) -> Candidates:
        best = self.graph.best(
            intents.members,
            k,
            factors=factors,
            within=within,
            documents=documents_followed(intents),
            popularity=self.popularity,
            threads=self.threads,
        )
        score = best.score / self.expected_own_utility(intents)[best.context]
        return Candidates(best.context, best.query, score.astype(np.float32), intents.source[best.context])

    def expected_own_utility(self, intents: Intents) -> NDArray[np.float64]:
        """Return the utility of typing on: the weighted sum of the intended queries' own utilities. Never zero."""
        members = intents.members
        utility = members.weights * self.own_utility[members.values]
        total = np.bincount(members.owner, weights=utility, minlength=len(members))
        return np.maximum(total, 1e-12)

    def most_probable(self, intents: Intents, k: int, mode: str = ANY) -> Candidates:
        """Return the k most probable intended queries of each context, scored by their probability."""
        members = intents.within(mode) or intents.members
        context = members.owner.astype(np.int32)
        weight = members.weights * self.popularity[members.values]
        total = np.bincount(context, weights=weight, minlength=len(members))
        share = (weight / np.maximum(total, 1e-12)[context]).astype(np.float32)
        kept = np.flatnonzero(_contenders(members.offsets, share, k) & (share > 0))
        return Candidates.sorted(
            context[kept],
            members.values[kept],
            share[kept],
            intents.source[context[kept]],
            popularity=self.popularity,
        ).top(k)

    def demand(self, contexts: pa.Table, intents: Intents) -> csr_array:
        """Return the demand of each context: contexts × documents."""
        mixed = intents.members.matrix(self.graph.universe) @ self.graph.demand.matrix(self.graph.documents)
        if self.documents_in:
            factor, row = self.documents_in.rows(contexts)
            if len(factor):
                owner = np.repeat(np.arange(mixed.shape[0]), np.diff(mixed.indptr))
                mixed.data = mixed.data * factor[row[owner], mixed.indices]
        return mixed

    def followed(self, contexts: pa.Table, intents: Intents) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the documents that the scores of a single context use, and their demand.

        The sums are those of `DemandGraph.best`: products in float32, added in order in float64.
        """
        rates, members = self.graph.demand, intents.members
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
        documents = np.flatnonzero(demand)
        most = int(documents_followed(intents)[0])
        if len(documents) > most:
            least = np.partition(demand[documents], -most)[-most]
            documents = documents[demand[documents] >= least]
        return documents.astype(np.int64), np.asarray(demand[documents], np.float64)

    def intents(self, contexts: pa.Table) -> Intents:
        """Return the queries that the user may intend in each context."""
        intents = self._matched(contexts[PREFIX].to_pylist())
        if not self.queries_in:
            return intents
        factor, row = self.queries_in.rows(contexts)
        if not len(factor):
            return intents
        members = intents.members
        likelier = factor[row[members.owner], members.values]
        return replace(
            intents,
            members=replace(members, weights=members.weights * likelier),
            typed_probability=intents.typed_probability * likelier,
        )

    def _matched(self, prefixes: list[str]) -> Intents:
        """Return the intents of texts; exact matches of many texts are found in one compiled pass."""
        if len(prefixes) < AT_ONCE:
            return self._joined(prefixes, [self._cached_match(prefix) for prefix in prefixes])
        exact = self.matcher.exact(prefixes)
        recorded = np.fromiter((prefix in self._prefix_row for prefix in prefixes), np.bool_, len(prefixes))
        alone = np.flatnonzero((exact.lengths == 0) | recorded)
        others = [prefixes[row] for row in alone.tolist()]
        rest = self._joined(others, [self._cached_match(prefix) for prefix in others])
        together = self._exact(prefixes, exact)
        if not len(alone):
            return together
        row_of = np.arange(len(prefixes))
        row_of[alone] = len(prefixes) + np.arange(len(alone))
        return Intents.concatenate(together, rest).take(row_of)

    def _exact(self, prefixes: list[str], exact: CompressedRows) -> Intents:
        """Return the intents of texts that queries start with, as `_match` does for one text."""
        query, lengths, owner = exact.values, exact.lengths, exact.owner
        weight = self.prefix_probability[query]
        continues = np.ones(len(query), np.bool_)
        characters = np.fromiter(map(len, prefixes), np.int64, len(prefixes))
        first = exact.offsets[:-1][lengths > 0]
        whole = first[self.matcher.spelling.lengths[query[first]] == characters[owner[first]]]
        typed_query = np.full(len(prefixes), -1, np.int32)
        typed_query[owner[whole]] = query[whole]
        shorter = whole[lengths[owner[whole]] > 1]
        weight[shorter], continues[shorter] = 0.0, False  # a completion is longer than the prefix
        return Intents(
            WeightedRows(exact.offsets, query, weight),
            np.full(len(prefixes), _SOURCE["exact"], np.int8),
            continues,
            np.ones(len(query), np.float32),
            typed_query,
        )

    def _joined(self, prefixes: list[str], matches: list[Match]) -> Intents:
        lengths = np.fromiter((len(query) for query, *_ in matches), np.int64, len(matches))
        query = np.concatenate([*(query for query, *_ in matches), np.zeros(0, np.int32)])
        weight = np.concatenate([*(weight for _, weight, *_ in matches), np.zeros(0, np.float32)])
        continues = np.concatenate([*(match[2] for match in matches), np.zeros(0, np.bool_)])
        typed = np.concatenate([*(match[4] for match in matches), np.zeros(0, np.float32)])
        source = np.fromiter((match[3] for match in matches), np.int8, len(matches))
        typed_query = np.fromiter(map(self._typed_query, prefixes, matches), np.int32, len(matches))
        return Intents(
            WeightedRows.from_lengths(query, lengths, weight), source, continues, typed, typed_query
        )

    def _typed_query(self, prefix: str, match: Match) -> int:
        """Return the number of the query that is the typed text, or -1."""
        query = match[0]
        return int(query[0]) if len(query) and self.texts[query[0]] == prefix else -1

    def _match(self, prefix: str) -> Match:
        """Return the intended queries, their weights, whether each continues the prefix, the source, and
        `Intents.typed_probability`."""
        matches = self.matcher.matches(prefix)
        query, typed = matches.query, matches.weight
        if matches.source != "exact" and len(query) > GUESSED_QUERIES:
            popular = largest(self.popularity[query], GUESSED_QUERIES)
            query, typed = query[popular], typed[popular]
        weight = typed
        if matches.source != "similar":  # a search for a similar query never passes through this text
            weight = weight * self.prefix_probability[query]
        continues = np.full(len(query), matches.source in CONTINUING)
        if matches.source == "exact" and len(query) > 1 and self.texts[query[0]] == prefix:
            weight[0], continues[0] = 0.0, False  # a completion is longer than the prefix
        if not self.recorded or prefix not in self._prefix_row:
            return query, weight, continues, _SOURCE[matches.source], typed
        if matches.source not in CONTINUING:  # recorded searches are better evidence than a guess
            query, weight, typed, continues = query[:0], weight[:0], typed[:0], continues[:0]
        both, share = _as_recorded(self.recorded, self._prefix_row[prefix], query, weight)
        reached = share.copy()
        at = np.searchsorted(both, query)
        reached[at] = np.maximum(reached[at], typed)
        goes_on = np.zeros(len(both), np.bool_)
        goes_on[at] = continues
        source = matches.source if matches.source in CONTINUING else "exact"
        return both, share, goes_on, _SOURCE[source], reached


def documents_followed(intents: Intents) -> NDArray[np.int64]:
    """Return the number of documents of highest demand that the scores of each context use."""
    return np.where(intents.source == _SOURCE["exact"], LIVE_DOCUMENTS, GUESSED_DOCUMENTS)


def _contenders(offsets: NDArray[np.int64], values: NDArray[np.float32], most: int) -> NDArray[np.bool_]:
    """Leave out what is certainly not among the `most` largest values of its row: sorting long rows takes long.

    >>> _contenders(np.array([0, 2, 7]), np.array([1, 2, 5, 3, 4, 4, 1], np.float32), 2).tolist()
    [True, True, True, False, True, True, False]
    """
    kept = np.ones(len(values), np.bool_)
    for row in np.flatnonzero(np.diff(offsets) > 2 * most).tolist():
        of_row = values[offsets[row] : offsets[row + 1]]
        kept[offsets[row] : offsets[row + 1]] = of_row >= np.partition(of_row, -most)[-most]
    return kept


def largest(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the indices of the `most` largest values, ascending; ties go to the first. Needs `most` values or more.

    For long arrays, a sample gives a lower bound first, so that only the values above it are partitioned.

    >>> largest(np.array([3.0, 1, 3, 2, 3]), 2)
    array([0, 2])
    """
    if len(values) > 4 * most:
        sample = np.sort(values[::SAMPLED])
        enough = np.flatnonzero(values >= sample[-(2 * most // SAMPLED) - 1])
        if most <= len(enough) < len(values):
            return np.asarray(enough[largest(values[enough], most)])
    least = np.partition(values, len(values) - most)[len(values) - most]
    kept = values > least
    kept[np.flatnonzero(values == least)[: most - np.count_nonzero(kept)]] = True
    return np.flatnonzero(kept)


def _as_recorded(
    recorded: RecordedPrefixes, place: int, query: NDArray[np.int32], weight: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the share of each query's searches that passed through this prefix, smoothed with one search.

    The additional search passes through the prefix with the probability `weight`.
    """
    at = recorded.searches.span(place)
    both = np.union1d(recorded.searches.values[at], query).astype(np.int32)
    shown = np.zeros(len(both), np.float32)
    shown[np.searchsorted(both, recorded.searches.values[at])] = recorded.searches.weights[at]
    shown[np.searchsorted(both, query)] += weight
    return both, shown / (recorded.of_query[both] + np.float32(1.0))
