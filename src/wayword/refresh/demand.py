"""The demand with new clicks: the posterior of all counts, with the relevance model of the last full run.

The relevance prior of a pair does not depend on its own clicks, so it stays; what the clicks on other pairs would
change in it waits for the next full run. The posterior of every pair is computed anew, which takes a small part of the
time of learning.
"""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from wayword.demand.artefact import EXPOSURE, RELEVANCE
from wayword.demand.learning import from_relevance, shrinkage_of
from wayword.demand.new_pairs import relevance_of_new_pairs
from wayword.demand.observations import Floats, Observations
from wayword.demand.stage import save, save_relevance
from wayword.demand.training_data import SEARCH_COLUMNS, read
from wayword.engines import tables
from wayword.engines.tables import fetch, fetch_numbered, tables_in
from wayword.refresh.numbering import moved
from wayword.store.artefact import report_of
from wayword.store.compressed_rows import WeightedRows
from wayword.store.stage import Folders, Report


def write(out: Path, at: Folders, before: Folders, variant: str) -> Report:
    """Fill `out` like the stage `demand`, without what chooses settings."""
    with tables_in(out) as engine:
        fetch_numbered(engine, at, *SEARCH_COLUMNS)
        if "acceptance" in at:
            fetch(engine, at["acceptance"], "intended")
        data = read(engine, variant, intended="acceptance" in at)
    clicks = data.clicks_of("retriever", "ranker")
    observations = Observations.of(data.exposures, clicks)
    earlier, known = _known_relevance(at, before, observations)
    relevance = relevance_of_new_pairs(observations, earlier, known)
    learned = from_relevance(data, observations, relevance, shrinkage_of(report_of(before["demand"])))
    WeightedRows.from_matrix(csr_array(data.exposures.T)).save(out, EXPOSURE)
    kept = save(out, observations, learned)
    save_relevance(out, observations, relevance)
    rate = learned.query_rate
    return {
        "pairs": len(observations),
        "new pairs": int((~known).sum()),
        "pairs in demand": kept,
        "query rates differ": bool(len(rate) and np.ptp(rate) > 0.2 * rate.mean()),
        **learned.report,
    }


def _known_relevance(
    at: Folders, before: Folders, observations: Observations
) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """The relevance of each pair as it was, and which pairs had one."""
    query = moved(before["rankings"], at["rankings"], "queries", "text")
    document = moved(before["rankings"], at["rankings"], "documents", "document_id")
    documents = tables.read(before["rankings"], "documents").num_rows
    rows = WeightedRows.load(before["demand"], RELEVANCE, below=documents, rows=len(query))
    keys = query[rows.owner] * observations.documents + document[rows.values]
    wanted = observations.query.astype(np.int64) * observations.documents + observations.document
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    known = keys[place] == wanted if len(keys) else np.zeros(len(wanted), bool)
    return np.where(known, rows.weights[place] if len(keys) else 0.0, 0.0).astype(np.float64), known
