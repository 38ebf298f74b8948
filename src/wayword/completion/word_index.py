"""Which texts contain the typed words, in any order: for each word its texts, for each text its words.

Words are numbered in the order of their code points, so a word that is still being typed is a range of numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.completion.trie import (
    Trie,
    code_points,
    known_words,
    trie_of,
    word_ranges,
)
from wayword.numba_jit import compiled
from wayword.store.compressed_rows import CompressedRows

MAX_CANDIDATES = 1 << 14
"""So many texts of the rarest typed word are looked at, those of the lowest words first."""
MAX_COMPARISONS = 1 << 18
"""So many words of these texts are compared with the typed ones."""
MAX_VISITS = 1 << 14
"""So many nodes of the words' trie are visited to correct all typed words together."""
TOO_COMMON, MAX_SHARING = 5000, 1 << 13
"""A word of more texts says nothing of likeness, and so many texts are compared at most, those of the rarest words."""
MOST_ALIKE, SHARPNESS = 50, 4
"""So many texts are taken for like the typed one, each by this power of its likeness."""
CORRECTED_FROM = 3
"""Shorter words are taken as they are: one edit makes nearly any of them out of any other."""
Arrays = tuple[NDArray[Any], ...]
"""(offsets, values) of `CompressedRows`."""


@dataclass(frozen=True)
class WordIndex:
    """`words` are the code points of the sorted words, `texts` the texts of each word, `contents` the reverse."""

    words: CompressedRows
    texts: CompressedRows
    contents: CompressedRows

    @classmethod
    def build(cls, texts: Sequence[str]) -> "WordIndex":
        """The index of texts whose words stand between spaces."""
        split = [sorted(set(text.split())) for text in texts]
        words = sorted({word for found in split for word in found})
        number = {word: place for place, word in enumerate(words)}
        lengths = np.fromiter(map(len, split), dtype=np.int64, count=len(split))
        flat = np.fromiter((number[word] for found in split for word in found), dtype=np.int32)
        contents = CompressedRows.from_lengths(flat, lengths)
        by_word = np.argsort(flat, kind="stable")
        return cls(
            code_points(words),
            CompressedRows.from_lengths(
                contents.owner[by_word].astype(np.int32), np.bincount(flat, minlength=len(words))
            ),
            contents,
        )

    def save(self, folder: Path) -> None:
        """Write the arrays, one file each."""
        self.words.save(folder, "words")
        self.texts.save(folder, "texts_of_word")
        self.contents.save(folder, "words_of_text")

    @classmethod
    def load(cls, folder: Path, texts: int) -> "WordIndex":
        """Map the arrays of `save`, of so many texts, into memory."""
        words = CompressedRows.load(folder, "words")
        return cls(
            words,
            CompressedRows.load(folder, "texts_of_word", below=texts, rows=len(words)),
            CompressedRows.load(folder, "words_of_text", below=len(words), rows=texts),
        )

    @cached_property
    def _trie(self) -> Trie:
        return trie_of(self.words)

    @cached_property
    def _telling(self) -> NDArray[np.float64]:
        """How much each word tells: its rarity, squared."""
        return np.log1p(len(self.contents) / self.texts.lengths) ** 2

    def containing(self, typed: NDArray[np.int32], *, corrected: bool) -> NDArray[np.int64]:
        """The texts that contain every typed word, the last as the beginning of a word; ascending.

        `corrected`: a word of three characters or more may be one edit away. The texts that need the fewest corrected
        words are those returned.

        >>> index = WordIndex.build(["video call", "video player"])
        >>> index.containing(code_points(["player vid"]).values, corrected=False)
        array([1])
        >>> index.containing(code_points(["plyer vdi"]).values, corrected=True)
        array([1])
        """
        corrected_from = CORRECTED_FROM if corrected else len(typed) + 1
        ranges, owner, known = word_ranges(self._trie, typed, corrected_from, MAX_VISITS)
        if not known:
            return np.zeros(0, np.int64)
        candidates = _rarest(self.texts.arrays, ranges, owner, MAX_CANDIDATES)
        return _with_every_word(self.contents.arrays, candidates, ranges, owner, MAX_COMPARISONS)

    def knows(self, typed: NDArray[np.int32]) -> bool:
        """Whether every typed word is one of the words, the last at least the beginning of one.

        >>> index = WordIndex.build(["video call", "mail"])
        >>> [index.knows(code_points([typed]).values) for typed in ("mail vid", "vid mail", "mail vdi")]
        [True, False, False]
        """
        return word_ranges(self._trie, typed, len(typed) + 1, MAX_VISITS)[2]

    def sharing(self, typed: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The texts most like the typed one by the words they share, rare words heavy; ascending, with a weight each.

        >>> index = WordIndex.build(["video call", "video player", "web radio"])
        >>> query, weight = index.sharing(code_points(["old radio pla"]).values)
        >>> query.tolist(), (100 * weight).round().tolist()
        ([1, 2], [100.0, 52.0])
        """
        ranges = known_words(self._trie, typed, CORRECTED_FROM)
        return _most_alike(self.texts.arrays, self.contents.arrays, self._telling, ranges)


@compiled
def _most_alike(
    texts: Arrays,
    contents: Arrays,
    telling: NDArray[np.float64],
    ranges: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The texts of largest cosine: Σ over shared words of rarity² / length, rarity = log(1 + texts/texts with it).

    `telling` is each word's rarity².
    """
    text_offsets, _ = texts
    word_offsets, words = contents
    of_word = text_offsets[ranges[:, 1]] - text_offsets[ranges[:, 0]]
    keys = _texts_of_words(texts, ranges, of_word)
    size = len(word_offsets) - 1
    told = np.log1p(size / np.maximum(of_word, 1)) ** 2
    found, score = np.empty(len(keys), np.int64), np.zeros(len(keys))
    count = 0
    for place in range(len(keys)):
        if place > 0 and keys[place] == keys[place - 1]:
            continue
        text = keys[place] // len(ranges)
        if count == 0 or found[count - 1] != text:
            found[count] = text
            count += 1
        score[count - 1] += told[keys[place] - text * len(ranges)]
    for place in range(count):
        length = 0.0
        for word in words[word_offsets[found[place]] : word_offsets[found[place] + 1]]:
            length += telling[word]
        score[place] /= np.sqrt(length)
    found, score = found[:count], score[:count]
    if count > MOST_ALIKE:
        kept = score >= np.partition(score, count - MOST_ALIKE)[count - MOST_ALIKE]
        found, score = found[kept][:MOST_ALIKE], score[kept][:MOST_ALIKE]
    best = score.max() if len(score) else 1.0
    return found, ((score / best) ** SHARPNESS).astype(np.float32)


@compiled
def _texts_of_words(
    texts: Arrays, ranges: NDArray[np.int64], of_word: NDArray[np.int64]
) -> NDArray[np.int64]:
    """text · typed words + typed word for each text that has one, ascending, without words that are too common."""
    offsets, numbers = texts
    shown = np.zeros(len(ranges), np.bool_)
    total = 0
    for word in np.argsort(of_word):
        if 0 < of_word[word] <= TOO_COMMON and total + of_word[word] <= MAX_SHARING:
            shown[word] = True
            total += of_word[word]
    keys = np.empty(total, np.int64)
    count, ascending = 0, True
    for word in np.flatnonzero(shown):
        for text in numbers[offsets[ranges[word, 0]] : offsets[ranges[word, 1]]]:
            keys[count] = text * len(ranges) + word
            ascending = ascending and (count == 0 or keys[count - 1] <= keys[count])
            count += 1
    if not ascending:
        keys.sort()
    return keys


@compiled
def _rarest(
    texts: Arrays, ranges: NDArray[np.int64], owner: NDArray[np.int64], limit: int
) -> NDArray[np.int32]:
    """The texts of the typed word that has the fewest: ascending, distinct."""
    offsets, numbers = texts
    best, least = 0, -1
    for word in range(len(owner) - 1):
        total = 0
        for low, high in ranges[owner[word] : owner[word + 1]]:
            total += offsets[high] - offsets[low]
        if least < 0 or total < least:
            best, least = word, total
    found = np.empty(min(least, limit), np.int32)
    count, lists = 0, 0
    for low, high in ranges[owner[best] : owner[best + 1]]:
        lists += high - low
        part = numbers[offsets[low] : offsets[high]][: len(found) - count]
        found[count : count + len(part)] = part
        count += len(part)
    if lists > 1:
        found.sort()
    count = 0
    for place in range(len(found)):
        if place == 0 or found[place] != found[place - 1]:
            found[count] = found[place]
            count += 1
    return found[:count]


@compiled
def _corrections(words: NDArray[np.int32], ranges: NDArray[np.int64]) -> int:
    """0 if one of the words is in the first range, 1 if in another one, else 2."""
    fewest = 2
    for word in words:
        if ranges[0, 0] <= word < ranges[0, 1]:
            return 0
        low, high = 1, len(ranges)
        while low < high:
            middle = (low + high) // 2
            if ranges[middle, 1] <= word:
                low = middle + 1
            else:
                high = middle
        if low < len(ranges) and ranges[low, 0] <= word:
            fewest = 1
    return fewest


@compiled
def _with_every_word(
    contents: Arrays,
    candidates: NDArray[np.int32],
    ranges: NDArray[np.int64],
    owner: NDArray[np.int64],
    budget: int,
) -> NDArray[np.int64]:
    """The candidates in which every typed word is found, with the fewest corrections."""
    offsets, numbers = contents
    found = np.empty(len(candidates), np.int64)
    count = 0
    fewest = len(owner)
    for text in candidates:
        words = numbers[offsets[text] : offsets[text + 1]]
        total = 0
        for word in range(len(owner) - 1):
            budget -= len(words)
            needed = _corrections(words, ranges[owner[word] : owner[word + 1]])
            total += needed if needed < 2 else len(owner)
            if total > fewest or total >= len(owner):
                break
        if total < min(fewest, len(owner)):
            fewest = total
            count = 0
        if total == fewest and total < len(owner):
            found[count] = text
            count += 1
        if budget <= 0:
            break
    return found[:count]
