"""The paper's table of its data set, and the quantities of its theory, measured: density, click rate, B and ρ_n."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from wayword import utility
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.paper import ranker_stage as ranker
from wayword.paper.stages import TABLES, CandidateSet, Task
from wayword.report.exhibits import Cell, Column, Section, Table
from wayword.simulation.simulate import FACTS
from wayword.store.artefact import read_object, report_of
from wayword.store.stage import Report

AFTER = ("world", *TABLES, "retriever", "examples", "tests")
FILE = "statistics.json"
SPLITS = """SELECT split, count(*) AS samples, count(DISTINCT context) AS contexts,
    count(DISTINCT search) AS searches FROM instances GROUP BY split ORDER BY split"""
GRAPH = """SELECT (SELECT count(*) FROM queries WHERE ranked) AS queries,
    (SELECT count(*) FROM documents) AS documents, (SELECT count(*) FROM rankings) AS edges"""
CLICKS = "SELECT count(*) AS clicks, avg(rank) AS mean_rank, median(rank) AS median_rank FROM numbered_clicks"
RETURNED_BY = """SELECT avg(n.queries) AS mean, median(n.queries) AS median FROM numbered_clicks AS c
    JOIN (SELECT document, count(*) AS queries FROM rankings GROUP BY document) AS n ON n.document = c.document"""
SINGLE = """SELECT avg(CASE WHEN searches = 1 THEN 1.0 ELSE 0.0 END) AS share
    FROM (SELECT count(*) AS searches FROM instances WHERE split = 'ranker' GROUP BY context) AS counted"""
REACHED = """SELECT count(DISTINCT r.query) AS n FROM rankings AS r WHERE r.document IN (SELECT c.document
    FROM numbered_clicks AS c JOIN instances AS i ON i.search = c.search WHERE i.split = 'ranker')"""
PAIRS = """SELECT i.search, c.query FROM candidates AS c
    JOIN instances AS i ON i.context = c.context AND i.split = 'ranker'"""
PARTS = {"retriever": "Retriever train", "ranker": "Ranker train", "test": "Test"}
COUNTS = {"samples": "Samples", "contexts": "Distinct contexts", "searches": "Searches"}


def measure(task: Task) -> Report:
    """Fill `out` with `statistics.json`."""
    with tables_in(task.out) as engine:
        ranker.fill(engine, task.at, task.config.ranker.share)
        tables.fetch(engine, task.at["rankings"], "queries", "documents")
        found: dict[str, Any] = {
            "splits": engine.arrow(SPLITS).to_pylist(),
            "graph": engine.arrow(GRAPH).to_pylist()[0],
            "clicks": engine.arrow(CLICKS).to_pylist()[0],
            "pairs": _ratios(engine, CandidateSet.load(task.at["examples"])),
            "reached": engine.arrow(REACHED)["n"][0].as_py(),
            "returned_by": engine.arrow(RETURNED_BY).to_pylist()[0],
            "single": engine.arrow(SINGLE)["share"][0].as_py(),
        }
    instances = report_of(task.at["retriever"])["instances"]
    found["learned"] = {"retriever": instances, "ranker": found["pairs"]["searches"]}
    found |= {"world": read_object(task.at["world"] / FACTS), "candidates": task.config.retriever.candidates}
    tables.write_json(task.out / FILE, found)
    return {}


def _ratios(engine: Engine, examples: CandidateSet) -> dict[str, float]:
    """B and ρ_n over the ranker's searches and the candidates of their contexts: û of every search and candidate."""
    contexts = examples.contexts[examples.candidates.context]
    engine.load("candidates", pa.table({"context": contexts, "query": examples.candidates.query}))
    engine.step("candidate_pairs", PAIRS)
    utility.of_searches(engine, "candidate_utility", "candidate_pairs", utility.Measure())
    found = engine.arrow("SELECT query, utility FROM candidate_utility ORDER BY search, query")
    ratios = found["utility"].to_numpy()
    median, most = np.quantile(ratios if len(ratios) else [0.0], (0.5, 0.99)).tolist()
    return {
        "searches": engine.arrow("SELECT count(DISTINCT search) AS n FROM candidate_pairs")["n"][0].as_py(),
        "relevant_queries": len(found["query"].unique()),
        "largest": float(ratios.max(initial=0)),
        "quantile_50": median,
        "quantile_99": most,
    }


def section(folder: Path) -> Section:
    """The numbers as two tables."""
    found = read_object(folder / FILE)
    splits = {row["split"]: row for row in found["splits"]}
    rows: list[list[Cell]] = [
        [title, *(splits.get(part, {}).get(key, 0) for part in PARTS)] for key, title in COUNTS.items()
    ]
    rows.append(["Samples learned from", *(found["learned"].get(part) for part in PARTS)])
    data = Table("statistics_data", ("Quantity", *PARTS.values()), rows)
    world = Table("statistics_world", ("Quantity", Column("Value", 4), "Meaning"), _facts(found))
    return Section("statistics", (data, world), {"returned_by": found["returned_by"]})


def _facts(found: dict[str, Any]) -> list[tuple[str, float, str]]:
    graph, clicks, pairs, world = (found[name] for name in ("graph", "clicks", "pairs", "world"))
    queries, documents, edges = (graph[name] for name in ("queries", "documents", "edges"))
    edge = "share of pairs (query, document) with an edge: the query returns it"
    ratio = "largest p[rank_q(a)] / p[logged rank] of a clicked document, over the ranker's searches and candidates"
    above = f"of those above 0; median {pairs['quantile_50']:.2g}"
    useful = f"candidates with utility for at least one of n = {pairs['searches']:,} searches"
    alike = "of the ranker's: there Unbiased, Biased and Misspecified labels order the candidates alike"
    largest, most = (int(v) if v.is_integer() else v for v in (pairs["largest"], pairs["quantile_99"]))
    return [
        ("Queries in the universe", queries, "queries that the document ranker answers"),
        ("Documents", documents, ""),
        ("Density of the graph", edges / max(queries * documents, 1), edge),
        ("Documents per query", edges / max(queries, 1), "mean number that a query returns"),
        ("Queries per document", edges / max(documents, 1), "mean number that return it"),
        ("Click rate", world["click_rate"], "probability that a search ends in a click"),
        ("Invisible share", world["invisible_share"], "of what people want, not returned by their own query"),
        ("Mean clicked rank", clicks["mean_rank"], f"median {clicks['median_rank']:g}"),
        ("B, largest ratio", largest, f"{ratio}: what the log shows of the paper's supremum"),
        ("99% of the ratios are below", most, above),
        ("ρ_n", pairs["relevant_queries"], useful),
        ("ρ_n over the universe", found["reached"], "queries that return at least one clicked document"),
        ("K", found["candidates"], "candidates per context"),
        ("Contexts with one search", found["single"], alike),
    ]
