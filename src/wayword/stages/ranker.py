"""ranker: features, and a model that orders candidates by the utility they had (the paper's Fig. 2)."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword import tables, utility
from wayword.config import Config
from wayword.contexts import ContextColumns
from wayword.engines import Engine
from wayword.features import make_encoder
from wayword.features.pairs import Featuriser
from wayword.ranking import RANKERS, Examples
from wayword.retrieval.candidates import Candidates
from wayword.stages import Advance, Folders, Report, contexts, tables_in, threads
from wayword.stages.retriever import Retrievers

FEATURES, MODEL = "features", "model"


def write(out: Path, at: Folders, config: Config, measure: utility.Measure, advance: Advance) -> Report:
    """Fill `out`. Popularity comes from the retriever's split: no search enters the features of its own example."""
    retrievers = Retrievers.load(at, config.retriever)
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "rankings", "numbered_clicks")
        tables.fetch(engine, at["propensity"], "propensity")
        tables.fetch(engine, at["contexts"], "instances")
        chosen, searches = _contexts(engine, config.ranker.max_contexts)
        typed = contexts.load(at["contexts"]).take(pa.array(chosen))
        candidates = retrievers.trained.retrieve(typed, config.retriever.candidates)
        labels = _labels(engine, candidates, chosen, measure)
    featuriser = Featuriser.build(
        retrievers.texts,
        retrievers.popularity.astype(np.float64),
        make_encoder(retrievers.texts, config.features),
        ContextColumns.fit(typed),
    )
    featuriser.save(out / FEATURES)
    examples = Examples.of(featuriser.features(typed, candidates), labels, candidates.context, searches)
    ranker = RANKERS[config.ranker.model].fit(examples, config.ranker, threads=threads(), progress=advance)
    ranker.save(out / MODEL)
    return {
        "contexts": len(examples.sizes),
        "candidates": len(labels),
        "candidates with a utility": int((labels > 0).sum()),
    }


def _contexts(engine: Engine, most: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The contexts of the ranker's split that had a click, at most `most` by md5, and their number of searches."""
    limit = f"LIMIT {most}" if most else ""
    rows = engine.arrow(
        f"""
        SELECT context, searches FROM (
          SELECT context, searches FROM (
            SELECT i.context, count(DISTINCT i.search) AS searches, count(c.search) AS clicks
            FROM instances AS i LEFT JOIN numbered_clicks AS c ON c.search = i.search
            WHERE i.split = 'ranker' GROUP BY i.context
          ) AS counted WHERE clicks > 0 ORDER BY md5(CAST(context AS STRING)), context {limit}
        ) AS sample ORDER BY context
        """
    )
    return rows["context"].to_numpy().astype(np.int32), rows["searches"].to_numpy()


def _labels(
    engine: Engine, candidates: Candidates, chosen: NDArray[np.int32], measure: utility.Measure
) -> NDArray[np.float64]:
    """The mean utility of each candidate over the searches of its context; 0 where no search speaks for it."""
    places = np.arange(len(candidates.query))
    pairs = {"context": chosen[candidates.context], "query": candidates.query, "place": places}
    engine.load("pairs", pa.table(pairs))
    utility.of_contexts(engine, "labels", "pairs", "ranker", measure)
    found = engine.arrow(
        "SELECT p.place, l.utility FROM pairs AS p JOIN labels AS l ON l.context = p.context AND l.query = p.query"
    )
    labels = np.zeros(len(places))
    labels[found["place"].to_numpy()] = found["utility"].to_numpy()
    return labels
