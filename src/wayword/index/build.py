"""From a workspace to the content of its index: which queries may be shown, and which texts get finished lists."""

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
from wayword.index.content import Asked, Content
from wayword.index.index import FORMAT
from wayword.index.keys import Columns
from wayword.index.overrides import Overrides
from wayword.index.pages import Pages
from wayword.index.prefix_groups import known_texts
from wayword.index.privacy_filter import beginning, matching
from wayword.index.versions import ROOT, publish
from wayword.logs import contexts_stage as contexts
from wayword.logs.contexts import PREFIX
from wayword.logs.stage import context_columns
from wayword.progress import SILENT, Progress
from wayword.store.compressed_rows import WeightedRows
from wayword.store.stage import Report, threads
from wayword.store.workspace import Workspace, digest

MOST_CONTEXTS = 2_000_000
"""So many distinct contexts of the log get lists of their own; the others are answered live."""


def build(workspace: Workspace, config: IndexConfig, progress: Progress = SILENT) -> tuple[Path, bool]:
    """Write the index of a workspace, unless it is there, and make it the current one. Says whether it was made."""
    root = workspace.path / ROOT
    overrides = Overrides.load(root)
    used = ("log", "rankings", "contexts", "demand", "completion")
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
            return _write(folder, workspace, config, overrides, progress)

    return publish(root, version, make, keep=config.versions)


@dataclass(frozen=True)
class Shown:
    """The queries, and which may neither be shown nor be kept."""

    texts: list[str]
    shown: list[str]
    popularity: NDArray[np.int64]
    private: NDArray[np.bool_]
    patterns: list[str]


def _write(
    folder: Path, workspace: Workspace, config: IndexConfig, overrides: Overrides, progress: Progress
) -> Report:
    queries = _shown(workspace, config, overrides)
    stages = ("rankings", "demand", "completion")
    whole = completion.load({stage: workspace.folder(stage) for stage in stages}, threads=threads())
    retriever = _served(whole, queries)
    content = Content(
        ["" if gone else text for text, gone in zip(queries.shown, queries.private.tolist(), strict=True)],
        retriever,
        _asked(workspace, retriever, queries),
        _pages(workspace, whole.graph.exposure, queries),
        near_duplicates(queries.texts) if config.policy == "diverse" else None,
        list(context_columns(workspace.folder("log"))),
    )
    return {**content.write(folder, config, progress), "withheld queries": int(queries.private.sum())}


def _pages(workspace: Workspace, exposure: WeightedRows, queries: Shown) -> Pages:
    at = workspace.folder("rankings")
    return Pages.of(
        exposure,
        tables.read(at, "rankings"),
        tables.read(at, "documents"),
        len(queries.texts),
        ~queries.private,
    )


def _shown(workspace: Workspace, config: IndexConfig, overrides: Overrides) -> Shown:
    table = tables.read(workspace.folder("rankings"), "queries")
    texts = table["text"].to_pylist()
    shown = [shown or "" for shown in table["shown"].to_pylist()]  # a query without results has none
    patterns = config.withhold.split()
    private = np.array(matching(texts, patterns), bool) | np.array(matching(shown, patterns), bool)
    private |= np.fromiter((text in overrides.delete for text in texts), bool, len(texts))
    searched = popularity(workspace.folder("rankings"), "retriever", "ranker")
    private |= _few_users(workspace, texts, config.min_users)
    return Shown(texts, shown, np.where(private, 0, searched), private, patterns)


def _few_users(workspace: Workspace, texts: list[str], least: int) -> NDArray[np.bool_]:
    """Queries that fewer people have searched for; none where the log does not say who."""
    searches = tables.read(workspace.folder("log"), "searches")
    if least < 2 or searches["user_id"].null_count == searches.num_rows:
        return np.zeros(len(texts), bool)
    users = searches.group_by("text").aggregate([("user_id", "count_distinct")])
    count = dict(zip(users["text"].to_pylist(), users["user_id_count_distinct"].to_pylist(), strict=True))
    return np.fromiter((count.get(text, 0) < least for text in texts), bool, len(texts))


def _served(whole: ExpectedUtilityRetriever, queries: Shown) -> ExpectedUtilityRetriever:
    """The workspace's retriever, which knows no private text."""
    private = queries.private
    matcher = whole.matcher
    if private.any():
        wanted = np.zeros(len(queries.texts), bool)
        wanted[np.asarray(whole.matcher.matchable)] = True
        blank = ["" if gone else text for text, gone in zip(queries.texts, private.tolist(), strict=True)]
        matcher = PrefixMatcher.build(blank, wanted & ~private)
    returned = whole.graph.exposure
    return ExpectedUtilityRetriever(
        _without(queries.texts, private),
        matcher,
        DemandGraph(whole.graph.demand, returned.select(~private[returned.values]), whole.graph.universe),
        prefix_probability=whole.prefix_probability,
        own_utility=whole.own_utility,
        popularity=queries.popularity,
        recorded=_public(whole.recorded, private, queries.patterns),
        documents_in=whole.documents_in,
        queries_in=whole.queries_in,
        threads=threads(),
    )


def _without(texts: list[str], private: NDArray[np.bool_]) -> list[str]:
    """A private text is replaced by the one before it, so that the rest can be searched in their order."""
    kept, last = [], ""
    for text, gone in zip(texts, private.tolist(), strict=True):
        last = last if gone else text
        kept.append(last)
    return kept


def _public(
    recorded: RecordedPrefixes | None, private: NDArray[np.bool_], patterns: list[str]
) -> RecordedPrefixes | None:
    """Without the prefixes that look private themselves, or led to private queries alone."""
    if recorded is None:
        return None
    withheld = np.array(beginning(recorded.prefixes, patterns), bool)
    searches = recorded.searches
    kept = searches.select(~private[searches.values] & ~withheld[searches.owner])
    rows = np.flatnonzero(kept.lengths > 0)
    return RecordedPrefixes(
        [recorded.prefixes[row] for row in rows.tolist()],
        WeightedRows.from_lengths(kept.values, kept.lengths[rows], kept.weights),
        recorded.of_query,
    )


def _asked(workspace: Workspace, retriever: ExpectedUtilityRetriever, queries: Shown) -> Asked:
    """Every beginning of a query that is wanted, every text that was recorded, and the log's own contexts."""
    wanted = np.asarray(retriever.matcher.matchable)
    known = known_texts([queries.texts[number] for number in wanted.tolist()])
    place = dict(zip(known.typed, known.group.tolist(), strict=True))
    examples = list(known.example)
    for typed in retriever.recorded.prefixes if retriever.recorded else ():
        place[typed] = len(examples)
        examples.append(typed)
    columns = Columns.of(retriever)
    typed_in = contexts.load(workspace.folder("contexts"))
    typed_in = typed_in.filter(pc.is_in(typed_in[PREFIX], value_set=pa.array(list(place), pa.string())))
    logged = columns.logged(typed_in, MOST_CONTEXTS)
    table = pa.concat_tables([columns.table(examples, {}), logged])
    keys = [*place, *columns.keys(logged)]
    row = np.r_[np.fromiter(place.values(), np.int64, len(place)), len(examples) + np.arange(logged.num_rows)]
    return Asked(table, keys, row, columns)
