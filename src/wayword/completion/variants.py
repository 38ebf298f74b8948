"""Variants of one query: the queries that are one suggestion, and which of them is shown.

One suggestion are queries that differ only in inflected forms of their words (`word_forms`), accents, word order,
repeated words, spaces ("back pack", "backpack") and a free-standing "&". They share a key: the set of their words'
forms, where two neighbouring words that are also written as one word are that word. Different keys are joined if the
texts are equal without spaces. Two digits are never joined.

A rare query is taken for a misspelling of a far more searched one if replacing likely misspelt words (`misspellings`)
gives that one's key, and its page does not contradict.

Evidence against (see `_contradicted` and `_real_words`): both are searched often and their rich result pages share
nothing; a word that is searched alone and finds enough of its own is not a misspelling.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.misspellings import Misspellings
from wayword.completion.word_forms import similarity, without_accents, word_contexts, word_forms
from wayword.store.compressed_rows import CompressedRows, WeightedRows

OFTEN = 5
"""Searches from which a query's own searches are evidence that it is meant as it is written."""
OFTEN_SHARE = 0.1
"""The same, relative to the searches of the query it may be a variant of."""
REORDERED_SHARE = 0.5
"""Two queries whose first and last words are swapped around a short one ("london to paris"), both searched often, are
two from this ratio of their searches on."""
SHORT = 4
"""Largest length of the word between."""
RICH = 3
"""Number of documents of a page that is evidence."""
DISJOINT = 0.02
"""Pages that share less than this part of their exposure share nothing."""
SAME = 0.8
"""Pages that share this part, each of the other, are one: the engine itself corrects the word."""
RATIO_EMPTY, RATIO = 4.0, 10.0
"""How many times as often the right query is searched, at least: where the misspelt one finds nothing, or the same;
and where it finds something by its other words. One word that finds something else is a word of its own."""
LEAST_CLOSE = 0.5
"""Similarity of use of two forms, relative to the median of all forms, that outweighs disjoint pages."""
_ONES = np.uint64(0x9E3779B97F4A7C15)
_JOINED = "&"
"""Dropped where it is a word of its own."""


@dataclass(frozen=True)
class Variants:
    """For each query, by number: the query that is shown instead of it, and the group that is one suggestion.

    >>> searches = {"e mail": 3, "email": 50, "player video": 2, "video player": 90, "vidoe player": 2}
    >>> texts = list(searches)
    >>> found = Variants.of(texts, np.array(list(searches.values())))
    >>> [texts[shown] for shown in found.shown_as]
    ['email', 'email', 'video player', 'video player', 'video player']
    """

    shown_as: NDArray[np.int32]
    """The number of the query that is shown; its own where it is shown itself."""
    group: NDArray[np.int32]
    """Equal for queries that are one suggestion: the number of the shown one."""
    misspelt: NDArray[np.bool_]
    """Whether the query is taken for a misspelling of the shown one."""
    corrected: NDArray[np.bool_]
    """Whether people have decided about it."""

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        searches: NDArray[np.int64],
        pages: WeightedRows | None = None,
        showable: NDArray[np.bool_] | None = None,
        corrections: Mapping[int, int] | None = None,
    ) -> "Variants":
        """Find the variants among distinct normalised texts with their number of searches.

        `pages` are queries × documents with p[rank]. Where some members of a group may be shown (`showable`), one of
        them is. `corrections` are decisions of people: query → query that is shown, itself to separate it.
        """
        searched = np.asarray(searches, np.float64)
        may = np.ones(len(texts), bool) if showable is None else np.asarray(showable, bool)
        language = _Language.of(texts, searched)
        matrix = None if pages is None else _unit_sum(pages)
        group = _grouped(language, texts)
        group = _separated(language, texts, group, searched, may, matrix)
        shown = _shown(group, searched, may, _places(texts))
        target = _corrected_by_log(language, shown, searched, matrix)
        misspelt = target != shown
        shown = target
        decided = np.zeros(len(texts), bool)
        for query, wanted in (corrections or {}).items():
            decided[query], misspelt[query] = True, False
            shown[query] = query if wanted == query else shown[wanted]
        if decided.any():
            shown = _without_decided(shown, decided, searched, may, _places(texts))
        return cls(shown.astype(np.int32), shown.astype(np.int32), misspelt, decided)


def _without_decided(
    shown: NDArray[np.int64],
    decided: NDArray[np.bool_],
    searched: NDArray[np.float64],
    may: NDArray[np.bool_],
    place: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Where a separated query was the shown one of others, these get another one of them."""
    itself = np.arange(len(shown))
    orphans = decided[shown] & (shown[shown] == shown) & ~decided & (shown != itself)
    if not orphans.any():
        return shown
    again = shown.copy()
    own = np.where(orphans, len(shown) + shown, itself)
    _, label = np.unique(own, return_inverse=True)
    again[orphans] = _shown(label, searched, may, place)[orphans]
    return again


@dataclass(frozen=True)
class _Language:
    """The words of the texts, their forms, and the keys of the texts."""

    words: list[str]
    contents: CompressedRows
    """Distinct numbers of each text's words, neighbours that are written as one word joined."""
    searched: NDArray[np.float64]
    """Searches with each word."""
    form: NDArray[np.int64]
    contexts: csr_array
    spelt: CompressedRows
    """The words of each text as they are."""
    compound: NDArray[np.bool_]
    """Words that are also written as two."""

    @classmethod
    def of(cls, texts: Sequence[str], searched: NDArray[np.float64]) -> "_Language":
        split = [[word for word in text.split() if word != _JOINED] or [text] for text in texts]
        words = sorted({word for one in split for word in one})
        number = {word: place for place, word in enumerate(words)}
        joined = [_joined(one, number) for one in split]
        compounds = {
            (number[a + b], number[a])
            for one, other in zip(split, joined, strict=True)
            if len(one) != len(other)
            for a, b in pairwise(one)
            if a + b in number
        }
        spelt, contents = (_numbered(part, number) for part in (split, joined))
        counts = np.bincount(contents.values, searched[contents.owner], len(words)).astype(np.float64)
        counts = np.maximum(counts, np.bincount(spelt.values, searched[spelt.owner], len(words)))
        contexts = word_contexts(contents, len(words))
        form = word_forms(words, counts.astype(np.int64), contexts).astype(np.int64)
        for whole, part in compounds:  # "myspell es" is no plural
            if form[whole] == form[part]:
                form[whole if form[whole] != whole else part] = whole if form[whole] != whole else part
        compound = np.zeros(len(words), bool)
        compound[[whole for whole, _ in compounds]] = True
        return cls(words, contents, counts, form, contexts, spelt, compound)

    def keys(self, contents: CompressedRows | None = None) -> NDArray[np.uint64]:
        """A hash of each text's set of forms."""
        rows = self.contents if contents is None else contents
        forms = CompressedRows(rows.offsets, self.form[rows.values]).distinct()
        return _sums(_mixed(forms.values), forms)


def _numbered(split: Sequence[Sequence[str]], number: Mapping[str, int]) -> CompressedRows:
    flat = np.fromiter((number[word] for one in split for word in one), np.int64)
    return CompressedRows.from_lengths(flat, np.fromiter(map(len, split), np.int64, len(split))).distinct()


def _joined(words: list[str], vocabulary: Mapping[str, int]) -> list[str]:
    """Neighbouring words as one where that is a word too; not where it would join two digits.

    >>> _joined(["back", "pack", "1", "0"], {"backpack": 0, "10": 1})
    ['backpack', '1', '0']
    """
    if len(words) < 2:
        return words
    result = [words[0]]
    for word in words[1:]:
        last = result[-1]
        if not (last[-1].isdigit() and word[0].isdigit()) and last + word in vocabulary:
            result[-1] = last + word
        else:
            result.append(word)
    return result


def unspaced(text: str) -> str:
    """The text without spaces, accents and "&"; a space between two digits stays.

    >>> unspaced("e mail"), unspaced("iphone 7 s"), unspaced("1 0 cm")
    ('email', 'iphone7s', '1 0cm')
    """
    words = without_accents(text).split()
    result = words[0] if words else text
    for word in words[1:]:
        if word != _JOINED:
            result += " " * (result[-1].isdigit() and word[0].isdigit()) + word
    return result


def _mixed(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hashes of numbers (splitmix64)."""
    z = (values.astype(np.uint64) + np.uint64(1)) * _ONES
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _sums(hashes: NDArray[np.uint64], rows: CompressedRows) -> NDArray[np.uint64]:
    """The sum of the hashes of each row, modulo 2^64."""
    total = np.zeros(len(hashes) + 1, np.uint64)
    np.cumsum(hashes, out=total[1:])
    sums: NDArray[np.uint64] = total[rows.offsets[1:]] - total[rows.offsets[:-1]]
    return sums


def _grouped(language: _Language, texts: Sequence[str]) -> NDArray[np.int64]:
    """Number the groups of texts with equal keys or equal without spaces."""
    n = len(texts)
    if not n:
        return np.zeros(0, np.int64)
    numbers: dict[str, int] = {}
    labels = [
        np.unique(language.keys(), return_inverse=True)[1],
        np.unique(language.keys(language.spelt), return_inverse=True)[1],
        np.fromiter((numbers.setdefault(unspaced(text), len(numbers)) for text in texts), np.int64, n),
    ]
    return _connected(labels)


def _connected(labels: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Number the groups that equal labels connect, by their first member.

    SciPy's connected components need its linear algebra, whose import takes longer than this.

    >>> _connected([np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])]).tolist()
    [0, 0, 0, 3]
    """
    group, before = np.arange(len(labels[0])), np.zeros(0, np.int64)
    while not np.array_equal(group, before):
        before = group
        for label in labels:
            first = np.full(int(label.max()) + 1, len(group))
            np.minimum.at(first, label, group)
            group = first[label]
    return group


def _places(texts: Sequence[str]) -> NDArray[np.int64]:
    """The place of each text in sorted order."""
    place = np.empty(len(texts), np.int64)
    place[np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)] = np.arange(len(texts))
    return place


def _shown(
    group: NDArray[np.int64],
    searched: NDArray[np.float64],
    may: NDArray[np.bool_],
    place: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The most searched member of each query's group, of those that may be shown; of equal ones the first by text."""
    order = np.lexsort((place, -searched, ~may, group))
    first = np.r_[True, group[order][1:] != group[order][:-1]][: len(order)]
    best = np.empty(len(group), np.int64)
    best[order] = np.repeat(order[first], np.diff(np.r_[np.flatnonzero(first), len(order)]))
    return best


def _unit_sum(pages: WeightedRows) -> csr_array:
    """Pages whose exposures add up to 1."""
    columns = int(pages.values.max()) + 1 if len(pages.values) else 1
    matrix = pages.matrix(columns).astype(np.float64)
    total = np.asarray(matrix.sum(axis=1)).ravel()
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return csr_array(
        (matrix.data * np.repeat(scale, np.diff(matrix.indptr)), matrix.indices, matrix.indptr), matrix.shape
    )


def _overlap(pages: csr_array, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    """Part of the left page's exposure that is of documents of the right page, for each pair of queries."""
    found = np.zeros(len(left))
    there = csr_array((np.ones(len(pages.data)), pages.indices, pages.indptr), shape=pages.shape)
    for part in np.array_split(np.arange(len(left)), max(1, len(left) // 20_000)):
        found[part] = np.asarray(pages[left[part]].multiply(there[right[part]]).sum(axis=1)).ravel()
    return found


def _separated(
    language: _Language,
    texts: Sequence[str],
    group: NDArray[np.int64],
    searched: NDArray[np.float64],
    may: NDArray[np.bool_],
    pages: csr_array | None,
) -> NDArray[np.int64]:
    """Take those queries out of their groups that contradict its most searched member."""
    head = _shown(group, searched, may, np.arange(len(group)))
    often = np.flatnonzero(
        (head != np.arange(len(group))) & (searched >= OFTEN) & (searched >= OFTEN_SHARE * searched[head])
    )
    apart = _contradicted(language, often, head[often], pages)
    apart |= _reordered(texts, often, head[often], searched)
    result = group.copy()
    result[often[apart]] = group.max(initial=0) + 1 + np.arange(int(apart.sum()))
    return result


def _contradicted(
    language: _Language, query: NDArray[np.int64], head: NDArray[np.int64], pages: csr_array | None
) -> NDArray[np.bool_]:
    """Whether rich pages share nothing and the words that differ are not used alike."""
    if pages is None or not len(query):
        return np.zeros(len(query), bool)
    documents = np.diff(pages.indptr)
    rich = (documents[query] >= RICH) & (documents[head] >= RICH)
    disjoint = rich & (_overlap(pages, query, head) < DISJOINT) & (_overlap(pages, head, query) < DISJOINT)
    inflected = np.flatnonzero(language.form != np.arange(len(language.form)))
    alike = similarity(language.contexts, inflected, language.form[inflected])
    typical = np.nanmedian(alike) if (~np.isnan(alike)).any() else np.inf
    close = np.ones(len(language.form), bool)
    close[inflected] = alike >= LEAST_CLOSE * typical
    owner, words = language.contents.take(query)
    unclear = np.bincount(owner, ~close[words], len(query)) > 0
    owner, words = language.contents.take(head)
    unclear |= np.bincount(owner, ~close[words], len(query)) > 0
    return disjoint & unclear


def _reordered(
    texts: Sequence[str], query: NDArray[np.int64], head: NDArray[np.int64], searched: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether the ends of both queries are swapped around a short word and both are searched often."""
    often = searched[query] >= REORDERED_SHARE * searched[head]
    swapped = (
        few and _swapped(texts[one].split(), texts[other].split())
        for one, other, few in zip(query.tolist(), head.tolist(), often.tolist(), strict=True)
    )
    return np.fromiter(swapped, bool, len(query))


def _swapped(words: list[str], others: list[str]) -> bool:
    """Whether two texts have swapped ends around a short word.

    >>> _swapped("london to paris".split(), "paris to london".split()), _swapped(["tv", "stand"], ["stand", "tv"])
    (True, False)
    """
    return any(
        others == [*words[place + 1 :], words[place], *words[:place]] and len(words[place]) <= SHORT
        for place in range(1, len(words) - 1)
    )


def _corrected_by_log(
    language: _Language,
    shown: NDArray[np.int64],
    searched: NDArray[np.float64],
    pages: csr_array | None,
) -> NDArray[np.int64]:
    """The shown query of each, or of the query that it is a misspelling of."""
    demand = np.bincount(shown, searched, len(shown))
    query, target, edits = _replaced(language, pages)
    kept = (shown[query] == query) & (shown[target] != query)
    query, target, edits = query[kept], shown[target[kept]], edits[kept]
    if not len(query):
        return shown.copy()
    ratio = demand[target] / np.maximum(demand[shown[query]], 0.5)
    good = ratio >= RATIO
    if pages is not None:
        overlap = _overlap(pages, query, target)
        empty = np.diff(pages.indptr)[query] == 0
        alone = language.spelt.lengths[query] == 1
        same = np.minimum(overlap, _overlap(pages, target, query)) >= SAME
        good |= (ratio >= RATIO_EMPTY) & (empty | same)
        good &= empty | same | (~alone & (overlap >= DISJOINT))
    query, target, edits = query[good], target[good], edits[good]
    order = np.lexsort((-target, demand[target], -edits, query))
    result = shown.copy()
    result[query[order]] = target[
        order
    ]  # the last assignment stays: the fewest edits, then the most searched
    for _ in range(3):
        result = result[result]
    return np.where(result[result] == result, result, shown)


def _replaced(
    language: _Language, pages: csr_array | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(query, right, edits): likely misspelt words replaced give the key of the right query."""
    words = language.words
    letters = np.fromiter((not any(map(str.isdigit, word)) for word in words), bool, len(words))
    total = np.bincount(language.form, language.searched, len(words))[language.form].astype(np.float64)
    pairs = Misspellings.of([without_accents(word) for word in words], total, letters)
    kept = (language.form[pairs.wrong] != language.form[pairs.right]) & ~language.compound[pairs.wrong]
    kept &= ~_real_words(language, pairs.wrong, pairs.right, pages)
    wrong, right, edits = pairs.wrong[kept], language.form[pairs.right[kept]], pairs.edits[kept]
    found = [
        _right_queries(language, rows, wrong, right, edits) for rows in (language.contents, language.spelt)
    ]
    query, other, distance = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return query, other, distance


def _right_queries(
    language: _Language,
    rows: CompressedRows,
    wrong: NDArray[np.int64],
    right: NDArray[np.int64],
    edits: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """See `_replaced`: one word of a query replaced by each candidate, or each word by its first candidate."""
    words = len(language.words)
    keys = language.keys(rows)
    order = np.argsort(keys, kind="stable")
    owner = rows.owner[np.argsort(rows.values, kind="stable")]
    occurs = np.r_[0, np.cumsum(np.bincount(rows.values, minlength=words))]
    lengths = occurs[wrong + 1] - occurs[wrong]
    pair = np.repeat(np.arange(len(wrong)), lengths)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    query = owner[occurs[wrong[pair]] + within]
    change = _mixed(right) - _mixed(language.form[wrong])
    one = _with_key(query, keys[query] + change[pair], keys, order)
    first = np.r_[True, wrong[1:] != wrong[:-1]][: len(wrong)]
    best, cost = np.zeros(words, np.uint64), np.zeros(words, np.int64)
    best[wrong[first]], cost[wrong[first]] = change[first], edits[first]
    everywhere = keys + _sums(best[rows.values], rows)
    every = _with_key(np.arange(len(keys)), everywhere, keys, order)
    total = np.bincount(rows.owner, cost[rows.values], len(rows)).astype(np.int64)
    return (
        np.r_[query[one[0]], every[0]],
        np.r_[one[1], every[1]],
        np.r_[edits[pair[one[0]]], total[every[0]]],
    )


def _with_key(
    query: NDArray[np.int64], key: NDArray[np.uint64], keys: NDArray[np.uint64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(place, another): the places of those queries whose given key another query has, and that query."""
    if not len(keys):
        return query, query
    place = np.minimum(np.searchsorted(keys, key, sorter=order), len(keys) - 1)
    other = order[place]
    kept = keys[other] == key
    return np.flatnonzero(kept), other[kept]


def _real_words(
    language: _Language, wrong: NDArray[np.int64], right: NDArray[np.int64], pages: csr_array | None
) -> NDArray[np.bool_]:
    """Whether each `wrong` word is no misspelling: searched alone it finds what the `right` one does not."""
    if pages is None or not len(wrong):
        return np.zeros(len(wrong), bool)
    alone = np.full(len(language.words), -1, np.int64)
    single = np.flatnonzero(language.spelt.lengths == 1)
    alone[language.spelt.values[language.spelt.offsets[single]]] = single
    query, other = alone[wrong], alone[right]
    finds = (query >= 0) & (np.diff(pages.indptr)[query] > 0)
    compared = np.flatnonzero(finds & (other >= 0))
    same = np.zeros(len(wrong), bool)
    left, right = query[compared], other[compared]
    same[compared] = np.minimum(_overlap(pages, left, right), _overlap(pages, right, left)) >= SAME
    return finds & ~same
