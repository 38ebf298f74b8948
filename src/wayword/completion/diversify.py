"""Diversification: chooses a list by its joint utility, and groups near-duplicate queries.

A user picks one of the shown queries, so each document counts with its exposure by the best of them:

    list utility of Q' for a context = Σ_a demand[a] · max over q in Q' of exposure(q)[a]

This is monotone and submodular in Q', so the greedy choice by marginal gain reaches at least 1 − 1/e, 63 %, of the
utility of the best list of that length.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.candidates import Candidates
from wayword.errors import WaywordError
from wayword.numba_jit import compiled, subroutine

SHORTEST_PLURAL = 4
"""Shorter words are not taken for plurals: "bus", "gas" and "ios" are none."""


def diversify(
    candidates: Candidates,
    demand: csr_array,
    exposures: csr_array,
    k: int,
    *,
    same: NDArray[np.int32] | None = None,
) -> Candidates:
    """Choose at most k of each context's candidates greedily, by their marginal gain in list utility.

    `demand` is contexts × documents, `exposures` queries × documents. The score is the gain, which does not increase
    along a list; its sum is the list utility. Gains are compared as float32, the type that is returned; ties go to the
    candidate given first. Candidates without gain come last, in the order given, to fill the list. `same[q]` is the
    group of query q: a list has at most one query of each group, the first that is chosen.

    Of two queries for the same document and a third one for another document, the first and the third are chosen:

    >>> demand = csr_array([[3.0, 1.0]])
    >>> exposures = csr_array([[1.0, 0.0], [0.9, 0.0], [0.0, 1.0]])
    >>> three = Candidates(np.zeros(3, np.int32), np.arange(3, dtype=np.int32), np.array([3, 2.7, 1], np.float32))
    >>> shown = diversify(three, demand, exposures, k=2)
    >>> list(zip(shown.query.tolist(), shown.score.tolist()))
    [(0, 3.0), (2, 1.0)]
    """
    _check(candidates, demand, exposures, same)
    canonical = demand
    if not canonical.has_canonical_format:
        canonical = demand.copy()
        canonical.sum_duplicates()
    n = len(candidates.query)
    starts = np.flatnonzero(np.r_[True, candidates.context[1:] != candidates.context[:-1]][:n])
    ends = np.r_[starts, n]
    chosen, gains = _choose(
        ends,
        candidates.context,
        candidates.query,
        np.zeros(0, np.int32) if same is None else same,
        max(k, 0),
        canonical.indptr,
        canonical.indices,
        canonical.data.astype(np.float64, copy=False),
        exposures.indptr,
        exposures.indices,
        exposures.data,
        int(np.minimum(np.diff(ends), max(k, 0)).sum()),
    )
    source = None if candidates.source is None else candidates.source[chosen]
    return Candidates(candidates.context[chosen], candidates.query[chosen], gains, source)


def _check(
    candidates: Candidates, demand: csr_array, exposures: csr_array, same: NDArray[np.int32] | None
) -> None:
    """Check shapes and numbers, as compiled code does not check array bounds."""
    queries = exposures.shape[0]
    for size, expected, what, other in (
        (demand.shape[1], exposures.shape[1], "documents in the demand", "documents in the exposures"),
        (queries if same is None else len(same), queries, "groups of queries", "queries"),
    ):
        if size != expected:
            raise WaywordError(f"Found {size:,} {what}, expected as many as {other}: {expected:,}.")
    for numbers, size, what in (
        (candidates.context, demand.shape[0], "contexts"),
        (candidates.query, queries, "queries"),
    ):
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < size):
            raise WaywordError(
                f"Found candidates with {what} from {numbers.min()} to {numbers.max()}; there are {size:,}."
            )


@compiled
def _choose(
    ends: NDArray[np.int64],
    context: NDArray[np.int32],
    query: NDArray[np.int32],
    same: NDArray[np.int32],
    k: int,
    demand_ends: NDArray[np.int32],
    demand_of: NDArray[np.int32],
    demand: NDArray[np.float64],
    exposure_ends: NDArray[np.int32],
    exposure_of: NDArray[np.int32],
    exposure: NDArray[np.float64],
    room: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows of the chosen candidates, context by context, and their gains; there are at most `room`."""
    rows, gains, filled = np.empty(room, np.int64), np.empty(room, np.float32), 0
    for group in range(len(ends) - 1):
        first, n = ends[group], ends[group + 1] - ends[group]
        queries = query[first : first + n]
        low, high = demand_ends[context[first]], demand_ends[context[first] + 1]
        amount = demand[low:high]
        parts, places, shown = _demanded(queries, demand_of[low:high], exposure_ends, exposure_of, exposure)
        best, bound, free = np.zeros(high - low), np.full(n, np.inf, np.float32), np.ones(n, np.bool_)
        for _ in range(min(k, n)):
            winner = _next(bound, free, parts, places, shown, amount, best)
            if winner < 0:  # all others are near-duplicates of chosen ones
                break
            rows[filled], gains[filled] = first + winner, bound[winner]
            filled += 1
            for entry in range(parts[winner], parts[winner + 1]):
                best[places[entry]] = max(best[places[entry]], shown[entry])
            free[winner] = False
            if len(same):
                for i in range(n):
                    free[i] = free[i] and same[queries[i]] != same[queries[winner]]
    return rows[:filled], gains[:filled]


@subroutine
def _demanded(
    queries: NDArray[np.int32],
    documents: NDArray[np.int32],
    exposure_ends: NDArray[np.int32],
    exposure_of: NDArray[np.int32],
    exposure: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the exposure of the `documents` in demand (ascending) by each query: its end, their positions, p."""
    entries = 0
    for query in queries:
        entries += exposure_ends[query + 1] - exposure_ends[query]
    parts = np.zeros(len(queries) + 1, np.int64)
    places, shown = np.empty(entries, np.int64), np.empty(entries, np.float64)
    at = 0
    for i, query in enumerate(queries):
        for entry in range(exposure_ends[query], exposure_ends[query + 1]):
            place, end = 0, len(documents)
            while place < end:  # binary search
                middle = (place + end) // 2
                if documents[middle] < exposure_of[entry]:
                    place = middle + 1
                else:
                    end = middle
            if place < len(documents) and documents[place] == exposure_of[entry]:
                places[at], shown[at] = place, exposure[entry]
                at += 1
        parts[i + 1] = at
    return parts, places, shown


@subroutine
def _next(
    bound: NDArray[np.float32],
    free: NDArray[np.bool_],
    parts: NDArray[np.int64],
    places: NDArray[np.int64],
    shown: NDArray[np.float64],
    amount: NDArray[np.float64],
    best: NDArray[np.float64],
) -> int:
    """Return the free candidate of largest gain over the exposures `best`, else the first free one, else -1.

    Lazy greedy: a gain never increases as the list grows, so the last computed gain is an upper bound, and it is
    computed again only where it could win. Sums keep the order of their terms, so this is exact in floating point.
    """
    winner, most, first = -1, np.float32(0), -1
    for i in range(len(free)):
        if free[i] and first < 0:
            first = i
        if free[i] and bound[i] > most:
            total = 0.0
            for entry in range(parts[i], parts[i + 1]):
                total += amount[places[entry]] * max(shown[entry] - best[places[entry]], 0.0)
            bound[i] = np.float32(total)
            if bound[i] > most:
                winner, most = i, bound[i]
    return winner if winner >= 0 else first


def near_duplicates(texts: Sequence[str]) -> NDArray[np.int32]:
    """Number the groups of queries (normalised) that differ only in word order, repeated words and plurals.

    A plural is a word of at least four letters that, without its final "s" or "es", is also a word of these texts. No
    dictionary is needed, but only plurals of this form are recognised. Groups are numbered in order of appearance.

    Known errors: words that only look like plurals ("news" and "new", "jeans" and "jean") are grouped if both occur;
    other plurals ("knives", "berries", "tvs"), misspellings and synonyms are not; and word order can matter ("flights
    london to paris"). Text written without spaces is one word.

    >>> near_duplicates(["tv stand", "tv stands", "stands tv", "tv", "tv stand tv", "iphone 7", "iphone 7s"]).tolist()
    [0, 0, 0, 1, 0, 2, 3]
    """
    vocabulary = set(chain.from_iterable(map(str.split, texts)))
    singular = {word: _singular(word, vocabulary) for word in vocabulary}
    numbers: dict[frozenset[str], int] = {}
    keys = (frozenset(map(singular.__getitem__, text.split())) for text in texts)
    return np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), np.int32, count=len(texts))


def _singular(word: str, vocabulary: set[str]) -> str:
    """Return the shortest word of the vocabulary of which this is a plural, applied repeatedly, or the word itself.

    >>> known = {"shoes", "shoe", "boxes", "box", "glasses", "glass", "glas", "1990s", "1990"}
    >>> [_singular(word, known) for word in ("shoes", "boxes", "glasses", "1990s")]
    ['shoe', 'box', 'glass', '1990s']
    """
    if len(word) < SHORTEST_PLURAL or word[-1] != "s" or word[-2] == "s" or any(map(str.isdigit, word)):
        return word
    endings = ("s", "es") if word[-2] == "e" else ("s",)
    shorter = (word.removesuffix(ending) for ending in endings)
    return next((_singular(other, vocabulary) for other in shorter if other in vocabulary), word)
