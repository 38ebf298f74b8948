"""Build an index from a workspace: filter private queries, choose the contexts with precomputed lists, write them."""

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword import __version__
from wayword.completion import stage as completion
from wayword.completion.availability import available_rankings
from wayword.completion.context_affinity import Affinity
from wayword.completion.expected_utility import ExpectedUtilityRetriever, RecordedPrefixes
from wayword.completion.list_policy import ListPolicy
from wayword.completion.policies import Expected
from wayword.completion.popular import popularity
from wayword.completion.prefix_matcher import PrefixMatcher
from wayword.completion.sparse_topk import DemandGraph
from wayword.completion.suggested_queries import HIDDEN
from wayword.config import IndexConfig
from wayword.engines import tables
from wayword.index.anonymous_demand import counted_searches, users_of
from wayword.index.block_list import BlockList
from wayword.index.content import Content, ListedContexts, ServedPolicy
from wayword.index.earlier_lists import EarlierLists
from wayword.index.evaluation_file import Evaluation
from wayword.index.index import FORMAT
from wayword.index.keys import Columns
from wayword.index.overrides import Overrides
from wayword.index.pages import Pages
from wayword.index.prefix_groups import group_prefixes
from wayword.index.showable import Showable, least_searches
from wayword.index.versions import ROOT, publish
from wayword.logs import contexts_stage as contexts
from wayword.logs.contexts import PREFIX
from wayword.logs.splits import SPLITS
from wayword.logs.stage import context_columns
from wayword.privacy_filter import matching, matching_prefixes
from wayword.progress import SILENT, Progress
from wayword.rankings.availability import STAGE as AVAILABILITY
from wayword.store.compressed_rows import WeightedRows
from wayword.store.stage import Folders, Report, threads
from wayword.store.workspace import Workspace, digest

USED = ("log", "rankings", "contexts", "demand", "completion")
"""The stages that every index is made from."""
SETTINGS = "settings"
"""In the report of a version: the settings that it was built with."""
MAX_CONTEXTS = 2_000_000
"""Maximum number of logged contexts (with context values) that get a precomputed list; the others are computed live."""


def build(
    workspace: Workspace,
    config: IndexConfig,
    progress: Progress = SILENT,
    *,
    evaluation: Evaluation | None = None,
    current: bool = True,
    earlier: EarlierLists | None = None,
) -> tuple[Path, bool]:
    """Write the index of a workspace unless it exists; make it `current`. Returns folder and whether it was written.

    `evaluation` replaces the one that the page shows. Lists that have not changed are copied from `earlier` ones.
    """
    root = workspace.path / ROOT
    overrides = Overrides.load(root)
    used = (*USED, *_optional(workspace))
    version = digest(
        {
            "wayword": __version__,
            "format": FORMAT,
            "stages": [workspace.manifest["stages"][stage] for stage in used],
            **({"lists of": earlier.index.version} if earlier else {}),
            "settings": {
                name: value for name, value in msgspec.to_builtins(config).items() if name != "versions"
            },
            "deleted": sorted(overrides.delete),
            "block": BlockList.named(config.block, needed=True).tag if config.block else "",
        }
    )

    def make(folder: Path) -> Report:
        with workspace.reading():
            report = _write(folder, workspace, config, overrides, progress, earlier)
            workspace.check(*used)  # the version is named after them, so it must not be made of anything else
        return report

    return publish(root, version, make, keep=config.versions, evaluation=evaluation, current=current)


@dataclass(frozen=True)
class ServedQueries:
    """The queries of a workspace, with a mask of the `private` ones, which the index must not contain.

    Of the others those that are not `showable` are in no list, but what they tell of beginnings and demand is used.
    """

    texts: list[str]
    shown: list[str]
    popularity: NDArray[np.float64]
    private: NDArray[np.bool_]
    patterns: list[str]
    showable: NDArray[np.bool_]
    withheld: dict[str, int]
    """Numbers of queries that are not shown, by reason."""
    replaceable: NDArray[np.bool_]
    """Private queries that have few users, and nothing else against them, and those that return nothing available: a
    variant may be shown instead."""
    rare: NDArray[np.float64]
    """Searches of private queries that have few users and no personal data; 0 for all other queries."""


def _write(
    folder: Path,
    workspace: Workspace,
    config: IndexConfig,
    overrides: Overrides,
    progress: Progress,
    earlier: EarlierLists | None = None,
) -> Report:
    queries = _served_queries(workspace, config, overrides)
    whole = completion.load_lists(_folders(workspace), threads=threads())
    retriever = _public_retriever(whole.retriever, queries)
    if queries.rare.any():
        retriever = _with_rare_searches(retriever, whole, queries, workspace, config.min_users)
    policy, live = _policies(whole, retriever, queries, config)
    content = Content(
        ["" if gone else text for text, gone in zip(queries.shown, queries.private.tolist(), strict=True)],
        policy,
        live,
        _listed_contexts(workspace, retriever, queries),
        _pages(workspace, whole.retriever.graph.exposure, queries),
        list(context_columns(workspace.folder("log"))),
        queries.popularity,
    )
    report = content.write(folder, config, progress, earlier)
    return {
        **report,
        SETTINGS: msgspec.to_builtins(config),
        "stages": {stage: workspace.manifest["stages"][stage] for stage in USED},
        "withheld queries": int((queries.private | ~queries.showable).sum()),
        **{f"withheld: {reason}": n for reason, n in queries.withheld.items()},
    }


def _policies(
    whole: ListPolicy, public: ExpectedUtilityRetriever, queries: ServedQueries, config: IndexConfig
) -> tuple[ServedPolicy, ServedPolicy]:
    """The policy that computes the stored lists, and the one that is stored for other texts.

    What queries that are not shown say about demand counts in the stored lists. The stored policy has no number of a
    private one, but searches of queries with few users count for public ones (`anonymous_demand`).
    """
    if config.policy == "expected":
        return Expected(public), Expected(public)
    known, private = whole.queries, queries.private
    nameless = np.fromiter((not text for text in queries.shown), bool, len(queries.shown))
    hidden = private | ~queries.showable | nameless
    policy = whole
    if hidden.any():
        elected = _elected(known.shown_as, queries.popularity, hidden, queries.replaceable)
        shown_as = np.where(hidden | hidden[elected], HIDDEN, elected).astype(np.int32)
        policy = replace(whole, queries=replace(known, shown_as=shown_as))
    if not private.any():
        return policy, replace(policy, retriever=public)
    words, pages = known.words.words, known.pages
    without = replace(
        policy.queries,
        words=replace(known.words, words=words.select(~private[words.owner])),
        pages=pages.select(~private[pages.owner]),
        spelling=public.matcher.spelling,
        group=_public_groups(known.group, private),
        lookalike=_public_groups(known.lookalike, private),
    )
    survival = None if policy.survival is None else np.where(private[:, None], np.float32(1), policy.survival)
    return policy, replace(policy, retriever=public, queries=without, survival=survival)


def _elected(
    shown_as: NDArray[np.int32],
    searches: NDArray[np.float64],
    hidden: NDArray[np.bool_],
    replaceable: NDArray[np.bool_],
) -> NDArray[np.int32]:
    """Where the shown one of several variants is hidden but replaceable, show the most searched of the others.

    >>> shown_as, searches = np.array([0, 0, 0], np.int32), np.array([9.0, 2, 3])
    >>> first = np.array([True, False, False])
    >>> _elected(shown_as, searches, first, first).tolist(), _elected(shown_as, searches, first, ~first).tolist()
    ([2, 2, 2], [0, 0, 0])
    """
    members = np.flatnonzero(~hidden & replaceable[shown_as])
    members = members[np.lexsort((members, -searches[members]))]
    shown, first = np.unique(shown_as[members], return_index=True)
    stand_in = np.arange(len(shown_as), dtype=np.int32)
    stand_in[shown] = members[first]
    return stand_in[shown_as]


def _optional(workspace: Workspace) -> tuple[str, ...]:
    """The stages that only some workspaces have."""
    return tuple(stage for stage in ("acceptance", AVAILABILITY) if stage in workspace.manifest["stages"])


def _folders(workspace: Workspace) -> Folders:
    stages = ("rankings", "demand", "completion", *_optional(workspace))
    return {stage: workspace.folder(stage) for stage in stages}


def _public_groups(group: NDArray[np.int32], private: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Number groups by their first public query; a private query is a group of its own, so that its variants do not
    tell its words.

    >>> _public_groups(np.array([2, 2, 2, 3], np.int32), np.array([False, False, True, False])).tolist()
    [0, 0, 2, 3]
    """
    own = np.arange(len(group))
    _, first, place = np.unique(
        np.where(private, len(group) + own, group), return_index=True, return_inverse=True
    )
    return own[first][place].astype(np.int32)


def _pages(workspace: Workspace, exposure: WeightedRows, queries: ServedQueries) -> Pages:
    at = _folders(workspace)
    return Pages.of(
        exposure,
        available_rankings(at),
        tables.read(at["rankings"], "documents"),
        len(queries.texts),
        ~queries.private,
    )


def _served_queries(workspace: Workspace, config: IndexConfig, overrides: Overrides) -> ServedQueries:
    table = tables.read(workspace.folder("rankings"), "queries")
    texts = table["text"].to_pylist()
    shown = [shown or "" for shown in table["shown"].to_pylist()]  # null for a query without results
    patterns = config.withhold.split()
    personal = np.array(matching(texts, patterns), bool) | np.array(matching(shown, patterns), bool)
    deleted = np.fromiter((text in overrides.delete for text in texts), bool, len(texts))
    few = _few_users(workspace, texts, config.min_users)
    private = personal | deleted | few
    reasons = {
        "personal data": personal,
        "deleted": deleted & ~personal,
        "few users": few & ~personal & ~deleted,
    }
    at = _folders(workspace)
    returned, left = (
        np.bincount(rankings["query"].to_numpy(), minlength=len(texts))
        for rankings in (tables.read(at["rankings"], "rankings"), available_rankings(at))
    )
    emptied = (returned > 0) & (left == 0)
    searched = popularity(workspace.folder("rankings"), *SPLITS, weighted=False).astype(np.int64)
    able = Showable.of(
        texts,
        [None if gone else raw for raw, gone in zip(table["raw"].to_pylist(), private.tolist(), strict=True)],
        np.where(private, 0, searched),
        left,
        min_searches=least_searches(searched, config.min_searches),
        min_results=config.min_results,
        block=BlockList.named(config.block, needed=True) if config.block else None,
    )
    trained = popularity(at["rankings"], "retriever", "ranker", acceptance=at.get("acceptance"))
    reasons["nothing available"] = emptied & able.mask & ~private
    showable = able.mask & ~emptied
    return ServedQueries(
        texts,
        shown,
        np.where(private | ~showable, 0, trained),
        private,
        patterns,
        showable,
        {**{reason: int(bad.sum()) for reason, bad in reasons.items() if bad.any()}, **able.withheld},
        (reasons["few users"] & able.mask) | reasons["nothing available"],
        np.where(reasons["few users"], trained, 0),
    )


def _few_users(workspace: Workspace, texts: list[str], least: int) -> NDArray[np.bool_]:
    """Mask of the queries searched by fewer than `least` users; all false where the log has no users."""
    if least < 2:
        return np.zeros(len(texts), bool)
    searches = tables.read(workspace.folder("log"), "searches", "text", "user_id")
    if searches["user_id"].null_count == searches.num_rows:
        return np.zeros(len(texts), bool)
    users = searches.group_by("text").aggregate([("user_id", "count_distinct")])
    count = dict(zip(users["text"].to_pylist(), users["user_id_count_distinct"].to_pylist(), strict=True))
    return np.fromiter((count.get(text, 0) < least for text in texts), bool, len(texts))


def _public_retriever(whole: ExpectedUtilityRetriever, queries: ServedQueries) -> ExpectedUtilityRetriever:
    """The workspace's retriever without private queries: no number of one remains, as it may tell its length."""
    private, listed = queries.private, queries.showable & ~queries.private
    matcher = whole.matcher
    if private.any():
        wanted = np.zeros(len(queries.texts), bool)
        wanted[np.asarray(whole.matcher.matchable)] = True
        blank = ["" if gone else text for text, gone in zip(queries.texts, private.tolist(), strict=True)]
        matcher = PrefixMatcher.build(blank, wanted & ~private)
    demand, returned = whole.graph.demand, whole.graph.exposure
    return ExpectedUtilityRetriever(
        _without_private(queries.texts, private),
        matcher,
        DemandGraph(
            demand.select(~private[demand.owner]),
            returned.select(listed[returned.values]),
            whole.graph.universe,
        ),
        prefix_probability=_blank(whole.prefix_probability, private, 1),
        own_utility=_blank(whole.own_utility, private, 0),
        popularity=queries.popularity,
        recorded=_public_prefixes(whole.recorded, private, queries.patterns),
        documents_in=whole.documents_in,
        queries_in=_public_affinity(whole.queries_in, private),
        threads=threads(),
    )


def _with_rare_searches(
    public: ExpectedUtilityRetriever,
    whole: ListPolicy,
    queries: ServedQueries,
    workspace: Workspace,
    least: int,
) -> ExpectedUtilityRetriever:
    """Count searches of queries with few users for public queries, with demand and utility in proportion."""
    listed = np.zeros(len(queries.texts), bool)
    listed[np.asarray(public.matcher.matchable)] = True
    listed &= queries.showable & (queries.popularity > 0)
    at = _folders(workspace)
    users = users_of(at["rankings"], len(listed), at.get("acceptance"))
    counted = counted_searches(whole, queries.texts, listed, queries.rare, users, least)
    known = queries.popularity > 0
    growth = 1 + np.divide(counted, queries.popularity, out=np.zeros(len(known)), where=known)
    growth = growth.astype(np.float32)
    demand = public.graph.demand
    grown = replace(demand, weights=demand.weights * growth[demand.owner])
    return ExpectedUtilityRetriever(
        public.texts,
        public.matcher,
        replace(public.graph, demand=grown),
        prefix_probability=public.prefix_probability,
        own_utility=public.own_utility * growth,
        popularity=queries.popularity + counted,
        recorded=public.recorded,
        documents_in=public.documents_in,
        queries_in=public.queries_in,
        threads=public.threads,
    )


def _blank(values: NDArray[np.float32], private: NDArray[np.bool_], blank: float) -> NDArray[np.float32]:
    """Replace the numbers of private queries; an array without any stays as it is, so that its file is shared."""
    return np.where(private, np.float32(blank), values) if private.any() else values


def _public_affinity(affinity: Affinity | None, private: NDArray[np.bool_]) -> Affinity | None:
    """Affinity in which private queries are as probable in any context."""
    if affinity is None or not private.any():
        return affinity
    return replace(
        affinity,
        factors={name: np.where(private, np.float32(1), factor) for name, factor in affinity.factors.items()},
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
        _blank(recorded.of_query, private, 0),
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
