"""demand: the documents wanted behind each query, and the queries that return each document.

Writes the sparse matrices `demand` (queries × documents) and `exposure` (documents × queries), and for each query its
own utility: what its page is worth to those who issue it.
"""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from wayword.config import DemandConfig
from wayword.demand.artefact import DEMAND, EARLY, EXPOSURE, OWN
from wayword.demand.known import GAIN, read
from wayword.demand.learning import STEPS, Learned, from_clicks, from_judgments
from wayword.demand.pairs import Pairs
from wayword.engines.tables import fetch_numbered, tables_in
from wayword.logs import contexts_stage
from wayword.logs.contexts import PREFIX
from wayword.progress import Progress
from wayword.store.compressed_rows import WeightedRows
from wayword.store.stage import (
    Folders,
    Report,
    threads,
)

LEAST = 0.002
"""A document is left out of a query's demand if it is this improbable beside one that is surely wanted."""


def write(out: Path, at: Folders, config: DemandConfig, variant: str, progress: Progress) -> Report:
    """Fill `out`; `variant` is `unbiased`, or how judgments are measured."""
    with tables_in(out) as engine:
        fetch_numbered(engine, at)
        known = read(engine, variant)
    pairs = Pairs.of(known.exposures, known.clicks_of("retriever", "ranker"), most=config.max_pairs)
    if variant in GAIN:
        learned = from_judgments(known, pairs)
    else:
        learned = from_clicks(known, pairs, seed=config.seed, threads=threads(), progress=progress)
    progress.advance(STEPS - 1, STEPS)
    WeightedRows.from_matrix(csr_array(known.exposures.T)).save(out, EXPOSURE)
    kept = save(out, pairs, learned)
    if learned.early and contexts_stage.load(at["contexts"]).column_names != [PREFIX]:
        (out / EARLY).mkdir()
        save(out / EARLY, pairs, learned.early)
    volume = learned.volume
    return {
        "pairs": len(pairs),
        "pairs in demand": kept,
        "volume differs by query": bool(len(volume) and np.ptp(volume) > 0.2 * volume.mean()),
        **learned.report,
    }


def save(folder: Path, pairs: Pairs, learned: Learned) -> int:
    """Write the demand of each query, without what is hardly wanted, and its own utility. Returns the pairs kept."""
    kept = learned.rates > LEAST * learned.volume[pairs.query]
    query, rates = pairs.query[kept], learned.rates[kept]
    matrix = csr_array((rates, (query, pairs.document[kept])), shape=(pairs.queries, pairs.documents))
    own = np.bincount(query, weights=(learned.rates * pairs.p)[kept], minlength=pairs.queries)
    WeightedRows.from_matrix(matrix).save(folder, DEMAND)
    np.save(folder / f"{OWN}.npy", own.astype(np.float32), allow_pickle=False)
    return len(rates)
