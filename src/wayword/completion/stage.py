"""completion: builds the expected-utility retriever, which completes any typed text.

Adds to the demand the index of query texts, the probability of each prefix, the prefixes that the log recorded, and the
factors of context columns.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion import retriever_io
from wayword.completion.context_affinity import Affinity
from wayword.completion.context_choice import ContextClicks, choose
from wayword.completion.expected_utility import ExpectedUtilityRetriever, RecordedPrefixes
from wayword.completion.popular import INTENDED, popularity
from wayword.completion.prefix_matcher import PrefixMatcher
from wayword.completion.sparse_topk import DemandGraph
from wayword.config import PrefixConfig
from wayword.demand.artefact import EARLY
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.logs import contexts_stage
from wayword.logs.contexts import PREFIX
from wayword.logs.prefixes import table_of_cuts
from wayword.progress import Progress
from wayword.store.compressed_rows import WeightedRows
from wayword.store.stage import Folders, Report, threads


def write(out: Path, at: Folders, config: PrefixConfig, progress: Progress) -> Report:
    """Fill `out` with all parts of the retriever but the demand, which is stored once."""
    texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
    contexts = contexts_stage.load(at["contexts"])
    graph, own_utility = retriever_io.load_graph(at["demand"], len(texts))
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "numbered_searches", "numbered_clicks")
        tables.fetch(engine, at["contexts"], "instances")
        tables.fetch(engine, at["propensity"], "propensity")
        if "acceptance" in at:
            tables.fetch(engine, at["acceptance"], INTENDED)
        recorded = _recorded(engine, len(texts), _INTENDED if "acceptance" in at else _ISSUED)
        clicks = ContextClicks.read(engine, contexts) if contexts.column_names != [PREFIX] else None
    progress.advance(1, 3)
    returned = np.bincount(graph.exposure.values, minlength=len(texts)) > 0
    matcher, probability = PrefixMatcher.build(texts, returned), _prefix_probability(texts, config)
    progress.advance(2, 3)

    def assemble(
        graph: DemandGraph, own_utility: NDArray[np.float32], context: Mapping[str, Affinity]
    ) -> ExpectedUtilityRetriever:
        return ExpectedUtilityRetriever(
            texts,
            matcher,
            graph,
            prefix_probability=probability,
            own_utility=own_utility,
            popularity=np.zeros(len(texts), np.int64),
            recorded=recorded,
            threads=threads(),
            **context,
        )

    strengths: dict[str, float] = {}
    if clicks and (at["demand"] / EARLY).exists():
        early, early_utility = retriever_io.load_graph(at["demand"], len(texts), EARLY)
        strengths = choose(clicks, early.exposure, lambda context: assemble(early, early_utility, context))
    context = {
        kind: clicks.affinity(kind, strength, graph, "retriever", "ranker")
        for kind, strength in strengths.items()
        if clicks
    }
    retriever_io.save_matching(assemble(graph, own_utility, context), out)
    return {"context": strengths}


def load(at: Folders, *, threads: int = 1) -> ExpectedUtilityRetriever:
    """Map the retriever of a workspace into memory."""
    texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
    counts = popularity(at["rankings"], "retriever", "ranker", acceptance=at.get("acceptance"))
    return retriever_io.load(at["completion"], texts, counts, graph=at["demand"], threads=threads)


def _prefix_probability(texts: list[str], config: PrefixConfig) -> NDArray[np.float32]:
    """Compute 1/(number of admissible prefixes) of each query; a query too short for a prefix has 1."""
    cuts = table_of_cuts(texts, config)
    counts = pc.value_counts(cuts["text"].combine_chunks())
    known = dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
    return np.array([1.0 / known.get(text, 1) for text in texts], np.float32)


_ISSUED = """SELECT prefix, query, count(*) AS searches FROM numbered_searches
             WHERE split <> 'test' AND prefix IS NOT NULL GROUP BY prefix, query ORDER BY prefix, query"""
_INTENDED = """
    SELECT prefix, query, sum(searches ORDER BY search) AS searches FROM (
      SELECT search, prefix, query, CAST(1 AS DOUBLE) AS searches FROM numbered_searches
      WHERE split <> 'test' AND prefix IS NOT NULL AND search NOT IN (SELECT search FROM intended)
      UNION ALL
      SELECT s.search, s.prefix, i.query, i.probability FROM intended AS i
      JOIN numbered_searches AS s ON s.search = i.search WHERE s.split <> 'test' AND s.prefix IS NOT NULL)
    GROUP BY prefix, query ORDER BY prefix, query"""


def _recorded(engine: Engine, queries: int, counts: str = _ISSUED) -> RecordedPrefixes | None:
    """Read the prefixes that the log recorded, with the number of searches of each query; None without any.

    `counts` is the SQL of these numbers: by the issued query, or by the intended one.
    """
    rows = engine.arrow(counts)
    if not rows.num_rows:
        return None
    prefixes = rows["prefix"].combine_chunks().dictionary_encode()
    names, place = prefixes.dictionary.to_pylist(), prefixes.indices.to_numpy()
    offsets = np.searchsorted(place, np.arange(len(names) + 1)).astype(np.int64)
    query, searches = (
        rows["query"].to_numpy().astype(np.int32),
        rows["searches"].to_numpy().astype(np.float32),
    )
    of_query = np.bincount(query, weights=searches, minlength=queries).astype(np.float32)
    return RecordedPrefixes(names, WeightedRows(offsets, query, searches), of_query)
