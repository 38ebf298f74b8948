"""Forms of one word, in any language: accent variants and inflected forms ("player" and "players").

No endings are listed. Two words that share a stem differ in a pair of endings, such as (nothing, "s") or ("y", "ies").
In each vocabulary those pairs are productive that many stems have, and that can be relied on: where the stem with the
second ending is a word, the stem with the first one mostly is too. Both are also asked of the stems with the same last
letter, which separates "boxes" (after x) from "notes", and "files" from "glass". This is the idea of paradigms in
Linguistica (Goldsmith 2001, "Unsupervised learning of the morphology of a natural language"), with pairs as paradigms.

Productive endings also make other words ("print" and "printer"). Given the contexts of the words (see `word_contexts`),
a pair of endings counts only if its words are used alike, compared with the most frequent pair of endings.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.trie import code_points
from wayword.numba_jit import compiled
from wayword.store.compressed_rows import CompressedRows

SHORTEST_STEM = 3
LONGEST_ENDING = 3
MOST_PER_STEM = 48
"""Largest number of words of one stem that are paired: the most searched ones. Bounds the pairs of short stems."""
LEAST_STEMS = 5
"""Number of stems that a productive pair of endings has, at least."""
LEAST_OF_TOP = 0.02
"""Number of these stems, at least, as a share of those of the most frequent pair of endings."""
LEAST_STEMS_SIMPLE, SIMPLE_WORD = 3, 4
"""The same for one character appended to a word of at least `SIMPLE_WORD` characters: also learned from few words."""
LEAST_RELIABILITY = 0.4
"""Share of the words with the second ending whose stem has the first ending too, at least."""
LEAST_RELIABILITY_TOP = 0.22
"""The same after one letter for the most frequent pair of endings, if it appends: many words are names without it."""
LEAST_RELIABILITY_ALIKE = 0.15
"""The same after one letter, for two words that are used as alike as the words of their endings mostly are."""
LEAST_LIFT = 4.0
"""Where last letters are replaced ("y" by "ies"): how many times as many stems have both endings as by chance."""
LONGEST_REPLACED = 4
"""Largest number of letters of both endings where one replaces the other: "er" and "ing" make different words."""
ONE_REPLACED, ONE_REPLACED_LIFT = 0.25, 1.5
"""Least reliability and lift where one letter replaces one ("scarpa", "scarpe"): most endings of such a language do."""
OTHERWISE = 0.1
"""How much a word counts for an ending if a longer or shorter one explains it ("boxe-s", "box-es")."""
LEAST_OVERALL = 0.1
"""Least reliability after all letters together."""
LEAST_SHARE = 0.25
"""An appended ending of `LONGEST_ENDING` characters is inflection if this share of the stems of the most frequent pair
has it (Turkish "ler"); else it mostly makes other words (English "ing")."""
SHRINKAGE = 4.0
"""Weight of the reliability after all letters beside that after one letter."""
LEAST_ALIKE = 0.65
"""Similarity of use of the words of a pair of endings, relative to the most frequent pair; of random words it is 0."""
LEAST_CONTEXTS, LEAST_COMPARED = 5, 8
"""Words with fewer contexts are not compared; a pair of endings with fewer comparisons is not judged by them."""
_ENDING_BITS = 21
_UNINFLECTED = regex.compile(
    r"[^\p{L}\p{M}]|[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
)
"""Words with digits and symbols (model numbers), and scripts whose words are not separated or whose endings are not
letters: one character is a word of its own there."""


def word_forms(
    words: Sequence[str], counts: NDArray[np.int64], contexts: csr_array | None = None
) -> NDArray[np.int32]:
    """Number distinct normalised words, with how often each is searched: forms of one word have the same number.

    The number is the place of the most searched form. A form differs from it directly in accents or in one productive
    pair of endings, so chains of forms do not arise. `contexts` are words × features, rows of length 1.

    >>> words = ["cable", "cables", "lamp", "lamps", "ladder", "ladders", "lens", "café", "cafe", "7s"]
    >>> counts = np.array([5, 9, 7, 2, 4, 1, 6, 1, 2, 9])
    >>> word_forms(words, counts).tolist()
    [1, 1, 2, 2, 4, 4, 6, 8, 8, 9]
    """
    plain = [without_accents(word) for word in words]
    number: dict[str, int] = {}
    of_plain = np.fromiter((number.setdefault(word, len(number)) for word in plain), np.int64, len(plain))
    vocabulary = list(number)
    searched = np.bincount(of_plain, counts, len(vocabulary)).astype(np.float64)
    order = np.lexsort((_places(vocabulary), -searched))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    use = None if contexts is None else _merged(contexts, of_plain, len(vocabulary))
    head = _heads(vocabulary, searched, rank, use)
    best = _most_searched(words, counts, of_plain, len(vocabulary))
    return best[head[of_plain]].astype(np.int32)


def without_accents(word: str) -> str:
    """Remove the accents of a normalised word; marks that are letters of their script stay.

    >>> [without_accents(word) for word in ("häuser", "łódź", "ørsted", "한국", "がぎ", "हिन्दी")]
    ['hauser', 'lodz', 'orsted', '한국', 'がぎ', 'हिन्दी']
    """
    return word if word.isascii() else "".join(map(_base, unicodedata.normalize("NFC", word)))


@lru_cache(maxsize=1 << 14)
def _base(character: str) -> str:
    """The character without accents: "ś" and "ł" are called s and l "with" something."""
    if "\u0300" <= character <= "\u036f":
        return ""
    letter, *marks = list(unicodedata.normalize("NFD", character))
    if marks and all("\u0300" <= mark <= "\u036f" for mark in marks):
        character = letter
    name = unicodedata.name(character, "")
    if not name.startswith(("LATIN ", "GREEK ", "CYRILLIC ")):
        return character
    try:
        return unicodedata.lookup(name.split(" WITH ")[0])
    except KeyError:
        return character


def word_contexts(contents: CompressedRows, words: int) -> csr_array:
    """Describe each word by the words beside it in the same texts, rare ones counting more; rows have length 1.

    `contents` are the numbers of the distinct words of each text.
    """
    entries = np.ones(len(contents.values))
    within = csr_array((entries, contents.values, contents.offsets), shape=(len(contents), words))
    beside = csr_array(within.T @ within)
    row, column = np.repeat(np.arange(words), np.diff(beside.indptr)), beside.indices
    texts = np.maximum(np.asarray(within.sum(axis=0)).ravel(), 1)
    weight = np.where(row == column, 0.0, np.log1p(beside.data) * np.log((1 + len(contents)) / texts)[column])
    result = csr_array((weight, column, beside.indptr), shape=beside.shape)
    result.eliminate_zeros()
    return _unit(result)


def similarity(contexts: csr_array, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """Cosine of the contexts of each pair of words; NaN where a word has fewer than `LEAST_CONTEXTS`."""
    found = np.full(len(left), np.nan)
    many = np.diff(contexts.indptr) >= LEAST_CONTEXTS
    told = np.flatnonzero(many[left] & many[right])
    for part in np.array_split(told, max(1, len(told) // 50_000)):
        found[part] = np.asarray(contexts[left[part]].multiply(contexts[right[part]]).sum(axis=1)).ravel()
    return found


def _unit(rows: csr_array) -> csr_array:
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return csr_array(
        (rows.data / np.repeat(length, np.diff(rows.indptr)), rows.indices, rows.indptr), shape=rows.shape
    )


def _merged(contexts: csr_array, of_plain: NDArray[np.int64], plain: int) -> csr_array:
    """The contexts of words without accents: the sums of those of their variants."""
    if len(of_plain) == plain:
        return contexts
    adding = csr_array(
        (np.ones(len(of_plain)), (of_plain, np.arange(len(of_plain)))), shape=(plain, len(of_plain))
    )
    return _unit(csr_array(adding @ contexts))


def _places(words: Sequence[str]) -> NDArray[np.int64]:
    """The place of each word in sorted order."""
    place = np.empty(len(words), np.int64)
    place[np.array(sorted(range(len(words)), key=words.__getitem__), np.int64)] = np.arange(len(words))
    return place


def _most_searched(
    words: Sequence[str], counts: NDArray[np.int64], of_plain: NDArray[np.int64], plain: int
) -> NDArray[np.int64]:
    """The most searched variant of each word without accents; of equal ones the first in sorted order."""
    order = np.lexsort((-_places(words), counts))
    best = np.empty(plain, np.int64)
    best[of_plain[order]] = order  # the last assignment stays
    return best


@dataclass(frozen=True)
class _Pairs:
    """Pairs of words with a common stem: `first` has the shorter ending (`a`), `second` the longer (`b`)."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    stem: NDArray[np.int64]
    """Number of characters of the stem."""
    last: NDArray[np.int64]
    """Last character of the stem."""

    def select(self, kept: NDArray[np.bool_]) -> "_Pairs":
        return _Pairs(*(array[kept] for array in vars(self).values()))


def _heads(
    words: Sequence[str], searched: NDArray[np.float64], rank: NDArray[np.int64], contexts: csr_array | None
) -> NDArray[np.int64]:
    """For each word without accents the most searched word of which it is a form, or itself."""
    inflected = np.fromiter((not _UNINFLECTED.search(word) for word in words), bool, len(words))
    codes = code_points(words)
    parts = _split(codes.offsets, codes.values, inflected, SHORTEST_STEM, LONGEST_ENDING)
    order = np.lexsort((rank[parts[0]], parts[1]))
    word, stem, ending, length, last = (part[order] for part in parts)
    within = _place_in_run(stem)
    pairs = _Pairs(*_paired(word, ending, length, last, within, MOST_PER_STEM))
    weight = np.log1p(searched)
    score = _scores(pairs, (word, ending, last), weight, contexts)
    explained = np.zeros(len(words), np.int64)
    np.maximum.at(explained, pairs.second[score > 0], 1 + _size(pairs.b[score > 0]))
    other = (explained[word] > 0) & (explained[word] != 1 + _size(ending))
    score = _scores(pairs, (word, ending, last), weight, contexts, np.where(other, OTHERWISE, 1.0))
    kept = score > 0
    pairs, score = pairs.select(kept), score[kept]
    swap = rank[pairs.first] > rank[pairs.second]
    low, high = np.where(swap, pairs.first, pairs.second), np.where(swap, pairs.second, pairs.first)
    sequence = np.lexsort((rank[high], -score, rank[low]))
    return _attached(low[sequence], high[sequence], len(words))


def _place_in_run(sorted_keys: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each value among the equal values before it, of sorted ones."""
    if not len(sorted_keys):
        return np.zeros(0, np.int64)
    first = np.flatnonzero(np.r_[True, sorted_keys[1:] != sorted_keys[:-1]])
    return np.arange(len(sorted_keys)) - np.repeat(first, np.diff(np.r_[first, len(sorted_keys)]))


def _scores(
    pairs: _Pairs,
    splits: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    weight: NDArray[np.float64],
    contexts: csr_array | None,
    counted: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Score each pair by the reliability of its endings, the most frequent ones before others; 0 if not productive.

    `counted` is how much each split of a word counts where the words with an ending are added up.
    """
    if not len(pairs.a):
        return np.zeros(0)
    word, ending, last = splits
    kinds, kind = _numbered(pairs.a, pairs.b)
    stems = np.bincount(kind)
    a, b = pairs.a[kinds], pairs.b[kinds]
    of_split = weight[word] * (1.0 if counted is None else counted)
    reliability, overall = _reliability(pairs, kind, (of_split, ending, last), weight)
    enough = stems >= LEAST_STEMS
    appended = a == 0
    size = _size(b)
    simple = appended & (size == 1)
    enough |= simple & (stems >= LEAST_STEMS_SIMPLE)
    enough &= stems >= LEAST_OF_TOP * stems.max()
    endings, number = np.unique(ending, return_inverse=True)
    having = np.bincount(number)
    chance = having[np.searchsorted(endings, a)] * having[np.searchsorted(endings, b)] / len(np.unique(word))
    one = (_size(a) == 1) & (size == 1)
    enough &= appended | (stems >= np.where(one, ONE_REPLACED_LIFT, LEAST_LIFT) * chance)
    enough &= appended | (_size(a) + size <= LONGEST_REPLACED)
    enough &= ~(appended & (size == LONGEST_ENDING)) | (stems >= LEAST_SHARE * stems.max())
    alike = np.zeros(len(kind), bool)
    if contexts is not None:
        kind_alike, alike = _used_alike(pairs, kind, stems, contexts)
        enough &= kind_alike
    long_enough = ~simple[kind] | (pairs.stem >= SIMPLE_WORD) | (stems[kind] >= LEAST_STEMS)
    reliable = reliability >= np.where(one[kind], ONE_REPLACED, LEAST_RELIABILITY)
    top = appended[kind] & (kind == int(np.argmax(stems))) & (stems[kind] >= LEAST_STEMS)
    reliable |= top & (reliability >= LEAST_RELIABILITY_TOP)
    reliable &= overall >= np.where(one[kind], ONE_REPLACED, LEAST_OVERALL)
    reliable |= alike & (overall >= LEAST_RELIABILITY) & (reliability >= LEAST_RELIABILITY_ALIKE)
    return np.where(enough[kind] & long_enough & reliable, reliability + top, 0.0)


def _numbered(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(example, number): number the distinct pairs of values; `example` is a place of each."""
    order = np.lexsort((b, a))
    new = np.r_[True, (a[order][1:] != a[order][:-1]) | (b[order][1:] != b[order][:-1])]
    number = np.empty(len(a), np.int64)
    number[order] = np.cumsum(new) - 1
    return order[new], number


def _size(ending: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of characters of packed endings."""
    size = np.zeros(len(ending), np.int64)
    for place in range(LONGEST_ENDING):
        size += (ending >> (_ENDING_BITS * place)) > 0
    return size


def _reliability(
    pairs: _Pairs,
    kind: NDArray[np.int64],
    splits: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]],
    weight: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share of the words with ending b, weighted by how often they are searched, whose stem has ending a too.

    After the last letter of each pair's stem, shrunk to the share after all letters. Where letters are replaced ("a" by
    "e"), the better of both directions counts. Returned for each pair: after its letter, and after all.
    """
    of_split, ending, last = splits
    results = []
    for other, own in ((pairs.second, pairs.b), (pairs.first, pairs.a)):
        both = np.bincount(kind, weight[other])[kind]
        share = both / np.maximum(_total(own, ending, of_split), 1e-9)
        _, near = _numbered(kind, pairs.last)
        both_near = np.bincount(near, weight[other])[near]
        all_near = _total(_joined(own, pairs.last), _joined(ending, last), of_split)
        results.append(((both_near + SHRINKAGE * share) / (all_near + SHRINKAGE), share))
    replaced = pairs.a > 0
    return (
        np.where(replaced, np.maximum(results[0][0], results[1][0]), results[0][0]),
        np.where(replaced, np.maximum(results[0][1], results[1][1]), results[0][1]),
    )


def _joined(ending: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A hash of both, as an ending fills 63 bits."""
    mixed = ending.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) + last.astype(np.uint64)


def _total(asked: NDArray[Any], keys: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the weights of each key that is asked for."""
    distinct, place = np.unique(keys, return_inverse=True)
    return np.bincount(place, weights)[np.searchsorted(distinct, asked)].astype(np.float64)


def _used_alike(
    pairs: _Pairs, kind: NDArray[np.int64], stems: NDArray[np.int64], contexts: csr_array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the words of each pair of endings are used like those of the most frequent one that can be judged.

    Also, for each pair of words, whether they are used as alike as the mean of their endings.
    """
    alike = similarity(contexts, pairs.first, pairs.second)
    told = ~np.isnan(alike)
    compared = np.bincount(kind[told], minlength=len(stems))
    judged = compared >= LEAST_COMPARED
    if not judged.any():
        return np.ones(len(stems), bool), np.zeros(len(kind), bool)
    mean = np.bincount(kind[told], alike[told], len(stems)) / np.maximum(compared, 1)
    top = np.flatnonzero(judged)[np.argmax(stems[judged])]
    by_chance = similarity(
        contexts, pairs.first[told], np.roll(pairs.second[told], len(pairs.second[told]) // 2)
    )
    base = float(np.nanmean(by_chance)) if not np.isnan(by_chance).all() else 0.0
    like_top = ~judged | (mean - base >= LEAST_ALIKE * (mean[top] - base))
    return like_top, judged[kind] & (np.nan_to_num(alike) >= np.maximum(mean[kind], mean[top]))


@compiled
def _split(
    offsets: NDArray[np.int64],
    codes: NDArray[np.int32],
    inflected: NDArray[np.bool_],
    shortest_stem: int,
    longest_ending: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Every split of the words in stem and ending: (word, hash of the stem, ending, length, last of the stem)."""
    room = 0
    for word in range(len(inflected)):
        if inflected[word]:
            room += longest_ending + 1
    words, stems = np.empty(room, np.int64), np.empty(room, np.int64)
    endings, lengths, lasts = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    at = 0
    for word in range(len(inflected)):
        if not inflected[word]:
            continue
        begin, size = offsets[word], offsets[word + 1] - offsets[word]
        key = np.int64(-3750763034362895579)
        for place in range(size):
            key = (key ^ np.int64(codes[begin + place])) * np.int64(1099511628211)
            stem = place + 1
            if stem >= shortest_stem and size - stem <= longest_ending and size - stem <= stem:
                ending = np.int64(0)
                for later in range(stem, size):
                    ending = (ending << 21) | np.int64(codes[begin + later])
                words[at], stems[at], endings[at], lengths[at] = word, key, ending, stem
                lasts[at] = codes[begin + place]
                at += 1
    return words[:at], stems[:at], endings[:at], lengths[:at], lasts[:at]


@compiled
def _paired(
    word: NDArray[np.int64],
    ending: NDArray[np.int64],
    length: NDArray[np.int64],
    last: NDArray[np.int64],
    within: NDArray[np.int64],
    most: int,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
]:
    """Pairs of words whose longest common beginning is a stem: endings that begin differently, the shorter first.

    The splits are sorted by stem; `within` is the place of each among those of its stem.
    """
    room = 0
    for row in range(len(word)):
        if within[row] < most:
            room += within[row]
    first, second = np.empty(room, np.int64), np.empty(room, np.int64)
    a, b = np.empty(room, np.int64), np.empty(room, np.int64)
    stems, lasts = np.empty(room, np.int64), np.empty(room, np.int64)
    at = 0
    for row in range(len(word)):
        if within[row] >= most:
            continue
        own = ending[row]
        begin = own
        while begin >= 1 << 21:
            begin >>= 21
        for other in range(row - within[row], row):
            theirs = ending[other]
            head = theirs
            while head >= 1 << 21:
                head >>= 21
            if head == begin or length[row] != length[other]:
                continue
            if own < theirs:
                first[at], second[at], a[at], b[at] = word[row], word[other], own, theirs
            else:
                first[at], second[at], a[at], b[at] = word[other], word[row], theirs, own
            stems[at], lasts[at] = length[row], last[row]
            at += 1
    return first[:at], second[:at], a[:at], b[:at], stems[:at], lasts[:at]


@compiled
def _attached(low: NDArray[np.int64], high: NDArray[np.int64], words: int) -> NDArray[np.int64]:
    """Attach each word to the first partner in the given order that is not attached itself."""
    head = np.arange(words)
    for pair in range(len(low)):
        if head[low[pair]] == low[pair] and head[high[pair]] == high[pair]:
            head[low[pair]] = high[pair]
    return head
