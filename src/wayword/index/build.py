"""Build an index from a workspace: filter private queries, choose the contexts with precomputed lists, write them."""

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword import __version__
from wayword.completion import stage as completion
from wayword.completion.diversify import near_duplicates
from wayword.completion.expected_utility import ExpectedUtilityRetriever, RecordedPrefixes
from wayword.completion.popular import popularity
from wayword.completion.prefix_matcher import PrefixMatcher
from wayword.completion.sparse_topk import DemandGraph
from wayword.config import IndexConfig
from wayword.engines import tables
from wayword.index.content import Content, ListedContexts
from wayword.index.index import FORMAT
from wayword.index.keys import Columns
from wayword.index.overrides import Overrides
from wayword.index.pages import Pages
from wayword.index.prefix_groups import group_prefixes
from wayword.index.privacy_filter import matching, matching_prefixes
from wayword.index.versions import ROOT, publish
from wayword.logs import contexts_stage as contexts
from wayword.logs.contexts import PREFIX
from wayword.logs.stage import context_columns
from wayword.progress import SILENT, Progress
from wayword.store.compressed_rows import WeightedRows
from wayword.store.stage import Report, threads
from wayword.store.workspace import Workspace, digest

MAX_CONTEXTS = 2_000_000
"""Maximum number of logged contexts (with context values) that get a precomputed list; the others are computed live."""


def build(workspace: Workspace, config: IndexConfig, progress: Progress = SILENT) -> tuple[Path, bool]:
    """Write the index of a workspace unless it exists; make it current. Returns folder and whether it was written."""
    root = workspace.path / ROOT
    overrides = Overrides.load(root)
    used = ("log", "rankings", "contexts", "demand", "completion", *_optional(workspace))
    version = digest(
        {
            "wayword": __version__,
            "format": FORMAT,
            "stages": [workspace.manifest["stages"][stage] for stage in used],
            "settings": {
                name: value for name, value in msgspec.to_builtins(config).items() if name != "versions"
            },
            "deleted": sorted(overrides.delete),
        }
    )

    def make(folder: Path) -> Report:
        with workspace.reading():
            report = _write(folder, workspace, config, overrides, progress)
            workspace.check(*used)  # the version is named after them, so it must not be made of anything else
        return report

    return publish(root, version, make, keep=config.versions)


@dataclass(frozen=True)
class ServedQueries:
    """The queries of a workspace, with a mask of the `private` ones, which the index must not contain."""

    texts: list[str]
    shown: list[str]
    popularity: NDArray[np.int64]
    private: NDArray[np.bool_]
    patterns: list[str]


def _write(
    folder: Path, workspace: Workspace, config: IndexConfig, overrides: Overrides, progress: Progress
) -> Report:
    queries = _served_queries(workspace, config, overrides)
    stages = ("rankings", "demand", "completion", *_optional(workspace))
    whole = completion.load({stage: workspace.folder(stage) for stage in stages}, threads=threads())
    retriever = _public_retriever(whole, queries)
    content = Content(
        ["" if gone else text for text, gone in zip(queries.shown, queries.private.tolist(), strict=True)],
        retriever,
        _listed_contexts(workspace, retriever, queries),
        _pages(workspace, whole.graph.exposure, queries),
        near_duplicates(queries.texts) if config.policy == "diverse" else None,
        list(context_columns(workspace.folder("log"))),
    )
    return {**content.write(folder, config, progress), "withheld queries": int(queries.private.sum())}


def _optional(workspace: Workspace) -> tuple[str, ...]:
    """The stages that only some workspaces have."""
    return ("acceptance",) if "acceptance" in workspace.manifest["stages"] else ()


def _pages(workspace: Workspace, exposure: WeightedRows, queries: ServedQueries) -> Pages:
    at = workspace.folder("rankings")
    return Pages.of(
        exposure,
        tables.read(at, "rankings"),
        tables.read(at, "documents"),
        len(queries.texts),
        ~queries.private,
    )


def _served_queries(workspace: Workspace, config: IndexConfig, overrides: Overrides) -> ServedQueries:
    table = tables.read(workspace.folder("rankings"), "queries")
    texts = table["text"].to_pylist()
    shown = [shown or "" for shown in table["shown"].to_pylist()]  # null for a query without results
    patterns = config.withhold.split()
    private = np.array(matching(texts, patterns), bool) | np.array(matching(shown, patterns), bool)
    private |= np.fromiter((text in overrides.delete for text in texts), bool, len(texts))
    acceptance = workspace.folder("acceptance") if _optional(workspace) else None
    searched = popularity(workspace.folder("rankings"), "retriever", "ranker", acceptance=acceptance)
    private |= _few_users(workspace, texts, config.min_users)
    return ServedQueries(texts, shown, np.where(private, 0, searched), private, patterns)


def _few_users(workspace: Workspace, texts: list[str], least: int) -> NDArray[np.bool_]:
    """Mask of the queries searched by fewer than `least` users; all false where the log has no users."""
    searches = tables.read(workspace.folder("log"), "searches")
    if least < 2 or searches["user_id"].null_count == searches.num_rows:
        return np.zeros(len(texts), bool)
    users = searches.group_by("text").aggregate([("user_id", "count_distinct")])
    count = dict(zip(users["text"].to_pylist(), users["user_id_count_distinct"].to_pylist(), strict=True))
    return np.fromiter((count.get(text, 0) < least for text in texts), bool, len(texts))


def _public_retriever(whole: ExpectedUtilityRetriever, queries: ServedQueries) -> ExpectedUtilityRetriever:
    """The workspace's retriever without private queries."""
    private = queries.private
    matcher = whole.matcher
    if private.any():
        wanted = np.zeros(len(queries.texts), bool)
        wanted[np.asarray(whole.matcher.matchable)] = True
        blank = ["" if gone else text for text, gone in zip(queries.texts, private.tolist(), strict=True)]
        matcher = PrefixMatcher.build(blank, wanted & ~private)
    returned = whole.graph.exposure
    return ExpectedUtilityRetriever(
        _without_private(queries.texts, private),
        matcher,
        DemandGraph(whole.graph.demand, returned.select(~private[returned.values]), whole.graph.universe),
        prefix_probability=whole.prefix_probability,
        own_utility=whole.own_utility,
        popularity=queries.popularity,
        recorded=_public_prefixes(whole.recorded, private, queries.patterns),
        documents_in=whole.documents_in,
        queries_in=whole.queries_in,
        threads=threads(),
    )


def _without_private(texts: list[str], private: NDArray[np.bool_]) -> list[str]:
    """Replace each private text by the one before it, which keeps the sorted order for binary search."""
    kept, last = [], ""
    for text, gone in zip(texts, private.tolist(), strict=True):
        last = last if gone else text
        kept.append(last)
    return kept


def _public_prefixes(
    recorded: RecordedPrefixes | None, private: NDArray[np.bool_], patterns: list[str]
) -> RecordedPrefixes | None:
    """RecordedPrefixes prefixes without those that look private or led to private queries only."""
    if recorded is None:
        return None
    withheld = np.array(matching_prefixes(recorded.prefixes, patterns), bool)
    searches = recorded.searches
    kept = searches.select(~private[searches.values] & ~withheld[searches.owner])
    rows = np.flatnonzero(kept.lengths > 0)
    return RecordedPrefixes(
        [recorded.prefixes[row] for row in rows.tolist()],
        WeightedRows.from_lengths(kept.values, kept.lengths[rows], kept.weights),
        recorded.of_query,
    )


def _listed_contexts(
    workspace: Workspace, retriever: ExpectedUtilityRetriever, queries: ServedQueries
) -> ListedContexts:
    """The contexts with precomputed lists: prefixes of wanted queries, recorded prefixes, and logged context values."""
    wanted = np.asarray(retriever.matcher.matchable)
    known = group_prefixes([queries.texts[number] for number in wanted.tolist()])
    place = dict(zip(known.typed, known.group.tolist(), strict=True))
    examples = list(known.example)
    for typed in retriever.recorded.prefixes if retriever.recorded else ():
        place[typed] = len(examples)
        examples.append(typed)
    columns = Columns.of(retriever)
    typed_in = contexts.load(workspace.folder("contexts"))
    typed_in = typed_in.filter(pc.is_in(typed_in[PREFIX], value_set=pa.array(list(place), pa.string())))
    logged = columns.logged(typed_in, MAX_CONTEXTS)
    table = pa.concat_tables([columns.table(examples, {}), logged])
    keys = [*place, *columns.keys(logged)]
    row = np.r_[np.fromiter(place.values(), np.int64, len(place)), len(examples) + np.arange(logged.num_rows)]
    return ListedContexts(table, keys, row, columns)
