"""demand: what people want behind every query, the graph to walk from there, and how to understand typed texts.

Beliefs learned on the retriever's split are judged by the clicks of the ranker's: that chooses how much clicks are
trusted (`Shrinkage`) and whether context columns are. Then everything is learned again from both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion import retriever_io as saved
from wayword.completion.context_affinity import Affinity
from wayword.completion.expected_utility import GraphRetriever, Recorded
from wayword.completion.prefix_matcher import Beginnings
from wayword.completion.retriever_io import DOCUMENTS_IN, QUERIES_IN
from wayword.completion.sparse_topk import Graph
from wayword.config import Config
from wayword.demand.known import GAIN, Known, read
from wayword.demand.pairs import Floats, Pairs
from wayword.demand.rates import CHOICES, POOLED, Shrinkage, believe, likelihood
from wayword.demand.surroundings import Surroundings
from wayword.demand.validation import HeldOut, Judge, surely_more
from wayword.engines import Engine
from wayword.engines.stages import (
    Folders,
    Report,
    fetch_numbered,
    tables_in,
    threads,
)
from wayword.evaluation.estimates import DEEPEST
from wayword.logs import contexts_stage as contexts
from wayword.logs.contexts import PREFIX
from wayword.logs.prefixes import table_of_cuts
from wayword.progress import Progress
from wayword.store.compressed_rows import WeightedRows

LEAST = 0.002
"""A document is left out of a query's demand if it is this improbable beside one that is surely wanted."""
STRENGTHS = (3.0, 10.0, 30.0)
"""Tried for the context columns: how many searches a factor of 1 is worth."""
STEPS = 8


@dataclass(frozen=True)
class Material:
    """What is learned from, and what a retriever needs besides demand."""

    known: Known
    pairs: Pairs
    asked: pa.Table
    beginnings: Beginnings
    returned: WeightedRows
    typed: NDArray[np.float32]
    recorded: Recorded | None

    def retriever(self, rates: Floats, volume: Floats, context: Mapping[str, Affinity]) -> GraphRetriever:
        """That of the demand which these rates say, one for each pair; volumes are those of the queries."""
        pairs, queries = self.pairs, len(self.known.texts)
        kept = rates > LEAST * volume[pairs.query]
        demand = csr_array(
            (rates[kept], (pairs.query[kept], pairs.document[kept])), shape=self.known.exposures.shape
        )
        own = np.bincount(pairs.query[kept], weights=(rates * pairs.p)[kept], minlength=queries)
        return GraphRetriever(
            self.known.texts,
            self.beginnings,
            Graph(WeightedRows.from_matrix(demand), self.returned, queries),
            typed=self.typed,
            own=own.astype(np.float32),
            popularity=np.zeros(queries, np.int64),
            recorded=self.recorded,
            threads=threads(),
            **context,
        )

    def affinity(self, kind: str, strength: float, *splits: str) -> Affinity:
        """How much more documents, or queries, are wanted in some contexts, by the clicks of these splits."""
        clicks = self.known.in_context
        chosen = clicks.filter(pc.is_in(clicks["split"], value_set=pa.array(splits)))
        columns = self.asked.drop_columns([PREFIX]).take(chosen["context"].combine_chunks())
        queries, documents = self.known.exposures.shape
        owner, owners = ("document", documents) if kind == DOCUMENTS_IN else ("query", queries)
        return Affinity.fit(columns, chosen[owner].to_numpy(), owners, strength)


@dataclass(frozen=True)
class Learned:
    """The demand, how much context columns say (by kind), and what there is to report."""

    rates: Floats
    volume: Floats
    strengths: Mapping[str, float]
    report: Report


def write(out: Path, at: Folders, config: Config, variant: str, progress: Progress) -> Report:
    """Fill `out`; `variant` is `unbiased`, or how judgments are measured."""
    material = _read(out, at, config, variant)
    found = _given(material) if variant in GAIN else _learned(material, config.demand.seed, progress)
    progress.advance(STEPS - 1, STEPS)
    context = {
        kind: material.affinity(kind, strength, "retriever", "ranker")
        for kind, strength in found.strengths.items()
    }
    retriever = material.retriever(found.rates, found.volume, context)
    saved.save(retriever, out)
    return {
        "pairs": len(material.pairs),
        "pairs in demand": len(retriever.graph.rates.values),
        "volume differs by query": bool(np.ptp(found.volume) > 0.2 * found.volume.mean())
        if len(found.volume)
        else False,
        **found.report,
    }


def _read(out: Path, at: Folders, config: Config, variant: str) -> Material:
    with tables_in(out) as engine:
        fetch_numbered(engine, at)
        known = read(engine, variant)
        recorded = _recorded(engine, len(known.texts))
    return Material(
        known,
        Pairs.of(known.exposures, known.clicks_of("retriever", "ranker"), most=config.demand.max_pairs),
        contexts.load(at["contexts"]),
        Beginnings.build(known.texts, np.diff(known.exposures.indptr) > 0),
        WeightedRows.from_matrix(csr_array(known.exposures.T)),
        _typed(known.texts, config),
        recorded,
    )


def _given(material: Material) -> Learned:
    """Judgments are no clicks: what they say is the demand."""
    gains = material.pairs.clicks(material.known.clicks_of("retriever", "ranker"))
    return Learned(gains, np.zeros(material.pairs.queries), {}, {})


def _learned(material: Material, seed: int, progress: Progress) -> Learned:
    """Learn on the retriever's split, choose settings on the ranker's, learn again on both."""
    known, pairs = material.known, material.pairs
    around = Surroundings.of(known.texts, known.names, known.titles, pairs)
    progress.advance(1, STEPS)
    early, chosen, strengths, report = None, Shrinkage(3.0), dict[str, float](), dict[str, object]()
    if known.held.num_rows and known.clicks_of("retriever").num_rows:
        clicks, searches = pairs.clicks(known.clicks_of("retriever")), known.issued("retriever")
        early = believe(pairs, clicks, searches, around, models=1, seed=seed, threads=threads())
        progress.advance(3, STEPS)
        later = pairs.clicks(known.clicks_of("ranker"))
        told = {choice: likelihood(early.rates(pairs, choice), pairs, later) for choice in CHOICES}
        chosen = max(told, key=lambda choice: told[choice])
        strengths = _in_context(material, early.rates(pairs, chosen), early.volume)
        report = {
            "shrinkage": _as_json(chosen),
            "validation": [{**_as_json(choice), "likelihood": value} for choice, value in told.items()],
            "context": strengths,
        }
    found = believe(
        pairs,
        pairs.clicks(known.clicks_of("retriever", "ranker")),
        known.issued("retriever", "ranker"),
        around,
        prior=early.relevance if early else None,
        seed=seed,
        threads=threads(),
    )
    return Learned(found.rates(pairs, chosen), found.volume, strengths, report)


def _as_json(shrinkage: Shrinkage) -> dict[str, float | str]:
    return {"shape": "pooled" if shrinkage.shape == POOLED else shrinkage.shape, "unseen": shrinkage.unseen}


def load(at: Folders, texts: list[str], popularity: NDArray[np.int64], *, threads: int = 1) -> GraphRetriever:
    """What `write` wrote, mapped into memory."""
    return saved.load(at["demand"], texts, popularity, threads=threads)


def _typed(texts: list[str], config: Config) -> NDArray[np.float32]:
    """1/(number of admissible cuts) of each query; a query too short to be cut counts as one."""
    cuts = table_of_cuts(texts, config.prefixes)
    number = pc.value_counts(cuts["text"].combine_chunks())
    found = dict(zip(number.field("values").to_pylist(), number.field("counts").to_pylist(), strict=True))
    return np.array([1.0 / found.get(text, 1) for text in texts], np.float32)


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
    return Recorded(names, WeightedRows(starts, column, value), of_query)


def _in_context(material: Material, rates: Floats, volume: Floats) -> dict[str, float]:
    """The strengths for documents and queries in context, where context served held-out searches better."""
    known, held = material.known, material.known.held
    if len(material.asked.column_names) < 2 or not held.num_rows:
        return {}
    numbers, row = np.unique(held["context"].to_numpy(), return_inverse=True)
    typed = material.asked.take(pa.array(numbers))
    judge = Judge(
        known.exposures, HeldOut(row, held["document"].to_numpy().astype(np.int64), held["looks"].to_numpy())
    )

    def value(context: dict[str, Affinity]) -> Floats:
        found = material.retriever(rates, volume, context).retrieve(typed, DEEPEST)
        return judge.utilities(found, len(numbers))

    best, strengths, context = value({}), dict[str, float](), dict[str, Affinity]()
    for kind in (DOCUMENTS_IN, QUERIES_IN):
        trials = {s: material.affinity(kind, s, "retriever") for s in STRENGTHS}
        values = {s: value({**context, kind: trial}) for s, trial in trials.items()}
        strength = max(values, key=lambda s: float(values[s].sum()))
        if surely_more(values[strength], best):
            best, strengths[kind], context = values[strength], strength, {**context, kind: trials[strength]}
    return strengths
