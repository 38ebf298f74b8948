"""Run the plan from a click log to an index. The paper's stages are imported only if its policies are compared."""

import time
from collections.abc import Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec import structs

from wayword.completion.policies import Policy
from wayword.config import COMPARED, Config
from wayword.errors import ConfigError
from wayword.evaluation import stage as estimates
from wayword.index.build import build as build_index
from wayword.plan import Inputs, estimates_stage, learning_stages, supplied
from wayword.progress import Progress
from wayword.rankings import document_ranker
from wayword.rankings.document_ranker import DocumentRanker
from wayword.report.page_evaluation import evaluation_of
from wayword.simulation.people_log import simulate_people as simulate_people_of_world
from wayword.simulation.simulate import simulate as simulate_world
from wayword.store.stage import Folders, Stage
from wayword.store.workspace import Workspace, building

PAPER = ("random", "retriever", "unbiased")
"""The policies that need the paper's stages."""


def run(
    log: Path | str,
    rankings: Path | str | None = None,
    *,
    out: Path | str,
    documents: Path | str | None = None,
    config: Config | Path | str | None = None,
    judged: bool = False,
    lenient: bool = False,
    truth: Path | str | None = None,
    completions: Path | str | None = None,
    impressions: Path | str | None = None,
    first_rank: int = 1,
    paper: bool = False,
    reporter: Progress | None = None,
) -> Workspace:
    """Run every stage whose inputs have changed and return the workspace.

    `rankings` is an exported table (query, document, rank); without it, the embedded ranker named in `[rankings]`
    answers over `documents` (document, title). `judged` reads the log as graded judgments (query, document, grade).
    `truth`, from a simulated world, adds the ceiling to the estimates. `completions` are lists that people were shown
    (docs/acceptance.md): a search whose query was taken from one counts for what it probably intended. `impressions`
    (search_id, query, document, rank, clicked) are what each search showed, with ranks from `first_rank`: with
    `[propensity] source = "log"`, p is estimated from them. `paper` trains the paper's policies too, and compares with
    them.
    """
    settings = config if isinstance(config, Config) else Config.load(config)
    settings = with_paper(settings) if paper else settings
    reporter = reporter or Progress()
    if rankings is None and documents is None:
        raise ConfigError(
            "Found neither rankings nor documents; give a rankings table, or documents for the embedded ranker."
        )
    if judged and completions is not None:
        raise ConfigError("Found judgments and lists shown; only a click log can be joined with lists shown.")
    if judged and impressions is not None:
        raise ConfigError("Found judgments and impressions; only a click log has impressions.")
    if first_rank not in (0, 1):
        raise ConfigError(
            f"Found first_rank = {first_rank}; expected 0 or 1, the rank of the topmost result."
        )
    if first_rank != 1 and impressions is None:
        raise ConfigError(
            f"Found first_rank = {first_rank} and no impressions; it is the rank of their topmost result."
        )
    inputs = Inputs.at(
        log,
        rankings,
        documents,
        truth,
        judged=judged,
        lenient=lenient,
        completions=completions,
        impressions=impressions,
        first_rank=first_rank,
    )
    planned = stages(settings, inputs, reporter)
    with building(out, reporter) as build:
        for name, stage in planned.items():
            build.stage(name, stage)
        workspace = build.finish(settings.saved())
    made = index_of(workspace, settings, reporter)
    reporter.finish([*build.made, *made])
    return workspace


def with_paper(settings: Config) -> Config:
    """The settings with the paper's policies added to the comparison."""
    evaluation = structs.replace(settings.evaluation, compare=COMPARED)
    return structs.replace(settings, evaluation=evaluation)


def index_of(workspace: Workspace, settings: Config, reporter: Progress) -> list[str]:
    """Write the index unless it exists, and make it current, with the evaluation that the page shows.

    Returns the names of the artefacts written.
    """
    reporter.begin("index")
    started = time.monotonic()
    evaluation = evaluation_of(workspace, served=settings.index.policy)
    _, made = build_index(workspace, settings.index, reporter, evaluation=evaluation)
    reporter.end("index", reused=not made, seconds=time.monotonic() - started)
    return ["index"] if made else []


def stages(settings: Config, inputs: Inputs, reporter: Progress) -> dict[str, Stage]:
    """The stages of `plan` in order, with the paper's if its policies are compared."""
    learned = learning_stages(settings, inputs, reporter, DOCUMENT_RANKERS)
    after: tuple[str, ...] = (*supplied(inputs), "demand", "completion")
    if not set(PAPER) & set(settings.evaluation.compare):
        return learned | {"estimates": estimates_stage(settings, inputs, after, reporter)}
    from wayword.paper.plan import paper_stages, retrieval_settings

    after = (*after, "retriever", "ranker")
    evaluated = estimates_stage(
        settings, inputs, after, reporter, load_policies, retrieval_settings(settings.retriever)
    )
    return learned | paper_stages(settings, inputs.judged, reporter) | {"estimates": evaluated}


def load_policies(at: Folders, config: Config, *, threads: int = 1) -> Mapping[str, Policy]:
    """Read all policies of a workspace: Wayword's, and the paper's if they were trained."""
    served = estimates.load_policies(at, config, threads=threads)
    if "ranker" not in at:
        return served
    from wayword.paper import policies

    return {**served, **policies.load(at, config, threads=threads)}


def pecos(documents: pa.Table, relevant: pa.Table, queries: Sequence[str], **options: Any) -> pa.Table:
    """The paper's document ranker, an optional install; see `DocumentRanker`."""
    from wayword.paper import pecos_documents

    return pecos_documents.pecos(documents, relevant, queries, **options)


DOCUMENT_RANKERS: Mapping[str, DocumentRanker] = {**document_ranker.RANKERS, "pecos": pecos}


@wraps(simulate_world)
def simulate(world: str, **options: Any) -> Path:
    """Write the log of a simulated world into a folder, with all document rankers that worlds may name."""
    return simulate_world(world, **{"rankers": DOCUMENT_RANKERS, **options})


@wraps(simulate_people_of_world)
def simulate_people(world: str, **options: Any) -> Path:
    """Write the log of simulated people who type, with all document rankers that worlds may name."""
    return simulate_people_of_world(world, **{"rankers": DOCUMENT_RANKERS, **options})
