"""The policy `wayword`: the list of highest value for the people who typed a text (see `list_value`)."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.acceptance import Acceptance
from wayword.completion.best_lists import best_lists
from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.expected_utility import ExpectedUtilityRetriever, Intents
from wayword.completion.list_value import SHOWN
from wayword.completion.query_pairs import acceptance_of_slots, context_ratio, have_typed_words, matrices
from wayword.completion.suggested_queries import SuggestedQueries
from wayword.completion.trie import code_points
from wayword.completion.typing_outcomes import Slots
from wayword.logs.contexts import PREFIX, from_prefixes
from wayword.numba_jit import compiled
from wayword.request import ANY, PREFIXED
from wayword.store.compressed_rows import CompressedRows, WeightedRows

USEFUL, PROBABLE = 40, 24
"""The pool of a text: so many queries of highest expected utility, and so many of the most probable."""
FEWEST, EACH = 2, 4
"""Where few queries are intended, fewer useful ones: so many, and so many more for each intended query."""
TYPED_AGAIN = 0.5
"""Share of a query's characters that have to be typed again, at least, by somebody whose text does not begin it."""
INSIDE = 0.1
"""Share of those who intend "video player" that type "player" first."""
SHORTEST_WORD = 3
"""A text of fewer characters does not stand for longer words within a query."""
TEXTS_AT_ONCE = 64
PSEUDO_SEARCHES = 2.0
"""Searches of average success that are added to those of each query, to estimate its own success."""
CORRECTED = tuple(SOURCES.index(name) for name in ("typo", "similar"))
Scratch = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True)
class Members:
    """The intended queries of some texts with P(q̄ | x), and the share of q̄'s characters that need not be typed."""

    rows: CompressedRows
    probability: NDArray[np.float32]
    saved: NDArray[np.float32]


@dataclass(frozen=True)
class Pool(CompressedRows):
    """The queries that may be suggested for each text, and which of them may be among the first `SHOWN`."""

    core: NDArray[np.bool_]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """(offsets, values, core)."""
        return self.offsets, self.values, self.core


@dataclass(frozen=True)
class Takers:
    """Who takes the suggestions of a list: arrays by intended query, and by intended query × suggestion."""

    intended: NDArray[np.int32]
    probability: NDArray[np.float32]
    """P(q̄ | x)."""
    takes: NDArray[np.float64]
    """T_j of those who intend q̄."""
    utility: NDArray[np.float32]
    """û(q_j | q̄)."""
    worth: NDArray[np.float64]
    """Success of a search for q̄, relative to the average search."""
    saved: NDArray[np.float64]
    """λ · saved(x, q̄)."""
    careless: NDArray[np.float64]
    """By suggestion: the probability that it is taken by somebody who takes whatever they read."""
    careless_finds: NDArray[np.float64]
    """By suggestion: what these people find, which is a part of its value."""

    def value(self, place: int) -> NDArray[np.float64]:
        """Return the part of each intended query in the value of the suggestion at a place, from 0."""
        gain = self.worth * (self.utility[:, place] - 1.0) + self.saved
        result: NDArray[np.float64] = self.probability * self.takes[:, place] * gain
        return result


@dataclass(frozen=True)
class Asked:
    """What the lists for some texts are chosen from; the pools are by mode."""

    intents: Intents
    typed: CompressedRows
    pools: list[Pool]


@dataclass(frozen=True)
class ListPolicy:
    """Chooses the list that maximises V(L | x). A score is the suggestion's share of V."""

    retriever: ExpectedUtilityRetriever
    queries: SuggestedQueries
    acceptance: Acceptance
    keystroke_value: float
    """λ: what it is worth to type nothing of a query, in searches found."""
    survival: NDArray[np.float32] | None = None
    """Queries × lengths of texts from 1 on: the share of those who intend the query that the lists up to this length
    leave; see `survival`. None: everybody."""
    _spare: list[Scratch] = field(default_factory=list, repr=False)
    _asked: "dict[object, Asked] | None" = field(default=None, repr=False)
    """What was found for texts, if it is kept (`remembering`)."""

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """See `Policy.complete`."""
        return self.complete_in_modes(contexts, k, (mode,))[0]

    def complete_in_modes(self, contexts: pa.Table, k: int, modes: Sequence[str]) -> list[Candidates]:
        """Complete in each mode; what people intend is the same in all."""
        asked = self.asked(contexts, k, modes)
        intents, typed = asked.intents, asked.typed
        members = self.members(contexts, intents, typed.lengths)
        found = []
        for pool in asked.pools:
            query, value, _ = self._best(contexts, intents, members, pool, typed, max(k, SHOWN))
            query, value = query[:, :k], value[:, :k]
            filled = query >= 0
            context = np.nonzero(filled)[0].astype(np.int32)
            scores = value[filled].astype(np.float32)
            found.append(Candidates(context, query[filled], scores, intents.source[context]))
        return found

    def declined(self, contexts: pa.Table) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the intended queries of all texts, and the probability that somebody who intends each takes nothing of
        the list for this text."""
        asked = self.asked(contexts, SHOWN, (ANY,))
        members = self.members(contexts, asked.intents, asked.typed.lengths)
        best = self._best(contexts, asked.intents, members, asked.pools[0], asked.typed, SHOWN)
        return members.rows.values, best[2]

    def asked(self, contexts: pa.Table, k: int, modes: Sequence[str]) -> "Asked":
        """Return what lists for these texts are chosen from: kept from an earlier time, where that is known."""
        kept, key = None, None
        if self._asked is not None and _without_context(contexts):
            kept, key = self._asked, (k, *modes, *contexts[PREFIX].to_pylist())
            if key in kept:
                return kept[key]
        intents = self.intents(contexts)
        pools = [self.pool(contexts, intents, k, mode) for mode in modes]
        found = Asked(intents, self.typed(contexts, intents), pools)
        if kept is not None:
            kept[key] = found
        return found

    def remembering(self) -> "ListPolicy":
        """Return the policy that keeps what people may intend and what may be suggested for each table of texts.

        It is for tables that are asked again by policies made from this one with `replace`, of another keystroke value
        or survival: these change none of it.
        """
        return replace(self, _asked={})

    @cached_property
    def searches(self) -> NDArray[np.float64]:
        """How often each query is searched."""
        return self.retriever.popularity

    @cached_property
    def worth(self) -> NDArray[np.float32]:
        """Success of a search for each query: what it finds, relative to the average search."""
        own = np.where(self.searches > 0, self.retriever.own_utility, 0).astype(np.float64)
        average = max(float(own.sum()), 1e-12) / max(float(self.searches.sum()), 1e-12)
        rate = (own + PSEUDO_SEARCHES * average) / (self.searches + PSEUDO_SEARCHES)
        return (rate / average).astype(np.float32)

    def intents(self, contexts: pa.Table) -> Intents:
        """Return the queries that people who typed each text may intend.

        A word that is a query itself may also be all that somebody has typed of a query that has it later: "player" of
        "video player". `INSIDE` of its people begin with that word.
        """
        intents = self.retriever.intents(contexts)
        prefixes = contexts[PREFIX].to_pylist()
        exact = intents.source == SOURCES.index("graph")
        words = [
            row
            for row in np.flatnonzero((intents.typed_query >= 0) & exact).tolist()
            if " " not in prefixes[row]
        ]
        found = [self._inside(prefixes[row]) for row in words]
        query = np.concatenate([*found, np.zeros(0, np.int32)])
        if not len(query):
            return intents
        lengths = np.zeros(len(prefixes), np.int64)
        lengths[words] = [len(of_word) for of_word in found]
        weight = (INSIDE * self.retriever.prefix_probability[query]).astype(np.float32)
        return intents.extended(
            WeightedRows.from_lengths(query, lengths, weight), np.full(len(query), INSIDE, np.float32)
        )

    def _inside(self, word: str) -> NDArray[np.int32]:
        """Return the queries that have a word within; a very short one as a whole word ("wi" of "usb wi fi")."""
        queries = self.retriever.matcher.inside(word)
        if len(word) >= SHORTEST_WORD:
            return queries
        whole = [word in self.retriever.texts[query].split() for query in queries.tolist()]
        return queries[np.array(whole, bool)]

    def typed(self, contexts: pa.Table, intents: Intents) -> CompressedRows:
        """Return the code points of each text, cut to the shortest one that the same queries continue.

        Such texts share a list. A text that is a query has a list of its own.
        """
        codes = code_points(contexts[PREFIX].to_pylist())
        place = np.arange(len(codes.values)) - codes.offsets[codes.owner]
        return codes.select(place < self._branching(intents, codes.lengths)[codes.owner])

    def members(self, contexts: pa.Table, intents: Intents, shortest: NDArray[np.int64]) -> Members:
        """Return the queries that people who typed each text intend; `shortest` are the lengths of `typed`.

        A text that is a query itself is submitted by those who intend it: the list is for those who type on, if any.
        Some have taken a suggestion at a shorter text, and do not see this list (`survival`).
        Where context columns change what is wanted, a query is more probable in a context in which more people want
        what its page shows.
        """
        rows = intents.members
        done = (rows.values == intents.typed_query[rows.owner]) & (rows.lengths[rows.owner] > 1)
        weight = np.where(done, 0.0, intents.typed_probability * self.searches[rows.values])
        if self.survival is not None:
            known = intents.source == SOURCES.index("graph")
            before = np.where(known, np.minimum(shortest - 1, self.survival.shape[1]), 0)[rows.owner]
            left = self.survival[rows.values, np.maximum(before - 1, 0)]
            weight = weight * np.where((before > 0) & intents.continues, left, 1.0)
        if self.retriever.documents_in:
            factor, row = self.retriever.documents_in.rows(contexts)
            weight = weight * context_ratio(
                *rows.indexed,
                row,
                factor,
                self.queries.pages.arrays,
                self.retriever.graph.demand.arrays,
                self.retriever.own_utility,
            )
        onward = (intents.continues & (intents.source == SOURCES.index("graph"))[rows.owner])[weight > 0]
        rows, weight = rows.select(weight > 0), weight[weight > 0]
        total = np.bincount(rows.owner, weights=weight, minlength=len(rows))
        length = self.queries.lengths[rows.values]
        left = np.maximum(length - shortest[rows.owner], 0)
        left = np.where(~onward, np.maximum(left, length * TYPED_AGAIN), left)
        left[rows.values == intents.typed_query[rows.owner]] = 0  # all is typed
        return Members(
            CompressedRows(rows.offsets, rows.values),
            (weight / total[rows.owner]).astype(np.float32),
            (left / np.maximum(length, 1)).astype(np.float32),
        )

    def _branching(self, intents: Intents, typed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the length of the shortest text that the same queries continue."""
        rows = intents.members
        known = (rows.lengths > 0) & (intents.source == SOURCES.index("graph")) & (intents.typed_query < 0)
        at = np.flatnonzero(known)
        matchable = self.retriever.matcher.matchable
        first = np.searchsorted(matchable, rows.values[rows.offsets[at]])
        last = np.searchsorted(matchable, rows.values[rows.offsets[at + 1] - 1])
        shortest = typed.copy()
        shared = self._shared
        shortest[at] = np.minimum(typed[at], np.maximum(shared[first], shared[last + 1]) + 1)
        return shortest

    @cached_property
    def _shared(self) -> NDArray[np.int64]:
        """The length of the common prefix of each matchable query and the one before it; 0 at both ends."""
        shared: NDArray[np.int64] = common_prefixes(
            *self.queries.spelling.indexed, self.retriever.matcher.matchable
        )
        return shared

    def pool(self, contexts: pa.Table, intents: Intents, k: int, mode: str) -> Pool:
        """Return the queries that may be suggested for each text, useful and probable ones; of lookalikes one.

        For a k above `PROBABLE` there are more, which may only follow the first ones: these do not depend on k.
        """
        useful = self.retriever.score(contexts, intents, max(USEFUL, k), intents.within(mode))
        probable = self.retriever.most_probable(intents, max(PROBABLE, k), mode)
        few = np.minimum(FEWEST + EACH * intents.members.lengths, USEFUL)
        core = np.concatenate([useful.position() < few[useful.context], probable.position() < PROBABLE])
        context = np.concatenate([useful.context, probable.context]).astype(np.int64)
        query = np.concatenate([useful.query, probable.query])
        shown = self.queries.shown_as[query]
        if mode == PREFIXED:  # the variant that is shown need not continue the text
            shown = np.where(shown >= 0, query, shown)
        kept = (shown >= 0) & (shown != intents.typed_query[context]) & (core | (k > PROBABLE))
        context, shown, core = context[kept], shown[kept], core[kept]
        look = self.queries.lookalike[shown]
        onward = self._continuing(intents, context, shown)
        order = np.lexsort((shown, -self.searches[shown], ~onward, ~core, look, context))
        context, shown, core, look = context[order], shown[order], core[order], look[order]
        first = np.r_[True, (context[1:] != context[:-1]) | (look[1:] != look[:-1])][: len(shown)]
        lengths = np.bincount(context[first], minlength=contexts.num_rows)
        return Pool.from_lengths(shown[first].astype(np.int32), lengths, core[first])

    def _continuing(
        self, intents: Intents, context: NDArray[np.int64], query: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Return whether each query is one of those that continue the text."""
        members, universe = intents.members.select(intents.continues), len(self.queries.lookalike)
        known = members.owner * universe + members.values
        place = np.searchsorted(known, context * universe + query)
        return np.r_[known, -1][place] == context * universe + query

    def _best(
        self,
        contexts: pa.Table,
        intents: Intents,
        members: Members,
        pool: Pool,
        typed: CompressedRows,
        k: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float32]]:
        query, value = np.full((contexts.num_rows, k), -1, np.int32), np.zeros((contexts.num_rows, k))
        declined = np.ones(len(members.rows.values), np.float32)
        worth = self.worth[members.rows.values]
        corrected = np.isin(intents.source, CORRECTED)
        factors = self._factors(contexts)
        model = (
            self.acceptance.by_kind,
            self.acceptance.reading_at(k),
            self.keystroke_value,
            self.acceptance.careless,
            self.acceptance.strict,
        )
        queries, demand = (
            self.queries.arrays(self.searches, self.retriever.certainty),
            self.retriever.graph.demand.arrays,
        )

        def fill(first: int) -> None:
            with self._scratch() as scratch:
                best_lists(
                    first,
                    min(first + TEXTS_AT_ONCE, contexts.num_rows),
                    (*members.rows.arrays, members.probability, members.saved, worth),
                    pool.arrays,
                    typed.arrays,
                    corrected,
                    queries,
                    demand,
                    self.retriever.own_utility,
                    factors,
                    model,
                    scratch,
                    query,
                    value,
                    declined,
                )

        _each(fill, range(0, contexts.num_rows, TEXTS_AT_ONCE), self.retriever.threads)
        return query, value, declined

    def takers(self, contexts: pa.Table, listed: NDArray[np.int32]) -> "Takers":
        """Return who takes each suggestion of a list that is shown for a single text."""
        intents = self.intents(contexts)
        typed = self.typed(contexts, intents)
        members = self.members(contexts, intents, typed.lengths)
        with self._scratch() as scratch:
            accepted, utility = matrices(
                members.rows.values,
                listed,
                typed.arrays,
                bool(np.isin(intents.source, CORRECTED)[0]),
                self.queries.arrays(self.searches, self.retriever.certainty),
                self.retriever.graph.demand.arrays,
                self.retriever.own_utility,
                self._factors(contexts),
                self.acceptance.by_kind,
                scratch,
            )
        reading, group = self.acceptance.reading_at(len(listed)), self.queries.group
        read = accepted * reading
        takes = read * np.cumprod(np.hstack([np.ones((len(read), 1)), 1 - read]), axis=1)[:, :-1]
        takes = takes.reshape(len(self.acceptance.by_kind), *utility.shape).mean(axis=0)
        own = group[members.rows.values][:, None] == group[listed]
        takes = (1 - self.acceptance.strict) * takes + self.acceptance.strict * own * reading
        worth = self.worth[members.rows.values].astype(np.float64)
        saved = self.keystroke_value * members.saved.astype(np.float64)
        careless = self.acceptance.careless if typed.lengths[0] == 1 else 0.0
        carelessly = careless * reading * np.cumprod(np.r_[1.0, 1.0 - reading])[:-1]
        return Takers(
            members.rows.values,
            (1.0 - careless) * members.probability,
            takes,
            utility,
            worth,
            saved,
            carelessly,
            carelessly * ((members.probability * worth) @ utility),
        )

    def _factors(self, contexts: pa.Table) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        if self.retriever.documents_in:
            return self.retriever.documents_in.rows(contexts)
        return np.ones((0, 0), np.float32), np.full(contexts.num_rows, -1, np.int32)

    @contextmanager
    def _scratch(self) -> Iterator[Scratch]:
        try:
            scratch = self._spare.pop()
        except IndexError:  # all in use
            words, documents = self.queries.words.vocabulary, self.retriever.graph.documents
            scratch = np.zeros(words, np.int32), np.zeros(documents, np.int32)
        yield scratch
        self._spare.append(scratch)

    def have_typed_words(self, texts: list[str], candidates: Candidates) -> NDArray[np.bool_]:
        """Return whether each candidate has the words of the text that it is a candidate for, as lists are chosen."""
        contexts = from_prefixes(texts)
        result: NDArray[np.bool_] = have_typed_words(
            self.typed(contexts, self.retriever.intents(contexts)).indexed,
            candidates.context.astype(np.int64),
            self.queries.spelling.indexed,
            candidates.query.astype(np.int64),
        )
        return result

    def accepted(self, intended: NDArray[np.int64], slots: Slots) -> NDArray[np.float64]:
        """Return a(q | x, q̄) of each slot of typing sessions; `intended` is the query that each session types."""
        with self._scratch() as scratch:
            accepted: NDArray[np.float64] = acceptance_of_slots(
                intended,
                slots.offsets,
                slots.suggested,
                slots.matches,
                self.queries.arrays(self.searches, self.retriever.certainty),
                self.retriever.graph.demand.arrays,
                self.retriever.own_utility,
                self.acceptance.coefficients[None],
                scratch[0],
                np.zeros(self.retriever.graph.documents),
            )
        return accepted


def _without_context(contexts: pa.Table) -> bool:
    """Return whether no context column has a value."""
    columns = [contexts[name] for name in contexts.column_names if name != PREFIX]
    return all(column.null_count == contexts.num_rows for column in columns)


def _each(work: Callable[[int], None], firsts: range, threads: int) -> None:
    if threads == 1 or len(firsts) < 2:
        for first in firsts:
            work(first)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, firsts))


@compiled
def common_prefixes(offsets: Any, codes: Any, numbers: Any) -> Any:
    """Return the length of the common prefix of each numbered text and the one before it; 0 at both ends.

    >>> texts = code_points(["tv", "tv stand", "tx"])
    >>> common_prefixes(*texts.indexed, np.array([0, 1, 2], np.int32)).tolist()
    [0, 2, 1, 0]
    """
    shared = np.zeros(len(numbers) + 1, np.int64)
    for place in range(1, len(numbers)):
        one, other = offsets[numbers[place - 1]], offsets[numbers[place]]
        most = min(offsets[numbers[place - 1] + 1] - one, offsets[numbers[place] + 1] - other)
        length = 0
        while length < most and codes[one + length] == codes[other + length]:
            length += 1
        shared[place] = length
    return shared
