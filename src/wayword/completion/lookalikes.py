"""Lookalikes: queries that hardly differ to the eye. A list shows one of them, the most searched.

Two queries look alike if they have the same words, in any order, after at most one character is removed from each: a
letter more, less, replaced or moved. Digits and letters of short words are never removed: "iphone 7" and "iphone 8"
are two things, as are "hunspell ru" and "hunspell eu". Unlike variants (`variants`), lookalikes remain suggestions of
their own: "wine rack" is shown where "vine rack" is not.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.numba_jit import compiled
from wayword.store.compressed_rows import CompressedRows

SHORTEST = 6
"""Characters, without spaces, below which one letter makes another word."""
SHORT_WORD = 3
"""Characters of a word in which one letter makes another word."""
MOST_ALIKE = 64
"""Largest number of queries that are compared because they share a spelling; more are left out."""
SPACE = 32
_PRIME, _SEED = np.uint64(1_099_511_628_211), np.uint64(14_695_981_039_346_656_037)
"""Of the FNV hash."""


def lookalikes(
    spelling: CompressedRows, searches: NDArray[np.float64], group: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return for each query the group of the most searched query that looks like it, or its own group.

    `spelling` are the code points of the queries, `group` is equal for variants of one query.

    >>> from wayword.completion.trie import code_points
    >>> texts = ["directory tree", "directory trpee", "hunspell eu", "hunspell ru", "iphone 7 case", "iphone 8 case"]
    >>> lookalikes(code_points(texts), np.array([9.0, 1, 1, 9, 5, 9]), np.arange(6, dtype=np.int32)).tolist()
    [0, 0, 2, 3, 4, 5]
    """
    owner, spelt = _shortened(*spelling.indexed)
    order = np.lexsort((owner, spelt))
    standing = _most_searched(spelt[order], owner[order], searches, np.arange(len(searches), dtype=np.int64))
    return group[standing].astype(np.int32)


@compiled
def _shortened(offsets: Any, codes: Any) -> Any:
    """Return a hash of each query's words, and of the same without each character that is no digit, of words that are
    not short."""
    room = len(codes) + len(offsets)
    owner, spelt = np.empty(room, np.int64), np.empty(room, np.uint64)
    count = 0
    for query in range(len(offsets) - 1):
        letters = codes[offsets[query] : offsets[query + 1]]
        length = 0
        for code in letters:
            length += code != SPACE
        if length < SHORTEST:
            continue
        begin = 0  # of the word of the character that is left out
        for left_out in range(-1, len(letters)):
            if left_out >= 0 and letters[left_out] == SPACE:
                begin = left_out + 1
                continue
            if left_out >= 0:
                end = left_out
                while end < len(letters) and letters[end] != SPACE:
                    end += 1
                if end - begin <= SHORT_WORD or 48 <= letters[left_out] <= 57:
                    continue
            total, word = np.uint64(0), _SEED
            for place in range(len(letters)):
                if letters[place] == SPACE:
                    total += word * word
                    word = _SEED
                elif place != left_out:
                    word = (word ^ np.uint64(letters[place])) * _PRIME
            owner[count], spelt[count] = query, total + word * word
            count += 1
    return owner[:count], spelt[:count]


@compiled
def _most_searched(spelt: Any, owner: Any, searches: Any, standing: Any) -> Any:
    """Return for each query the most searched one that shares a hash; of several, the first."""
    first = 0
    while first < len(spelt):
        last = first
        while last < len(spelt) and spelt[last] == spelt[first]:
            last += 1
        if 1 < last - first <= MOST_ALIKE:
            best = owner[first]
            for place in range(first, last):
                if searches[owner[place]] > searches[best]:
                    best = owner[place]
            for place in range(first, last):
                now = standing[owner[place]]
                if searches[best] > searches[now] or (searches[best] == searches[now] and best < now):
                    standing[owner[place]] = best
        first = last
    return standing
