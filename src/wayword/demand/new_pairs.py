"""Relevance priors of pairs that no model has seen: those of new queries, and of new results of known ones.

Until the next full run, which predicts them from all features, a pair's prior is what pairs at its rank have on
average, times two lifts that are estimated from known pairs and shrunk to 1: that of its document over all queries, and
that of the document among the queries with the most similar pages.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.demand.observations import Floats, Observations

NEIGHBOURS = 20
PAGE_SIZE = 20
"""Number of first results by which pages are compared."""
DOUBT = 0.05
"""Relevant documents of average lift that are added to those of a document."""
MOST = 0.95
"""Largest prior: a document may be irrelevant however similar queries fare."""
LEVELS = 64


def relevance_of_new_pairs(observations: Observations, relevance: Floats, known: NDArray[np.bool_]) -> Floats:
    """Fill the relevance of the pairs that are not `known`."""
    if known.all():
        return relevance
    level = np.clip(np.round(-2 * np.log2(np.maximum(observations.propensity, 1e-9))), 0, LEVELS - 1)
    base = _mean_by(level.astype(np.int64), relevance, known)
    of_document = [observations.sum_by_document(np.where(known, part, 0)) for part in (relevance, base)]
    lift = (of_document[0] + DOUBT) / (of_document[1] + DOUBT)
    new = np.flatnonzero(~known)
    queries, row = np.unique(observations.query[new], return_inverse=True)
    near = _nearest(observations, queries)
    shape = observations.queries, observations.documents
    pattern = csr_array(
        (np.ones(len(new)), (row, observations.document[new])), shape=(len(queries), shape[1])
    )
    sums = [
        csr_array(near @ _matrix(observations, np.where(known, part, 0))).multiply(pattern).tocsr()
        for part in (relevance, base)
    ]
    wanted, expected = (np.asarray(part[row, observations.document[new]]).ravel() for part in sums)
    document_lift = lift[observations.document[new]]
    filled = relevance.copy()
    filled[new] = np.minimum(base[new] * (wanted + DOUBT * document_lift) / (expected + DOUBT), MOST)
    return filled


def _mean_by(level: NDArray[np.int64], relevance: Floats, known: NDArray[np.bool_]) -> Floats:
    """The mean relevance of the known pairs at each pair's level of propensity, shrunk to that of all."""
    count = np.bincount(level[known], minlength=LEVELS)
    total = np.bincount(level[known], weights=relevance[known], minlength=LEVELS)
    mean = total.sum() / max(count.sum(), 1)
    result: Floats = ((total + mean) / (count + 1))[level]
    return result


def _matrix(observations: Observations, values: Floats) -> csr_array:
    shape = observations.queries, observations.documents
    arrays = values, observations.document, observations.starts
    return csr_array(arrays, shape=shape, copy=True)  # SciPy changes matrices in place


def _nearest(observations: Observations, queries: NDArray[np.integer]) -> csr_array:
    """`queries` × all queries: the cosine of the pages of the `NEIGHBOURS` most similar others."""
    p = observations.current_propensity
    order = np.lexsort((-p, observations.query))
    place = np.arange(len(order)) - observations.starts[observations.query[order]]
    first = np.zeros(len(order), bool)
    first[order[place < PAGE_SIZE]] = True
    pages = _matrix(observations, np.where(first, p, 0.0))
    pages.eliminate_zeros()
    length = np.sqrt(np.asarray(pages.multiply(pages).sum(axis=1)).ravel())
    pages.data /= np.repeat(np.maximum(length, 1e-12), np.diff(pages.indptr))
    cosine = csr_array(pages[queries] @ pages.T)
    rows = np.repeat(np.arange(len(queries)), np.diff(cosine.indptr))
    cosine.data[cosine.indices == queries[rows]] = 0.0
    best = np.lexsort((cosine.indices, -cosine.data, rows))
    kept = best[np.arange(len(best)) - cosine.indptr[rows] < NEIGHBOURS]
    return csr_array((cosine.data[kept], (rows[kept], cosine.indices[kept])), shape=cosine.shape)
