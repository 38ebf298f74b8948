"""Exposure: the examination probability of each document on the result page of each query."""

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from wayword.errors import WaywordError


def exposure(rankings: pa.Table, propensity: pa.Table, shape: tuple[int, int]) -> csr_array:
    """Sparse matrix (queries × documents) of p[rank], from the tables `rankings` and `propensity`."""
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
