"""demand: what people want behind every query, the graph to walk from there, and how to understand typed texts.

Beliefs learned on the retriever's split are judged by the clicks of the ranker's: that chooses how much clicks are
trusted (`Shrinkage`) and whether context columns are. Then everything is learned again from both.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword import tables
from wayword.arrays import mapped
from wayword.config import Config
from wayword.contexts import PREFIX
from wayword.demand.affinity import Affinity
from wayword.demand.evidence import Surroundings
from wayword.demand.pairs import Floats, Pairs
from wayword.demand.rates import CHOICES, MODELS, POOLED, Beliefs, Shrinkage, believe, likelihood
from wayword.demand.validation import HeldOut, Judge, surely_more
from wayword.engines import Engine
from wayword.evaluation import DEEPEST
from wayword.graph import Graph, Rows, exposure
from wayword.logs.prefixes import table_of_cuts
from wayword.retrieval.beginnings import Beginnings
from wayword.retrieval.graph import (
    GraphRetriever,
    Recorded,
    load_affinity,
    load_rows,
    save_affinity,
    save_rows,
)
from wayword.stages import Advance, Folders, Report, contexts, tables_in, threads

LEAST = 0.002
"""A document is left out of a query's demand if it is this improbable beside one that is surely wanted."""
HELD_OUT = 8000
"""So many held-out searches choose the settings."""
STRENGTHS = (3.0, 10.0, 30.0)
"""Tried for the context columns: how many searches a factor of 1 is worth."""
BEGINNINGS, DOCUMENTS_IN, QUERIES_IN = "beginnings", "documents_in", "queries_in"
DISCOUNTED = {"dcg": "1 / log2(1 + rank)", "mrr": "1 / CAST(rank AS DOUBLE)"}
GAIN = {
    "dcg": "power(2, weight) - 1",
    "mrr": "CAST(CASE WHEN weight > 0 THEN 1 ELSE 0 END AS DOUBLE)",
}


@dataclass(frozen=True)
class Known:
    """What the log says, in numbers."""

    texts: list[str]
    exposures: csr_array
    clicked: pa.Table
    """split, query, document, weight, looks."""
    searches: pa.Table
    """split and query of each training search."""
    complete: bool
    """Whether searches without a click are logged too."""

    def clicks_of(self, *splits: str) -> pa.Table:
        """The clicks of these splits, one row per query and document."""
        chosen = self.clicked.filter(pc.is_in(self.clicked["split"], value_set=pa.array(splits)))
        summed = chosen.group_by(["query", "document"], use_threads=False).aggregate(
            [("weight", "sum"), ("looks", "sum")]
        )
        return summed.rename_columns(["query", "document", "weight", "looks"])

    def issued(self, *splits: str) -> Floats:
        """How often each query was issued; all alike where only searches with a click are logged."""
        if not self.complete:
            return np.ones(len(self.texts))
        chosen = self.searches.filter(pc.is_in(self.searches["split"], value_set=pa.array(splits)))
        counts = np.bincount(chosen["query"].to_numpy(), minlength=len(self.texts))
        return counts.astype(np.float64) + 0.5


def write(out: Path, at: Folders, config: Config, variant: str, advance: Advance) -> Report:
    """Fill `out`; `variant` is `unbiased`, or how judgments are measured."""
    with tables_in(out) as engine:
        for stage, names in (
            ("rankings", ("queries", "documents", "rankings", "numbered_searches", "numbered_clicks")),
            ("propensity", ("propensity",)),
            ("contexts", ("instances", "contexts")),
        ):
            tables.fetch(engine, at[stage], *names)
        judged = variant in GAIN
        known = _known(engine, GAIN.get(variant, "weight"), DISCOUNTED.get(variant))
        held = _held_out(engine)
        clicks = _clicks_in_context(engine)
        recorded = _recorded(engine, len(known.texts))
    typed = _typed(known.texts, config)
    asked = contexts.load(at["contexts"])
    wanted = np.diff(known.exposures.indptr) > 0
    beginnings = Beginnings.build(known.texts, wanted)
    pairs = Pairs.of(known.exposures, known.clicks_of("retriever", "ranker"), most=config.demand.max_pairs)
    returned = Rows.of(csr_array(known.exposures.T))
    popularity = np.zeros(len(known.texts), np.int64)

    def retriever(rates: Floats, volume: Floats, **context: Affinity | None) -> GraphRetriever:
        kept = rates > LEAST * volume[pairs.query]
        demand = csr_array(
            (rates[kept], (pairs.query[kept], pairs.document[kept])), shape=known.exposures.shape
        )
        own = np.bincount(pairs.query[kept], weights=(rates * pairs.p)[kept], minlength=len(known.texts))
        return GraphRetriever(
            known.texts,
            beginnings,
            Graph(Rows.of(demand), returned, len(known.texts)),
            typed=typed,
            own=own.astype(np.float32),
            popularity=popularity,
            recorded=recorded,
            threads=threads(),
            **context,
        )

    if judged:
        found, chosen, strengths = _given(pairs, known), Shrinkage(), dict[str, float]()
        trust: Report = {}
    else:
        around = Surroundings.of(known.texts, pairs)
        advance(1, 2 * MODELS + 4)
        chosen, trust = Shrinkage(3.0), {}
        strengths = {}
        if held.num_rows and known.clicks_of("retriever").num_rows:
            early = believe(
                pairs,
                pairs.clicks(known.clicks_of("retriever")),
                known.issued("retriever"),
                around,
                models=1,
                seed=config.demand.seed,
                threads=threads(),
            )
            advance(3, 2 * MODELS + 4)
            later = pairs.clicks(known.clicks_of("ranker"))
            told = {choice: likelihood(early.rates(pairs, choice), pairs, later) for choice in CHOICES}
            chosen = max(told, key=lambda choice: told[choice])
            strengths = _in_context(early.rates(pairs, chosen), early, retriever, known, held, clicks, asked)
            trust = {
                "shrinkage": _as_json(chosen),
                "validation": [{**_as_json(choice), "likelihood": value} for choice, value in told.items()],
                "context": strengths,
            }
        found = believe(
            pairs,
            pairs.clicks(known.clicks_of("retriever", "ranker")),
            known.issued("retriever", "ranker"),
            around,
            models=MODELS,
            seed=config.demand.seed,
            threads=threads(),
        )
    advance(2 * MODELS + 3, 2 * MODELS + 4)
    last = retriever(found.rates(pairs, chosen), found.volume)
    save_rows(last.graph.rates, out, "rates")
    save_rows(returned, out, "returned")
    np.save(out / "typed.npy", typed, allow_pickle=False)
    np.save(out / "own.npy", last.own, allow_pickle=False)
    beginnings.save(out / BEGINNINGS)
    if recorded:
        save_rows(recorded.searches, out, "recorded")
        np.save(out / "recorded_of_query.npy", recorded.of_query, allow_pickle=False)
        tables.write_json(out / "recorded.json", recorded.prefixes)
    for kind, strength in strengths.items():
        save_affinity(_affinity(clicks, asked, known, kind, strength, ("retriever", "ranker")), out, kind)
    return {
        "pairs": len(pairs),
        "pairs in demand": len(last.graph.rates.column),
        "volume differs by query": bool(np.ptp(found.volume) > 0.2 * found.volume.mean())
        if len(found.volume)
        else False,
        **trust,
    }


def _as_json(shrinkage: Shrinkage) -> dict[str, float | str]:
    return {"shape": "pooled" if shrinkage.shape == POOLED else shrinkage.shape, "unseen": shrinkage.unseen}


def load(at: Folders, texts: list[str], popularity: NDArray[np.int64], *, threads: int = 1) -> GraphRetriever:
    """What `write` wrote, mapped into memory."""
    folder = at["demand"]
    returned = load_rows(folder, "returned", len(texts))
    recorded = None
    if (folder / "recorded.json").exists():
        prefixes = json.loads((folder / "recorded.json").read_text(encoding="utf-8"))
        recorded = Recorded(
            prefixes,
            load_rows(folder, "recorded", len(texts), len(prefixes)),
            mapped(folder / "recorded_of_query.npy", np.float32),
        )
    return GraphRetriever(
        texts,
        Beginnings.load(folder / BEGINNINGS),
        Graph(load_rows(folder, "rates", len(returned), len(texts)), returned, len(texts)),
        typed=mapped(folder / "typed.npy", np.float32),
        own=mapped(folder / "own.npy", np.float32),
        popularity=popularity,
        recorded=recorded,
        documents_in=load_affinity(folder, DOCUMENTS_IN, len(returned)),
        queries_in=load_affinity(folder, QUERIES_IN, len(texts)),
        threads=threads,
    )


def _known(engine: Engine, weight: str, discounted: str | None) -> Known:
    texts = engine.arrow("SELECT text FROM queries ORDER BY query")["text"].to_pylist()
    documents = int(engine.arrow("SELECT count(*) AS n FROM documents")["n"][0].as_py())
    p = discounted or "p"
    law = engine.arrow(f"SELECT rank, {p} AS p FROM propensity ORDER BY rank")
    ratio = "value" if discounted else "value / p.p"
    engine.step(
        "weighed",
        f"SELECT search, document, rank, {weight} AS value FROM numbered_clicks WHERE weight > 0",
    )
    clicked = engine.arrow(
        f"""
        SELECT s.split, s.query, c.document, {engine.ordered_sum("c.value", "c.search")} AS weight,
               {engine.ordered_sum(ratio.replace("value", "c.value"), "c.search")} AS looks
        FROM weighed AS c JOIN numbered_searches AS s ON s.search = c.search
        LEFT JOIN propensity AS p ON p.rank = c.rank
        WHERE s.split <> 'test' GROUP BY s.split, s.query, c.document ORDER BY s.split, s.query, c.document
        """
    )
    searches = engine.arrow(
        """SELECT split, query FROM numbered_searches WHERE split <> 'test' ORDER BY search"""
    )
    unclicked = engine.arrow(
        """SELECT count(*) AS n FROM numbered_searches
           WHERE split <> 'test' AND search NOT IN (SELECT search FROM numbered_clicks)"""
    )["n"][0].as_py()
    matrix = exposure(
        engine.arrow("SELECT query, document, rank FROM rankings"), law, (len(texts), documents)
    )
    return Known(texts, matrix, clicked, searches, unclicked > 0.05 * searches.num_rows)


def _held_out(engine: Engine) -> pa.Table:
    """At most `HELD_OUT` clicked searches of the ranker's split by md5: their contexts and clicks."""
    return engine.arrow(
        f"""
        SELECT i.context, c.document, c.weight / p.p AS looks
        FROM (SELECT s.search FROM numbered_searches AS s
              WHERE s.split = 'ranker' AND s.search IN (SELECT search FROM weighed)
                AND s.search IN (SELECT search FROM instances)
              ORDER BY md5(s.search_id), s.search LIMIT {HELD_OUT}) AS chosen
        JOIN instances AS i ON i.search = chosen.search JOIN weighed AS w ON w.search = chosen.search
        JOIN numbered_clicks AS c ON c.search = w.search AND c.document = w.document AND c.rank = w.rank
        JOIN propensity AS p ON p.rank = c.rank
        ORDER BY i.context, chosen.search, c.document
        """
    )


def _clicks_in_context(engine: Engine) -> pa.Table:
    """split, query, document and context of every training click, the context's columns being those of its search."""
    return engine.arrow(
        """
        SELECT s.split, s.query, c.document, i.context FROM weighed AS c
        JOIN numbered_searches AS s ON s.search = c.search
        JOIN (SELECT search, min(context) AS context FROM instances GROUP BY search) AS i ON i.search = c.search
        WHERE s.split <> 'test' ORDER BY c.search, c.document
        """
    )


def _recorded(engine: Engine, queries: int) -> Recorded | None:
    rows = engine.arrow(
        """SELECT prefix, query, count(*) AS searches FROM numbered_searches
           WHERE split <> 'test' AND prefix IS NOT NULL GROUP BY prefix, query ORDER BY prefix, query"""
    )
    if not rows.num_rows:
        return None
    prefixes = rows["prefix"].combine_chunks().dictionary_encode()
    names, place = prefixes.dictionary.to_pylist(), prefixes.indices.to_numpy()
    starts = np.searchsorted(place, np.arange(len(names) + 1)).astype(np.int64)
    column, value = rows["query"].to_numpy().astype(np.int32), rows["searches"].to_numpy().astype(np.float32)
    of_query = np.bincount(column, weights=value, minlength=queries).astype(np.float32)
    return Recorded(names, Rows(starts, column, value), of_query)


def _typed(texts: list[str], config: Config) -> NDArray[np.float32]:
    """1/(number of admissible cuts) of each query; a query too short to be cut counts as one."""
    cuts = table_of_cuts(texts, config.prefixes)
    number = pc.value_counts(cuts["text"].combine_chunks())
    found = dict(zip(number.field("values").to_pylist(), number.field("counts").to_pylist(), strict=True))
    return np.array([1.0 / found.get(text, 1) for text in texts], np.float32)


def _given(pairs: Pairs, known: Known) -> Beliefs:
    """Judgments are no clicks: what they say is the demand."""
    gains = pairs.clicks(known.clicks_of("retriever", "ranker"))
    return Beliefs(gains, np.zeros(len(pairs)), np.zeros(pairs.queries), given=True)


def _affinity(
    clicks: pa.Table, asked: pa.Table, known: Known, kind: str, strength: float, splits: tuple[str, ...]
) -> Affinity:
    chosen = clicks.filter(pc.is_in(clicks["split"], value_set=pa.array(splits)))
    columns = asked.drop_columns([PREFIX]).take(chosen["context"].combine_chunks())
    owner, owners = (
        ("document", known.exposures.shape[1]) if kind == DOCUMENTS_IN else ("query", len(known.texts))
    )
    return Affinity.fit(columns, chosen[owner].to_numpy(), owners, strength)


def _in_context(
    rates: Floats,
    beliefs: Beliefs,
    retriever: Callable[..., GraphRetriever],
    known: Known,
    held: pa.Table,
    clicks: pa.Table,
    asked: pa.Table,
) -> dict[str, float]:
    """The strengths for documents and queries in context, where context served held-out searches better."""
    if len(asked.column_names) < 2 or not held.num_rows:
        return {}
    numbers, row = np.unique(held["context"].to_numpy(), return_inverse=True)
    typed = asked.take(pa.array(numbers))
    judge = Judge(
        known.exposures, HeldOut(row, held["document"].to_numpy().astype(np.int64), held["looks"].to_numpy())
    )

    def value(context: dict[str, Affinity]) -> Floats:
        found = retriever(rates, beliefs.volume, **context).retrieve(typed, DEEPEST)
        return judge.utilities(found, len(numbers))

    best, strengths, context = value({}), dict[str, float](), dict[str, Affinity]()
    for kind in (DOCUMENTS_IN, QUERIES_IN):
        trials = {s: _affinity(clicks, asked, known, kind, s, ("retriever",)) for s in STRENGTHS}
        values = {s: value({**context, kind: trial}) for s, trial in trials.items()}
        strength = max(values, key=lambda s: float(values[s].sum()))
        if surely_more(values[strength], best):
            best, strengths[kind], context = values[strength], strength, {**context, kind: trials[strength]}
    return strengths
