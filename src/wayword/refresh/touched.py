"""What new searches touch: queries with other counts or rankings, or none before, and the texts that lead to them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion.popular import popularity
from wayword.config import IndexConfig
from wayword.engines import tables
from wayword.errors import WorkspaceError
from wayword.index.build import USED
from wayword.index.earlier_lists import EarlierLists, touched_texts
from wayword.index.index import Index
from wayword.refresh.numbering import moved
from wayword.store.artefact import report_of
from wayword.store.stage import Folders
from wayword.store.workspace import Workspace


def touched_queries(before: Folders, at: Folders) -> NDArray[np.bool_]:
    """Mask of the queries that are new, or whose training searches, clicks or rankings have changed."""
    number = moved(before["rankings"], at["rankings"], "queries", "text")
    documents = moved(before["rankings"], at["rankings"], "documents", "document_id")
    queries = tables.read(at["rankings"], "queries").num_rows
    same = np.arange(tables.read(at["rankings"], "documents").num_rows)
    touched = np.ones(queries, bool)
    earlier = _facts(before, documents, len(number))
    now = _facts(at, same, queries)
    touched[number] = np.any([old != new[number] for old, new in zip(earlier, now, strict=True)], axis=0)
    return touched


def _facts(at: Folders, documents: NDArray[np.int64], queries: int) -> list[NDArray[np.float64]]:
    """For each query: its training searches, their clicks, and two sums that tell rankings apart."""
    searches = tables.read(at["rankings"], "numbered_searches", "search", "split", "query")
    training = pc.not_equal(searches["split"], "test").to_numpy()
    search, issued = (searches[name].to_numpy() for name in ("search", "query"))
    clicked = tables.read(at["rankings"], "numbered_clicks", "search")["search"].to_numpy()
    place = np.searchsorted(search, clicked)
    ranked = tables.read(at["rankings"], "rankings")
    query, rank = (ranked[name].to_numpy() for name in ("query", "rank"))
    key = (documents[ranked["document"].to_numpy()] * 2654435761 + rank * 40503) % 1_000_003
    intended = at.get("acceptance")
    searched = (
        np.bincount(issued[training], minlength=queries)
        if intended is None
        else popularity(at["rankings"], "retriever", "ranker", acceptance=intended, weighted=False)
    )
    return [
        searched.astype(np.float64),
        np.bincount(issued[place[training[place]]], minlength=queries).astype(np.float64),
        np.bincount(query, minlength=queries).astype(np.float64),
        np.bincount(query, weights=key, minlength=queries).astype(np.float64),
    ]


def earlier_lists(
    workspace: Workspace,
    current: Path,
    config: IndexConfig,
    before: Folders,
    at: Folders,
    touched: NDArray[np.bool_],
) -> EarlierLists | None:
    """The lists of the current version that can be copied; None unless it was built from the workspace as it is."""
    known = report_of(current).get("stages", {})
    if any(known.get(stage) != workspace.manifest["stages"][stage] for stage in USED):
        return None
    try:
        index = Index.open(current)
    except WorkspaceError:
        return None
    if index.about["policy"] != "wayword" or index.about["kept"] != config.kept:
        return None
    texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
    changed = [texts[query] for query in np.flatnonzero(touched).tolist()]
    number = moved(before["rankings"], at["rankings"], "queries", "text")
    return EarlierLists(index, number, touched_texts(changed) | _recorded(at["rankings"], touched))


def _recorded(rankings: Path, touched: NDArray[np.bool_]) -> frozenset[str]:
    """The prefixes that searches for touched queries recorded."""
    searches = tables.read(rankings, "numbered_searches", "prefix", "query")
    rows = searches.filter(pa.array(touched[searches["query"].to_numpy()]))
    return frozenset(pc.unique(rows["prefix"]).drop_null().to_pylist())
