"""The policy `wayword`: the list of highest value for the people who typed a text (see `list_value`)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.acceptance import Acceptance
from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.expected_utility import ExpectedUtilityRetriever, Intents
from wayword.completion.list_value import best_lists
from wayword.completion.query_words import QueryWords
from wayword.logs.contexts import PREFIX
from wayword.request import ANY, PREFIXED
from wayword.store.compressed_rows import WeightedRows

USEFUL, PROBABLE = 40, 24
"""The pool of a text: so many queries of highest expected utility, and so many of the most probable."""
TEXTS_AT_ONCE = 64
CORRECTED = tuple(SOURCES.index(name) for name in ("typo", "similar", "shorter"))


def pages_by_rank(exposure: WeightedRows, queries: int) -> WeightedRows:
    """Transpose an exposure (documents × queries) into pages: the documents of each query, best rank first.

    >>> exposure = WeightedRows(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([0.5, 1, 1], np.float32))
    >>> [part.tolist() for part in pages_by_rank(exposure, 2).arrays]
    [[0, 2, 3], [1, 0, 0], [1.0, 0.5, 1.0]]
    """
    order = np.lexsort((-exposure.weights, exposure.values))
    lengths = np.bincount(exposure.values, minlength=queries)
    return WeightedRows.from_lengths(exposure.owner[order].astype(np.int32), lengths, exposure.weights[order])


@dataclass(frozen=True)
class ListPolicy:
    """Chooses the list that maximises V(L | x)."""

    retriever: ExpectedUtilityRetriever
    words: QueryWords
    pages: WeightedRows
    """Queries × documents: p[rank], by rank."""
    group: NDArray[np.int32]
    """Queries of the same group are one suggestion."""
    shown_as: NDArray[np.int32]
    """The query that is shown instead of each query; -1 for one that is not shown."""
    acceptance: Acceptance
    keystroke_value: float
    lengths: NDArray[np.int32]
    """Characters of each query."""
    worth: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    searches: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    _spare: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = field(default_factory=list, repr=False)

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """See `Policy.complete`. A score is the suggestion's share of V."""
        intents = self.retriever.intents(contexts)
        probability = self.probability(intents)
        pool = self.pool(contexts, intents, probability, k, mode)
        typed = np.array([len(text) for text in contexts[PREFIX].to_pylist()], np.int32)
        return self._lists(contexts, intents, probability, pool, typed, k)

    def probability(self, intents: Intents) -> NDArray[np.float32]:
        """Return P(q̄ | x) of each member."""
        members = intents.members
        weight = members.weights / self.retriever.prefix_probability[members.values]
        weight = weight * self.searches[members.values]
        total = np.bincount(members.owner, weights=weight, minlength=len(members))
        return (weight / np.maximum(total, 1e-12)[members.owner]).astype(np.float32)

    def pool(
        self,
        contexts: pa.Table,
        intents: Intents,
        probability: NDArray[np.float32],
        k: int,
        mode: str,
    ) -> WeightedRows:
        """Return the queries that may be suggested for each text."""
        useful = self.retriever.score(contexts, intents, max(USEFUL, k), intents.within(mode))
        probable = self.retriever.most_probable(intents, max(PROBABLE, k), mode)
        context = np.concatenate([useful.context, probable.context]).astype(np.int64)
        query = self.shown_as[np.concatenate([useful.query, probable.query])]
        kept = query >= 0
        context, query = context[kept], query[kept]
        keys = np.unique(context * len(self.shown_as) + query)
        context, query = keys // len(self.shown_as), (keys % len(self.shown_as)).astype(np.int32)
        lengths = np.bincount(context, minlength=contexts.num_rows)
        return WeightedRows.from_lengths(query, lengths, np.ones(len(query), np.float32))

    def _lists(
        self,
        contexts: pa.Table,
        intents: Intents,
        probability: NDArray[np.float32],
        pool: WeightedRows,
        typed: NDArray[np.int32],
        k: int,
    ) -> Candidates:
        members, texts = intents.members, len(intents.members)
        kept = probability > 0
        owner = members.owner[kept]
        member_query = members.values[kept]
        offsets = np.r_[0, np.cumsum(kept)][members.offsets].astype(np.int64)
        length = self.lengths[member_query]
        saved = (np.maximum(length - typed[owner], 0) / np.maximum(length, 1)).astype(np.float32)
        prefix = contexts[PREFIX].to_pylist()
        continues = np.fromiter(
            (
                self.retriever.texts[q].startswith(prefix[c])
                for c, q in zip(pool.owner.tolist(), pool.values.tolist(), strict=True)
            ),
            np.bool_,
            len(pool.values),
        )
        corrected = np.isin(intents.source, CORRECTED)
        query, value = np.full((texts, k), -1, np.int32), np.zeros((texts, k))
        factors = self._factors(contexts)
        graph = self.retriever.graph

        def fill(first: int) -> None:
            try:
                scratch = self._spare.pop()
            except IndexError:
                scratch = (np.zeros(self.words.vocabulary, np.int32), np.zeros(graph.documents, np.int32))
            best_lists(
                first,
                min(first + TEXTS_AT_ONCE, texts),
                (offsets, member_query, probability[kept], saved, self.worth[member_query]),
                (pool.offsets, pool.values, continues),
                corrected,
                self.words.words.arrays,
                self.pages.arrays,
                graph.demand.arrays,
                self.retriever.own_utility,
                factors,
                self.retriever.popularity,
                self.group,
                (self.acceptance.coefficients, self.acceptance.reading_at(k), self.keystroke_value),
                scratch,
                query,
                value,
            )
            self._spare.append(scratch)

        _each(fill, range(0, texts, TEXTS_AT_ONCE), self.retriever._threads)
        filled = query >= 0
        context = np.nonzero(filled)[0].astype(np.int32)
        return Candidates(context, query[filled], value[filled].astype(np.float32), intents.source[context])

    def _factors(self, contexts: pa.Table) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        if self.retriever.documents_in:
            return self.retriever.documents_in.rows(contexts)
        return np.ones((0, 0), np.float32), np.full(contexts.num_rows, -1, np.int32)


def _each(work: Callable[[int], None], firsts: range, threads: int) -> None:
    if threads == 1 or len(firsts) < 2:
        for first in firsts:
            work(first)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, firsts))
