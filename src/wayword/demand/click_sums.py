"""Compiled loops of `signals`: clicks and expected clicks of other pairs, summed for every pair."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.demand.observations import Floats
from wayword.demand.similarity import LARGEST_GROUP, CsrArrays
from wayword.numba_jit import compiled, subroutine

FOLDS = 20
"""One fold of this many is left out: more folds leave more clicks, fewer reveal less of the pair's own label."""
GROUP_PRIOR = 0.3
"""Expected clicks by which the rate of a group is shrunk to that of the document."""

Singles = NDArray[np.float32]
Numbers = NDArray[np.int32]
Flags = NDArray[np.bool_]
Folds = NDArray[np.int8]
Span = tuple[int, int]
"""First and last + 1."""
Graph = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Where the pairs of each query start, and the document of each pair."""


@subroutine
def _add(sums: Any, row: int, fold: int, values: Any) -> None:
    """Add to the sums of a fold and of all folds (the last)."""
    for column in range(sums.shape[2]):
        sums[row, fold, column] += values[column]
        sums[row, FOLDS, column] += values[column]


@subroutine
def _clear(sums: Any, row: int, fold: int) -> None:
    for column in range(sums.shape[2]):
        sums[row, fold, column] = 0.0
        sums[row, FOLDS, column] = 0.0


@compiled
def group_clicks(
    group_starts: NDArray[np.int64],
    member: Numbers,
    graph: Graph,
    clicks: Floats,
    expected_clicks: Floats,
    document_rate: Floats,
    fold: Folds,
    documents: int,
    own: int,
) -> tuple[Singles, Singles, Singles, Singles, Singles, Singles, Singles, Floats, Floats]:
    """The columns of `GroupClicks` but `rate`, and the expected clicks of all groups weighted by 1/size.

    With `own` ≥ 0, group g holds the queries that clicked document g, whose number in the graph is g − `own`, and is
    not used for document g itself.
    """
    starts, document = graph
    size = len(document)
    best, second = np.zeros(size, np.float32), np.zeros(size, np.float32)
    best_clicks, best_expected = np.zeros(size, np.float32), np.zeros(size, np.float32)
    queries, share = np.zeros(size, np.float32), np.zeros(size, np.float32)
    lift, all_clicks, all_expected = np.zeros(size, np.float32), np.zeros(size), np.zeros(size)
    # clicks, expected clicks and clicking queries of each document, by fold and (the last) of all folds
    sums = np.zeros((documents, FOLDS + 1, 3))
    for group in range(len(group_starts) - 1):
        members = group_starts[group + 1] - group_starts[group]
        if members < 2 or members > LARGEST_GROUP:
            continue
        for m in range(group_starts[group], group_starts[group + 1]):
            for j in range(starts[member[m]], starts[member[m] + 1]):
                _add(sums, document[j], fold[j], (clicks[j], expected_clicks[j], np.float64(clicks[j] > 0)))
        for m in range(group_starts[group], group_starts[group + 1]):
            for j in range(starts[member[m]], starts[member[m] + 1]):
                a, k = document[j], fold[j]
                n, d = max(sums[a, FOLDS, 0] - sums[a, k, 0], 0.0), sums[a, FOLDS, 1] - sums[a, k, 1]
                if d < 1e-9 or (own >= 0 and a + own == group):
                    continue
                rate = (n + GROUP_PRIOR * document_rate[j]) / (d + GROUP_PRIOR)
                if rate > best[j]:
                    second[j] = best[j]
                    best[j], best_clicks[j], best_expected[j] = rate, n, d
                elif rate > second[j]:
                    second[j] = rate
                others = sums[a, FOLDS, 2] - sums[a, k, 2]
                queries[j] = max(queries[j], others)
                share[j] = max(share[j], others / (members - 1))
                lift[j] += np.log(rate / document_rate[j])
                all_clicks[j] += n / members
                all_expected[j] += d / members
        for m in range(group_starts[group], group_starts[group + 1]):
            for j in range(starts[member[m]], starts[member[m] + 1]):
                _clear(sums, document[j], fold[j])
    return best, best_clicks, best_expected, second, queries, share, lift, all_clicks, all_expected


@compiled
def neighbour_clicks(
    graph: Graph, clicks: Floats, expected_clicks: Floats, other: Numbers, similarity: Singles, documents: int
) -> tuple[Singles, Singles, Singles]:
    """For each pair, the clicks and expected clicks on its document by neighbours of its query, weighted by
    similarity, and the similarity of the nearest neighbour that clicked it."""
    starts, document = graph
    size = len(document)
    total, expected, closest = (
        np.zeros(size, np.float32),
        np.zeros(size, np.float32),
        np.zeros(size, np.float32),
    )
    place = np.full(documents, -1, np.int64)
    for query in range(len(starts) - 1):
        if starts[query] == starts[query + 1]:
            continue
        for j in range(starts[query], starts[query + 1]):
            place[document[j]] = j
        for n in range(other.shape[1]):
            if other[query, n] < 0:
                break
            near = similarity[query, n]
            for j in range(starts[other[query, n]], starts[other[query, n] + 1]):
                at = place[document[j]]
                if at >= 0:
                    total[at] += near * clicks[j]
                    expected[at] += near * expected_clicks[j]
                    if clicks[j] > 0:
                        closest[at] = max(closest[at], near)
        for j in range(starts[query], starts[query + 1]):
            place[document[j]] = -1
    return total, expected, closest


@compiled
def similar_document_clicks(
    queries: Span,
    graph: Graph,
    clicked: Flags,
    expected_clicks: Floats,
    other: Numbers,
    similarity: Singles,
    columns: tuple[Singles, Singles, Singles],
) -> None:
    """For each pair of a span of queries, the similar documents that were clicked for the same query and those that
    would be if relevant, weighted by similarity, and the similarity of the most similar clicked document."""
    starts, document = graph
    total, expected, closest = columns
    place = np.full(len(other), -1, np.int64)
    for query in range(queries[0], queries[1]):
        for j in range(starts[query], starts[query + 1]):
            place[document[j]] = j
        for j in range(starts[query], starts[query + 1]):
            for n in range(other.shape[1]):
                to, near = other[document[j], n], similarity[document[j], n]
                if to < 0:
                    break
                at = place[to]
                if at >= 0:
                    total[j] += near * clicked[at]
                    expected[j] += near * (1 - np.exp(-expected_clicks[at]))
                    if clicked[at]:
                        closest[j] = max(closest[j], near)
        for j in range(starts[query], starts[query + 1]):
            place[document[j]] = -1


@compiled
def cosine_clicks(
    starts: NDArray[np.int64],
    pair: NDArray[np.int64],
    query: Numbers,
    clicks: Floats,
    expected_clicks: Floats,
    fold: Folds,
    vectors: CsrArrays,
    size: int,
) -> tuple[Floats, Floats]:
    """For each pair, the clicks and expected clicks on its document in other folds, weighted by the cosine of the
    queries. `pair` holds the pairs by document, those of document a from `starts[a]` to `starts[a + 1]`."""
    row, column, value = vectors
    total, expected = np.zeros(len(pair)), np.zeros(len(pair))
    # clicks and expected clicks by fold and (the last) of all folds
    sums = np.zeros((size, FOLDS + 1, 2))
    for document in range(len(starts) - 1):
        for k in range(starts[document], starts[document + 1]):
            of, j = query[pair[k]], pair[k]
            for i in range(row[of], row[of + 1]):
                _add(sums, column[i], fold[j], (clicks[j] * value[i], expected_clicks[j] * value[i]))
        for k in range(starts[document], starts[document + 1]):
            of, j = query[pair[k]], pair[k]
            for i in range(row[of], row[of + 1]):
                total[j] += (sums[column[i], FOLDS, 0] - sums[column[i], fold[j], 0]) * value[i]
                expected[j] += (sums[column[i], FOLDS, 1] - sums[column[i], fold[j], 1]) * value[i]
        for k in range(starts[document], starts[document + 1]):
            of, j = query[pair[k]], pair[k]
            for i in range(row[of], row[of + 1]):
                _clear(sums, column[i], fold[j])
    return total, expected
