"""The stages: each reads artefacts of earlier ones and writes one. `pipeline` knows their order."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from wayword import propensity, tables, utility
from wayword.ceiling import ceiling
from wayword.config import Config
from wayword.contexts import ContextColumns
from wayword.documents import rankings
from wayword.engines import Engine
from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.evaluation import DEEPEST, estimate, outcomes
from wayword.features import make_encoder
from wayword.features.pairs import Featuriser
from wayword.logs import log, prefixes
from wayword.policies import Policy, Ranked, Retrieved, Shuffled
from wayword.ranking import RANKERS, Examples
from wayword.retrieval.candidates import Candidates, Retriever
from wayword.retrieval.popular import PopularRetriever

Report = dict[str, Any]
Advance = Callable[[int, int], None]
SEARCH_COLUMNS = ("search", "search_id", "split", "text", "raw_query", "prefix", "untyped", "user_id", "time_text")


def threads() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def tables_in(folder: Path) -> Iterator[Engine]:
    """An engine for one stage, which spills into the folder that the stage writes."""
    engine = DuckDB(spill=folder)
    try:
        yield engine
    finally:
        engine.close()


@dataclass(frozen=True)
class Source:
    """Where the log comes from, and how strictly it is read."""

    log: Path
    judged: bool = False
    lenient: bool = False


def write_log(out: Path, source: Source, config: Config) -> Report:
    """`searches` and `clicks` as they were logged, checked, normalised and split."""
    with tables_in(out) as engine:
        found = log.build(engine, source.log, config.log, judged=source.judged)
        columns = ", ".join([*SEARCH_COLUMNS, *map(engine.quote, found.columns.context)])
        tables.save(engine, out, "searches", "search", columns)
        tables.save(engine, out, "clicks", "search, document, rank, weight")
    return {**found.report, "context columns": list(found.columns.context)}


def context_columns(logged: Path) -> list[str]:
    """The names of a log's context columns, in its order."""
    return [name for name in tables.read(logged, "searches").column_names if name not in SEARCH_COLUMNS]


def write_rankings(
    out: Path, logged: Path, source: Source, ranked: Path | None, documents: Path | None, config: Config, advance: Advance
) -> Report:
    """`queries`, `documents` and `rankings` in numbers, and `numbered_searches` and `numbered_clicks` with them."""
    with tables_in(out) as engine:
        tables.fetch(engine, logged, "searches", "clicks")
        described = _documents(engine, documents) if documents else None
        if ranked:
            rankings.read(engine, ranked)
        elif described is not None:
            rankings.ask(engine, described, config.rankings, advance)
        rankings.number(engine, described)
        strictness = rankings.Strictness(config.rankings.on_mismatch, source.lenient, source.judged)
        report = rankings.join_log(engine, strictness, source=str(source.log))
        tables.save(engine, out, "queries", "query")
        tables.save(engine, out, "documents", "document")
        tables.save(engine, out, "rankings", "query, rank, document")
        tables.save(engine, out, "numbered_searches", "search")
        tables.save(engine, out, "numbered_clicks", "search, document, rank, weight")
        sizes = {name: tables.read(out, name).num_rows for name in ("queries", "documents", "rankings")}
    return {**sizes, **report}


def _documents(engine: Engine, path: Path) -> pa.Table:
    """A document table: `document` and at least one column of text, of which `title` is for people to look at."""
    engine.read("described", path)
    names = [name for name in engine.columns("described") if name != "input_row"]
    if "document" not in names or "title" not in names:
        raise LogError(f"{path} has the columns {', '.join(names)}; expected document and title.")
    texts = [name for name in names if name in ("name", "title")]
    columns = ", ".join(f"coalesce(CAST({name} AS VARCHAR), '') AS {name}" for name in texts)
    return engine.arrow(f"SELECT CAST(document AS VARCHAR) AS document, {columns} FROM described ORDER BY input_row")


def write_contexts(out: Path, ranked: Path, config: Config, context: list[str]) -> Report:
    """`instances` (which search shows which context) and `contexts`."""
    with tables_in(out) as engine:
        tables.fetch(engine, ranked, "numbered_searches", "numbered_clicks")
        report = prefixes.build(engine, config.prefixes, context)
        tables.save(engine, out, "instances", "search, pass")
        tables.save(engine, out, "contexts", "context")
    return report


def write_propensity(out: Path, ranked: Path, config: Config) -> Report:
    """`propensity` of every rank."""
    with tables_in(out) as engine:
        tables.fetch(engine, ranked, "rankings", "numbered_clicks")
        propensity.build(engine, config.propensity)
        tables.save(engine, out, "propensity", "rank")
    return {"law": f"p[rank] = rank^-{config.propensity.alpha:g}"}


def write_retriever(
    out: Path, ranked: Path, contexts: Path, propensities: Path, config: Config, model: str, measure: utility.Measure
) -> Report:
    """Popularity, and with `model = "pecos"` the tree that proposes queries of high utility for a context."""
    searches, queries = tables.read(ranked, "numbered_searches"), tables.read(ranked, "queries")
    known = queries["ranked"].to_numpy(zero_copy_only=False)
    for name, splits in (("popularity", ("retriever",)), ("popularity_of_all_training", ("retriever", "ranker"))):
        np.save(out / f"{name}.npy", _popularity(searches, splits, known), allow_pickle=False)
    if model == "popular":
        return {"model": model}
    from wayword.retrieval import pecos

    with tables_in(out) as engine:
        tables.fetch(engine, ranked, "rankings", "numbered_searches", "numbered_clicks")
        tables.fetch(engine, propensities, "propensity")
        utility.alternatives(engine, "alternatives", "retriever", measure)
        found = engine.arrow("SELECT search, query FROM alternatives ORDER BY search, query")
    instances = tables.read(contexts, "instances")
    typed, labels = _instances(instances.filter(pa.compute.equal(instances["split"], "retriever")), found, len(known))
    if not labels.nnz:
        raise LogError("The retriever's split has no click to learn from. Give a longer log, or a larger share of it.")
    pecos.train(_contexts(contexts).take(typed), labels, out / "pecos", config.retriever)
    return {"model": model, "instances": labels.shape[0], "labels": int(labels.nnz)}


def _popularity(searches: pa.Table, splits: tuple[str, ...], known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many searches of the splits issued each query; a query that returns nothing is never popular."""
    chosen = pa.compute.is_in(searches["split"], value_set=pa.array(splits))
    counts = np.bincount(searches.filter(chosen)["query"].to_numpy(), minlength=len(known))
    return np.where(known, counts, 0).astype(np.int64)


def _instances(instances: pa.Table, found: pa.Table, queries: int) -> tuple[pa.Array, csr_matrix]:
    """The context of each retriever instance and its row of labels: the alternatives of its search."""
    search, query = found["search"].to_numpy(), found["query"].to_numpy()
    searches, starts = np.unique(search, return_index=True)
    place = np.searchsorted(searches, instances["search"].to_numpy())
    place[place == len(searches)] = 0
    labelled = searches[place] == instances["search"].to_numpy() if len(searches) else np.zeros(len(place), bool)
    by_search = csr_matrix(
        (np.ones(len(query), np.float32), query, np.r_[starts, len(query)]), shape=(len(searches), queries)
    )
    return pa.array(instances["context"].to_numpy()[labelled]), by_search[place[labelled]]


def _contexts(folder: Path) -> pa.Table:
    """The contexts without their numbers: row i is context i."""
    return tables.read(folder, "contexts").drop_columns(["context"])


@dataclass(frozen=True)
class Proposals:
    """The queries of a workspace and the retrievers over them, read from artefacts."""

    texts: list[str]
    popular: PopularRetriever
    retriever: Retriever
    popularity: NDArray[np.int64]

    @classmethod
    def load(cls, ranked: Path, retrieved: Path, config: Config) -> "Proposals":
        """The PECOS tree where there is one, else most popular completion over the retriever's split."""
        texts = tables.read(ranked, "queries")["text"].to_pylist()
        counts = np.load(retrieved / "popularity.npy", allow_pickle=False)
        everything = np.load(retrieved / "popularity_of_all_training.npy", allow_pickle=False)
        retriever: Retriever = PopularRetriever(texts, counts)
        if (retrieved / "pecos").exists():
            from wayword.retrieval.pecos import PecosRetriever

            retriever = PecosRetriever.load(retrieved / "pecos", beam=config.retriever.beam)
        return cls(texts, PopularRetriever(texts, everything), retriever, counts)


def write_ranker(
    out: Path,
    ranked: Path,
    contexts: Path,
    propensities: Path,
    retrieved: Path,
    config: Config,
    measure: utility.Measure,
    advance: Advance,
) -> Report:
    """Features and a model that orders candidates by what their context's searches say of them (the paper's Fig. 2)."""
    proposals = Proposals.load(ranked, retrieved, config)
    everyone = _contexts(contexts)
    with tables_in(out) as engine:
        tables.fetch(engine, ranked, "rankings", "numbered_clicks")
        tables.fetch(engine, propensities, "propensity")
        tables.fetch(engine, contexts, "instances")
        chosen, searches = _training_contexts(engine, config.ranker.max_contexts)
        typed = everyone.take(pa.array(chosen))
        candidates = proposals.retriever.retrieve(typed, config.retriever.candidates)
        engine.load("pairs", pa.table({"context": chosen[candidates.context], "query": candidates.query}))
        utility.of_contexts(engine, "labels", "pairs", "ranker", measure)
        labelled = engine.arrow("SELECT context, query, utility FROM labels")
    labels = _labels(candidates, chosen, labelled, len(proposals.texts))
    encoder = make_encoder(proposals.texts, config.features)
    featuriser = Featuriser.build(proposals.texts, proposals.popularity, encoder, ContextColumns.fit(typed))
    featuriser.save(out / "features")
    examples = Examples.of(featuriser.features(typed, candidates), labels, candidates.context, searches)
    ranker = RANKERS[config.ranker.model].fit(examples, config.ranker, threads=threads(), progress=advance)
    ranker.save(out / "model")
    return {
        "contexts": len(examples.sizes),
        "candidates": len(labels),
        "candidates with a utility": int((labels > 0).sum()),
    }


def _training_contexts(engine: Engine, most: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The contexts of the ranker's split that had a click, at most `most` by md5, and their searches."""
    limit = f"LIMIT {most}" if most else ""
    rows = engine.arrow(
        f"""
        SELECT context, searches FROM (
          SELECT context, searches FROM (
            SELECT i.context, count(DISTINCT i.search) AS searches, count(c.search) AS clicks
            FROM instances AS i LEFT JOIN numbered_clicks AS c ON c.search = i.search
            WHERE i.split = 'ranker' GROUP BY i.context
          ) AS counted WHERE clicks > 0 ORDER BY md5(CAST(context AS VARCHAR)), context {limit}
        ) AS sample ORDER BY context
        """
    )
    return rows["context"].to_numpy().astype(np.int32), rows["searches"].to_numpy()


def _labels(candidates: Candidates, contexts: NDArray[np.int32], labelled: pa.Table, queries: int) -> NDArray[np.float64]:
    """The utility of each candidate; 0 where the table has none."""
    keys = labelled["context"].to_numpy().astype(np.int64) * queries + labelled["query"].to_numpy()
    order = np.argsort(keys)
    keys, values = keys[order], labelled["utility"].to_numpy()[order]
    wanted = contexts[candidates.context].astype(np.int64) * queries + candidates.query
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    return np.where(keys[place] == wanted, values[place], 0.0) if len(keys) else np.zeros(len(wanted))


def load_policies(ranked: Path, retrieved: Path, ranker: Path, config: Config) -> dict[str, Policy]:
    """The policies that can answer for any context."""
    proposals = Proposals.load(ranked, retrieved, config)
    wide = config.retriever.candidates
    return {
        "random": Shuffled(proposals.retriever, wide, config.evaluation.seed),
        "popular": Retrieved(proposals.popular),
        "retriever": Retrieved(proposals.retriever),
        "unbiased": Ranked(
            proposals.retriever,
            Featuriser.load(ranker / "features"),
            RANKERS[config.ranker.model].load(ranker / "model", threads=threads()),
            wide,
        ),
    }


def write_estimates(
    out: Path,
    folders: dict[str, Path],
    config: Config,
    measure: utility.Measure,
    truth: Path | None,
    advance: Advance,
) -> Report:
    """`estimates` and `differences`: every policy on the test searches."""
    ranked = folders["rankings"]
    policies = load_policies(ranked, folders["retriever"], folders["ranker"], config)
    with tables_in(out) as engine:
        tables.fetch(engine, ranked, "queries", "documents", "rankings", "numbered_searches", "numbered_clicks")
        tables.fetch(engine, folders["propensity"], "propensity")
        tables.fetch(engine, folders["contexts"], "instances", "contexts")
        numbers = _test_contexts(engine)
        typed = _contexts(folders["contexts"]).take(pa.array(numbers))
        lists = {}
        for done, (name, policy) in enumerate(policies.items(), start=1):
            lists[name] = policy.complete(typed, DEEPEST)
            advance(done, len(policies) + 2)
        if truth:
            lists["ceiling"] = ceiling(engine, truth, numbers, config.prefixes, DEEPEST)
        candidates = policies["retriever"].complete(typed, config.retriever.candidates)
        outcome = outcomes(engine, lists, candidates, numbers, measure)
    estimates, differences = estimate(outcome, config.evaluation)
    pq.write_table(estimates, out / "estimates.parquet")
    pq.write_table(differences, out / "differences.parquet")
    return {"test searches with a click": len(outcome.own)}


def _test_contexts(engine: Engine) -> NDArray[np.int32]:
    rows = engine.arrow(
        """SELECT DISTINCT i.context FROM instances AS i
           WHERE i.split = 'test' AND i.search IN (SELECT search FROM numbered_clicks) ORDER BY i.context"""
    )
    return rows["context"].to_numpy().astype(np.int32)
