"""Stage `ranker`: features, and a model that orders candidates by their estimated utility (the paper's Fig. 2)."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword import utility
from wayword.completion.candidates import Candidates
from wayword.config import Config
from wayword.engines import Engine, tables, uniform
from wayword.engines.tables import tables_in
from wayword.logs import contexts_stage as contexts
from wayword.logs.contexts import PREFIX, ContextColumns
from wayword.paper.features import make_encoder
from wayword.paper.features.ranker_features import Featuriser
from wayword.paper.rankers import RANKERS, Examples
from wayword.paper.retriever_stage import Retrievers
from wayword.progress import Progress
from wayword.store.stage import Folders, Report, threads

FEATURES, MODEL = "features", "model"


def write(
    out: Path,
    at: Folders,
    config: Config,
    measure: utility.Measure,
    progress: Progress,
    *,
    columns: bool = True,
    prepared: Featuriser | None = None,
) -> Report:
    """Train the ranker and write it to `out`.

    Popularity is counted on the retriever's split, so no search contributes to the features of its own example. Without
    `columns` the ranker has no features of context columns. `prepared` is a featuriser with the same queries and
    settings.
    """
    retrievers = Retrievers.load(at, config.retriever)
    with tables_in(out) as engine:
        fill(engine, at, config.ranker.share)
        chosen = training_contexts(engine, config.ranker.max_contexts)
        typed = contexts.load(at["contexts"]).take(pa.array(chosen))
        candidates = retrievers.trained.retrieve(typed, config.retriever.candidates)
        labels, searches = labelled(engine, candidates, chosen, measure)
    seen = ContextColumns.fit(typed if columns else typed.select([PREFIX]))
    featuriser = replace(prepared, columns=seen) if prepared else featuriser_of(retrievers, config, seen)
    featuriser.save(out / FEATURES)
    examples = Examples.of(featuriser.features(typed, candidates), labels, candidates.context, searches)
    ranker = RANKERS[config.ranker.model].fit(examples, config.ranker, threads=threads(), progress=progress)
    ranker.save(out / MODEL)
    return counts(examples)


def featuriser_of(retrievers: Retrievers, config: Config, columns: ContextColumns) -> Featuriser:
    """Build the featuriser of contexts with these columns and the queries of a workspace."""
    return Featuriser.build(
        retrievers.texts,
        retrievers.popularity.astype(np.float64),
        make_encoder(retrievers.texts, config.features),
        columns,
    )


def counts(examples: Examples) -> Report:
    """Count the training examples of a ranker."""
    return {
        "contexts": len(examples.sizes),
        "candidates": len(examples.labels),
        "candidates with a utility": int((examples.labels > 0).sum()),
    }


def fill(engine: Engine, at: Folders, share: float) -> None:
    """Load the tables that labels need, with a share of the ranker's searches, sampled by md5.

    A smaller share is a subset of a larger one."""
    tables.fetch(engine, at["rankings"], "rankings", "numbered_clicks", "numbered_searches")
    tables.fetch(engine, at["propensity"], "propensity")
    engine.load("all_instances", tables.read(at["contexts"], "instances"))
    engine.step(
        "instances",
        f"""SELECT i.search, i.split, i.pass, i.context FROM all_instances AS i
            JOIN numbered_searches AS s ON s.search = i.search
            WHERE i.split <> 'ranker' OR {uniform("concat(s.search_id, '/ranker')")} < :share""",
        share=share,
    )


def training_contexts(engine: Engine, most: int = 0) -> NDArray[np.int32]:
    """Return the contexts of the ranker's split with a click, at most `most`, sampled by md5 (0: all)."""
    limit = f"LIMIT {most}" if most else ""
    rows = engine.arrow(
        f"""
        SELECT context FROM (
          SELECT DISTINCT i.context FROM instances AS i JOIN numbered_clicks AS c ON c.search = i.search
          WHERE i.split = 'ranker' ORDER BY md5(CAST(i.context AS STRING)), i.context {limit}
        ) AS sample ORDER BY context
        """
    )
    return rows["context"].to_numpy().astype(np.int32)


def labelled(
    engine: Engine, candidates: Candidates, chosen: NDArray[np.int32], measure: utility.Measure
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the mean utility of each candidate over the searches of its context, and the searches per context.

    A candidate without observed utility has 0. `chosen` maps `candidates.context` to the numbers of the contexts."""
    places = np.arange(len(candidates.query))
    pairs = {"context": chosen[candidates.context], "query": candidates.query, "place": places}
    engine.load("pairs", pa.table(pairs))
    utility.of_contexts(engine, "labels", "pairs", "ranker", measure)
    rows = engine.arrow(
        "SELECT p.place, l.utility FROM pairs AS p JOIN labels AS l ON l.context = p.context AND l.query = p.query"
    )
    labels = np.zeros(len(places))
    labels[rows["place"].to_numpy()] = rows["utility"].to_numpy()
    return labels, _searches(engine, chosen)


def _searches(engine: Engine, chosen: NDArray[np.int32]) -> NDArray[np.int64]:
    """Count the ranker's searches of each context; the contexts are sorted."""
    rows = engine.arrow(
        """SELECT context, count(DISTINCT search) AS searches FROM instances
           WHERE split = 'ranker' GROUP BY context ORDER BY context"""
    )
    known, searches = rows["context"].to_numpy(), rows["searches"].to_numpy()
    return searches[np.searchsorted(known, chosen)]
