"""Which queries a typed text may be the beginning of, also when no query starts with it.

The first of these that finds a query answers, so a typed text that is a beginning as it stands is never corrected:

1. "exact": the queries that start with the text.
2. "typo": those that start with the text after one edit (a character inserted, deleted or replaced, or two neighbours
   swapped).
3. "words": those that contain every typed word, the last one as the beginning of a word, in any order.
4. "typo": those that start with the text after two edits, none of them in its first character, where mistakes are
   rare. A text whose words are all known is not looked at: they are hardly misspelt.
5. "words": as 3, with one edit in a word where needed, in as few words as possible.
6. "similar": those that share the most telling of the words, weighted by how alike they are.
7. "shorter": those that start with as much of the text's beginning as any does.

How many edits a text may need depends on its length, as with Elasticsearch's fuzziness AUTO: below 3 characters none,
up to 5 one, from 6 two. Characters are code points.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword.completion.trie import (
    Trie,
    bare_trie,
    code_points,
    code_points_of,
    near,
    spread,
    trie_of,
    walk,
)
from wayword.completion.word_index import WordIndex
from wayword.store.arrays import load_array, read_only
from wayword.store.compressed_rows import CompressedRows

SOURCES = ("exact", "typo", "words", "similar", "shorter")
MAX_VISITS = 20_000
"""So many nodes of the queries' trie are visited to correct a text: a few milliseconds at most, mostly far fewer."""


@dataclass(frozen=True)
class Matches:
    """Queries, ascending and distinct, with weights in (0, 1], all found in the same way."""

    query: NDArray[np.int32]
    weight: NDArray[np.float32]
    source: str


class Beginnings:
    """Queries are numbered in the order of their texts, which are normalised; only the wanted ones are matched.

    >>> found = Beginnings.build(["mail", "music", "video player"], np.array([True, True, True]))
    >>> [(found.matches(typed).query.tolist(), found.matches(typed).source) for typed in ("m", "muc", "player")]
    [([0, 1], 'exact'), ([1], 'typo'), ([2], 'words')]
    """

    def __init__(self, texts: CompressedRows, wanted: NDArray[np.int32], words: WordIndex) -> None:
        self._texts = texts.read_only()
        self.wanted = read_only(wanted)
        self._words = WordIndex(words.words.read_only(), words.texts.read_only(), words.contents.read_only())

    @classmethod
    def build(cls, texts: Sequence[str], wanted: NDArray[np.bool_]) -> "Beginnings":
        """`wanted` tells for each of the sorted texts whether it counts, as one that was searched."""
        numbers = np.flatnonzero(wanted)
        words = WordIndex.build([texts[number] for number in numbers.tolist()])
        return cls(code_points(texts), numbers.astype(np.int32), words)

    @cached_property
    def _wanted_texts(self) -> Trie:
        """Made when it is first needed: to load compiled code takes longer than to open an index."""
        return trie_of(self._texts, self.wanted)

    def save(self, folder: Path) -> None:
        """Write the arrays, one file each."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "wanted.npy", self.wanted)
        self._texts.save(folder, "texts")
        self._words.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "Beginnings":
        """Map the arrays of `save` into memory."""
        texts = CompressedRows.load(folder, "texts")
        wanted = load_array(folder / "wanted.npy", np.int32, below=len(texts))
        return cls(texts, wanted, WordIndex.load(folder, len(wanted)))

    def starting(self, prefix: str) -> tuple[int, int]:
        """The range of all queries that start with the prefix, wanted or not; one that equals it does.

        >>> Beginnings.build(["mail", "map", "music"], np.zeros(3, bool)).starting("ma")
        (0, 2)
        """
        typed = code_points_of(prefix)
        length, low, high, _ = walk(bare_trie(self._texts), typed)
        return (low, high) if length == len(typed) else (low, low)

    def matches(self, prefix: str) -> Matches:
        """The queries that the first successful way of the list above finds; none if all fail."""
        typed = code_points_of(prefix)
        for source, rows, weight in self._ways(typed):
            if len(rows):
                return Matches(self.wanted[rows], weight, source)
        return Matches(np.zeros(0, np.int32), np.zeros(0, np.float32), SOURCES[-1])

    def ways(self, prefix: str) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.float32]]]:
        """All ways of the list above, whether or not an earlier one succeeds."""
        return self._ways(code_points_of(prefix))

    def corrected(self, prefix: str, edits: int) -> NDArray[np.int32]:
        """The wanted queries that start with a text at most so many edits from the prefix, whatever its length."""
        return self.wanted[self._near(code_points_of(prefix), edits)]

    def _ways(self, typed: NDArray[np.int32]) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.float32]]]:
        """Each way with the places, among the wanted queries, of what it finds, and their weights."""
        length, low, high, _ = walk(self._wanted_texts, typed)
        if length == len(typed):
            yield "exact", *_alike(np.arange(low, high))
        edits = allowed_edits(len(typed))
        if edits >= 1:
            yield "typo", *_alike(self._near(typed, 1))
        yield "words", *_alike(self._words.containing(typed, corrected=False))
        if edits >= 2 and not self._words.knows(typed):
            yield "typo", *_alike(self._near(typed, 2))
        yield "words", *_alike(self._words.containing(typed, corrected=True))
        yield "similar", *self._words.sharing(typed)
        yield "shorter", *_alike(np.arange(low, high if length else low))

    def _near(self, typed: NDArray[np.int32], edits: int) -> NDArray[np.int64]:
        """The first character is taken as right where the visits do not suffice, or for two edits."""
        ranges, visits = np.zeros((0, 2), np.int64), MAX_VISITS
        if edits == 1:
            ranges, visits = near(self._wanted_texts, typed, edits, 0, False, MAX_VISITS)
        if visits >= MAX_VISITS and len(typed):
            again, _ = near(self._wanted_texts, typed, edits, 1, False, MAX_VISITS)
            ranges = again if len(again) else ranges
        return spread(ranges)


def allowed_edits(length: int) -> int:
    """How many edits a typed text of so many characters may need.

    >>> [allowed_edits(length) for length in (2, 3, 5, 6)]
    [0, 1, 1, 2]
    """
    return (length >= 3) + (length >= 6)


def _alike(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Rows of the same weight."""
    return rows, np.ones(len(rows), np.float32)
