"""Lexicon: which words of queries go with which documents, and with which words of theirs.

People who ask for "fox development files" want libfox, and those who ask for "bird development files" want
libbird: "development files" that a document does not say, beside "lib" that the query does not, tell of both. A linear
model learns a weight for each word that only one of the two says, for each pair of such words, for each document, for
each document with each word of a query, for how many words both say and one leaves out, and for each place on a page.
It maximises the likelihood of `relevance`. Each pair is judged by a model that has not learned from it, so its own
clicks do not enter; the trees of `relevance` take that for one more kind of evidence.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.demand.examples import examples
from wayword.demand.pairs import Floats, Pairs
from wayword.demand.wording import Wording
from wayword.numba_jit import compiled

FOLDS, EPOCHS = 4, 2
STEP = 0.2
MANY = 30
"""Where a pair has more weights than this, each moves the less: together they would go too far."""
PRIOR = 1.0
"""How strongly weights are drawn to 0, in pairs."""
BITS = 22
"""Weights are found by a hash of so many bits. Where there are more, some share one: little harm."""
MOST_WORDS = 24
"""So many words of a query, and of a document, are looked at: those of the lowest numbers."""
_PLACES = 8 + 3 * MOST_WORDS + MOST_WORDS * MOST_WORDS


def margins(
    wording: Wording, pairs: Pairs, clicks: Floats, volume: Floats, *, seed: int = 0, threads: int = 1
) -> Floats:
    """The log-odds that each pair's document is wanted, by those of the models that have not learned from the pair."""
    clicked = clicks > 0
    rng = np.random.default_rng(seed)
    could = -np.expm1(-volume[pairs.query] * pairs.p)
    rows, weight = examples(pairs, clicked, could, rng)
    if not clicked[rows].any():
        return np.zeros(len(pairs))
    fold = rng.integers(0, FOLDS, len(pairs))
    orders = [np.argsort(rng.random(len(pairs))[rows]) for _ in range(EPOCHS)]
    given = _given(wording, pairs)
    found = np.zeros(len(pairs))

    def judge(number: int) -> None:
        own = fold == number
        learned = [order[~own[rows[order]]] for order in orders]
        base, weights = _learned(given, clicked, could, rows, weight, learned)
        _judge(np.flatnonzero(own), given, base, weights, found)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(judge, range(FOLDS)))
    return found


def _given(wording: Wording, pairs: Pairs) -> tuple[Any, ...]:
    """What is known of the pairs, as compiled code takes it: query, document, class of its place, words of both."""
    place = np.clip(np.round(-2 * np.log2(np.maximum(pairs.shown, 1e-9))), 0, 63).astype(np.int64)
    return pairs.query, pairs.document, place, wording.queries.arrays, wording.documents.arrays


def _learned(
    given: tuple[Any, ...],
    clicked: NDArray[np.bool_],
    could: Floats,
    rows: NDArray[np.int64],
    weight: Floats,
    orders: list[NDArray[np.int64]],
) -> tuple[float, NDArray[np.float32]]:
    """(base, weights by their place) after a pass over the examples in each order: the mean over the last pass.

    `rows` are the examples' pairs, `weight` how many pairs each stands for.
    """
    first = orders[0]
    share = float(np.clip(clicked[rows[first]].sum() / max(weight[first].sum(), 1.0), 1e-6, 0.5))
    base = float(np.log(share / (1 - share)))
    weights, squares = np.zeros(1 << BITS, np.float32), np.ones(1 << BITS, np.float32)
    often = _count(rows[first], given)
    for order in orders:
        late = np.zeros(1 << BITS, np.float32)
        _learn(rows[order], weight[order], given, clicked, could, base, often, weights, squares, late)
    return base, weights - late


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
def _room() -> Any:
    """Room for the words that only one of the two says, and for the places of weights."""
    return np.empty(MOST_WORDS, np.int64), np.empty(MOST_WORDS, np.int64), np.empty(_PLACES, np.int64)


@compiled
def _places(row: Any, given: Any, room: Any) -> Any:
    """Where the weights of a pair are found."""
    query, document, place, queries, documents = given
    asked, told, out = room
    q, a = query[row], document[row]
    only_asked, both = _only(queries, documents, q, a, asked)
    only_told, _ = _only(documents, queries, a, q, told)
    starts, word = queries
    out[0] = _place(0, a, 0)
    out[1] = _place(1, place[row], 0)
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
    return out[:n]


@compiled
def _margin(places: Any, base: Any, weights: Any) -> Any:
    margin = base
    for place in places:
        margin += weights[place]
    return margin


@compiled
def _count(rows: Any, given: Any) -> Any:
    """How many of the pairs have each weight."""
    often, room = np.zeros(1 << BITS, np.float32), _room()
    for row in rows:
        for place in _places(row, given, room):
            often[place] += 1
    return often


@compiled
def _learn(
    rows: Any,
    stands_for: Any,
    given: Any,
    clicked: Any,
    could: Any,
    base: Any,
    often: Any,
    weights: Any,
    squares: Any,
    late: Any,
) -> None:
    """One pass: each weight goes down its slope, the less far the more it went before (AdaGrad).

    `late` becomes by how much the weights at the end are above their mean over the pass.
    """
    room = _room()
    for at in range(len(rows)):
        row = rows[at]
        places = _places(row, given, room)
        share = 1 / (1 + np.exp(-_margin(places, base, weights)))
        slope = share - 1
        if not clicked[row]:
            slope = could[row] * share * (1 - share) / max(1 - could[row] * share, 1e-9) * stands_for[at]
        most = STEP * min(1.0, MANY / len(places))
        for place in places:
            step = slope + PRIOR * weights[place] / often[place]
            squares[place] += step * step
            change = -most * step / np.sqrt(squares[place])
            weights[place] += change
            late[place] += change * (at / len(rows))


@compiled
def _judge(rows: Any, given: Any, base: Any, weights: Any, found: Any) -> None:
    """Write the margins of these pairs."""
    room = _room()
    for row in rows:
        found[row] = _margin(_places(row, given, room), base, weights)
