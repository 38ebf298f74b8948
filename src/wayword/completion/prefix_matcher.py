"""Matches a typed text to the queries that the user may intend, also when no query starts with it.

The strategies are tried in this order, and the first that matches any query is used. So a text that some query starts
with is never corrected:

1. "exact": queries that start with the text.
2. "words": queries that contain every typed word in any order, the last one as a prefix of a word ("jack" in "rain
   jacket": more likely meant than "backpack").
3. "typo": queries that start with the text after one edit (a character inserted, deleted or replaced, or two adjacent
   characters swapped).
4. "typo": queries that start with the text after two edits. Skipped if every typed word is a known word, as these are
   rarely misspelt.
5. "words": as 2, with at most one edit in each word, in as few words as possible.
6. "similar": queries that share rare words with the text, weighted by cosine similarity.

The number of edits depends on the length of the text, as in Algolia's defaults: none below 4 characters, one up to 7,
two from 8. An edit of the first character, where errors are rare, counts as two. Characters are code points.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword.completion.trie import (
    FIRST_EDITED,
    Trie,
    build_trie,
    code_points,
    code_points_of,
    expand_ranges,
    walk,
    walk_all,
    within_edits,
)
from wayword.completion.word_index import WordIndex
from wayword.store.arrays import load_array, read_only, save_array
from wayword.store.compressed_rows import CompressedRows

SOURCES = ("exact", "typo", "words", "similar")
MAX_VISITS = 20_000
"""Largest number of trie nodes visited to correct a text: takes a few milliseconds at most."""


@dataclass(frozen=True)
class Matches:
    """Queries matched by one strategy, ascending and distinct, with weights in (0, 1]."""

    query: NDArray[np.int32]
    weight: NDArray[np.float32]
    source: str


class PrefixMatcher:
    """Index of query texts (normalised and sorted; a query's number is its position). Only some are matchable.

    >>> matcher = PrefixMatcher.build(["mail", "music", "video player"], np.array([True, True, True]))
    >>> [(matcher.matches(typed).query.tolist(), matcher.matches(typed).source) for typed in ("m", "muic", "player")]
    [([0, 1], 'exact'), ([1], 'typo'), ([2], 'words')]
    """

    def __init__(self, texts: CompressedRows, matchable: NDArray[np.int32], words: WordIndex) -> None:
        self._texts = texts.read_only()
        self.matchable = read_only(matchable)
        self._words = WordIndex(words.words.read_only(), words.texts.read_only(), words.contents.read_only())

    @classmethod
    def build(cls, texts: Sequence[str], matchable: NDArray[np.bool_]) -> "PrefixMatcher":
        """Build from the sorted texts; `matchable` says for each text whether it may be matched."""
        numbers = np.flatnonzero(matchable)
        words = WordIndex.build([texts[number] for number in numbers.tolist()])
        return cls(code_points(texts), numbers.astype(np.int32), words)

    @property
    def spelling(self) -> CompressedRows:
        """The code points of each text."""
        return self._texts

    @cached_property
    def _trie(self) -> Trie:
        """Trie of the matchable texts, built on first use: loading compiled code takes longer than opening an index."""
        return build_trie(self._texts, self.matchable)

    def save(self, folder: Path) -> None:
        """Write the arrays, one file each."""
        folder.mkdir(parents=True, exist_ok=True)
        save_array(folder / "wanted.npy", self.matchable)
        self._texts.save(folder, "texts")
        self._words.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "PrefixMatcher":
        """Map the arrays of `save` into memory."""
        texts = CompressedRows.load(folder, "texts")
        matchable = load_array(folder / "wanted.npy", np.int32, below=len(texts))
        return cls(texts, matchable, WordIndex.load(folder, len(matchable)))

    def matches(self, prefix: str) -> Matches:
        """Match by the first strategy that succeeds; the result is empty if none does."""
        typed = code_points_of(prefix)
        for source, rows, weight in self._strategies(typed):
            if len(rows):
                return Matches(self.matchable[rows], weight, source)
        return Matches(np.zeros(0, np.int32), np.zeros(0, np.float32), SOURCES[-1])

    def exact(self, prefixes: Sequence[str]) -> CompressedRows:
        """Return the queries that start with each of many texts: the matches of the source "exact"."""
        ranges = walk_all(self._trie, *code_points(prefixes).read_only().indexed)
        return CompressedRows.from_lengths(self.matchable[expand_ranges(ranges)], ranges[:, 1] - ranges[:, 0])

    def inside(self, prefix: str) -> NDArray[np.int32]:
        """Return the queries that contain every typed word, the last as a prefix of a word, but do not start with them.

        >>> matcher = PrefixMatcher.build(["player", "player stand", "video player"], np.ones(3, bool))
        >>> matcher.inside("player").tolist()
        [2]
        """
        typed = code_points_of(prefix)
        _, low, high, _ = walk(self._trie, typed)
        rows = self._words.containing(typed, corrected=False)
        return self.matchable[rows[(rows < low) | (rows >= high)]]

    def strategies(self, prefix: str) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.float32]]]:
        """Run all strategies, whether or not an earlier one succeeds: (source, rows, weights) of each."""
        return self._strategies(code_points_of(prefix))

    def _strategies(
        self, typed: NDArray[np.int32]
    ) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.float32]]]:
        """Yield the source of each strategy, the rows that it matches (among the matchable queries), their weights."""
        length, low, high, _ = walk(self._trie, typed)
        if length == len(typed):
            yield "exact", *_equal_weights(np.arange(low, high))
        yield "words", *_equal_weights(self._words.containing(typed, corrected=False))
        edits = allowed_edits(len(typed))
        if edits >= 1:
            yield "typo", *_equal_weights(self.within_edits(typed, 1, first=edits >= 2))
        if edits >= 2 and not self._words.knows(typed):
            yield "typo", *_equal_weights(self.within_edits(typed, 2))
        yield "words", *_equal_weights(self._words.containing(typed, corrected=True))
        yield "similar", *self._words.similar(typed)

    def within_edits(self, typed: NDArray[np.int32], edits: int, *, first: bool = False) -> NDArray[np.int64]:
        """Return the rows of the queries that start with a text at most `edits` edits from the typed one.

        The first character is edited only if `first`, and if the budget of visits is not exhausted.
        """
        ranges, visits = np.zeros((0, 2), np.int64), MAX_VISITS
        if first:
            ranges, visits = within_edits(self._trie, typed, edits, 0, False, MAX_VISITS)
        if visits >= MAX_VISITS and len(typed):
            again, _ = within_edits(self._trie, typed, edits, 1, False, MAX_VISITS)
            ranges = again if len(again) else ranges
        return expand_ranges(ranges)


def allowed_edits(length: int) -> int:
    """Return the number of edits allowed in a text of this many characters.

    >>> [allowed_edits(length) for length in (3, 4, 7, 8)]
    [0, 1, 1, 2]
    """
    return (length >= 4) + (length >= FIRST_EDITED)


def _equal_weights(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Give all rows the weight 1."""
    return rows, np.ones(len(rows), np.float32)
