"""Lists of an earlier version of an index that can be copied, because nothing that they depend on has changed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wayword.completion.list_policy import ListPolicy
from wayword.completion.suggested_queries import HIDDEN
from wayword.index.completion_lists import Lists
from wayword.index.index import Index
from wayword.store.compressed_rows import WeightedRows


@dataclass(frozen=True)
class EarlierLists:
    """The version, the number that each of its queries has now, and the texts whose queries have changed."""

    index: Index
    number: NDArray[np.int64]
    touched: frozenset[str]

    def touching(self, texts: Sequence[str], shown_as: NDArray[np.int32]) -> "EarlierLists":
        """The same with the texts of queries that are shown otherwise than they were: hidden, or as another."""
        policy = self.index.policy
        if not isinstance(policy, ListPolicy):
            raise TypeError(f"found the policy {type(policy).__name__}, expected lists")
        before = policy.queries.shown_as
        changed = np.flatnonzero(shown_as[self.number] != np.where(before < 0, before, self.number[before]))
        both = ((self.index.texts[old], texts[self.number[old]]) for old in changed.tolist())
        return replace(self, touched=self.touched | touched_texts({text for pair in both for text in pair}))

    def take(
        self, keys: Sequence[str], typed: Sequence[str], mode: str, shown_as: NDArray[np.int32]
    ) -> tuple[Lists, NDArray[np.bool_]]:
        """The lists of the keys that can be copied, in order, and which these are. `typed` are the texts of the keys,
        `shown_as` what is shown instead of each query now."""
        copied = np.zeros(len(keys), bool)
        queries, scores, sources, lengths = [], [], [], list[int]()
        for place, (key, text) in enumerate(zip(keys, typed, strict=True)):
            found = None if text in self.touched else self.index.lists.whole(key, mode)
            if found is None:
                continue
            query = self.number[found.numbers]
            if (shown_as[query] == HIDDEN).any():
                continue
            copied[place] = True
            queries.append(query)
            scores.append(found.scores)
            sources.append(found.source)
            lengths.append(len(query))
        rows = WeightedRows.from_lengths(
            np.concatenate([*queries, np.zeros(0, np.int64)]).astype(np.int32),
            np.array(lengths, np.int64),
            np.concatenate([*scores, np.zeros(0, np.float32)]).astype(np.float32),
        )
        return Lists(rows, np.array(sources, np.int8)), copied


def touched_texts(queries: Collection[str]) -> frozenset[str]:
    """Every text whose list may change with these queries: their beginnings, and their words, within which they are
    found.

    >>> sorted(touched_texts(["tv set"]))
    ['set', 't', 'tv', 'tv ', 'tv s', 'tv se', 'tv set']
    """
    beginnings = {query[:end] for query in queries for end in range(1, len(query) + 1)}
    return frozenset(beginnings.union(*(query.split() for query in queries)))


def merged(copied: Lists, made: Lists, at: NDArray[np.bool_]) -> Lists:
    """The lists `copied` where `at` is true, and `made` elsewhere, both in order."""
    both = Lists.joined([copied, made])
    order = np.empty(len(at), np.int64)
    order[np.r_[np.flatnonzero(at), np.flatnonzero(~at)]] = np.arange(len(at))
    return part(both, order)


def part(lists: Lists, chosen: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Lists:
    """Some lists, in the order that is given."""
    rows, order = lists.queries, np.arange(len(lists.queries))[chosen]
    lengths = rows.lengths[order]
    owner = np.repeat(np.arange(len(order)), lengths)
    at = rows.offsets[order][owner] + np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    chosen_rows = WeightedRows.from_lengths(rows.values[at], lengths, rows.weights[at])
    return Lists(chosen_rows, lists.source[order])
