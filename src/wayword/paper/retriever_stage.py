"""Stage `retriever`: the PECOS tree that proposes queries of high utility for a context."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from wayword import utility
from wayword.completion.candidates import Retriever
from wayword.completion.popular import PopularRetriever, popularity
from wayword.config import RetrieverConfig
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.errors import LogError
from wayword.logs import contexts_stage as contexts
from wayword.store.stage import Folders, Report, threads

TREE = "pecos"


def write(out: Path, at: Folders, config: RetrieverConfig, model: str, measure: utility.Measure) -> Report:
    """Train the retriever and write it to `out`; `model` is `popular` or `pecos`."""
    queries = tables.read(at["rankings"], "queries")
    if model == "popular":
        return {"model": model}
    from wayword.paper import pecos_retriever as pecos

    typed, labels = _instances(out, at, measure, queries.num_rows, most=config.max_instances)
    if not labels.nnz:
        raise LogError(
            "The retriever's split has no click with a weight above 0 to learn from. Give a longer log."
        )
    pecos.train(typed, labels, out / TREE, config, threads=threads())
    return {"model": model, "instances": labels.shape[0], "labels": int(labels.nnz)}


def _instances(
    out: Path, at: Folders, measure: utility.Measure, queries: int, *, most: int = 0
) -> tuple[pa.Table, csr_matrix]:
    """Return the contexts of the retriever's instances, and the alternatives of their searches as labels.

    At most `most` instances are sampled by md5 (0: all)."""
    limit = f"LIMIT {most}" if most else ""
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "rankings", "numbered_searches", "numbered_clicks")
        tables.fetch(engine, at["propensity"], "propensity")
        tables.fetch(engine, at["contexts"], "instances")
        _group_alike(engine)
        utility.alternatives(engine, "alternatives", "examples_of_alike", measure)
        alternatives = engine.arrow("SELECT search, query FROM alternatives ORDER BY search, query")
        instances = engine.arrow(
            f"""
            SELECT example, context FROM (
              SELECT i.search, a.example, i.context, i.pass FROM instances AS i
              JOIN numbered_searches AS s ON s.search = i.search JOIN alike AS a ON a.search = i.search
              WHERE i.split = 'retriever' AND a.example IN (SELECT search FROM alternatives)
              ORDER BY md5(concat(s.search_id, '/', CAST(i.pass AS STRING))), i.search, i.pass {limit}
            ) AS sample ORDER BY search, pass
            """
        )
    query = alternatives["query"].to_numpy()
    searches, starts = np.unique(alternatives["search"].to_numpy(), return_index=True)
    labels = csr_matrix(
        (np.ones(len(query), np.float32), query, np.r_[starts, len(query)]), shape=(len(searches), queries)
    )
    typed = contexts.load(at["contexts"]).take(instances["context"].combine_chunks())
    return typed, labels[np.searchsorted(searches, instances["example"].to_numpy())]


def _group_alike(engine: Engine) -> None:
    """Steps `alike` (search, example), the first search of the retriever's split with the same query and the same only
    click, which has the same alternatives, and `examples_of_alike` (search). One with several clicks is its own."""
    engine.step(
        "alike",
        """SELECT c.search,
                  min(c.search) OVER (PARTITION BY s.query, c.document, c.rank, c.weight, c.several) AS example
           FROM (SELECT search, max(document) AS document, max(rank) AS rank, max(weight) AS weight,
                        CASE WHEN count(*) > 1 THEN search END AS several
                 FROM numbered_clicks GROUP BY search) AS c
           JOIN numbered_searches AS s ON s.search = c.search WHERE s.split = 'retriever'""",
    )
    engine.step("examples_of_alike", "SELECT DISTINCT example AS search FROM alike")


@dataclass(frozen=True)
class Retrievers:
    """The queries of a workspace and the retrievers over them."""

    texts: list[str]
    popularity: NDArray[np.float64]
    """Number of searches of each query in the retriever's split."""
    trained: Retriever
    """The retriever that was trained on the retriever's split."""

    @classmethod
    def load(cls, at: Folders, config: RetrieverConfig) -> "Retrievers":
        """Read the folder that `write` wrote."""
        texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
        counts = popularity(at["rankings"], "retriever")
        trained: Retriever = PopularRetriever(texts, counts)
        if (at["retriever"] / TREE).exists():
            from wayword.paper.pecos_retriever import PecosRetriever

            trained = PecosRetriever.load(at["retriever"] / TREE, config)
        return cls(texts, counts, trained)
