"""The paper's table of its data set, and what its theory speaks of: density, click rate, B and ρ_n, measured."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from wayword import utility
from wayword.config import Config
from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.paper import ranker_stage as ranker
from wayword.reproduction.material import Material
from wayword.reproduction.report.exhibits import Cell, Column, Section, Table, Text
from wayword.simulation.simulate import FACTS
from wayword.store.artefact import report_of
from wayword.store.stage import Folders, Report

NAME = "statistics"
AFTER = ("world", "rankings", "contexts", "propensity", "retriever", "examples", "tests")
FILE = "statistics.json"


def write(out: Path, at: Folders, config: Config) -> Report:
    """Fill `out` with `statistics.json`."""
    examples = Material.load(at["examples"])
    with tables_in(out) as engine:
        ranker.fill(engine, at, config.ranker.share)
        tables.fetch(engine, at["rankings"], "queries", "documents")
        found: dict[str, Any] = {
            "splits": engine.arrow(SPLITS).to_pylist(),
            "graph": engine.arrow(GRAPH).to_pylist()[0],
            "clicks": engine.arrow(CLICKS).to_pylist()[0],
            "pairs": _ratios(engine, examples),
            "reached": engine.arrow(REACHED)["n"][0].as_py(),
            "returned_by": engine.arrow(RETURNED_BY).to_pylist()[0],
            "single": engine.arrow(SINGLE)["share"][0].as_py(),
        }
    found["world"] = json.loads((at["world"] / FACTS).read_text(encoding="utf-8"))
    found["learned"] = {
        "retriever": report_of(at["retriever"])["instances"],
        "ranker": found["pairs"]["searches"],
    }
    found["candidates"] = config.retriever.candidates
    tables.write_json(out / FILE, found)
    return {}


SPLITS = """
    SELECT split, count(*) AS samples, count(DISTINCT context) AS contexts, count(DISTINCT search) AS searches
    FROM instances GROUP BY split ORDER BY split"""
GRAPH = """
    SELECT (SELECT count(*) FROM queries WHERE ranked) AS queries, (SELECT count(*) FROM documents) AS documents,
           (SELECT count(*) FROM rankings) AS edges"""
CLICKS = "SELECT count(*) AS clicks, avg(rank) AS mean_rank, median(rank) AS median_rank FROM numbered_clicks"
RETURNED_BY = """
    SELECT avg(n.queries) AS mean, median(n.queries) AS median FROM numbered_clicks AS c
    JOIN (SELECT document, count(*) AS queries FROM rankings GROUP BY document) AS n ON n.document = c.document"""
SINGLE = """
    SELECT avg(CASE WHEN searches = 1 THEN 1.0 ELSE 0.0 END) AS share
    FROM (SELECT count(*) AS searches FROM instances WHERE split = 'ranker' GROUP BY context) AS counted"""
REACHED = """
    SELECT count(DISTINCT r.query) AS n FROM rankings AS r
    WHERE r.document IN (SELECT c.document FROM numbered_clicks AS c
                         JOIN instances AS i ON i.search = c.search WHERE i.split = 'ranker')"""


def _ratios(engine: Engine, examples: Material) -> dict[str, float]:
    """B and ρ_n over the ranker's searches and the candidates of their contexts: û of every search and candidate."""
    contexts = examples.contexts[examples.candidates.context]
    engine.load("candidates", pa.table({"context": contexts, "query": examples.candidates.query}))
    engine.step(
        "candidate_pairs",
        """SELECT i.search, c.query FROM candidates AS c
           JOIN instances AS i ON i.context = c.context AND i.split = 'ranker'""",
    )
    utility.of_searches(engine, "candidate_utility", "candidate_pairs", utility.Measure())
    found = engine.arrow("SELECT query, utility FROM candidate_utility ORDER BY search, query")
    ratios = found["utility"].to_numpy()
    searches = engine.arrow("SELECT count(DISTINCT search) AS n FROM candidate_pairs")["n"][0].as_py()
    return {
        "searches": searches,
        "relevant_queries": len(np.unique(found["query"].to_numpy())),
        "largest": float(ratios.max(initial=0)),
        **{
            f"quantile_{q}": float(np.quantile(ratios, q / 100)) if len(ratios) else 0.0 for q in (50, 90, 99)
        },
    }


def section(folder: Path) -> Section:
    """The numbers as two tables."""
    found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    returned = found["returned_by"]
    return Section(
        NAME,
        "The data",
        (
            _log_table(found),
            _world_table(found),
            Text(
                f"A clicked document is returned by {returned['mean']:,.0f} queries on average (median "
                f"{returned['median']:,.0f}): the one click speaks for all of them that are among the candidates."
            ),
        ),
    )


PARTS = {"retriever": "Retriever train", "ranker": "Ranker train", "test": "Test"}


def _log_table(found: dict[str, Any]) -> Table:
    splits = {row["split"]: row for row in found["splits"]}
    counts = {"samples": "Samples", "contexts": "Distinct contexts", "searches": "Searches"}
    rows: tuple[tuple[Cell, ...], ...] = (
        *((title, *(splits.get(part, {}).get(key, 0) for part in PARTS)) for key, title in counts.items()),
        ("Samples learned from", *(found["learned"].get(part) for part in PARTS)),
    )
    return Table(
        "statistics_data",
        "The log, as in the paper's first table",
        (Column("Quantity"), *(Column(title, digits=0) for title in PARTS.values())),
        rows,
        "A sample is a search cut once: the retriever's part is passed through several times with new random cuts, "
        "ranker and test once. The ranker's part is what is left after its log was halved, as in the paper.",
    )


def _world_table(found: dict[str, Any]) -> Table:
    graph, clicks, pairs, world = (found[name] for name in ("graph", "clicks", "pairs", "world"))
    rows: tuple[tuple[Cell, ...], ...] = (
        ("Queries in the universe", graph["queries"], "queries that the document ranker answers"),
        ("Documents", graph["documents"], ""),
        (
            "Density of the graph",
            graph["edges"] / max(graph["queries"] * graph["documents"], 1),
            "share of pairs (query, document) with an edge: the query returns it",
        ),
        (
            "Documents per query",
            graph["edges"] / max(graph["queries"], 1),
            "mean number that a query returns",
        ),
        ("Queries per document", graph["edges"] / max(graph["documents"], 1), "mean number that return it"),
        ("Click rate", world["click_rate"], "probability that a search ends in a click"),
        ("Invisible share", world["invisible_share"], "of what people want, not returned by their own query"),
        ("Mean clicked rank", clicks["mean_rank"], f"median {clicks['median_rank']:g}"),
        (
            "B, largest ratio",
            _plain(pairs["largest"]),
            "largest p[rank_q(a)] / p[logged rank] of a clicked document, over the ranker's searches and candidates: "
            "what the log shows of the paper's supremum",
        ),
        (
            "99% of the ratios are below",
            _plain(pairs["quantile_99"]),
            f"of those above 0; median {pairs['quantile_50']:.2g}",
        ),
        (
            "ρ_n",
            pairs["relevant_queries"],
            f"candidates with utility for at least one of n = {pairs['searches']:,} searches",
        ),
        ("ρ_n over the universe", found["reached"], "queries that return at least one clicked document"),
        ("K", found["candidates"], "candidates per context"),
        (
            "Contexts with one search",
            found["single"],
            "of the ranker's: there Unbiased, Biased and Misspecified labels order the candidates alike",
        ),
    )
    return Table(
        "statistics_world",
        "The world behind it, and what the theory speaks of",
        (Column("Quantity"), Column("Value", digits=4), Column("Meaning")),
        rows,
    )


def _plain(value: float) -> float:
    """A whole number without digits after the point."""
    return int(value) if float(value).is_integer() else value
