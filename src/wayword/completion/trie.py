"""Trie of sorted texts, and search in it with edits. A node at a depth is a range of texts with a common prefix.

The children of a node are found by binary search on the code points at its depth. So the texts themselves take nearly
all of the memory, and the arrays can be mapped from disk. Only nodes of many texts, which are searched most often and
take longest, are stored explicitly: a few megabytes, built on first use.

Edit distance counts insertions, deletions, replacements and swaps of adjacent characters, where no substring is edited
twice ("optimal string alignment"). The row of a node holds the distances of its text to the prefixes of the typed text
whose lengths differ by at most the allowed edits: cell b at depth d is for the first d - edits + b typed characters.

Compiled functions that call each other stay in this file: Numba invalidates the cache of a function when its own file
changes, not when the file of a function that it calls does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.numba_jit import compiled, subroutine
from wayword.store.arrays import read_only
from wayword.store.compressed_rows import CompressedRows
from wayword.text_arrays import characters

_NONE = 1 << 30
"""Larger than every code point."""
FIRST_EDITED = 8
"""The first character of a shorter text or word is not edited: errors are rare there."""
LISTED_FROM, LISTED = 32, 1 << 20
"""Nodes of at least `LISTED_FROM` texts are stored with their children, at most `LISTED` nodes, by depth."""


def code_points(texts: Sequence[str]) -> CompressedRows:
    """Return the characters of each text as signed integers, so that -1 can mark the end."""
    unsigned = characters(texts)
    return CompressedRows(unsigned.offsets, unsigned.values.view(np.int32))


def code_points_of(text: str) -> NDArray[np.int32]:
    """Return the characters of one text, read-only.

    >>> code_points_of("ab")
    array([97, 98], dtype=int32)
    """
    return np.frombuffer(text.encode("utf-32-le"), np.dtype("<i4"))


Texts = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]
"""(code, begin, end): text i is `code[begin[i]:end[i]]`; the texts are sorted."""
Nodes = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""(character, low, high, child): node n covers the texts `low[n]` to `high[n] - 1` and is reached by `character[n]`.
Its children are the nodes `child[n]` to `child[n + 1] - 1`. Node 0 is the root. The children of nodes of few
texts are not stored."""
Trie = tuple[Texts, Nodes]
"""A plain tuple: Numba could not read its cached code after a class is renamed."""


def build_trie(codes: CompressedRows, chosen: NDArray[Any] | None = None) -> Trie:
    """Build the trie of the texts, or of the chosen ones, with stored nodes: for texts that are searched often."""
    texts, _ = bare_trie(codes, chosen)
    character, low, high, child = _list_nodes(texts, LISTED_FROM, LISTED)
    return texts, (read_only(character), read_only(low), read_only(high), read_only(child))


def bare_trie(codes: CompressedRows, chosen: NDArray[Any] | None = None) -> Trie:
    """Build the trie of the texts, or of the chosen ones, with no stored node but the root."""
    begin, end = codes.offsets[:-1], codes.offsets[1:]
    if chosen is not None:
        begin, end = begin[chosen], end[chosen]
    character, low, high, child = (
        read_only(np.array(numbers, np.int32)) for numbers in ([-1], [0], [len(begin)], [1, 1])
    )
    return (read_only(codes.values), read_only(begin), read_only(end)), (character, low, high, child)


@subroutine
def _int64(number: Any) -> int:
    """Convert to int64, so that the functions below are compiled for one type of number only."""
    return int(np.int64(number))


@subroutine
def _character(texts: Texts, row: int, depth: int) -> int:
    """Return the code point of a text at a depth; -1, which sorts first, after its end."""
    code, begin, end = texts
    place = begin[row] + depth
    return int(code[place]) if place < end[row] else -1


@subroutine
def _lower_bound(texts: Texts, low: int, high: int, depth: int, character: int) -> int:
    """Return the first row in [low, high) with this code point or a higher one at the depth.

    Galloping search, then binary search: most answers are close to `low`.
    """
    step = 1
    while low < high and low + step <= high:
        if _character(texts, low + step - 1, depth) >= character:
            high = low + step - 1
            break
        low += step
        step *= 2
    while low < high:
        middle = (low + high) // 2
        if _character(texts, middle, depth) < character:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _list_nodes(texts: Texts, least: int, most: int) -> Nodes:
    """Return the root and the children of all nodes of `least` texts or more, at most `most` nodes."""
    code, begin, _ = texts
    most = min(most, len(code) + 1)
    nodes = np.empty((4, most + 1), np.int32)
    character, low, high, child = nodes
    character[0], low[0], high[0], child[0] = -1, 0, len(begin), 1
    depth_ends, depth = 1, 0
    count, node = 1, 0
    while node < count:
        if node == depth_ends:
            depth_ends, depth = count, depth + 1
        before = count
        row = (
            _lower_bound(texts, _int64(low[node]), _int64(high[node]), depth, _int64(0))
            if high[node] - low[node] >= least
            else high[node]
        )
        while row < high[node]:
            if count == most:  # no room for all children: store none, here and for later nodes
                count, least = before, len(begin) + 1
                break
            character[count] = _character(texts, row, depth)
            low[count] = row
            row = _lower_bound(texts, row, _int64(high[node]), depth, _int64(character[count] + 1))
            high[count] = row
            count += 1
        node += 1
        child[node] = count
    return character[:count].copy(), low[:count].copy(), high[:count].copy(), child[: count + 1].copy()


@subroutine
def _child(
    trie: Trie, node: int, low: int, high: int, depth: int, character: int
) -> tuple[int, int, int, int]:
    """Return (character, low, high, node) of a node's first child with `character` or a higher one.

    The node has the texts [low, high). The character is `_NONE` if there is no such child, the node -1 if it is not
    stored.
    """
    texts, (node_character, node_low, node_high, child) = trie
    if node >= 0 and child[node] < child[node + 1]:
        first, last = child[node], child[node + 1]
        place = first + np.searchsorted(node_character[first:last], character)
        if place == last:
            return _NONE, high, high, -1
        return int(node_character[place]), int(node_low[place]), int(node_high[place]), place
    low = _lower_bound(texts, low, high, depth, character)
    if low == high:
        return _NONE, high, high, -1
    next_character = _character(texts, low, depth)
    return next_character, low, _lower_bound(texts, low, high, depth, next_character + 1), -1


@compiled
def walk(trie: Trie, typed: NDArray[np.int32]) -> tuple[int, int, int, int]:
    """Return (length, low, high, node): the length of the longest prefix of `typed` that a text starts with, the range
    of texts that do, and their node, or -1 if that is not stored."""
    (_, begin, _), _ = trie
    low, high, node = _int64(0), len(begin), _int64(0)
    for depth in range(len(typed)):
        character, first, last, child = _child(trie, node, low, high, depth, _int64(typed[depth]))
        if character != typed[depth]:
            return depth, low, high, node
        low, high, node = first, last, child
    return len(typed), low, high, node


@subroutine
def nearly_all(length: int, of: int) -> bool:
    """Return whether so many characters say what a text of so many is about: at least four, and three quarters.

    >>> nearly_all(6, 8), nearly_all(3, 4), nearly_all(5, 8)
    (True, False, False)
    """
    return length >= 4 and 4 * length >= 3 * of


@compiled
def walk_all(trie: Trie, offsets: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the ranges (texts × 2) of the texts that start with each of many typed ones; empty where none does."""
    ranges = np.zeros((len(offsets) - 1, 2), np.int64)
    for row in range(len(ranges)):
        typed = codes[offsets[row] : offsets[row + 1]]
        length, low, high, _ = walk(trie, typed)
        if length == len(typed):
            ranges[row, 0], ranges[row, 1] = low, high
    return ranges


@subroutine
def _fill_distances(
    rows: NDArray[np.int64], path: NDArray[np.int64], typed: NDArray[np.int32], depth: int, edits: int
) -> int:
    """Fill the distances of a depth from those above; `path` has the node's characters. Returns the least distance."""
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


@subroutine
def _next_without_edit(
    rows: NDArray[np.int64],
    path: NDArray[np.int64],
    typed: NDArray[np.int32],
    depth: int,
    edits: int,
    character: int,
) -> int:
    """Return the lowest character, `character` or higher, that a child may have when no edit is left.

    It is the character typed there, or the second half of a swap.
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
def within_edits(
    trie: Trie, typed: NDArray[np.int32], edits: int, kept: int, whole: bool, budget: int
) -> tuple[NDArray[np.int64], int]:
    """Find the texts with a prefix at most `edits` (at least 1) from `typed`; if `whole`, the texts at most that far.

    Returns (ranges, visits). The first `kept` characters are not edited. The ranges [low, high) are ascending and
    disjoint. The search stops after visiting `budget` nodes.
    """
    length, first, last, root = walk(trie, typed[:kept])
    ranges = np.empty((16, 2), np.int64)
    if length < kept:
        return ranges[:0], 0
    typed = typed[kept:]
    if len(typed) <= edits and not whole:
        ranges[0] = first, last
        return ranges[:1], 0
    size = len(typed) + edits + 2
    rows = np.full((size, 2 * edits + 1), edits + 1, np.int64)
    path, least = np.zeros(size, np.int64), np.zeros(size, np.int64)
    following = np.zeros(size, np.int64)  # for each depth: the lowest character not yet visited,
    cursor, high, node = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    cursor[0], high[0], node[0] = first, last, root  # the first text not yet visited, the end, the node
    for length in range(min(edits, len(typed)) + 1):
        rows[0, edits + length] = length
    count, visits, depth = 0, 0, 0
    while depth >= 0 and visits < budget:
        visits += 1
        lowest = following[depth]
        if least[depth] == edits:
            lowest = _next_without_edit(rows, path, typed, depth, edits, lowest)
        if lowest == _NONE:
            depth -= 1
            continue
        character, low, cursor[depth], child = _child(
            trie, node[depth], cursor[depth], high[depth], kept + depth, lowest
        )
        if character == _NONE:
            depth -= 1
            continue
        following[depth] = character + 1
        path[depth] = character
        least[depth + 1] = _fill_distances(rows, path, typed, depth + 1, edits)
        if least[depth + 1] > edits:
            continue
        cell = len(typed) - depth - 1 + edits
        if 0 <= cell <= 2 * edits and rows[depth + 1, cell] <= edits:
            if not whole or _character(trie[0], low, kept + depth + 1) < 0:
                if count == len(ranges):
                    ranges = np.concatenate((ranges, np.empty_like(ranges)))
                ranges[count] = low, low + 1 if whole else cursor[depth]
                count += 1
            if not whole:
                continue
        depth += 1
        cursor[depth], high[depth], node[depth] = low, cursor[depth - 1], child
        following[depth] = 0
    return ranges[:count], visits


@subroutine
def _split_words(typed: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the start and end of each word."""
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
    trie: Trie, typed: NDArray[np.int32], corrected_from: int, budget: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Match each typed word to indexed words. Returns (ranges, owner, known), where `known` says that all match.

    Typed word i matches the words of `ranges[owner[i]:owner[i + 1]]`. The first range is the word as typed, empty if it
    is not indexed. For a word of `corrected_from` characters or more, the other ranges are the words at most one edit
    away, ascending. The last typed word matches as a prefix. The first character of a short word is not edited.
    """
    (_, begin, end), _ = trie
    cuts = _split_words(typed)
    owner = np.zeros(len(cuts) + 1, np.int64)
    ranges = np.empty((0, 2), np.int64)
    itself = np.empty((1, 2), np.int64)
    for word in range(len(cuts)):
        part = typed[cuts[word, 0] : cuts[word, 1]]
        whole = word < len(cuts) - 1
        length, low, high, _ = walk(trie, part)
        if length < len(part) or (whole and end[low] - begin[low] > length):
            high = low
        elif whole:
            high = low + 1
        itself[0] = low, high
        ranges = np.concatenate((ranges, itself))
        if len(part) >= corrected_from and budget > 0:
            kept = _int64(len(part) < FIRST_EDITED)
            close, visits = within_edits(trie, part, 1, kept, whole, budget)
            budget -= visits
            ranges = np.concatenate((ranges, close))
        owner[word + 1] = len(ranges)
        if low == high and owner[word + 1] == owner[word] + 1:
            return ranges[:0], owner, False
    return ranges, owner, len(cuts) > 0


@compiled
def known_words(trie: Trie, typed: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the range of indexed words that each typed word equals; the last typed word matches as a prefix.

    If no word starts with the last typed word, its longest prefix that matches is used if it is `nearly_all` of it.
    """
    (_, begin, end), _ = trie
    cuts = _split_words(typed)
    ranges = np.zeros((len(cuts), 2), np.int64)
    for word in range(len(cuts)):
        part = typed[cuts[word, 0] : cuts[word, 1]]
        length, low, high, _ = walk(trie, part)
        if word < len(cuts) - 1:
            if length == len(part) and end[low] - begin[low] == length:
                ranges[word] = low, low + 1
        elif length == len(part) or nearly_all(length, len(part)):
            ranges[word] = low, high
    return ranges


@compiled
def expand_ranges(ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenate the rows of ranges [low, high).

    >>> expand_ranges(np.array([[1, 3], [7, 8]]))
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
