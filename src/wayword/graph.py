"""Documents ↔ queries: demand and exposure, and the best queries as their product.

The mean utility of a query over the searches of a context is an inner product, exactly:

    mean over s of û(s, q) = ⟨demand(x), exposure(q)⟩,   exposure(q)[a] = p[rank_q(a)]

so the best queries of a context over the whole universe are the largest entries of a row of demand · exposureᵀ.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.errors import WaywordError
from wayword.retrieval.candidates import Candidates

CONTEXTS_AT_ONCE = 512


def exposure(rankings: pa.Table, propensity: pa.Table, shape: tuple[int, int]) -> csr_array:
    """The matrix of queries × documents with p[rank], from the tables `rankings` and `propensity`."""
    known, p_of_known = propensity["rank"].to_numpy(), propensity["p"].to_numpy()
    by_rank = np.argsort(known)
    ranks, each = np.unique(rankings["rank"].to_numpy(), return_inverse=True)
    missing = np.setdiff1d(ranks, known)
    if len(missing):
        raise WaywordError(
            f"Found rankings at the ranks {', '.join(map(str, missing[:5]))} without a propensity; expected one for "
            "every rank of the rankings."
        )
    p = p_of_known[by_rank[np.searchsorted(known, ranks, sorter=by_rank)]][each]
    return csr_array((p, (rankings["query"].to_numpy(), rankings["document"].to_numpy())), shape=shape)


def best_queries(demand: csr_array, exposures: csr_array, k: int) -> Candidates:
    """The k queries of highest expected utility for each row of demand (contexts × documents), none of utility 0.

    Utilities are compared as the float32 they are returned as: sums that differ in the last bits only because their
    terms came in another order are ties, which go by query number.

    >>> demand = csr_array([[0.0, 3.0], [1.0, 0.0]])
    >>> exposures = csr_array([[1.0, 0.5], [0.0, 1.0], [0.5, 0.0]])
    >>> best = best_queries(demand, exposures, k=2)
    >>> list(zip(best.context.tolist(), best.query.tolist(), best.score.tolist()))
    [(0, 1, 3.0), (0, 0, 1.5), (1, 0, 1.0), (1, 2, 0.5)]
    """
    transposed = csr_array(exposures.T)
    parts = [
        _best_of_rows(csr_array(demand[start : start + CONTEXTS_AT_ONCE] @ transposed), start, k)
        for start in range(0, demand.shape[0], CONTEXTS_AT_ONCE)
    ]
    if not parts:
        return Candidates(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
    context, query, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Candidates.sorted(context, query, score)


def _best_of_rows(
    product: csr_array, first: int, k: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """The k largest entries of each row, ties by query number; SciPy's product stores no zero."""
    kept = []
    for row in range(product.shape[0]):
        low, high = product.indptr[row], product.indptr[row + 1]
        values, queries = product.data[low:high].astype(np.float32), product.indices[low:high]
        if high - low > k:
            bar = np.partition(values, -k)[-k]
            among = np.flatnonzero(values >= bar)
            values, queries = values[among], queries[among]
        order = np.lexsort((queries, -values))[:k]
        kept.append((np.full(len(order), first + row, np.int32), queries[order], values[order]))
    rows, chosen, scores = (np.concatenate(column) for column in zip(*kept, strict=True))
    return rows, chosen.astype(np.int32), scores
