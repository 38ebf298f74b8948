"""The trie of sorted texts, never built: its node at a depth is a range of texts that begin alike.

The children of a node are found by binary search on the code points at its depth. So the texts themselves are all the
memory, and the arrays can be mapped from disk.

Distances count insertions, deletions, replacements and swaps of neighbours; no place is edited twice ("optimal string
alignment"). The row of a node holds the distances of its text to the beginnings of the typed text, as far as their
lengths differ by the allowed edits at most: cell b of depth d is about the first d - edits + b typed characters.

Compiled functions that call each other stay in this file: what Numba keeps on disk is renewed when its own file
changes, not when that of a function it calls does.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wayword.compiled import compiled
from wayword.features.ragged import Ragged
from wayword.features.texts import characters

_NONE = 1 << 30
"""Above every code point."""


def code_points(texts: Sequence[str]) -> Ragged:
    """The characters of each text with room for -1, the end."""
    found = characters(texts)
    return Ragged(found.values.view(np.int32), found.starts)


@compiled
def _character(
    code: NDArray[np.int32], begin: NDArray[np.int64], end: NDArray[np.int64], row: int, depth: int
) -> int:
    """The code point of a text at a depth; -1, which sorts first, behind its end."""
    place = begin[row] + depth
    return int(code[place]) if place < end[row] else -1


@compiled
def _first(
    code: NDArray[np.int32],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    low: int,
    high: int,
    depth: int,
    character: int,
) -> int:
    """The first row in [low, high) with this code point or a higher one at the depth.

    In steps that double, then by halves: most answers are near.
    """
    step = 1
    while low < high and low + step <= high:
        if _character(code, begin, end, low + step - 1, depth) >= character:
            high = low + step - 1
            break
        low += step
        step *= 2
    while low < high:
        middle = (low + high) // 2
        if _character(code, begin, end, middle, depth) < character:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def walk(
    code: NDArray[np.int32], begin: NDArray[np.int64], end: NDArray[np.int64], typed: NDArray[np.int32]
) -> tuple[int, int, int]:
    """(length, low, high): the longest beginning of `typed` that a text starts with, and the texts that do."""
    low, high = 0, len(begin)
    for depth in range(len(typed)):
        character = int(typed[depth])
        first = _first(code, begin, end, low, high, depth, character)
        last = _first(code, begin, end, first, high, depth, character + 1)
        if first == last:
            return depth, low, high
        low, high = first, last
    return len(typed), low, high


@compiled
def _fill(
    rows: NDArray[np.int64], path: NDArray[np.int64], typed: NDArray[np.int32], depth: int, edits: int
) -> int:
    """Fill the row of a depth from those above it; `path` are the node's characters. Returns its least distance."""
    least = edits + 1
    for cell in range(2 * edits + 1):
        length = depth - edits + cell
        best = edits + 1
        if length == 0:
            best = min(best, depth)
        elif 0 < length <= len(typed):
            best = min(best, rows[depth - 1, cell] + (typed[length - 1] != path[depth - 1]))
            if cell < 2 * edits:
                best = min(best, rows[depth - 1, cell + 1] + 1)
            if cell > 0:
                best = min(best, rows[depth, cell - 1] + 1)
            if (
                length > 1
                and depth > 1
                and typed[length - 1] == path[depth - 2]
                and typed[length - 2] == path[depth - 1]
            ):
                best = min(best, rows[depth - 2, cell] + 1)
        rows[depth, cell] = best
        least = min(least, best)
    return least


@compiled
def _next_without_edit(
    rows: NDArray[np.int64],
    path: NDArray[np.int64],
    typed: NDArray[np.int32],
    depth: int,
    edits: int,
    character: int,
) -> int:
    """The lowest character from `character` on that a node may go on with when all edits are used up.

    It is one that was typed there, or the second half of a swap.
    """
    best = _NONE
    for cell in range(2 * edits + 1):
        place = depth - edits + cell
        if 0 <= place < len(typed) and rows[depth, cell] <= edits and character <= typed[place] < best:
            best = int(typed[place])
        if (
            depth > 0
            and 0 < place < len(typed)
            and rows[depth - 1, cell] < edits
            and typed[place] == path[depth - 1]
            and character <= typed[place - 1] < best
        ):
            best = int(typed[place - 1])
    return best


@compiled
def near(
    code: NDArray[np.int32],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    typed: NDArray[np.int32],
    edits: int,
    whole: bool,
    budget: int,
) -> tuple[NDArray[np.int64], int]:
    """(ranges, visits): the texts with a beginning at most `edits` (at least 1) from `typed`, or that as a `whole` are.

    The ranges [low, high) ascend and share no text. After `budget` visits of nodes, what was found is all.
    """
    size = len(typed) + edits + 2
    rows = np.full((size, 2 * edits + 1), edits + 1, np.int64)
    path = np.zeros(size, np.int64)
    cursor = np.zeros(size, np.int64)
    high = np.zeros(size, np.int64)
    least = np.zeros(size, np.int64)
    found = np.empty((budget + 1, 2), np.int64)
    count, visits, depth = 0, 0, 0
    high[0] = len(begin)
    for length in range(min(edits, len(typed)) + 1):
        rows[0, edits + length] = length
    if len(typed) <= edits and not whole:
        found[0] = 0, len(begin)
        return found[:1], 0
    while depth >= 0 and visits < budget:
        if cursor[depth] >= high[depth]:
            depth -= 1
            continue
        visits += 1
        low = cursor[depth]
        character = _character(code, begin, end, low, depth)
        wanted = max(character, 0)
        if least[depth] == edits:
            wanted = _next_without_edit(rows, path, typed, depth, edits, wanted)
        if wanted != character:
            cursor[depth] = (
                high[depth] if wanted == _NONE else _first(code, begin, end, low, high[depth], depth, wanted)
            )
            continue
        cursor[depth] = _first(code, begin, end, low, high[depth], depth, character + 1)
        path[depth] = character
        least[depth + 1] = _fill(rows, path, typed, depth + 1, edits)
        if least[depth + 1] > edits:
            continue
        cell = len(typed) - depth - 1 + edits
        if 0 <= cell <= 2 * edits and rows[depth + 1, cell] <= edits:
            if not whole:
                found[count] = low, cursor[depth]
                count += 1
                continue
            if _character(code, begin, end, low, depth + 1) < 0:
                found[count] = low, low + 1
                count += 1
        cursor[depth + 1] = low
        high[depth + 1] = cursor[depth]
        depth += 1
    return found[:count].copy(), visits


@compiled
def _cut(typed: NDArray[np.int32]) -> NDArray[np.int64]:
    """Begin and end of each word."""
    cuts = np.empty((len(typed) // 2 + 1, 2), np.int64)
    count = 0
    begin = 0
    for place in range(len(typed) + 1):
        if place == len(typed) or typed[place] == 32:
            if place > begin:
                cuts[count] = begin, place
                count += 1
            begin = place + 1
    return cuts[:count]


@compiled
def word_ranges(
    code: NDArray[np.int32],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    typed: NDArray[np.int32],
    corrected_from: int,
    budget: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """(ranges, owner, known): which of the words each typed word may stand for, and whether each has any.

    The ranges of the typed word i are `ranges[owner[i]:owner[i + 1]]`. The first is the word as typed, or empty if
    there is none. The others, for a word of `corrected_from` characters or more, are the words one edit away and
    itself, ascending. The last typed word stands for all it begins.
    """
    cuts = _cut(typed)
    owner = np.zeros(len(cuts) + 1, np.int64)
    ranges = np.empty((2 * len(cuts) + budget, 2), np.int64)
    count = 0
    for word in range(len(cuts)):
        part = typed[cuts[word, 0] : cuts[word, 1]]
        whole = word < len(cuts) - 1
        length, low, high = walk(code, begin, end, part)
        if length < len(part) or (whole and end[low] - begin[low] > length):
            high = low
        elif whole:
            high = low + 1
        ranges[count] = low, high
        count += 1
        found = high > low
        if len(part) >= corrected_from and budget > 0:
            close, visits = near(code, begin, end, part, 1, whole, budget)
            budget -= visits
            ranges[count : count + len(close)] = close
            count += len(close)
            found = found or len(close) > 0
        if not found:
            return ranges[:0], owner, False
        owner[word + 1] = count
    return ranges[:count], owner, len(cuts) > 0


@compiled
def known_words(
    code: NDArray[np.int32],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    typed: NDArray[np.int32],
    least: int,
) -> NDArray[np.int64]:
    """For each typed word, the range of words that it stands for: itself, and the last one all that it begins.

    Of a last word that begins none, as much of its beginning is taken as begins any, if that is `least` characters.
    """
    cuts = _cut(typed)
    ranges = np.zeros((len(cuts), 2), np.int64)
    for word in range(len(cuts)):
        part = typed[cuts[word, 0] : cuts[word, 1]]
        length, low, high = walk(code, begin, end, part)
        if word < len(cuts) - 1:
            if length == len(part) and end[low] - begin[low] == length:
                ranges[word] = low, low + 1
        elif length == len(part) or length >= least:
            ranges[word] = low, high
    return ranges


@compiled
def spread(ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of ranges [low, high), one after another.

    >>> spread(np.array([[1, 3], [7, 8]]))
    array([1, 2, 7])
    """
    total = 0
    for low, high in ranges:
        total += high - low
    rows = np.empty(total, np.int64)
    place = 0
    for low, high in ranges:
        for row in range(low, high):
            rows[place] = row
            place += 1
    return rows
