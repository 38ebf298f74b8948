"""demand: the documents wanted behind each query, and the queries that return each document.

Writes the sparse matrices `demand` (queries × documents) and `exposure` (documents × queries), and for each query its
own utility: what its page is worth to those who issue it.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.sparse import csr_array

from wayword.config import DemandConfig
from wayword.demand.artefact import DEMAND, EARLY, EXPOSURE, OWN, RELEVANCE
from wayword.demand.learning import STEPS, Learned, from_clicks, from_judgments
from wayword.demand.observations import Floats, Observations
from wayword.demand.training_data import SEARCH_COLUMNS, read
from wayword.engines.tables import fetch, fetch_numbered, tables_in
from wayword.logs import contexts_stage
from wayword.logs.contexts import PREFIX
from wayword.progress import Progress
from wayword.store.compressed_rows import WeightedRows
from wayword.store.stage import (
    Folders,
    Report,
    threads,
)
from wayword.utility import VARIANTS

SCRATCH = "features-"
"""Beginning of the name of the folder that holds features while they are needed."""
LEAST = 0.002
"""A document is left out of a query's demand if it is this improbable beside one that is surely wanted."""


def write(out: Path, at: Folders, config: DemandConfig, variant: str, progress: Progress) -> Report:
    """Fill `out`; `variant` is `unbiased`, or how judgments are measured."""
    with tables_in(out) as engine:
        fetch_numbered(engine, at, *SEARCH_COLUMNS)
        if "acceptance" in at:
            fetch(engine, at["acceptance"], "intended")
        data = read(engine, variant, intended="acceptance" in at)
    clicks = data.clicks_of("retriever", "ranker")
    observations = Observations.of(data.exposures, clicks)
    if VARIANTS[variant].whole:
        learned = from_judgments(data, observations)
    else:
        with TemporaryDirectory(prefix=SCRATCH, dir=out) as folder:
            learned = from_clicks(
                data,
                observations,
                folder=Path(folder),
                seed=config.seed,
                threads=threads(),
                progress=progress,
            )
    progress.advance(STEPS - 1, STEPS)
    WeightedRows.from_matrix(csr_array(data.exposures.T)).save(out, EXPOSURE)
    kept = save(out, observations, learned)
    save_relevance(out, observations, learned.relevance)
    if learned.early and contexts_stage.load(at["contexts"]).column_names != [PREFIX]:
        (out / EARLY).mkdir()
        save(out / EARLY, observations, learned.early)
    rate = learned.query_rate
    return {
        "pairs": len(observations),
        "pairs in demand": kept,
        "query rates differ": bool(len(rate) and np.ptp(rate) > 0.2 * rate.mean()),
        **learned.report,
    }


def save(folder: Path, observations: Observations, learned: Learned) -> int:
    """Write the demand of each query, without what is hardly wanted, and its own utility. Returns the pairs kept."""
    kept = learned.demand > LEAST * learned.query_rate[observations.query]
    query, demand = observations.query[kept], learned.demand[kept]
    shape = (observations.queries, observations.documents)
    matrix = csr_array((demand, (query, observations.document[kept])), shape=shape)
    utility = (learned.demand * observations.propensity)[kept]
    own = np.bincount(query, weights=utility, minlength=observations.queries)
    WeightedRows.from_matrix(matrix).save(folder, DEMAND)
    np.save(folder / f"{OWN}.npy", own.astype(np.float32), allow_pickle=False)
    return len(demand)


def save_relevance(folder: Path, observations: Observations, relevance: Floats) -> None:
    """Write the relevance prior of each pair, from which `wayword refresh` goes on."""
    rows = WeightedRows(observations.starts, observations.document, relevance.astype(np.float32))
    rows.save(folder, RELEVANCE)
