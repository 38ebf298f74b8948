"""The queries that may have been intended where a suggestion was taken.

They are the queries that the typed text may become, with P(q̄ | x) in proportion to the number of searches. A short text
may become thousands. Those are kept that are likeliest to lead to the pick, by P(q̄ | x) · a(taken | x, q̄) with the a of
the prior: if the most searched ones were kept, those who intend a query like the taken one would be missing, and
readiness to take unlike queries would be learned.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.completion.acceptance import FEATURES, PRIOR
from wayword.completion.acceptance_features import COMPARED, ComparedQueries, compare_blocks
from wayword.completion.expected_utility import ExpectedUtilityRetriever
from wayword.completion.list_policy import CORRECTED
from wayword.completion.popular import LAST
from wayword.completion.shown_lists import UNKNOWN
from wayword.completion.suggested_queries import SuggestedQueries
from wayword.logs.contexts import from_prefixes
from wayword.store.compressed_rows import WeightedRows

MASS, MOST = 0.9999, 256
"""Candidates: the likeliest ones, until they have this share of the probability, but at most so many. The others are
one more candidate, of number -1, which shares no words and no results with any suggestion."""
TEXTS_AT_ONCE, PAIRS_AT_ONCE = 2000, 4_000_000


@dataclass(frozen=True)
class Universe:
    """The queries of a workspace: how they compare, and which of them a text may become."""

    retriever: ExpectedUtilityRetriever
    compared: ComparedQueries
    group: NDArray[np.int32]
    """Queries of the same group are one suggestion."""

    @classmethod
    def of(cls, retriever: ExpectedUtilityRetriever, queries: SuggestedQueries) -> "Universe":
        """Take the queries of a retriever as they are compared where lists are chosen.

        Prefixes that the log recorded are not used: where a suggestion was taken, the issued query is not the one that
        was typed.
        """
        return cls(
            ExpectedUtilityRetriever(
                retriever.texts,
                retriever.matcher,
                retriever.graph,
                prefix_probability=retriever.prefix_probability,
                own_utility=retriever.own_utility,
                popularity=retriever.popularity,
            ),
            ComparedQueries(
                queries.words,
                queries.pages,
                retriever.graph.demand,
                retriever.own_utility,
                retriever.certainty,
                retriever.graph.documents,
            ),
            queries.group,
        )

    @property
    def texts(self) -> Sequence[str]:
        """Of the queries, sorted."""
        return self.retriever.texts

    def continuing(self, prefixes: Sequence[str]) -> NDArray[np.int64]:
        """Return the first query that begins with each text, and the first after these (texts × 2)."""
        low = [bisect_left(self.texts, prefix) for prefix in prefixes]
        ends = (
            bisect_left(self.texts, prefix + LAST, lo=at) for prefix, at in zip(prefixes, low, strict=True)
        )
        return np.array([*zip(low, ends, strict=True)], np.int64).reshape(len(low), 2)


@dataclass(frozen=True)
class Candidates:
    """The queries that may have been intended, for each text or for each text with the query that was taken there."""

    rows: WeightedRows
    """Text → queries, likeliest first, and -1 for the others, with P(q̄ | x)."""
    total: NDArray[np.float64]
    """Searches of all queries that each text may become."""
    corrected: NDArray[np.bool_]
    """Whether each text was corrected."""

    @classmethod
    def of(
        cls,
        universe: Universe,
        prefixes: Sequence[str],
        searches: NDArray[np.float64],
        picks: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> "Candidates":
        """Match texts; `searches` is the number of searches of each query, which need not be whole.

        The rows are those of `picks`, if given: the text and the taken query of each, by ascending text.
        """
        texts = np.arange(len(prefixes))
        text, taken = picks or (texts, np.full(len(texts), UNKNOWN, np.int64))
        rows, total, corrected = list[WeightedRows](), list[NDArray[np.float64]](), list[NDArray[np.bool_]]()
        for first in range(0, max(len(prefixes), 1), TEXTS_AT_ONCE):
            here = slice(*np.searchsorted(text, [first, first + TEXTS_AT_ONCE]))
            intents = universe.retriever.intents(from_prefixes(list(prefixes[first : first + TEXTS_AT_ONCE])))
            members = intents.members
            weight = intents.typed_probability * searches[members.values]
            total.append(
                np.bincount(members.owner, weights=weight, minlength=len(members)).astype(np.float64)
            )
            share = weight / np.maximum(total[-1], 1e-300)[members.owner]
            intended = WeightedRows(members.offsets, members.values, share.astype(np.float32))
            rows += _likeliest(universe, intended, text[here] - first, taken[here])
            corrected.append(np.isin(intents.source, CORRECTED))
        return cls(
            WeightedRows.concatenate(rows) if rows else WeightedRows.from_lengths(*_NOTHING),
            np.concatenate(total),
            np.concatenate(corrected),
        )


_NOTHING = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.float32)


def _likeliest(
    universe: Universe, intended: WeightedRows, text: NDArray[np.int64], taken: NDArray[np.int64]
) -> Iterator[WeightedRows]:
    """Cut the rows of texts to the likeliest queries, given what was taken; -1 says nothing about them."""
    pairs = np.cumsum(intended.lengths[text])
    part = np.zeros(0, np.int64) if not len(text) else pairs // PAIRS_AT_ONCE
    for here in np.split(np.arange(len(text)), np.flatnonzero(np.diff(part)) + 1) if len(text) else ():
        owner, query = intended.take(text[here])
        share = WeightedRows(intended.offsets, intended.weights, intended.weights).take(text[here])[1]
        members = WeightedRows.from_lengths(query, intended.lengths[text[here]], share)
        yield likeliest(owner, query, share, len(here), _acceptance(universe, members, taken[here]))


def _acceptance(universe: Universe, members: WeightedRows, taken: NDArray[np.int64]) -> NDArray[np.float64]:
    """a(taken | x, q̄) by the prior for the queries of each row; 1 where nothing was taken."""
    features = np.ones((len(members.values), len(FEATURES)))
    features[:, -1] = 0
    compared, same = np.zeros((len(features), COMPARED), np.float32), np.zeros(len(features), np.bool_)
    compare_blocks(
        members.indexed,
        (np.arange(len(taken) + 1), taken.astype(np.int32)),
        universe.group,
        universe.compared.arrays,
        members.offsets[:-1],
        np.zeros(universe.compared.documents),
        compared,
        same,
    )
    features[:, 2 : 2 + COMPARED] = compared
    same |= taken[members.owner] == UNKNOWN
    return np.where(same, 1.0, PRIOR.probability(features))


def likeliest(
    owner: NDArray[np.int64],
    query: NDArray[np.int32],
    share: NDArray[np.float32],
    texts: int,
    accepted: NDArray[np.float64] | float = 1.0,
) -> WeightedRows:
    """Return the queries of each text that are likeliest, by `share` times `accepted`, with their shares.

    >>> owner, query = np.zeros(3, np.int64), np.array([5, 6, 7], np.int32)
    >>> rows = likeliest(owner, query, np.array([0.00001, 0.99999, 0]), 2)
    >>> rows.values.tolist(), rows.weights.round(3).tolist()
    ([6, -1, -1], [1.0, 0.0, 1.0])
    """
    weight = share * accepted
    order = np.lexsort((query, -weight, owner))
    owner, query, share, weight = owner[order], query[order], share[order], weight[order]
    total = np.bincount(owner, weights=weight, minlength=texts)
    begin = np.searchsorted(owner, np.arange(texts + 1))
    before = np.cumsum(weight) - weight
    before -= np.r_[before, 0.0][begin[:-1]][owner]
    rank = np.arange(len(owner)) - begin[:-1][owner]
    kept = (weight > 0) & (before < MASS * total[owner]) & (rank < MOST)
    owner, query, share = owner[kept], query[kept], share[kept]
    rest = 1.0 - np.bincount(owner, weights=share, minlength=texts)
    others = np.flatnonzero(rest > 1e-9)
    owner = np.r_[owner, others]
    order = np.argsort(owner, kind="stable")
    query = np.r_[query, np.full(len(others), UNKNOWN, np.int32)][order].astype(np.int32)
    probability = np.r_[share, rest[others]][order].astype(np.float32)
    return WeightedRows.from_lengths(query, np.bincount(owner, minlength=texts), probability)
