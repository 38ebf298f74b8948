"""The data from which acceptance is learned: flat arrays of typing sessions.

Each typing session has one intended query. Where nothing was taken, it is the query that followed. Where something was
taken, it is latent: the candidates are the queries that the last typed text may become (`acceptance_candidates`). The
last text is the longest one, so its candidates are consistent with the texts before.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion.acceptance_candidates import Candidates, Universe
from wayword.completion.acceptance_features import COMPARED, compare_blocks
from wayword.completion.query_pairs import have_typed_words
from wayword.completion.shown_lists import UNKNOWN, ShownLists
from wayword.completion.trie import code_points
from wayword.store.compressed_rows import CompressedRows, WeightedRows

LEAST_SEARCHES = 0.5
"""A taken query that continues the text is a candidate even if nobody has searched for it: it counts so much."""
MOST_KINDS = 8
"""Values of a context column with a constant of their own; the most frequent ones."""


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
    picks = Picks.of(lists, forecast=forecast)
    candidates = Candidates.of(universe, lists.prefixes, np.maximum(searches, 0.0), (picks.text, picks.taken))
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
    latent = picks.of_session >= 0
    member_rows = _members(lists, universe, candidates, picks, searches)
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


@dataclass(frozen=True)
class Picks:
    """Where the intended query is latent: the distinct pairs of the last text and what was taken there."""

    text: NDArray[np.int64]
    """Ascending positions in `ShownLists.prefixes`."""
    taken: NDArray[np.int64]
    """The query, or -1 where nothing is to be known of it."""
    of_session: NDArray[np.int64]
    """The pair of each session, or -1 where the intended query is known."""

    @classmethod
    def of(cls, lists: ShownLists, *, forecast: bool) -> "Picks":
        """Those of the sessions that took something; of all, not knowing what they took, for a forecast."""
        latent = np.ones(lists.sessions, np.bool_) if forecast else lists.took
        last = (np.searchsorted(lists.session, np.arange(lists.sessions), side="right") - 1)[latent]
        taken = np.full(len(last), UNKNOWN, np.int64)
        if not forecast:
            taken = lists.shown.values[lists.shown.offsets[last] + lists.taken[last] - 1].astype(np.int64)
        queries = int(taken.max(initial=0)) + 2
        pairs, place = np.unique(lists.prefix[last] * queries + taken + 1, return_inverse=True)
        of_session = np.full(lists.sessions, -1, np.int64)
        of_session[latent] = place
        return cls(pairs // queries, pairs % queries - 1, of_session)


def _members(
    lists: ShownLists, universe: Universe, candidates: Candidates, picks: Picks, searches: NDArray[np.float64]
) -> WeightedRows:
    """The possible intended queries of each session; the taken query is one of them if it continues the text."""
    latent = np.flatnonzero(picks.of_session >= 0)
    known = np.flatnonzero(picks.of_session < 0)
    rows, pick = candidates.rows, picks.of_session[latent]
    owner, query = rows.take(pick)
    probability = WeightedRows(rows.offsets, rows.weights, rows.weights).take(pick)[1]
    span = universe.continuing(lists.prefixes)[picks.text]
    missing = (picks.taken >= span[:, 0]) & (picks.taken < span[:, 1])
    missing[rows.owner[rows.values == picks.taken[rows.owner]]] = False
    share = np.maximum(searches[picks.taken], LEAST_SEARCHES)
    share /= np.maximum(candidates.total[picks.text], 1.0)
    added = latent[missing[pick]]
    of_added = picks.of_session[added]
    owner = np.concatenate([latent[owner], known, added])
    order = np.argsort(owner, kind="stable")
    return WeightedRows.from_lengths(
        np.concatenate([query, lists.query[known], picks.taken[of_added]])[order].astype(np.int32),
        np.bincount(owner, minlength=lists.sessions),
        np.concatenate([probability, np.ones(len(known)), share[of_added]])[order].astype(np.float32),
    )


def _kinds(value: pa.Array) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Number the most frequent values of a context column."""
    counts = pc.value_counts(value.drop_null()).to_pylist()
    ordered = sorted(counts, key=lambda row: (-row["counts"], row["values"]))[:MOST_KINDS]
    kinds = tuple(row["values"] for row in ordered)
    place = pc.index_in(value, value_set=pa.array(kinds, pa.string()))
    return place.fill_null(-1).to_numpy().astype(np.int32), kinds
