"""Word interactions: which words of queries go with which documents, and with which words of documents.

Queries "X development files" lead to documents named "libX": "development files", which the document lacks, and
"lib", which the query lacks, are relevant to each other. A linear model has a weight for each word that only one of the
two texts has, for each pair of such words, for each document, for each document with each word of the query, for the
numbers of common and of missing words, and for each position on a page. It maximises the likelihood of
`relevance_prior` by stochastic gradient descent (AdaGrad) with hashed weights. The score of a pair comes from a model
trained without this pair, so it can be a feature.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from wayword.demand.observations import Floats, Observations
from wayword.demand.sampling import sample_pairs
from wayword.demand.text_match import TextMatch, Words
from wayword.numba_jit import compiled, subroutine

FOLDS, EPOCHS = 4, 2
SAMPLE = 500_000
"""About this many clicked pairs, and as many others, are learned from."""
STEP = 0.2
MANY = 30
"""A pair with more weights than this moves each of them less, because their changes add up."""
PRIOR = 1.0
"""Strength of the L2 penalty, in pairs."""
BITS = 22
"""Size of the hash table of weights. Weights that collide are shared."""
MAX_WORDS = 24
"""Number of words of a query, and of a document, that are used: those of the lowest numbers."""
_MAX_WEIGHTS = 8 + 3 * MAX_WORDS + MAX_WORDS * MAX_WORDS

Singles = NDArray[np.float32]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]
Pairs = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], Words, Words]
"""Query, document and position class of each pair, words of queries, words of documents."""
Buffers = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def log_odds(
    text: TextMatch,
    observations: Observations,
    clicks: Floats,
    query_rate: Floats,
    *,
    seed: int = 0,
    threads: int = 1,
) -> Floats:
    """The log-odds that each pair's document is relevant, by cross-fitting: from the model not trained on the pair."""
    clicked = clicks > 0
    rng = np.random.default_rng(seed)
    examination = observations.examination(query_rate)
    rows, weight = sample_pairs(observations, clicked, examination, rng, most=SAMPLE)
    if not clicked[rows].any():
        return np.zeros(len(observations))
    fold = rng.integers(0, FOLDS, len(observations))
    orders = [np.argsort(rng.random(len(observations))[rows]) for _ in range(EPOCHS)]
    pairs = compiled_pairs(text, observations)
    scores = np.zeros(len(observations))

    def cross_fit(number: int) -> None:
        held_out = fold == number
        training = [order[~held_out[rows[order]]] for order in orders]
        base, weights = train(pairs, clicked, examination, rows, weight, training)
        predict(np.flatnonzero(held_out), pairs, base, weights, scores)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(cross_fit, range(FOLDS)))
    return scores


def compiled_pairs(text: TextMatch, observations: Observations) -> Pairs:
    """The pairs as compiled code takes them."""
    p = np.maximum(observations.current_propensity, 1e-9)
    position = np.clip(np.round(-2 * np.log2(p)), 0, 63).astype(np.int64)
    return (
        observations.query,
        observations.document,
        position,
        text.queries.indexed,
        text.documents.indexed,
    )


def train(
    pairs: Pairs,
    clicked: Flags,
    examination: Floats,
    rows: Rows,
    weight: Floats,
    orders: list[Rows],
) -> tuple[float, Singles]:
    """The intercept and the hashed weights after one pass over the sample in each order, averaged over the last pass.

    `rows` are the sampled pairs, `weight` their importance weights.
    """
    first = orders[0]
    clicks = weight[first][clicked[rows[first]]].sum()
    share = float(np.clip(clicks / max(weight[first].sum(), 1.0), 1e-6, 0.5))
    base = float(np.log(share / (1 - share)))
    weights, squares = np.zeros(1 << BITS, np.float32), np.ones(1 << BITS, np.float32)
    frequency = _frequencies(rows[first], pairs)
    for order in orders:
        excess = np.zeros(1 << BITS, np.float32)
        _train_pass(
            rows[order],
            weight[order],
            pairs,
            clicked,
            examination,
            base,
            frequency,
            weights,
            squares,
            excess,
        )
    return base, weights - excess


@subroutine
def _hash(kind: int, one: int, other: int) -> int:
    """The place of a weight in the hash table."""
    mixed = np.uint64(one) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(other) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed + np.uint64(kind)) * np.uint64(0xD6E8FEB86659FD93)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64(mixed >> np.uint64(64 - BITS))  # type: ignore[return-value]


@subroutine
def _missing_words(of: Words, other: Words, number: int, beside: int, out: Rows) -> tuple[int, int]:
    """Write the words of text `number` that text `beside` lacks; return how many, and how many both have."""
    starts, word = of
    other_starts, other_word = other
    first, last = starts[number], min(starts[number + 1], starts[number] + MAX_WORDS)
    k, end, count = other_starts[beside], other_starts[beside + 1], 0
    for i in range(first, last):
        while k < end and other_word[k] < word[i]:
            k += 1
        if k >= end or other_word[k] != word[i]:
            out[count] = word[i]
            count += 1
    return count, last - first - count


@subroutine
def _buffers() -> Buffers:
    """Room for the words that only the query has, that only the document has, and for the places of weights."""
    return np.empty(MAX_WORDS, np.int64), np.empty(MAX_WORDS, np.int64), np.empty(_MAX_WEIGHTS, np.int64)


@subroutine
def _places(row: int, pairs: Pairs, buffers: Buffers) -> Rows:
    """The places of the weights of a pair."""
    query, document, position, queries, documents = pairs
    query_only, document_only, out = buffers
    q, a = query[row], document[row]
    of_query, both = _missing_words(queries, documents, q, a, query_only)
    of_document, _ = _missing_words(documents, queries, a, q, document_only)
    starts, word = queries
    out[0] = _hash(0, a, 0)
    out[1] = _hash(1, position[row], 0)
    out[2] = _hash(2, both, of_query)
    out[3] = _hash(3, both, of_document)
    n = 4
    for i in range(of_query):
        out[n] = _hash(4, query_only[i], 0)
        n += 1
    for k in range(of_document):
        out[n] = _hash(5, document_only[k], 0)
        n += 1
        for i in range(of_query):
            out[n] = _hash(6, query_only[i], document_only[k])
            n += 1
    for i in range(starts[q], min(starts[q + 1], starts[q] + MAX_WORDS)):
        out[n] = _hash(7, word[i], a)
        n += 1
    return out[:n]


@subroutine
def _score(places: Rows, base: float, weights: Singles) -> float:
    score = base
    for place in places:
        score += weights[place]
    return score


@compiled
def _frequencies(rows: Rows, pairs: Pairs) -> Singles:
    """The number of pairs that have each weight."""
    frequency, buffers = np.zeros(1 << BITS, np.float32), _buffers()
    for row in rows:
        for place in _places(row, pairs, buffers):
            frequency[place] += 1
    return frequency


@compiled
def _train_pass(
    rows: Rows,
    importance: Floats,
    pairs: Pairs,
    clicked: Flags,
    examination: Floats,
    base: float,
    frequency: Singles,
    weights: Singles,
    squares: Singles,
    excess: Singles,
) -> None:
    """One pass of AdaGrad. `excess` becomes the final weights minus their mean over the pass."""
    buffers = _buffers()
    for at in range(len(rows)):
        row = rows[at]
        places = _places(row, pairs, buffers)
        share = 1 / (1 + np.exp(-_score(places, base, weights)))
        slope = (share - 1) * importance[at]
        if not clicked[row]:
            e = examination[row]
            slope = e * share * (1 - share) / max(1 - e * share, 1e-9) * importance[at]
        rate = STEP * min(1.0, MANY / len(places))
        for place in places:
            gradient = slope + PRIOR * weights[place] / frequency[place]
            squares[place] += gradient * gradient
            change = -rate * gradient / np.sqrt(squares[place])
            weights[place] += change
            excess[place] += change * (at / len(rows))


@compiled
def predict(rows: Rows, pairs: Pairs, base: float, weights: Singles, scores: Floats) -> None:
    """Write the scores of these pairs."""
    buffers = _buffers()
    for row in rows:
        scores[row] = _score(_places(row, pairs, buffers), base, weights)
