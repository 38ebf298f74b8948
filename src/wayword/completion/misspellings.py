"""Likely misspellings among words: a rare word within one or two edits of a far more searched one.

Candidates come from deletion neighbourhoods (SymSpell): two words within d edits share a text that is each of them with
at most d characters deleted. An edit inserts, deletes or replaces a character, or swaps two adjacent ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.completion.trie import code_points
from wayword.numba_jit import compiled, subroutine

SHORTEST = 4
"""Shorter words are not corrected: one edit turns nearly any of them into another word."""
TWO_EDITS_FROM = 8
"""Length from which a word may have two edits."""
LONGEST = 40
"""Longer words are not corrected."""
RATIO = 4.0
"""How many times as often the right word is searched, at least."""
RATIO_TWO_EDITS, RATIO_FIRST_LETTER = 10.0, 12.0
"""The same for two edits, and where the first letter differs, which is seldom wrong."""
MOST_TARGETS = 8
"""Largest number of words with a common deletion text that are considered as right, the most searched."""


@dataclass(frozen=True)
class Misspellings:
    """Pairs of a `wrong` and a `right` word, by their numbers, with the number of `edits`.

    Sorted by the wrong word, then by edits, then by how often the right one is searched, descending.
    """

    wrong: NDArray[np.int64]
    right: NDArray[np.int64]
    edits: NDArray[np.int64]

    @classmethod
    def of(
        cls, words: Sequence[str], searched: NDArray[np.float64], eligible: NDArray[np.bool_]
    ) -> "Misspellings":
        """Find them among the eligible of distinct words.

        >>> words = ["player", "palyer", "laptop", "laptoop", "board", "boar"]
        >>> searched = np.array([900.0, 2, 500, 1, 40, 30])
        >>> pairs = Misspellings.of(words, searched, np.ones(6, bool))
        >>> [(words[wrong], words[right]) for wrong, right in zip(pairs.wrong, pairs.right)]
        [('palyer', 'player'), ('laptoop', 'laptop')]
        """
        length = np.fromiter(map(len, words), np.int64, len(words))
        eligible = eligible & (length >= SHORTEST - 1) & (length <= LONGEST)
        codes = code_points(words)
        keys, word = _deletions(codes.offsets, codes.values, eligible, TWO_EDITS_FROM - 2)
        order = np.lexsort((-searched[word], keys))
        wrong, right = _candidates(keys[order], word[order], searched, RATIO, MOST_TARGETS)
        if not len(wrong):
            return cls(*(np.zeros(0, np.int64) for _ in range(3)))
        pairs = np.unique(wrong * len(words) + right)
        wrong, right = pairs // len(words), pairs % len(words)
        edits = _distances(codes.offsets, codes.values, wrong, right)
        allowed = np.where(np.minimum(length[wrong], length[right] + 1) >= TWO_EDITS_FROM, 2, 1)
        first = codes.values[codes.offsets[wrong]] != codes.values[codes.offsets[right]]
        swapped = first & _starts_swapped(codes.offsets, codes.values, wrong, right)
        needed = np.where(edits > 1, RATIO_TWO_EDITS, RATIO)
        needed = np.where(first & ~swapped, np.maximum(needed, RATIO_FIRST_LETTER), needed)
        allowed = np.where(first & ~swapped, 1, allowed)
        kept = (
            (edits <= allowed)
            & (length[wrong] >= SHORTEST)
            & (length[right] >= SHORTEST)
            & (searched[right] >= needed * searched[wrong])
        )
        wrong, right, edits = wrong[kept], right[kept], edits[kept]
        order = np.lexsort((right, -searched[right], edits, wrong))
        return cls(wrong[order], right[order], edits[order])


def _starts_swapped(
    offsets: NDArray[np.int64], codes: NDArray[np.int32], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the first two letters of each pair of words, which have at least two, are swapped."""
    a, b = offsets[left], offsets[right]
    swapped: NDArray[np.bool_] = (codes[a] == codes[b + 1]) & (codes[a + 1] == codes[b])
    return swapped


@compiled
def _deletions(
    offsets: NDArray[np.int64], codes: NDArray[np.int32], eligible: NDArray[np.bool_], two_from: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(hash, word) of each word, of it without each character and, where it is long, without each two."""
    room = 0
    for word in range(len(eligible)):
        if eligible[word]:
            size = offsets[word + 1] - offsets[word]
            room += 1 + size + (size * (size - 1) // 2 if size >= two_from else 0)
    keys, words = np.empty(room, np.int64), np.empty(room, np.int64)
    at = 0
    for word in range(len(eligible)):
        if not eligible[word]:
            continue
        begin, size = offsets[word], offsets[word + 1] - offsets[word]
        for one in range(-1, size):
            last = size if one >= 0 and size >= two_from else one + 1
            for two in range(one, last):
                key = np.int64(-3750763034362895579)
                for place in range(size):
                    if place not in (one, two):
                        key = (key ^ np.int64(codes[begin + place])) * np.int64(1099511628211)
                keys[at], words[at] = key, word
                at += 1
    return keys[:at], words[:at]


@compiled
def _candidates(
    keys: NDArray[np.int64],
    word: NDArray[np.int64],
    searched: NDArray[np.float64],
    ratio: float,
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of words with a common key, one of them `ratio` times as often searched; sorted by key and searches."""
    room = 0
    for fill in range(2):
        if fill == 0:
            wrong, right = np.empty(0, np.int64), np.empty(0, np.int64)
        else:
            wrong, right = np.empty(room, np.int64), np.empty(room, np.int64)
        at, first = 0, 0
        for row in range(len(keys)):
            if keys[row] != keys[first]:
                first = row
            for other in range(first, min(first + most, row)):
                if searched[word[other]] < ratio * searched[word[row]]:
                    break
                if fill == 1:
                    wrong[at], right[at] = word[row], word[other]
                at += 1
        room = at
    return wrong, right


@compiled
def _distances(
    offsets: NDArray[np.int64], codes: NDArray[np.int32], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Edit distance of each pair of words (optimal string alignment)."""
    result = np.empty(len(left), np.int64)
    for pair in range(len(left)):
        a = codes[offsets[left[pair]] : offsets[left[pair] + 1]]
        b = codes[offsets[right[pair]] : offsets[right[pair] + 1]]
        result[pair] = _distance(a, b)
    return result


@subroutine
def _distance(a: NDArray[np.int32], b: NDArray[np.int32]) -> int:
    table = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    for i in range(len(a) + 1):
        table[i, 0] = i
    for j in range(len(b) + 1):
        table[0, j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            best = min(table[i - 1, j], table[i, j - 1]) + 1
            best = min(best, table[i - 1, j - 1] + (0 if a[i - 1] == b[j - 1] else 1))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, table[i - 2, j - 2] + 1)
            table[i, j] = best
    return int(table[len(a), len(b)])
