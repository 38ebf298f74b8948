"""Lexicon: which words of queries go with which documents, and with which words of theirs.

People who ask for "fox development files" want libfox, and so do those who ask for "bird development files" want
libbird: "development files" that a document does not say, beside "lib" that the query does not, tell of both. A linear
model learns a weight for each word that only one of the two says, for each pair of such words, for each document, and
for each document with each word of a query. It maximises the likelihood of `relevance`. Each pair is judged by a model
that has not learned from it, so its own clicks do not enter; the trees of `relevance` take that for one more kind of
evidence.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.compiled import compiled
from wayword.demand.examples import examples
from wayword.demand.pairs import Floats, Pairs
from wayword.demand.wording import Wording, Words

FOLDS, EPOCHS = 4, 2
STEP = 0.2
PRIOR = 1.0
"""How strongly weights are drawn to 0, in pairs."""
BITS = 22
"""Weights are found by a hash of so many bits; few share one by chance."""
MOST_WORDS = 24
"""So many words of a query, and of a document, are looked at."""
_ROOM = 8 + 3 * MOST_WORDS + MOST_WORDS * MOST_WORDS


def margins(
    wording: Wording, pairs: Pairs, clicks: Floats, volume: Floats, *, seed: int = 0, threads: int = 1
) -> Floats:
    """The log-odds that each pair's document is wanted, by those of the models that have not learned from the pair."""
    clicked = clicks > 0
    if not clicked.any():
        return np.zeros(len(pairs))
    rng = np.random.default_rng(seed)
    could = -np.expm1(-volume[pairs.query] * pairs.p)
    rows, weight = examples(clicked, could, rng)
    fold = rng.integers(0, FOLDS, len(pairs))
    orders = [rng.permutation(len(rows)) for _ in range(EPOCHS)]
    given = _Given(wording, pairs, clicked, could)
    found = np.zeros(len(pairs))

    def judge(number: int) -> None:
        own = fold == number
        learned = [order[~own[rows[order]]] for order in orders]
        given.learn(rows, weight, learned).judge(np.flatnonzero(own), found)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(judge, range(FOLDS)))
    return found


class _Model:
    """Weights by the hash of what they are for."""

    def __init__(self, given: "_Given", base: float, weights: NDArray[np.float32]) -> None:
        self._given, self._base, self._weights = given, base, weights

    def judge(self, rows: NDArray[np.int64], found: Floats) -> None:
        """Write the margins of these pairs."""
        _judge(rows, *self._given.arrays, self._base, self._weights, found)


class _Given:
    """What is known of the pairs, as compiled code takes it."""

    def __init__(self, wording: Wording, pairs: Pairs, clicked: NDArray[np.bool_], could: Floats) -> None:
        place = np.minimum(np.round(-2 * np.log2(np.maximum(pairs.p, 1e-9))), 63).astype(np.int64)
        self.arrays = (
            pairs.query,
            pairs.document,
            np.maximum(place, 0),
            _plain(wording.queries),
            _plain(wording.documents),
        )
        self._clicked, self._could = clicked, could

    def learn(self, rows: NDArray[np.int64], weight: Floats, orders: list[NDArray[np.int64]]) -> _Model:
        """A pass over the examples in each order; `weight` is how many pairs each of them stands for."""
        clicked = self._clicked[rows[orders[0]]]
        share = float(np.clip(clicked.sum() / max(weight[orders[0]].sum(), 1.0), 1e-6, 0.5))
        base = float(np.log(share / (1 - share)))
        weights, squares = np.zeros(1 << BITS, np.float32), np.ones(1 << BITS, np.float32)
        often = _count(rows[orders[0]], *self.arrays)
        for order in orders:
            _learn(
                rows[order],
                weight[order],
                *self.arrays,
                self._clicked,
                self._could,
                base,
                often,
                weights,
                squares,
            )
        return _Model(self, base, weights)


def _plain(words: Words) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return words.starts, words.word


@compiled
def _place(kind: Any, one: Any, other: Any) -> Any:
    """Where the weight of something is found."""
    mixed = np.uint64(one) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(other) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed + np.uint64(kind)) * np.uint64(0xD6E8FEB86659FD93)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64(mixed >> np.uint64(64 - BITS))


@compiled
def _only(of: Any, other: Any, number: Any, beside: Any, out: Any) -> Any:
    """The words of owner `number` that `beside` of the others does not have; how many, and how many both have."""
    starts, word = of
    ends, theirs = other
    first, last = starts[number], min(starts[number + 1], starts[number] + MOST_WORDS)
    k, end, count = ends[beside], ends[beside + 1], 0
    for i in range(first, last):
        while k < end and theirs[k] < word[i]:
            k += 1
        if k >= end or theirs[k] != word[i]:
            out[count] = word[i]
            count += 1
    return count, last - first - count


@compiled
def _features(
    q: Any, a: Any, place: Any, queries: Any, documents: Any, asked: Any, told: Any, out: Any
) -> Any:
    """Where the weights of a pair are found; how many."""
    only_asked, both = _only(queries, documents, q, a, asked)
    only_told, _ = _only(documents, queries, a, q, told)
    starts, word = queries
    out[0] = _place(0, a, 0)
    out[1] = _place(1, place, 0)
    out[2] = _place(2, both, only_asked)
    out[3] = _place(3, both, only_told)
    n = 4
    for i in range(only_asked):
        out[n] = _place(4, asked[i], 0)
        n += 1
    for k in range(only_told):
        out[n] = _place(5, told[k], 0)
        n += 1
        for i in range(only_asked):
            out[n] = _place(6, asked[i], told[k])
            n += 1
    for i in range(starts[q], min(starts[q + 1], starts[q] + MOST_WORDS)):
        out[n] = _place(7, word[i], a)
        n += 1
    return n


@compiled
def _count(rows: Any, query: Any, document: Any, place: Any, queries: Any, documents: Any) -> Any:
    """How many of the pairs have each weight."""
    often = np.zeros(1 << BITS, np.float32)
    asked, told = np.empty(MOST_WORDS, np.int64), np.empty(MOST_WORDS, np.int64)
    out = np.empty(_ROOM, np.int64)
    for row in rows:
        n = _features(query[row], document[row], place[row], queries, documents, asked, told, out)
        for i in range(n):
            often[out[i]] += 1
    return often


@compiled
def _learn(
    rows: Any,
    stands_for: Any,
    query: Any,
    document: Any,
    place: Any,
    queries: Any,
    documents: Any,
    clicked: Any,
    could: Any,
    base: Any,
    often: Any,
    weights: Any,
    squares: Any,
) -> None:
    """One pass: each weight goes down its slope, the less far the more it went before (AdaGrad)."""
    asked, told = np.empty(MOST_WORDS, np.int64), np.empty(MOST_WORDS, np.int64)
    out = np.empty(_ROOM, np.int64)
    for at in range(len(rows)):
        row = rows[at]
        n = _features(query[row], document[row], place[row], queries, documents, asked, told, out)
        margin = base
        for i in range(n):
            margin += weights[out[i]]
        share = 1 / (1 + np.exp(-margin))
        slope = share - 1
        if not clicked[row]:
            slope = could[row] * share * (1 - share) / max(1 - could[row] * share, 1e-9) * stands_for[at]
        for i in range(n):
            to = out[i]
            step = slope + PRIOR * weights[to] / often[to]
            squares[to] += step * step
            weights[to] -= STEP * step / np.sqrt(squares[to])


@compiled
def _judge(
    rows: Any,
    query: Any,
    document: Any,
    place: Any,
    queries: Any,
    documents: Any,
    base: Any,
    weights: Any,
    found: Any,
) -> None:
    asked, told = np.empty(MOST_WORDS, np.int64), np.empty(MOST_WORDS, np.int64)
    out = np.empty(_ROOM, np.int64)
    for row in rows:
        n = _features(query[row], document[row], place[row], queries, documents, asked, told, out)
        found[row] = base
        for i in range(n):
            found[row] += weights[out[i]]
