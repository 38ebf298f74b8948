"""completion: the retriever of highest expected utility, ready to answer for any typed text.

Adds to the demand what is known of typed texts: which queries a text may become, how often each prefix of a query is
typed, the prefixes that the log recorded, and how much context columns change what is wanted.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion import retriever_io
from wayword.completion.context_affinity import Affinity
from wayword.completion.context_choice import ContextClicks, choose
from wayword.completion.expected_utility import GraphRetriever, Recorded
from wayword.completion.popular import popularity
from wayword.completion.prefix_matcher import Beginnings
from wayword.completion.sparse_topk import Graph
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
    """Fill `out` with all but the demand, of which there is one copy."""
    texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
    contexts = contexts_stage.load(at["contexts"])
    graph, own = retriever_io.load_graph(at["demand"], len(texts))
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "numbered_searches", "numbered_clicks")
        tables.fetch(engine, at["contexts"], "instances")
        tables.fetch(engine, at["propensity"], "propensity")
        recorded = _recorded(engine, len(texts))
        clicks = ContextClicks.read(engine, contexts) if contexts.column_names != [PREFIX] else None
    progress.advance(1, 3)
    returned = np.bincount(graph.returned.values, minlength=len(texts)) > 0
    matcher, typing = Beginnings.build(texts, returned), _typing_probability(texts, config)
    progress.advance(2, 3)

    def assemble(graph: Graph, own: NDArray[np.float32], context: Mapping[str, Affinity]) -> GraphRetriever:
        return GraphRetriever(
            texts,
            matcher,
            graph,
            typed=typing,
            own=own,
            popularity=np.zeros(len(texts), np.int64),
            recorded=recorded,
            threads=threads(),
            **context,
        )

    strengths: dict[str, float] = {}
    if clicks and (at["demand"] / EARLY).exists():
        early, early_own = retriever_io.load_graph(at["demand"], len(texts), EARLY)
        strengths = choose(clicks, early.returned, lambda context: assemble(early, early_own, context))
    context = {
        kind: clicks.affinity(kind, strength, graph, "retriever", "ranker")
        for kind, strength in strengths.items()
        if clicks
    }
    retriever_io.save_matching(assemble(graph, own, context), out)
    return {"context": strengths}


def load(at: Folders, *, threads: int = 1) -> GraphRetriever:
    """Map the retriever of a workspace into memory."""
    texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
    counts = popularity(at["rankings"], "retriever", "ranker")
    return retriever_io.load(at["completion"], texts, counts, graph=at["demand"], threads=threads)


def _typing_probability(texts: list[str], config: PrefixConfig) -> NDArray[np.float32]:
    """1/(number of admissible cuts) of each query; a query too short to be cut counts as one."""
    cuts = table_of_cuts(texts, config)
    counts = pc.value_counts(cuts["text"].combine_chunks())
    known = dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
    return np.array([1.0 / known.get(text, 1) for text in texts], np.float32)


def _recorded(engine: Engine, queries: int) -> Recorded | None:
    """The prefixes that the log recorded, if any, with the searches of each query that showed them."""
    rows = engine.arrow(
        """SELECT prefix, query, count(*) AS searches FROM numbered_searches
           WHERE split <> 'test' AND prefix IS NOT NULL GROUP BY prefix, query ORDER BY prefix, query"""
    )
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
    return Recorded(names, WeightedRows(offsets, query, searches), of_query)
