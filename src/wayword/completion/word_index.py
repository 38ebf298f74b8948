"""Inverted index of words: finds the texts that contain the typed words in any order.

Words are numbered in the order of their code points, so the words that start with a prefix are a range of numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.completion.selection import kth_smallest
from wayword.completion.trie import (
    Trie,
    build_trie,
    code_points,
    known_words,
    word_ranges,
)
from wayword.numba_jit import compiled, subroutine
from wayword.store.compressed_rows import CompressedRows

MAX_CANDIDATES = 1 << 14
"""Largest number of texts of the rarest typed word that are checked, lowest word numbers first."""
MAX_COMPARISONS = 1 << 18
"""Largest number of comparisons of these texts' words with the typed words."""
MAX_VISITS = 1 << 14
"""Largest number of trie nodes visited to correct all typed words together."""
TOO_COMMON, MAX_SHARING = 5000, 1 << 13
"""Similarity ignores words of more than `TOO_COMMON` texts, and uses the rarest, up to `MAX_SHARING` texts in all."""
MOST_SIMILAR, SHARPNESS = 50, 4
"""Largest number of similar texts, and the power of the relative similarity that is a text's weight."""
CORRECTED_FROM = 4
"""Shorter words are not corrected: one edit turns nearly any of them into any other."""
Arrays = tuple[NDArray[Any], ...]
"""(offsets, values) of `CompressedRows`."""


@dataclass(frozen=True)
class WordIndex:
    """`words` has the code points of the sorted words, `texts` the texts of each word, `contents` each text's words."""

    words: CompressedRows
    texts: CompressedRows
    contents: CompressedRows

    @classmethod
    def build(cls, texts: Sequence[str]) -> "WordIndex":
        """Index texts whose words are separated by spaces."""
        split = [sorted(set(text.split())) for text in texts]
        words = sorted({word for one in split for word in one})
        number = {word: place for place, word in enumerate(words)}
        lengths = np.fromiter(map(len, split), dtype=np.int64, count=len(split))
        flat = np.fromiter((number[word] for one in split for word in one), dtype=np.int32)
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
        """Map the arrays of `save` into memory; `texts` is the number of texts."""
        words = CompressedRows.load(folder, "words")
        return cls(
            words,
            CompressedRows.load(folder, "texts_of_word", below=texts, rows=len(words)),
            CompressedRows.load(folder, "words_of_text", below=len(words), rows=texts),
        )

    @cached_property
    def _trie(self) -> Trie:
        return build_trie(self.words)

    @cached_property
    def _squared_idf(self) -> NDArray[np.float64]:
        """Squared inverse document frequency of each word, log(1 + texts/texts with the word)²."""
        return np.log1p(len(self.contents) / self.texts.lengths) ** 2

    def containing(self, typed: NDArray[np.int32], *, corrected: bool) -> NDArray[np.int64]:
        """Return the texts that contain every typed word, the last as a prefix of a word; ascending.

        With `corrected`, words of four characters or more may be one edit away, and only the texts that need the
        fewest corrected words are returned.

        >>> index = WordIndex.build(["video call", "video player"])
        >>> index.containing(code_points(["player vid"]).values, corrected=False)
        array([1])
        >>> index.containing(code_points(["plyer vdie"]).values, corrected=True)
        array([1])
        """
        corrected_from = CORRECTED_FROM if corrected else len(typed) + 1
        ranges, owner, known = word_ranges(self._trie, typed, corrected_from, MAX_VISITS)
        if not known:
            return np.zeros(0, np.int64)
        candidates = _rarest(self.texts.arrays, ranges, owner, MAX_CANDIDATES)
        return _with_every_word(self.contents.arrays, candidates, ranges, owner, MAX_COMPARISONS)

    def knows(self, typed: NDArray[np.int32]) -> bool:
        """Return whether every typed word is an indexed word, the last at least a prefix of one.

        >>> index = WordIndex.build(["video call", "mail"])
        >>> [index.knows(code_points([typed]).values) for typed in ("mail vid", "vid mail", "mail vdi")]
        [True, False, False]
        """
        return word_ranges(self._trie, typed, len(typed) + 1, MAX_VISITS)[2]

    def similar(self, typed: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the texts most similar to the typed one, by the cosine of their words' idf, ascending, with weights.

        >>> index = WordIndex.build(["video call", "video player", "web radio"])
        >>> query, weight = index.similar(code_points(["old radio pla"]).values)
        >>> query.tolist(), (100 * weight).round().tolist()
        ([1, 2], [100.0, 52.0])
        """
        ranges = known_words(self._trie, typed)
        return _most_similar(self.texts.arrays, self.contents.arrays, self._squared_idf, ranges)


@compiled
def _most_similar(
    texts: Arrays,
    contents: Arrays,
    squared_idf: NDArray[np.float64],
    ranges: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the texts of largest cosine: Σ over shared words of idf² / length, idf = log(1 + texts/texts with it).

    The length is √(Σ over the text's words of idf²). Weights are relative to the largest cosine.
    """
    text_offsets, _ = texts
    word_offsets, words = contents
    of_word = text_offsets[ranges[:, 1]] - text_offsets[ranges[:, 0]]
    keys = _texts_of_words(texts, ranges, of_word)
    size = len(word_offsets) - 1
    typed_squared_idf = np.log1p(size / np.maximum(of_word, 1)) ** 2
    text_of, score = np.empty(len(keys), np.int64), np.zeros(len(keys))
    count = 0
    for place in range(len(keys)):
        if place > 0 and keys[place] == keys[place - 1]:
            continue
        text = keys[place] // len(ranges)
        if count == 0 or text_of[count - 1] != text:
            text_of[count] = text
            count += 1
        score[count - 1] += typed_squared_idf[keys[place] - text * len(ranges)]
    for place in range(count):
        length = 0.0
        for word in words[word_offsets[text_of[place]] : word_offsets[text_of[place] + 1]]:
            length += squared_idf[word]
        score[place] /= np.sqrt(length)
    text_of, score = text_of[:count], score[:count]
    if count > MOST_SIMILAR:
        kept = score >= kth_smallest(score.copy(), count - MOST_SIMILAR)
        text_of, score = text_of[kept][:MOST_SIMILAR], score[kept][:MOST_SIMILAR]
    best = score.max() if len(score) else 1.0
    return text_of, ((score / best) ** SHARPNESS).astype(np.float32)


@subroutine
def _texts_of_words(
    texts: Arrays, ranges: NDArray[np.int64], of_word: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return text · (number of typed words) + typed word for each match, ascending, without too common words."""
    offsets, numbers = texts
    used = np.zeros(len(ranges), np.bool_)
    total = 0
    for word in np.argsort(of_word):
        if 0 < of_word[word] <= TOO_COMMON and total + of_word[word] <= MAX_SHARING:
            used[word] = True
            total += of_word[word]
    keys = np.empty(total, np.int64)
    count, ascending = 0, True
    for word in np.flatnonzero(used):
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
    """Return the texts of the typed word that has the fewest: ascending, distinct."""
    offsets, numbers = texts
    best, least = 0, -1
    for word in range(len(owner) - 1):
        total = 0
        for low, high in ranges[owner[word] : owner[word + 1]]:
            total += offsets[high] - offsets[low]
        if least < 0 or total < least:
            best, least = word, total
    rows = np.empty(min(least, limit), np.int32)
    count, lists = 0, 0
    for low, high in ranges[owner[best] : owner[best + 1]]:
        lists += high - low
        part = numbers[offsets[low] : offsets[high]][: len(rows) - count]
        rows[count : count + len(part)] = part
        count += len(part)
    if lists > 1:
        rows.sort()
    count = 0
    for place in range(len(rows)):
        if place == 0 or rows[place] != rows[place - 1]:
            rows[count] = rows[place]
            count += 1
    return rows[:count]


@subroutine
def _corrections(words: NDArray[np.int32], ranges: NDArray[np.int64]) -> int:
    """Return 0 if one of the words is in the first range, 1 if in another one, else 2."""
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
    """Return the candidates that contain every typed word with the fewest corrections."""
    offsets, numbers = contents
    rows = np.empty(len(candidates), np.int64)
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
            rows[count] = text
            count += 1
        if budget <= 0:
            break
    return rows[:count]
