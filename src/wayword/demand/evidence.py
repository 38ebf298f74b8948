"""Evidence that a query's people want a document, from everything but the clicks on this very pair.

Of a pair (q, a) that the log has not shown enough, others tell: the same document elsewhere, queries that share words
with q or lead to the same pages, documents like a that were clicked for q. Each tells clicks and *expected* clicks
(those that the pair would have if the document were wanted there: volume · p), so that what was never looked at is no
evidence against.

No click on the pair itself enters, so the same clicks may serve as labels (see `relevance`). Where all queries tell of
a document, leaving out the pair alone would not do: of a document with 100 clicks, those that see 99 elsewhere are the
pairs with one. So the pairs are dealt to folds, and all of the pair's own fold is left out.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.demand import wording
from wayword.demand.pairs import Floats, Pairs
from wayword.demand.surroundings import LARGEST_GROUP, Surroundings, arrays
from wayword.numba_jit import compiled

FOLDS = 20
"""One of so many is left out: with more there is more evidence, with fewer the pair's own click shows through less."""
DOCUMENT_PRIOR, GROUP_PRIOR, SIMILAR_PRIOR = 1.0, 0.3, 0.1
"""Rates are shrunk with so many expected clicks: a document's to the mean, a group's to the document's."""

_OF_GROUP = ("best", "clicks", "expected", "second", "queries", "share", "lift", "rate", "weight")
_OF_NEIGHBOURS = ("clicks", "expected", "rate")
GROUPS = ("words", "phrases", "beginnings", "endings", "pages", "clicked")
NAMES = (
    "log_p",
    "document_rate",
    "document_clicks",
    "other_documents",
    "document_pages",
    "page_size",
    "words",
    *(f"{group}_{what}" for group in GROUPS for what in _OF_GROUP),
    *(
        f"{kind}_{what}"
        for kind in ("near_pages", "near_words", "alike")
        for what in (*_OF_NEIGHBOURS, "closest")
    ),
    *(
        f"{kind}_{what}"
        for kind in ("alike_pages", "alike_words", "everyone_pages", "everyone_words")
        for what in _OF_NEIGHBOURS
    ),
    *wording.NAMES,
    "lexicon",
)
RISING = frozenset(
    name for name in NAMES if name.endswith(("_rate", "_best", "_weight")) or name == "alike_clicks"
)
"""More of these never speaks against a document."""


def evidence(
    pairs: Pairs, clicks: Floats, volume: Floats, around: Surroundings, lexicon: Floats
) -> NDArray[np.float32]:
    """One row of `NAMES` per pair. `clicks` are those of each pair, `volume` that of each query; see `lexicon`."""
    matrix = np.empty((len(pairs), len(NAMES)), np.float32)
    for column, values in enumerate(_columns(pairs, clicks, volume, around)):
        matrix[:, column] = values
    matrix[:, -1] = lexicon
    return matrix


def _columns(pairs: Pairs, clicks: Floats, volume: Floats, around: Surroundings) -> Iterator[NDArray[Any]]:
    """In the order of `NAMES`, but for the last."""
    expected = volume[pairs.query] * pairs.p
    seen = (clicks > 0).astype(np.float64)
    mean = max(clicks.sum() / max(expected.sum(), 1e-12), 1e-9)
    fold = folds(pairs)
    others = _of_other_folds(pairs, clicks, fold)
    rate = (others + DOCUMENT_PRIOR * mean) / (_of_other_folds(pairs, expected, fold) + DOCUMENT_PRIOR)
    shown = (pairs.shown > 0).astype(np.float64)
    log_p = np.log(np.maximum(pairs.shown, 1e-300))
    yield from (log_p, rate, others, pairs.of_query(seen)[pairs.query] - seen)
    yield pairs.of_document(shown)[pairs.document]
    yield pairs.of_query(shown)[pairs.query]
    yield around.words[pairs.query]
    graph = (pairs.starts, pairs.document)
    clicked = csr_array(
        (seen[seen > 0], (pairs.document[seen > 0], pairs.query[seen > 0])),
        shape=(pairs.documents, pairs.queries),
    )
    for kind in GROUPS:
        groups = clicked if kind == "clicked" else around.groups[kind]
        yield from _of_groups(
            groups.indptr.astype(np.int64),
            groups.indices.astype(np.int32),
            graph,
            clicks,
            expected,
            rate,
            fold,
            pairs.documents,
            kind == "clicked",
            mean,
        )
    for near in (around.near_pages, around.near_words):
        told, hoped, closest = _of_neighbours(
            graph, clicks, expected, near.other, near.similarity, pairs.documents
        )
        yield from (told, hoped, (told + mean) / (hoped + 1.0), closest)
    could = 1 - np.exp(-expected)
    told, hoped, closest = _of_similar(
        graph, seen, could, around.alike.other, around.alike.similarity, pairs.documents
    )
    yield from (told, hoped, told / (hoped + SIMILAR_PRIOR), closest)
    for near in (around.near_pages, around.near_words):
        n, d, _ = _of_neighbours(
            graph,
            told.astype(np.float64),
            hoped.astype(np.float64),
            near.other,
            near.similarity,
            pairs.documents,
        )
        yield from (n, d, n / (d + SIMILAR_PRIOR))
    order = np.argsort(pairs.document, kind="stable")
    starts = np.searchsorted(pairs.document[order], np.arange(pairs.documents + 1))
    for vectors in (around.pages, around.texts):
        told, hoped = _of_everyone(
            starts, order, pairs.query, clicks, expected, fold, arrays(vectors), vectors.shape[1]
        )
        told, hoped = _without_rounding(told), _without_rounding(hoped)
        yield from (told, hoped, (told + GROUP_PRIOR * mean) / (hoped + GROUP_PRIOR))
    yield from around.wording.columns(pairs)


def folds(pairs: Pairs) -> NDArray[np.int64]:
    """Which fold each pair is in."""
    return np.random.default_rng(0).integers(0, FOLDS, len(pairs))


def _of_other_folds(pairs: Pairs, values: Floats, fold: NDArray[np.int64]) -> Floats:
    """For each pair, the sum of the values of its document's pairs in other folds."""
    owner = pairs.document.astype(np.int64) * FOLDS + fold
    of_fold = np.bincount(owner, weights=values, minlength=pairs.documents * FOLDS)
    return _without_rounding(pairs.of_document(values)[pairs.document] - of_fold[owner])


def _without_rounding(values: Floats) -> Floats:
    """What is left of a sum when a part is taken away, not what rounding makes of it."""
    result: Floats = np.maximum(np.round(values, 9), 0.0)
    return result


@compiled
def _of_groups(
    group_starts: Any,
    member: Any,
    graph: Any,
    clicks: Any,
    expected: Any,
    document_rate: Any,
    fold: Any,
    documents: Any,
    own: Any,
    mean: Any,
) -> Any:
    """Over the groups of each pair's query: clicks on its document by the group, but its fold, beside expected ones.

    The group's best rate, the clicks and expected clicks behind it, and the second best rate; the most queries of a
    group that clicked it, and the largest share of a group that did; the sum of the logarithms of rate/document's
    rate; rate and clicks with small groups heavier. With `own`, group g are the queries that clicked document g, and
    says nothing of g.
    """
    starts, document = graph
    size = len(document)
    best, second = np.zeros(size, np.float32), np.zeros(size, np.float32)
    behind, looked = np.zeros(size, np.float32), np.zeros(size, np.float32)
    queries, share = np.zeros(size, np.float32), np.zeros(size, np.float32)
    lift, told, hoped = np.zeros(size, np.float32), np.zeros(size), np.zeros(size)
    num, den = np.zeros((documents, FOLDS + 1)), np.zeros((documents, FOLDS + 1))  # the last of all folds
    by = np.zeros((documents, FOLDS + 1), np.int64)
    for group in range(len(group_starts) - 1):
        members = group_starts[group + 1] - group_starts[group]
        if members < 2 or members > LARGEST_GROUP:
            continue
        for m in range(group_starts[group], group_starts[group + 1]):
            for j in range(starts[member[m]], starts[member[m] + 1]):
                for k in (fold[j], FOLDS):
                    num[document[j], k] += clicks[j]
                    den[document[j], k] += expected[j]
                    by[document[j], k] += clicks[j] > 0
        for m in range(group_starts[group], group_starts[group + 1]):
            for j in range(starts[member[m]], starts[member[m] + 1]):
                a, k = document[j], fold[j]
                n, d = max(num[a, FOLDS] - num[a, k], 0.0), den[a, FOLDS] - den[a, k]
                if d < 1e-9 or (own and a == group):
                    continue
                rate = (n + GROUP_PRIOR * document_rate[j]) / (d + GROUP_PRIOR)
                if rate > best[j]:
                    second[j] = best[j]
                    best[j], behind[j], looked[j] = rate, n, d
                elif rate > second[j]:
                    second[j] = rate
                others = by[a, FOLDS] - by[a, k]
                queries[j] = max(queries[j], others)
                share[j] = max(share[j], others / (members - 1))
                lift[j] += np.log(rate / document_rate[j])
                told[j] += n / members
                hoped[j] += d / members
        for m in range(group_starts[group], group_starts[group + 1]):
            for j in range(starts[member[m]], starts[member[m] + 1]):
                num[document[j]], den[document[j]], by[document[j]] = 0.0, 0.0, 0
    return [
        best,
        behind,
        looked,
        second,
        queries,
        share,
        lift,
        ((told + SIMILAR_PRIOR * mean) / (hoped + SIMILAR_PRIOR)).astype(np.float32),
        told.astype(np.float32),
    ]


@compiled
def _of_neighbours(
    graph: Any, clicks: Any, expected: Any, other: Any, similarity: Any, documents: Any
) -> Any:
    """For each pair, the clicks on its document by the neighbours of its query, the expected ones, and how near the
    nearest is that clicked it."""
    starts, document = graph
    size = len(document)
    told, hoped, closest = np.zeros(size, np.float32), np.zeros(size, np.float32), np.zeros(size, np.float32)
    place = np.full(documents, -1, np.int64)
    for query in range(len(starts) - 1):
        for j in range(starts[query], starts[query + 1]):
            place[document[j]] = j
        for n in range(other.shape[1]):
            if other[query, n] < 0:
                break
            near = similarity[query, n]
            for j in range(starts[other[query, n]], starts[other[query, n] + 1]):
                at = place[document[j]]
                if at >= 0:
                    told[at] += near * clicks[j]
                    hoped[at] += near * expected[j]
                    if clicks[j] > 0:
                        closest[at] = max(closest[at], near)
        for j in range(starts[query], starts[query + 1]):
            place[document[j]] = -1
    return told, hoped, closest


@compiled
def _of_similar(graph: Any, seen: Any, could: Any, other: Any, similarity: Any, documents: Any) -> Any:
    """For each pair, how many documents like its own were clicked for the same query, how many could have been, and
    how like the likest is that was."""
    starts, document = graph
    size = len(document)
    told, hoped, closest = np.zeros(size, np.float32), np.zeros(size, np.float32), np.zeros(size, np.float32)
    place = np.full(documents, -1, np.int64)
    for query in range(len(starts) - 1):
        for j in range(starts[query], starts[query + 1]):
            place[document[j]] = j
        for j in range(starts[query], starts[query + 1]):
            for n in range(other.shape[1]):
                to, like = other[document[j], n], similarity[document[j], n]
                if to < 0:
                    break
                at = place[to]
                if at >= 0:
                    told[j] += like * seen[at]
                    hoped[j] += like * could[at]
                    if seen[at] > 0:
                        closest[j] = max(closest[j], like)
        for j in range(starts[query], starts[query + 1]):
            place[document[j]] = -1
    return told, hoped, closest


@compiled
def _of_everyone(
    starts: Any, pair: Any, query: Any, clicks: Any, expected: Any, fold: Any, vectors: Any, size: Any
) -> Any:
    """For each pair, the clicks on its document in other folds, each times how near its query is, and the expected."""
    row, column, value = vectors
    told, hoped = np.zeros(len(pair)), np.zeros(len(pair))
    num, den = np.zeros((size, FOLDS + 1)), np.zeros((size, FOLDS + 1))  # the last of all folds
    for document in range(len(starts) - 1):
        for k in range(starts[document], starts[document + 1]):
            of, j = query[pair[k]], pair[k]
            for i in range(row[of], row[of + 1]):
                for part in (fold[j], FOLDS):
                    num[column[i], part] += clicks[j] * value[i]
                    den[column[i], part] += expected[j] * value[i]
        for k in range(starts[document], starts[document + 1]):
            of, j = query[pair[k]], pair[k]
            for i in range(row[of], row[of + 1]):
                told[j] += (num[column[i], FOLDS] - num[column[i], fold[j]]) * value[i]
                hoped[j] += (den[column[i], FOLDS] - den[column[i], fold[j]]) * value[i]
        for k in range(starts[document], starts[document + 1]):
            of = query[pair[k]]
            for i in range(row[of], row[of + 1]):
                num[column[i]], den[column[i]] = 0.0, 0.0
    return told, hoped
