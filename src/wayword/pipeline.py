"""Run the plan from a click log to an index. The paper's stages are imported only if its policies are compared."""

import time
from collections.abc import Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from msgspec import structs

from wayword.check.findings import failed
from wayword.check.printed import refusal
from wayword.check.stage import CHECK, of_report
from wayword.completion.policies import Policy
from wayword.config import COMPARED, Config, RunConfig
from wayword.engines import cluster
from wayword.engines.remote_file import RemoteFile
from wayword.engines.storage import is_url
from wayword.engines.tables import tables_on
from wayword.errors import ConfigError, LogError
from wayword.evaluation import stage as estimates
from wayword.index.build import build as build_index
from wayword.index.index import ABOUT
from wayword.index.versions import ROOT, current
from wayword.plan import (
    WORTH,
    Inputs,
    availability_stage,
    check_stage,
    estimates_stage,
    evaluated_again,
    learning_stages,
    supplied,
)
from wayword.progress import Progress
from wayword.rankings import document_ranker
from wayword.rankings.document_ranker import DocumentRanker
from wayword.report.page_evaluation import evaluation_of
from wayword.simulation.people_log import simulate_people as simulate_people_of_world
from wayword.simulation.simulate import simulate as simulate_world
from wayword.store.artefact import read_object, report_of
from wayword.store.input_file import InputFile
from wayword.store.memory import bounded
from wayword.store.stage import Folders, Stage
from wayword.store.workspace import ARTEFACTS, Build, Workspace, building

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    queries: Path | str | None = None,
    paper: bool = False,
    force: bool = False,
    engine: "str | SparkSession | None" = None,
    engine_folder: str | None = None,
    memory: str | None = None,
    reporter: Progress | None = None,
) -> Workspace:
    """Run every stage whose inputs have changed and return the workspace.

    `rankings` is an exported table (query, document, rank); without it, the embedded ranker named in `[rankings]`
    answers over `documents` (document, title). A document whose column `available` is false counts nowhere. `judged`
    reads the log as graded judgments (query, document, grade).
    `truth`, from a simulated world, adds the ceiling to the estimates. `completions` are lists that people were shown
    (docs/acceptance.md): a search whose query was taken from one counts for what it probably intended. `impressions`
    (search_id, query, document, rank, clicked) are what each search showed, with ranks from `first_rank`: with
    `[propensity] source = "log"`, p is estimated from them. `queries` (a table with the column query) are further ones
    that may be suggested: the embedded ranker answers for them, or the rankings have them. `paper` trains the paper's
    policies too, and compares with them.

    The files are checked first (docs/check.md): a FAIL raises `LogError`, unless `force`. `memory`, such as "8GB",
    overrides that of `[run]`.

    `engine` runs the table stages on Spark (docs/scale.md): the address of a Spark Connect server (sc://HOST:PORT),
    `sail` or `spark` to start one here, or a session. `engine_folder` holds its tables, by a URL that the engine and
    this machine both see. `log` and `rankings` may then be URLs of Parquet files, which only the engine reads.
    """
    settings = config if isinstance(config, Config) else Config.load(config)
    settings = settings if memory is None else structs.replace(settings, run=RunConfig(memory))
    settings = with_paper(settings) if paper else settings
    reporter = reporter or Progress()
    cluster.check(engine, engine_folder)
    if engine is None and (urls := [str(one) for one in (log, rankings) if one is not None and is_url(one)]):
        raise ConfigError(
            f"Found the URL {urls[0]} and no engine to read it; give one (--engine sc://HOST:PORT)."
        )
    _check_given(rankings, documents, settings)
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
        queries=queries,
    )
    planned = stages_before_index(settings, inputs, reporter)
    with bounded(settings.run.memory), cluster.opened(engine) as session, building(out, reporter) as build:
        storage, engines = cluster.engines_of(session, engine_folder, build.path) if session else (None, None)
        with tables_on(engines):
            _check_files(build, settings, inputs, reporter, force=force)
            for name, stage in planned.items():
                folder = build.stage(name, stage)
                if name in build.made and (said := report_of(folder).get("sentence")):
                    reporter.note(said)
            version, made = index_of(build.workspace(settings.saved()), settings, reporter, current=False)
            build.made += made
            build.stage("estimates", evaluation(settings, inputs, reporter, version))
        workspace = build.finish(settings.saved())
        if storage:
            cluster.prune(storage, workspace.path / ARTEFACTS)
    build_index(workspace, settings.index, evaluation=evaluation_of(workspace, served=settings.index.policy))
    reporter.finish(build.made)
    return workspace


def check(
    log: Path | str,
    rankings: Path | str | None = None,
    *,
    out: Path | str,
    documents: Path | str | None = None,
    queries: Path | str | None = None,
    config: Config | Path | str | None = None,
    lenient: bool = False,
    force: bool = False,
    reporter: Progress | None = None,
) -> dict[str, Any]:
    """Check the log and the rankings and say what can be learned from them at most, before anything is trained.

    Returns `LogWorth.as_object`. A run with the same inputs and folder continues from there.
    """
    settings = config if isinstance(config, Config) else Config.load(config)
    reporter = reporter or Progress()
    _check_given(rankings, documents, settings)
    inputs = Inputs.at(log, rankings, documents, lenient=lenient, queries=queries)
    planned = stages_before_index(settings, inputs, reporter)
    with building(out, reporter) as build:
        _check_files(build, settings, inputs, reporter, force=force)
        for name in ("log", "rankings", "propensity", WORTH):
            folder = build.stage(name, planned[name])
    return report_of(folder)


def _check_files(build: Build, settings: Config, inputs: Inputs, reporter: Progress, *, force: bool) -> None:
    """Stage `check`: raise `LogError` for a FAIL, unless `force`; note what else was found."""
    if any(isinstance(file, RemoteFile) for file in (inputs.log, inputs.rankings)):
        reporter.note("check: left out, as only the engine reads the log; `wayword check` a sample of it")
        return
    found = of_report(report_of(build.stage(CHECK, check_stage(settings, inputs))))
    wrong = failed(found)
    if wrong and not force:
        raise LogError(refusal(found, source=str(inputs.log)))
    for one in found if wrong or CHECK in build.made else ():
        if one.level != "PASS":
            reporter.note(f"check: {one.found}")


def _check_given(rankings: Path | str | None, documents: Path | str | None, settings: Config) -> None:
    if rankings is None and documents is None:
        raise ConfigError(
            "Found neither rankings nor documents; give a rankings table, or documents for the embedded ranker."
        )
    if settings.rankings.propose and rankings is not None:
        raise ConfigError(
            f"Found rankings.propose = {settings.rankings.propose} and exported rankings; a proposed query needs "
            "results, which only the embedded ranker gives. Leave out the rankings or set propose = 0; what your "
            "engine's rankings have results for is suggested without it."
        )


def evaluate(workspace: Workspace, reporter: Progress) -> Workspace:
    """Estimate again if something else is served than when the workspace was evaluated; returns the workspace.

    What is served changes with the version of the index (`wayword index`), its overrides and its block lists.
    """
    root = workspace.path / ROOT
    version = current(root)
    stage = evaluated_again(workspace, version, reporter, load_policies)
    if stage is None:
        return workspace
    with building(workspace.path, reporter) as build:
        build.reuse(workspace, *(name for name in workspace.manifest["stages"] if name != "estimates"))
        build.stage("estimates", stage)
        workspace = build.finish(workspace.manifest["settings"])
    evaluation_of(workspace, served=read_object(version / ABOUT)["policy"]).save(root)
    return workspace


def with_availability(workspace: Workspace, documents: Path | str, reporter: Progress) -> Workspace:
    """Take from a document table which documents can be had (column `available`), and learn nothing; returns the
    workspace, whose index is still the old one."""
    stages = availability_stage(InputFile(Path(documents)), needed=True)
    with building(workspace.path, reporter) as build:
        build.reuse(workspace, *(name for name in workspace.manifest["stages"] if name not in stages))
        for name, stage in stages.items():
            build.stage(name, stage)
        return build.finish(workspace.manifest["settings"])


def with_paper(settings: Config) -> Config:
    """The settings with the paper's policies added to the comparison."""
    evaluation = structs.replace(settings.evaluation, compare=COMPARED)
    return structs.replace(settings, evaluation=evaluation)


def index_of(
    workspace: Workspace, settings: Config, reporter: Progress, *, current: bool = True
) -> tuple[Path, list[str]]:
    """Write the index unless it exists, and make it current, with the evaluation that the page shows; if not `current`,
    only write it.

    Returns the folder of the version, and the names of the artefacts written.
    """
    reporter.begin("index")
    started = time.monotonic()
    shown = evaluation_of(workspace, served=settings.index.policy) if current else None
    version, made = build_index(workspace, settings.index, reporter, evaluation=shown, current=current)
    reporter.end("index", reused=not made, seconds=time.monotonic() - started)
    return version, ["index"] if made else []


def stages(
    settings: Config, inputs: Inputs, reporter: Progress, served: Path | None = None
) -> dict[str, Stage]:
    """The stages of `plan` in order, with the paper's if its policies are compared; see `evaluation` for `served`."""
    before = stages_before_index(settings, inputs, reporter)
    return before | {"estimates": evaluation(settings, inputs, reporter, served)}


def stages_before_index(settings: Config, inputs: Inputs, reporter: Progress) -> dict[str, Stage]:
    """All stages but the evaluation of what is served."""
    learned = learning_stages(settings, inputs, reporter, DOCUMENT_RANKERS)
    if not _compares_paper(settings):
        return learned
    from wayword.paper.plan import paper_stages

    return learned | paper_stages(settings, inputs.judged, reporter)


def evaluation(settings: Config, inputs: Inputs, reporter: Progress, served: Path | None) -> Stage:
    """The stage `estimates`. `served` is the version of the index; without one, the workspace's policy is evaluated."""
    after: tuple[str, ...] = (*supplied(inputs), "demand", "completion")
    asked = None
    if _compares_paper(settings):
        from wayword.paper.plan import retrieval_settings

        after, asked = (*after, "retriever", "ranker"), retrieval_settings(settings.retriever)
    return estimates_stage(settings, inputs, after, reporter, load_policies, asked, served)


def _compares_paper(settings: Config) -> bool:
    return bool(set(PAPER) & set(settings.evaluation.compare))


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
