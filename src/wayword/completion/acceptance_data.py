"""The data from which acceptance is learned: flat arrays of typing sessions.

Each typing session has one intended query. Where nothing was taken, it is the query that followed. Where something was
taken, it is latent: the candidates are the queries that the last typed text may become, with P(q̄ | x) in proportion to
the number of searches. The last text is the longest one, so its candidates are consistent with the texts before.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion.acceptance_features import COMPARED, ComparedQueries, compare_blocks
from wayword.completion.expected_utility import ExpectedUtilityRetriever
from wayword.completion.list_policy import CORRECTED
from wayword.completion.popular import LAST
from wayword.completion.query_pairs import have_typed_words
from wayword.completion.shown_lists import UNKNOWN, ShownLists
from wayword.completion.suggested_queries import SuggestedQueries
from wayword.completion.trie import code_points
from wayword.logs.contexts import from_prefixes
from wayword.store.compressed_rows import CompressedRows, WeightedRows

MASS, MOST = 0.9999, 256
"""Candidates of a text: the most probable ones, until they have this probability, but at most so many. The others are
one more candidate, of number -1, which shares no words and no results with any suggestion."""
TEXTS_AT_ONCE = 2000
LEAST_SEARCHES = 0.5
"""A taken query that continues the text is a candidate even if nobody has searched for it: it counts so much."""
MOST_KINDS = 8
"""Values of a context column with a constant of their own; the most frequent ones."""


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
    """The queries that each text may become."""

    rows: WeightedRows
    """Text → queries, most probable first, and -1 for the others, with P(q̄ | x)."""
    total: NDArray[np.float64]
    """Searches of all queries that the text may become."""
    corrected: NDArray[np.bool_]
    """Whether the text was corrected."""

    @classmethod
    def of(cls, universe: Universe, prefixes: Sequence[str], searches: NDArray[np.float64]) -> "Candidates":
        """Match texts; `searches` is the number of searches of each query, which need not be whole."""
        parts = [
            _matched(universe, prefixes[first : first + TEXTS_AT_ONCE], searches)
            for first in range(0, max(len(prefixes), 1), TEXTS_AT_ONCE)
        ]
        rows, total, corrected = zip(*parts, strict=True)
        return cls(WeightedRows.concatenate(rows), np.concatenate(total), np.concatenate(corrected))


def _matched(
    universe: Universe, prefixes: Sequence[str], searches: NDArray[np.float64]
) -> tuple[WeightedRows, NDArray[np.float64], NDArray[np.bool_]]:
    retriever = universe.retriever
    intents = retriever.intents(from_prefixes(list(prefixes)))
    members = intents.members
    weight = intents.typed_probability * searches[members.values]
    rows, total = most_probable(members.owner, members.values, weight, len(prefixes))
    return rows, total, np.isin(intents.source, CORRECTED)


def most_probable(
    owner: NDArray[np.int64], query: NDArray[np.int32], weight: NDArray[np.float64], texts: int
) -> tuple[WeightedRows, NDArray[np.float64]]:
    """Return the most probable queries of each text with their probabilities, and the sum of each text's weights.

    >>> owner, query = np.zeros(3, np.int64), np.array([5, 6, 7], np.int32)
    >>> rows, total = most_probable(owner, query, np.array([1.0, 99999, 0]), 2)
    >>> rows.values.tolist(), (1000 * rows.weights).round().tolist(), total.tolist()
    ([6, -1, -1], [1000.0, 0.0, 1000.0], [100000.0, 0.0])
    """
    total = np.bincount(owner, weights=weight, minlength=texts).astype(np.float64)
    order = np.lexsort((query, -weight, owner))
    owner, query = owner[order], query[order]
    share = weight[order] / np.maximum(total, 1e-300)[owner]
    begin = np.searchsorted(owner, np.arange(texts + 1))
    before = np.cumsum(share) - share
    before -= np.r_[before, 0.0][begin[:-1]][owner]
    rank = np.arange(len(owner)) - begin[:-1][owner]
    kept = (share > 0) & (before < MASS) & (rank < MOST)
    owner, query, share = owner[kept], query[kept], share[kept]
    rest = 1.0 - np.bincount(owner, weights=share, minlength=texts)
    others = np.flatnonzero(rest > 1e-9)
    owner = np.r_[owner, others]
    order = np.argsort(owner, kind="stable")
    query = np.r_[query, np.full(len(others), UNKNOWN, np.int32)][order].astype(np.int32)
    probability = np.r_[share, rest[others]][order].astype(np.float32)
    return WeightedRows.from_lengths(query, np.bincount(owner, minlength=texts), probability), total


@dataclass(frozen=True)
class AcceptanceData:
    """Typing sessions as flat arrays. A column is a suggestion of a session, however often it was shown."""

    candidates: WeightedRows
    """Session → possible intended queries with their probabilities."""
    columns: CompressedRows
    """Session → suggested queries."""
    typed_words: NDArray[np.bool_]
    """Of each column: the suggestion has the typed words."""
    corrected: NDArray[np.bool_]
    """Of each column: the text was corrected."""
    lists: NDArray[np.int64]
    """Offsets: lists of each session."""
    items: CompressedRows
    """List → columns of its session."""
    taken: NDArray[np.int64]
    """Of each list: the position of the taken suggestion from 1, or 0."""
    starts: NDArray[np.int64]
    """Of each session: where its pairs (candidates × columns) begin in `compared` and `same`."""
    compared: NDArray[np.float32]
    same: NDArray[np.bool_]
    kind: NDArray[np.int32]
    """Of each session: the value of the context column, a position in `kinds`, or -1."""
    kinds: tuple[str, ...]
    search_id: pa.Array
    query: NDArray[np.int64]
    """Of each session: the query that was issued."""
    took: NDArray[np.bool_]
    """Of each session: whether something was taken, so that the intended query is latent."""
    counts: Mapping[str, int]
    """Counts of what was used, and of what was left out and why."""
    others: float = 0.0
    """Mean probability of the candidate -1 where the intended query is latent."""

    @property
    def sessions(self) -> int:
        """The number of sessions."""
        return len(self.starts)

    def __len__(self) -> int:
        """The number of lists."""
        return len(self.taken)


def assemble(
    lists: ShownLists, universe: Universe, searches: NDArray[np.float64], *, forecast: bool = False
) -> AcceptanceData:
    """Join lists with the queries of a workspace; P(q̄ | x) is in proportion to `searches`.

    `forecast` treats the intended query of every session as latent and keeps suggestions below the taken one, to
    forecast what is taken from the last list of each session.
    """
    lists = lists if forecast else usable(lists, universe)
    candidates = Candidates.of(universe, lists.prefixes, np.maximum(searches, 0.0))
    latent = np.ones(lists.sessions, np.bool_) if forecast else lists.took
    reached = lists.shown.lengths
    if not forecast:
        reached = np.where(lists.taken > 0, np.minimum(lists.taken, reached), reached)
    owner, suggested = lists.shown.take(np.arange(len(lists)))
    position = np.arange(len(owner)) - lists.shown.offsets[owner]
    used = position < reached[owner]
    owner, suggested = owner[used], suggested[used].astype(np.int64)
    typed_words = have_typed_words(
        code_points(lists.prefixes).indexed,
        lists.prefix[owner],
        universe.retriever.matcher.spelling.indexed,
        suggested,
    )
    corrected = candidates.corrected[lists.prefix[owner]]
    queries = len(universe.texts)
    key = ((lists.session[owner] * (queries + 1) + suggested + 1) * 2 + typed_words) * 2 + corrected
    distinct, column = np.unique(key, return_inverse=True)
    of_session = distinct // (4 * (queries + 1))
    columns = CompressedRows.from_lengths(
        (distinct // 4 % (queries + 1) - 1).astype(np.int32),
        np.bincount(of_session, minlength=lists.sessions),
    )
    picked = lists.took & (not forecast)
    member_rows = _members(lists, universe, candidates, latent, picked, searches)
    pairs = member_rows.lengths * columns.lengths
    starts = np.cumsum(pairs) - pairs
    compared, same = np.zeros((int(pairs.sum()), COMPARED), np.float32), np.zeros(int(pairs.sum()), np.bool_)
    compare_blocks(
        member_rows.indexed,
        columns.indexed,
        universe.group,
        universe.compared.arrays,
        starts,
        np.zeros(universe.compared.documents),
        compared,
        same,
    )
    kind, kinds = _kinds(lists.value)
    other = member_rows.weights[(member_rows.values == UNKNOWN) & latent[member_rows.owner]].sum()
    return AcceptanceData(
        member_rows,
        columns,
        (distinct // 2 % 2).astype(np.bool_),
        (distinct % 2).astype(np.bool_),
        np.searchsorted(lists.session, np.arange(lists.sessions + 1)).astype(np.int64),
        CompressedRows.from_lengths(
            (column - columns.offsets[lists.session[owner]]).astype(np.int32),
            np.bincount(owner, minlength=len(lists)),
        ),
        lists.taken,
        starts,
        compared,
        same,
        kind,
        kinds,
        lists.search_id,
        lists.query,
        lists.took,
        {
            "sessions": lists.sessions,
            "lists": len(lists),
            "taken": int(lists.took.sum()),
            **lists.left_out,
            "suggestions that are no query of the workspace": int((lists.shown.values == UNKNOWN).sum()),
        },
        float(other / max(latent.sum(), 1)),
    )


def usable(lists: ShownLists, universe: Universe) -> ShownLists:
    """Leave out sessions without a known query, and lists at the whole text of the query that followed.

    Who has typed the whole query and presses Enter has not declined it.
    """
    took, last = (
        lists.took,
        np.flatnonzero(np.r_[lists.session[1:] != lists.session[:-1], True][: len(lists)]),
    )
    taken = lists.taken[last]
    at = lists.shown.offsets[last] + taken - 1
    taken_query = np.where(
        taken > 0, np.r_[lists.shown.values, UNKNOWN][np.where(taken > 0, at, -1)], UNKNOWN
    )
    unknown = np.where(took, taken_query, lists.query) == UNKNOWN
    number = {text: place for place, text in enumerate(universe.texts)}
    whole = np.array([number.get(prefix, -2) for prefix in lists.prefixes], np.int64)
    finished = (
        ~took[lists.session] & (whole[lists.prefix] == lists.query[lists.session]) & ~unknown[lists.session]
    )
    reasons = {
        "sessions whose taken suggestion is no query of the workspace": int((unknown & took).sum()),
        "sessions whose following query is no query of the workspace": int((unknown & ~took).sum()),
        "lists at the whole text of the query that followed": int(finished.sum()),
    }
    return lists.of_lists(~finished & ~unknown[lists.session]).without(reasons)


def _members(
    lists: ShownLists,
    universe: Universe,
    candidates: Candidates,
    latent: NDArray[np.bool_],
    took: NDArray[np.bool_],
    searches: NDArray[np.float64],
) -> WeightedRows:
    """The possible intended queries of each session; the taken query is one of them if it continues the text."""
    sessions = np.arange(lists.sessions)
    last = np.searchsorted(lists.session, sessions, side="right") - 1
    prefix = lists.prefix[last]
    owner, query = candidates.rows.take(prefix[latent])
    _, probability = WeightedRows(
        candidates.rows.offsets, candidates.rows.weights, candidates.rows.weights
    ).take(prefix[latent])
    owner = sessions[latent][owner]
    known = sessions[~latent]
    taken = lists.taken[last]
    picked = np.flatnonzero(took)
    item = lists.shown.values[lists.shown.offsets[last[picked]] + taken[picked] - 1].astype(np.int64)
    span = universe.continuing(lists.prefixes)[prefix[picked]]
    key = owner * (len(universe.texts) + 1) + query
    own = (item >= span[:, 0]) & (item < span[:, 1])
    own &= ~np.isin(picked * (len(universe.texts) + 1) + item, key)
    picked, item = picked[own], item[own]
    share = np.maximum(searches[item], LEAST_SEARCHES) / np.maximum(candidates.total[prefix[picked]], 1.0)
    owner = np.concatenate([owner, known, picked])
    order = np.argsort(owner, kind="stable")
    return WeightedRows.from_lengths(
        np.concatenate([query, lists.query[~latent], item])[order].astype(np.int32),
        np.bincount(owner, minlength=lists.sessions),
        np.concatenate([probability, np.ones(len(known)), share])[order].astype(np.float32),
    )


def _kinds(value: pa.Array) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Number the most frequent values of a context column."""
    counts = pc.value_counts(value.drop_null()).to_pylist()
    ordered = sorted(counts, key=lambda row: (-row["counts"], row["values"]))[:MOST_KINDS]
    kinds = tuple(row["values"] for row in ordered)
    place = pc.index_in(value, value_set=pa.array(kinds, pa.string()))
    return place.fill_null(-1).to_numpy().astype(np.int32), kinds
