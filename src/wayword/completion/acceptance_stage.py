"""acceptance: which suggestions people take, and what those intended who took one.

Writes `acceptance.json`, the model, and `intended.parquet`: for each search of the log whose query was taken from a
list, the queries that may have been intended, with their probabilities. Lists of test searches are not used. Demand is
learned from these, so it is not known yet: the stage `completion` fits the model once more, with demand, for serving.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from wayword.completion import shown_lists
from wayword.completion.acceptance import MODEL
from wayword.completion.acceptance_candidates import Universe
from wayword.completion.acceptance_learning import LearnedAcceptance, learn
from wayword.completion.expected_utility import ExpectedUtilityRetriever
from wayword.completion.intended_queries import intended_queries
from wayword.completion.popular import INTENDED, popularity
from wayword.completion.prefix_matcher import PrefixMatcher
from wayword.completion.shown_lists import ShownLists
from wayword.completion.sparse_topk import DemandGraph
from wayword.completion.suggested_queries import SuggestedQueries, pages_by_rank
from wayword.completion.variants import Variants
from wayword.engines import Engine, tables
from wayword.engines.tables import embedded_in, tables_in
from wayword.progress import Progress
from wayword.propensity.exposure import exposure
from wayword.store.compressed_rows import WeightedRows
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report


def write(out: Path, at: Folders, completions: InputFile, progress: Progress) -> Report:
    """Fill `out` from the lists shown and the numbered log."""
    searches = tables.read(at["rankings"], "numbered_searches", "search", "search_id", "split")
    logged = searches.filter(pc.not_equal(searches["split"], "test"))["search_id"].combine_chunks()
    with tables_in(out) as engine:
        universe = universe_before_demand(engine, at)
    with embedded_in(out) as engine:
        lists = training_lists(engine, at, completions, universe.texts)
    issued = universe.retriever.popularity
    learned = learn(lists, universe, issued, logged, progress)
    learned.model.save(out / MODEL, learned.details())
    pq.write_table(numbered(learned, searches), out / f"{INTENDED}.parquet", compression="zstd")
    return _report(learned)


def training_lists(engine: Engine, at: Folders, completions: InputFile, texts: Sequence[str]) -> ShownLists:
    """Read the lists shown but for those of test searches."""
    searches = tables.read(at["rankings"], "numbered_searches", "search_id", "split", "query")
    joined = shown_lists.read(engine, completions, texts).in_log(searches)
    joined.check(str(completions))
    lists = joined.agreeing()
    test = searches.filter(pc.equal(searches["split"], "test"))["search_id"].combine_chunks()
    tested = pc.fill_null(pc.is_in(lists.search_id, value_set=test.cast(pa.string())), False)
    return lists.of_sessions(~tested.to_numpy(zero_copy_only=False))


def universe_before_demand(engine: Engine, at: Folders) -> Universe:
    """The queries of the log, before their demand is known: as if people wanted what each page shows, by p[rank]."""
    queries, documents = (tables.read(at["rankings"], name) for name in ("queries", "documents"))
    tables.fetch(engine, at["rankings"], "rankings")
    rows = engine.arrow("SELECT query, document, rank FROM rankings ORDER BY query, rank, document")
    shape = queries.num_rows, documents.num_rows
    shown = WeightedRows.from_matrix(
        csr_array(exposure(rows, tables.read(at["propensity"], "propensity"), shape).T)
    )
    texts, n = queries["text"].to_pylist(), queries.num_rows
    returned = np.bincount(shown.values, minlength=n) > 0
    pages = pages_by_rank(shown, n)
    searches = popularity(at["rankings"], "retriever", "ranker", weighted=False)
    wanted = WeightedRows(
        pages.offsets, pages.values, pages.weights * np.maximum(searches, 1)[pages.owner].astype(np.float32)
    )
    retriever = ExpectedUtilityRetriever(
        texts,
        PrefixMatcher.build(texts, returned),
        DemandGraph(wanted, shown, n),
        prefix_probability=np.ones(n, np.float32),
        own_utility=np.bincount(pages.owner, pages.weights * wanted.weights, minlength=n).astype(np.float32),
        popularity=searches,
    )
    variants = Variants.of(texts, searches.astype(np.int64), pages, returned)
    suggested = SuggestedQueries.of(
        texts, retriever.matcher.spelling, pages, searches.astype(np.int64), variants
    )
    return Universe.of(retriever, suggested)


def numbered(learned: LearnedAcceptance, searches: pa.Table) -> pa.Table:
    """The posterior with the numbers of the log's searches; searches of other logs are left out."""
    table = intended_queries(learned.data, learned.fit)
    place = pc.index_in(
        table["search_id"], value_set=searches["search_id"].combine_chunks().cast(pa.string())
    )
    table = table.append_column("place", place).filter(pc.is_valid(place))
    numbers = searches["search"].take(table["place"])
    return pa.table(
        {"search": numbers, "query": table["query"], "probability": table["probability"]}
    ).sort_by([("search", "ascending"), ("query", "ascending")])


def _report(learned: LearnedAcceptance) -> Report:
    checked: dict[str, Any] | None = None if learned.reliability is None else asdict(learned.reliability)
    return {"learned": learned.enough, **learned.data.counts, "held out": checked}
