"""From a click log to served completions: the stages in order, each made only if something it depends on has changed.

raw log ──log──► searches, clicks ──rankings──► the universe and the log in numbers
  ──contexts──► who typed what ──propensity──► p[rank] ──demand──► what people want behind each query
  ──completion──► typed text → best queries ──estimates──► Utility@k ──index──► what is served

The paper's retriever and ranker are two more stages, made where they are asked for.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from wayword.completion import stage as completion
from wayword.completion.policies import Policy
from wayword.config import COMPARED, Config
from wayword.demand import stage as demand
from wayword.errors import ConfigError
from wayword.evaluation import stage as estimates
from wayword.evaluation.estimates import METRICS
from wayword.index.build import build as build_index
from wayword.logs import contexts_stage as contexts
from wayword.logs import stage as log
from wayword.progress import Progress
from wayword.propensity import stage as propensity
from wayword.rankings import document_ranker
from wayword.rankings import stage as rankings_stage
from wayword.rankings.document_ranker import DocumentRanker
from wayword.simulation.simulate import simulate as simulate_world
from wayword.store.artefact import digest_of_file
from wayword.store.stage import Folders, Stage
from wayword.store.workspace import Workspace, building
from wayword.utility import Measure

PAPER = ("random", "retriever", "unbiased")
"""The policies of the paper, which need its stages."""
SUPPLIED = ("rankings", "contexts", "propensity")


@dataclass(frozen=True)
class Inputs:
    """The files that a run reads, and how: `judged` reads the log as graded judgments, `lenient` drops clicks that do
    not fit the rankings, `truth` is the law of a simulated world."""

    log: Path
    rankings: Path | None = None
    documents: Path | None = None
    truth: Path | None = None
    judged: bool = False
    lenient: bool = False

    def digest(self, file: Path | None) -> str | None:
        """The hash of a file's content."""
        return None if file is None else digest_of_file(file)


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
    paper: bool = False,
    reporter: Progress | None = None,
) -> Workspace:
    """Run every stage whose inputs have changed and return the workspace.

    `rankings` is an exported table (query, document, rank); without it, the embedded ranker named in `[rankings]`
    answers over `documents` (document, title). `judged` reads the log as graded judgments (query, document, grade).
    `truth`, from a simulated world, adds the ceiling to the estimates. `paper` trains the paper's policies too, and
    compares with them.
    """
    settings = config if isinstance(config, Config) else Config.load(config)
    settings = with_paper(settings) if paper else settings
    reporter = reporter or Progress()
    exported, described, law = (Path(p) if p is not None else None for p in (rankings, documents, truth))
    inputs = Inputs(Path(log), exported, described, law, judged=judged, lenient=lenient)
    if inputs.rankings is None and inputs.documents is None:
        raise ConfigError(
            "Found neither rankings nor documents; give a rankings table, or documents to be ranked."
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
    """The same settings, with the paper's policies among those that are compared."""
    evaluation = replace(settings.evaluation, compare=COMPARED)
    return replace(settings, evaluation=evaluation)


def index_of(workspace: Workspace, settings: Config, reporter: Progress) -> list[str]:
    """Write what is served, unless it is there already; it is the current version afterwards."""
    reporter.begin("index")
    started = time.monotonic()
    _, made = build_index(workspace, settings.index, reporter)
    reporter.end("index", reused=not made, seconds=time.monotonic() - started)
    return ["index"] if made else []


def stages(settings: Config, inputs: Inputs, reporter: Progress) -> dict[str, Stage]:
    """The diagram above, in order; with the paper's stages if its policies are compared."""
    learned = learning_stages(settings, inputs, reporter)
    after: tuple[str, ...] = (*SUPPLIED, "demand", "completion")
    if not set(PAPER) & set(settings.evaluation.compare):
        return learned | {"estimates": estimates_stage(settings, inputs, after, reporter)}
    from wayword.paper.stages import asked_of, paper_stages

    after = (*after, "retriever", "ranker")
    evaluated = estimates_stage(settings, inputs, after, reporter, asked_of(settings.retriever))
    return learned | paper_stages(settings, inputs.judged, reporter) | {"estimates": evaluated}


def learning_stages(settings: Config, inputs: Inputs, reporter: Progress) -> dict[str, Stage]:
    """The stages that make what is served."""
    measured = tested(settings, inputs.judged)
    return {
        "log": Stage(
            {"log file": inputs.digest(inputs.log), "judged": inputs.judged, **settings.of_stage("log")},
            lambda new, _: log.write(new, inputs.log, settings.log, judged=inputs.judged),
        ),
        "rankings": Stage(
            {
                "rankings file": inputs.digest(inputs.rankings),
                "documents file": inputs.digest(inputs.documents),
                "lenient": inputs.lenient,
                "judged": inputs.judged,
                **settings.of_stage("rankings"),
            },
            lambda new, at: rankings_stage.write(
                new,
                at,
                settings.rankings,
                exported=inputs.rankings,
                documents=inputs.documents,
                rankers=DOCUMENT_RANKERS,
                judged=inputs.judged,
                lenient=inputs.lenient,
                source=str(inputs.log),
                progress=reporter,
            ),
            after=("log",),
        ),
        "contexts": Stage(
            settings.of_stage("prefixes"),
            lambda new, at: contexts.write(new, at, settings.prefixes),
            after=("log", "rankings"),
        ),
        "propensity": Stage(
            settings.of_stage("propensity"),
            lambda new, at: propensity.write(new, at, settings.propensity),
            after=("rankings",),
        ),
        "demand": Stage(
            {"variant": measured.variant, **settings.of_stage("demand")},
            lambda new, at: demand.write(new, at, settings.demand, measured.variant, reporter),
            after=SUPPLIED,
        ),
        "completion": Stage(
            settings.of_stage("prefixes"),
            lambda new, at: completion.write(new, at, settings.prefixes, reporter),
            after=(*SUPPLIED, "demand"),
        ),
    }


def estimates_stage(
    settings: Config,
    inputs: Inputs,
    after: tuple[str, ...],
    reporter: Progress,
    asked: Mapping[str, Any] | None = None,
) -> Stage:
    """The evaluation of what is served, beside the paper's policies, which are `asked` with these settings."""
    measured = tested(settings, inputs.judged)
    return Stage(
        {
            "truth file": inputs.digest(inputs.truth),
            "measure": asdict(measured),
            "metrics": list(METRICS),
            "asked": asked,
            "served": settings.index.policy,
            **settings.of_stage("evaluation", "prefixes"),
        },
        lambda new, at: estimates.write(
            new,
            at,
            settings,
            measured,
            truth=inputs.truth,
            load=load_policies,
            progress=reporter,
        ),
        after=after,
    )


def load_policies(at: Folders, config: Config, *, threads: int = 1) -> Mapping[str, Policy]:
    """Read all policies of a workspace: Wayword's, and the paper's where they were asked for."""
    served = estimates.load_policies(at, config, threads=threads)
    if "ranker" not in at:
        return served
    from wayword.paper import policies

    return {**served, **policies.load(at, config, threads=threads)}


def tested(settings: Config, judged: bool) -> Measure:
    """The utility that the evaluation measures."""
    if judged:
        return Measure(settings.utility.judgments)
    return Measure("unbiased", settings.evaluation.max_ratio, settings.evaluation.max_weight)


def pecos(documents: pa.Table, relevant: pa.Table, queries: Sequence[str], **options: Any) -> pa.Table:
    """The paper's document ranker, an optional install; see `DocumentRanker`."""
    from wayword.paper import pecos_documents

    return pecos_documents.pecos(documents, relevant, queries, **options)


DOCUMENT_RANKERS: Mapping[str, DocumentRanker] = {**document_ranker.RANKERS, "pecos": pecos}


def simulate(world: str, **options: Any) -> Path:
    """Write the log of a simulated world into a folder; see `wayword.simulation.simulate.simulate`."""
    return simulate_world(world, rankers=DOCUMENT_RANKERS, **options)
