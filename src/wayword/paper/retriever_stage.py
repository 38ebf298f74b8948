"""retriever: popularity, and the PECOS tree that proposes queries of high utility for a context."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from wayword import utility
from wayword.completion.candidates import Retriever
from wayword.completion.popular import PopularRetriever
from wayword.config import RetrieverConfig
from wayword.engines import tables
from wayword.engines.stages import (
    Folders,
    Report,
    tables_in,
    threads,
)
from wayword.errors import LogError
from wayword.logs import contexts_stage as contexts

POPULARITY, POPULARITY_OF_ALL_TRAINING, TREE = "popularity.npy", "popularity_of_all_training.npy", "pecos"


def write(out: Path, at: Folders, config: RetrieverConfig, model: str, measure: utility.Measure) -> Report:
    """Fill `out`; `model` is `popular` or `pecos`."""
    queries = tables.read(at["rankings"], "queries")
    np.save(out / POPULARITY, popularity(at, "retriever"), allow_pickle=False)
    np.save(out / POPULARITY_OF_ALL_TRAINING, popularity(at, "retriever", "ranker"), allow_pickle=False)
    if model == "popular":
        return {"model": model}
    from wayword.paper import pecos_retriever as pecos

    typed, labels = _instances(out, at, measure, queries.num_rows, most=config.max_instances)
    if not labels.nnz:
        raise LogError(
            "The retriever's split has no click of a weight above 0 to learn from. Give a longer log."
        )
    pecos.train(typed, labels, out / TREE, config, threads=threads())
    return {"model": model, "instances": labels.shape[0], "labels": int(labels.nnz)}


def popularity(at: Folders, *splits: str) -> NDArray[np.int64]:
    """How many searches of the splits issued each query; a query that returns nothing is never popular."""
    ranked = tables.read(at["rankings"], "queries")["ranked"].to_numpy(zero_copy_only=False)
    searches = tables.read(at["rankings"], "numbered_searches").select(["split", "query"])
    chosen = searches.filter(pc.is_in(searches["split"], value_set=pa.array(splits)))
    counts = np.bincount(chosen["query"].to_numpy(), minlength=len(ranked))
    return np.where(ranked, counts, 0).astype(np.int64)


def _instances(
    out: Path, at: Folders, measure: utility.Measure, queries: int, *, most: int = 0
) -> tuple[pa.Table, csr_matrix]:
    """The contexts of the retriever's instances, at most `most` of them by md5 (0: all), and as their labels the
    alternatives of their searches."""
    limit = f"LIMIT {most}" if most else ""
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "rankings", "numbered_searches", "numbered_clicks")
        tables.fetch(engine, at["propensity"], "propensity")
        tables.fetch(engine, at["contexts"], "instances")
        utility.alternatives(engine, "alternatives", "retriever", measure)
        found = engine.arrow("SELECT search, query FROM alternatives ORDER BY search, query")
        instances = engine.arrow(
            f"""
            SELECT search, context FROM (
              SELECT i.search, i.context, i.pass FROM instances AS i JOIN numbered_searches AS s ON s.search = i.search
              WHERE i.split = 'retriever' AND i.search IN (SELECT search FROM alternatives)
              ORDER BY md5(concat(s.search_id, '/', CAST(i.pass AS STRING))), i.search, i.pass {limit}
            ) AS sample ORDER BY search, pass
            """
        )
    query = found["query"].to_numpy()
    searches, starts = np.unique(found["search"].to_numpy(), return_index=True)
    labels = csr_matrix(
        (np.ones(len(query), np.float32), query, np.r_[starts, len(query)]), shape=(len(searches), queries)
    )
    typed = contexts.load(at["contexts"]).take(instances["context"].combine_chunks())
    return typed, labels[np.searchsorted(searches, instances["search"].to_numpy())]


@dataclass(frozen=True)
class Retrievers:
    """The queries of a workspace and the retrievers over them."""

    texts: list[str]
    popularity: NDArray[np.int64]
    """How often each query was searched in the retriever's split."""
    popularity_of_all_training: NDArray[np.int64]
    """The same, in the ranker's split too."""
    popular: PopularRetriever
    """Most popular completion over all of the training log."""
    trained: Retriever
    """What was trained on the retriever's split."""

    @classmethod
    def load(cls, at: Folders, config: RetrieverConfig) -> "Retrievers":
        """Read what `write` wrote."""
        texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
        folder = at["retriever"]
        popularity = np.load(folder / POPULARITY, allow_pickle=False)
        everything = np.load(folder / POPULARITY_OF_ALL_TRAINING, allow_pickle=False)
        trained: Retriever = PopularRetriever(texts, popularity)
        if (folder / TREE).exists():
            from wayword.paper.pecos_retriever import PecosRetriever

            trained = PecosRetriever.load(folder / TREE, config)
        return cls(texts, popularity, everything, PopularRetriever(texts, everything), trained)
