"""estimates: every policy on the test searches, with intervals and paired differences."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword import tables
from wayword.ceiling import ceiling
from wayword.config import Config
from wayword.engines import Engine
from wayword.evaluation import DEEPEST, METRICS, estimate, outcomes
from wayword.features.pairs import Featuriser
from wayword.policies import Policy, Ranked, Retrieved, Shuffled
from wayword.ranking import RANKERS
from wayword.retrieval.candidates import Retriever
from wayword.stages import Advance, Folders, Report, contexts, ranker, tables_in, threads
from wayword.stages.retriever import Retrievers
from wayword.utility import Measure


def load_policies(at: Folders, config: Config, *, threads: int = 1) -> dict[str, Policy]:
    """The policies that can answer for any context, read from artefacts. One thread is quickest for single prefixes."""
    retrievers = Retrievers.load(at, config.retriever)
    wide = config.retriever.candidates
    return {
        "random": Shuffled(retrievers.trained, wide, config.evaluation.seed),
        "popular": Retrieved(retrievers.popular),
        "retriever": Retrieved(retrievers.trained),
        "unbiased": load_ranked(retrievers.trained, at["ranker"], at["ranker"], config, threads=threads),
    }


def load_ranked(
    retriever: Retriever, features: Path, model: Path, config: Config, *, threads: int = 1
) -> Ranked:
    """A retriever's candidates in the order of a ranker, whose features and model are in these folders."""
    return Ranked(
        retriever,
        Featuriser.load(features / ranker.FEATURES),
        RANKERS[config.ranker.model].load(model / ranker.MODEL, threads=threads),
        config.retriever.candidates,
    )


def write(
    out: Path, at: Folders, config: Config, measure: Measure, *, truth: Path | None, advance: Advance
) -> Report:
    """Fill `out` with `estimates` and `differences`."""
    policies = load_policies(at, config, threads=threads())
    with tables_in(out) as engine:
        for stage, names in (
            ("rankings", ("queries", "documents", "rankings", "numbered_searches", "numbered_clicks")),
            ("propensity", ("propensity",)),
            ("contexts", ("instances", "contexts")),
        ):
            tables.fetch(engine, at[stage], *names)
        numbers = contexts_tested(engine)
        typed = contexts.load(at["contexts"]).take(pa.array(numbers))
        lists = {}
        for done, (name, policy) in enumerate(policies.items(), start=1):
            lists[name] = policy.complete(typed, DEEPEST)
            advance(done, len(policies) + 2)
        if truth:
            lists["ceiling"] = ceiling(engine, truth, numbers, config.prefixes, DEEPEST)
        candidates = policies["retriever"].complete(typed, config.retriever.candidates)
        outcome = outcomes(engine, lists, candidates, numbers, measure)
    found = estimate(outcome, config.evaluation, METRICS)
    for name, table in zip(("estimates", "differences"), found, strict=True):
        pq.write_table(table, out / f"{name}.parquet")
    return {"test searches with a click": len(outcome.own)}


def contexts_tested(engine: Engine) -> NDArray[np.int32]:
    """The contexts of the test searches that had a click."""
    rows = engine.arrow(
        """SELECT DISTINCT i.context FROM instances AS i
           WHERE i.split = 'test' AND i.search IN (SELECT search FROM numbered_clicks) ORDER BY i.context"""
    )
    return rows["context"].to_numpy().astype(np.int32)
