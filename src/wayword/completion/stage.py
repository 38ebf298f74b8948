"""completion: everything that completes a typed text but the demand, which is stored once.

The index of query texts, the probability of each prefix, the prefixes that the log recorded, the factors of context
columns; and for the lists that are served, the queries as suggestions, the acceptance model and the keystroke value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.completion import acceptance_stage, keystroke_value, list_policy_io, retriever_io, variants_table
from wayword.completion.acceptance import MODEL, PRIOR, Acceptance
from wayword.completion.acceptance_candidates import Universe
from wayword.completion.acceptance_learning import refit
from wayword.completion.availability import available_documents
from wayword.completion.context_affinity import Affinity
from wayword.completion.context_choice import ContextClicks, choose
from wayword.completion.expected_utility import ExpectedUtilityRetriever, RecordedPrefixes
from wayword.completion.list_policy import ListPolicy
from wayword.completion.popular import INTENDED, PopularRetriever, popularity
from wayword.completion.prefix_matcher import PrefixMatcher
from wayword.completion.shown_lists import ShownLists
from wayword.completion.sparse_topk import DemandGraph
from wayword.completion.suggested_queries import SuggestedQueries, pages_by_rank
from wayword.completion.survival import LONGEST, with_survival
from wayword.completion.variants import Variants
from wayword.config import CompletionConfig, PrefixConfig
from wayword.demand.artefact import EARLY
from wayword.engines import Engine, tables
from wayword.engines.tables import embedded_in, tables_in
from wayword.logs import contexts_stage
from wayword.logs.contexts import PREFIX
from wayword.progress import Progress
from wayword.store.arrays import load_array
from wayword.store.artefact import report_of
from wayword.store.compressed_rows import WeightedRows
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report, threads
from wayword.text import cut_ends

STEPS = 4
VARIANTS = "variants.parquet"
"""The queries that are shown as another, for people to read and correct."""
_USED = ("search", "search_id", "split", "prefix", "query", "recency")
"""The columns of the numbered searches that this stage reads."""
DEFAULT_KEYSTROKE_VALUE = 0.8
"""The keystroke value where there are no held-out searches to choose it."""


@dataclass(frozen=True)
class Learned:
    """What the stage learned before, from which `wayword refresh` goes on."""

    context: Mapping[str, float]
    """The strengths of context columns."""
    acceptance: Acceptance
    keystroke_value: float
    survival: NDArray[np.float32]
    """See `survival`. Nobody has left on the way to a query that was not known."""

    @classmethod
    def read(cls, folder: Path, number: NDArray[np.int64], queries: int) -> "Learned":
        """Read it from an artefact; `number` has the present number of each of its queries, of which there are
        `queries` now."""
        report = report_of(folder)
        known = load_array(folder / list_policy_io.SURVIVAL, np.float32, shape=(len(number), LONGEST))
        survival = np.ones((queries, LONGEST), np.float32)
        survival[number] = known
        return cls(
            report["context"], Acceptance.load(folder / MODEL), float(report["keystroke value"]), survival
        )


def write(
    out: Path,
    at: Folders,
    prefixes: PrefixConfig,
    config: CompletionConfig,
    *,
    acceptance: InputFile | None = None,
    corrections: InputFile | None = None,
    completions: InputFile | None = None,
    learned: Learned | None = None,
    progress: Progress,
) -> Report:
    """Fill `out`; see the top of the file.

    `acceptance` is a file of `Acceptance.save`, `corrections` one of `variants_table.read_corrections`, `completions`
    one of lists shown. With what was `learned` before, nothing is learned anew.
    """
    texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
    contexts = contexts_stage.load(at["contexts"])
    graph, own_utility = retriever_io.load_graph(at["demand"], len(texts))
    with tables_in(out) as engine:
        tables.fetch_columns(engine, at["rankings"], "numbered_searches", *_USED)
        if "acceptance" in at:
            tables.fetch(engine, at["acceptance"], INTENDED)
        recorded = _recorded(engine, len(texts), _INTENDED if "acceptance" in at else _ISSUED)
        clicks = _context_clicks(engine, at, contexts) if contexts.column_names != [PREFIX] else None
        held_out = np.zeros(0, np.int64) if learned else _held_out(engine, at)
    lists = _training_lists(out, at, completions, texts) if completions else None
    progress.advance(1, STEPS)
    returned = np.bincount(graph.exposure.values, minlength=len(texts)) > 0
    matcher, probability = PrefixMatcher.build(texts, returned), _prefix_probability(texts, prefixes)
    progress.advance(2, STEPS)

    intended = at.get("acceptance")
    searches = popularity(at["rankings"], "retriever", "ranker", acceptance=intended)
    early_counts = searches if learned else popularity(at["rankings"], "retriever", acceptance=intended)
    counted = popularity(at["rankings"], "retriever", "ranker", acceptance=intended, weighted=False)
    issued = counted.astype(np.int64)

    def assemble(
        graph: DemandGraph,
        own_utility: NDArray[np.float32],
        context: Mapping[str, Affinity],
        counts: NDArray[np.float64],
    ) -> ExpectedUtilityRetriever:
        return ExpectedUtilityRetriever(
            texts,
            matcher,
            graph,
            prefix_probability=probability,
            own_utility=own_utility,
            popularity=counts,
            recorded=recorded,
            threads=threads(),
            **context,
        )

    strengths: Mapping[str, float] = learned.context if learned else {}
    if clicks and not learned and (at["demand"] / EARLY).exists():
        early, early_utility = retriever_io.load_graph(at["demand"], len(texts), EARLY)
        strengths = choose(
            clicks, early.exposure, lambda context: assemble(early, early_utility, context, early_counts)
        )
    context = {
        kind: clicks.affinity(kind, strength, graph, "retriever", "ranker")
        for kind, strength in strengths.items()
        if clicks
    }
    retriever = assemble(graph, own_utility, context, searches)
    retriever_io.save_matching(retriever, out)
    progress.advance(3, STEPS)
    decided, unknown = variants_table.read_corrections(corrections.opened, texts) if corrections else ({}, [])
    pages = pages_by_rank(graph.exposure, len(texts))
    variants = Variants.of(texts, issued, pages, returned, decided)
    pq.write_table(variants_table.as_table(texts, variants, issued), out / VARIANTS)
    suggested = SuggestedQueries.of(texts, matcher.spelling, pages, issued, variants)
    model = learned.acceptance if learned else Acceptance.load(acceptance.opened) if acceptance else None
    if model is None:
        model = refit(lists, Universe.of(retriever, suggested), counted) if lists else PRIOR
    policy = ListPolicy(retriever, suggested, model, DEFAULT_KEYSTROKE_VALUE)
    value, tried = learned.keystroke_value if learned else 0.0, dict[str, float]()
    if not learned:
        validated = replace(policy, retriever=assemble(graph, own_utility, context, early_counts))
        value, tried = _keystroke_value(validated, config, held_out)
    policy = replace(policy, keystroke_value=value)
    list_policy_io.save(replace(policy, survival=learned.survival) if learned else with_survival(policy), out)
    return {
        "context": strengths,
        "queries shown as another": int((variants.shown_as != np.arange(len(texts))).sum()),
        "corrections of unknown queries": len(unknown),
        "keystroke value": value,
        "keystrokes relative to most popular completion": tried,
    }


def _training_lists(out: Path, at: Folders, completions: InputFile, texts: list[str]) -> ShownLists:
    with embedded_in(out) as engine:
        return acceptance_stage.training_lists(engine, at, completions, texts)


def _keystroke_value(
    policy: ListPolicy, config: CompletionConfig, held_out: NDArray[np.int64]
) -> tuple[float, dict[str, float]]:
    """The value that is set, or else chosen on held-out searches; and what people type with those that were tried."""
    if config.keystroke_value != "auto":
        return config.keystroke_value, {}
    if not len(held_out):
        return DEFAULT_KEYSTROKE_VALUE, {}
    popular = PopularRetriever(policy.retriever.texts, policy.retriever.popularity).retrieve
    typed = [policy.retriever.texts[query] for query in np.unique(held_out).tolist()]
    remembering = policy.remembering()
    chosen, tried = keystroke_value.choose(
        lambda value: with_survival(replace(remembering, keystroke_value=value), typed), popular, held_out
    )
    return chosen, {f"{value:.3g}": relative for value, relative in tried.items()}


def _context_clicks(engine: Engine, at: Folders, contexts: pa.Table) -> ContextClicks:
    tables.fetch(engine, at["rankings"], "numbered_clicks", "rankings")
    tables.fetch(engine, at["contexts"], "instances")
    tables.fetch(engine, at["propensity"], "propensity")
    return ContextClicks.read(engine, contexts)


def _held_out(engine: Engine, at: Folders) -> NDArray[np.int64]:
    """Read the queries of some searches of the ranker's split, chosen by md5."""
    tables.fetch(engine, at["rankings"], "rankings")
    rows = engine.arrow(
        f"""SELECT query FROM numbered_searches WHERE split = 'ranker' AND query IN (SELECT query FROM rankings)
            ORDER BY md5(search_id), search LIMIT {keystroke_value.SESSIONS}"""
    )
    return rows["query"].to_numpy().astype(np.int64)


def load_lists(at: Folders, *, threads: int = 1) -> ListPolicy:
    """Map the policy of a workspace into memory; what is not available is left out."""
    policy, available = (
        list_policy_io.load(at["completion"], load(at, threads=threads)),
        available_documents(at),
    )
    if available is None:
        return policy
    pages = policy.queries.pages
    left = replace(policy.queries, pages=pages.select(available[pages.values]))
    return replace(policy, queries=left)


def load(at: Folders, *, threads: int = 1) -> ExpectedUtilityRetriever:
    """Map the retriever of a workspace into memory; what is not available is left out."""
    texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
    counts = popularity(at["rankings"], "retriever", "ranker", acceptance=at.get("acceptance"))
    available = available_documents(at)
    return retriever_io.load(
        at["completion"], texts, counts, graph=at["demand"], available=available, threads=threads
    )


def _prefix_probability(texts: list[str], config: PrefixConfig) -> NDArray[np.float32]:
    """Compute 1/(number of admissible prefixes) of each query; a query too short for a prefix has 1."""
    counts = (len(cut_ends(text, start=config.start, min_chars=config.min_chars)) for text in texts)
    return np.fromiter((1.0 / max(count, 1) for count in counts), np.float32, len(texts))


_ISSUED = """SELECT search, prefix, query, recency AS searches FROM numbered_searches
             WHERE split <> 'test' AND prefix IS NOT NULL"""
_INTENDED = """
    SELECT s.search, s.prefix, s.query, s.recency AS searches FROM numbered_searches AS s
    WHERE s.split <> 'test' AND s.prefix IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM intended AS i WHERE i.search = s.search)
    UNION ALL
    SELECT s.search, s.prefix, i.query, s.recency * i.probability FROM intended AS i
    JOIN numbered_searches AS s ON s.search = i.search WHERE s.split <> 'test' AND s.prefix IS NOT NULL"""


def _recorded(engine: Engine, queries: int, counts: str = _ISSUED) -> RecordedPrefixes | None:
    """Read the prefixes that the log recorded, with the number of searches of each query; None without any.

    `counts` is the SQL of the searches: by the issued query, or by the intended one.
    """
    rows = engine.arrow(
        f"""SELECT prefix, query, {engine.ordered_sum("searches", "search")} AS searches FROM ({counts}) AS searched
            GROUP BY prefix, query ORDER BY prefix, query"""
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
    return RecordedPrefixes(names, WeightedRows(offsets, query, searches), of_query)
