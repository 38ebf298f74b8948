"""Learning acceptance for a finished workspace."""

import tempfile
from pathlib import Path

import pyarrow.compute as pc

from wayword.completion import shown_lists
from wayword.completion.acceptance_candidates import Universe
from wayword.completion.acceptance_learning import LearnedAcceptance, learn
from wayword.completion.popular import popularity
from wayword.completion.stage import load_lists
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.progress import SILENT, Progress
from wayword.store.workspace import Workspace

NEEDED = ("rankings", "completion", "demand")


def learn_from(
    workspace: Workspace, completions: Path, *, by: str | None = None, progress: Progress = SILENT
) -> LearnedAcceptance:
    """Learn from a table of lists shown (docs/acceptance.md), with P(q̄ | x) by the workspace's searches.

    `by` is a column of the table whose values have a constant of their own.
    """
    universe = universe_of(workspace)
    with (
        tempfile.TemporaryDirectory(prefix="wayword-acceptance-") as folder,
        tables_in(Path(folder)) as engine,
    ):
        lists = shown_lists.read(engine, completions, universe.texts, by)
    searches = tables.read(workspace.folder("rankings"), "numbered_searches")
    lists = lists.in_log(searches).agreeing()
    logged = searches.filter(pc.not_equal(searches["split"], "test"))["search_id"].combine_chunks()
    issued = popularity(workspace.folder("rankings"), "retriever", "ranker", weighted=False)
    return learn(lists, universe, issued, logged, progress)


def universe_of(workspace: Workspace) -> Universe:
    """The queries of a workspace, compared by words and pages."""
    optional = ("acceptance",) if "acceptance" in workspace.manifest["stages"] else ()
    policy = load_lists({stage: workspace.folder(stage) for stage in (*NEEDED, *optional)})
    return Universe.of(policy.retriever, policy.queries)
