"""Documents that are gone or out of stock leave what people want and what the pages of queries show.

A query that returns nothing else counts as one without results. The ranks of other documents stay as they were
exported. What a page is worth to those who issue its query shrinks by the share of its utility that is gone.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.sparse_topk import DemandGraph
from wayword.engines import tables
from wayword.rankings import availability
from wayword.store.stage import Folders

Mask = NDArray[np.bool_]


def available_documents(at: Folders) -> Mask | None:
    """Read which documents of a workspace can be had; None if all can."""
    if availability.STAGE not in at:
        return None
    mask = availability.load(at[availability.STAGE], tables.rows(at["rankings"], "documents"))
    return None if mask.all() else mask


def available_rankings(at: Folders) -> pa.Table:
    """Read the rankings of the documents that can be had."""
    rankings, mask = tables.read(at["rankings"], "rankings"), available_documents(at)
    return rankings if mask is None else rankings.filter(pa.array(mask[rankings["document"].to_numpy()]))


def only_available(
    graph: DemandGraph, own_utility: NDArray[np.float32], available: Mask
) -> tuple[DemandGraph, NDArray[np.float32]]:
    """Return demand, exposure and the queries' own utilities of the available documents.

    >>> from wayword.store.compressed_rows import WeightedRows
    >>> each, of = np.arange(3), np.array([0, 1], np.int32)  # one query wants both documents of its page
    >>> demand = WeightedRows(np.array([0, 2]), of, np.array([3, 2], np.float32))
    >>> exposure = WeightedRows(each, np.zeros(2, np.int32), np.array([1, 0.5], np.float32))
    >>> graph, own = DemandGraph(demand, exposure, 1), np.array([4.0], np.float32)
    >>> left, own = only_available(graph, own, np.array([False, True]))
    >>> left.demand.values.tolist(), left.exposure.lengths.tolist(), own.tolist()
    ([1], [0, 1], [1.0])
    """
    demand, exposure = graph.demand, graph.exposure
    left = DemandGraph(
        demand.select(available[demand.values]), exposure.select(available[exposure.owner]), graph.universe
    )
    before, after = _page_utility(graph), _page_utility(left)
    share = np.divide(after, before, out=np.ones(len(before)), where=before > 0)
    return left, (own_utility * share).astype(np.float32)


def _page_utility(graph: DemandGraph) -> NDArray[np.float64]:
    """⟨demand, exposure⟩ of each query with its own page."""
    demand = graph.demand.matrix(graph.documents)
    page = graph.exposure.matrix(graph.universe).T
    return np.asarray(demand.multiply(page).sum(axis=1), np.float64).ravel()
