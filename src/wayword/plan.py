"""The plan of a run: the inputs, the predecessors and the function of each stage.

raw log ──log──► searches, clicks ──rankings──► numbered queries, documents and log
  ──contexts──► contexts of searches (──impressions──► what each search showed) ──propensity──► p[rank]
  (──acceptance──► intended queries, given lists shown)
  ──demand──► demand for documents
  ──completion──► typed text → best queries ──estimates──► Utility@k
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from wayword.check import stage as check
from wayword.check.findings import Given
from wayword.completion import acceptance_stage as acceptance
from wayword.completion import stage as completion
from wayword.config import Config
from wayword.demand import stage as demand
from wayword.engines import tables
from wayword.engines.remote_file import RemoteFile
from wayword.engines.storage import is_url
from wayword.errors import ConfigError
from wayword.evaluation import log_worth
from wayword.evaluation import stage as estimates
from wayword.evaluation.estimates import METRICS
from wayword.evaluation.stage import LoadPolicies, load_policies
from wayword.index.index import ABOUT
from wayword.logs import contexts_stage as contexts
from wayword.logs import impressions_stage as impressions
from wayword.logs import stage as log
from wayword.progress import Progress
from wayword.propensity import stage as propensity
from wayword.rankings import availability
from wayword.rankings import stage as rankings_stage
from wayword.rankings.document_ranker import RANKERS, DocumentRanker
from wayword.serving.served_policy import ServedPolicy, served_by
from wayword.store.artefact import read_object
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report, Stage
from wayword.store.workspace import Workspace
from wayword.utility import Measure

WORTH = "worth"
"""The stage that counts what the log can teach."""
SUPPLIED = ("rankings", "contexts", "propensity")
"""The stages with the numbered log."""


@dataclass(frozen=True)
class Inputs:
    """The files that a run reads, and how: `judged` reads the log as graded judgments, `lenient` drops clicks that do
    not match the rankings, `truth` is the true distribution of a simulated world, `completions` are lists shown,
    `impressions` what each search showed, with ranks from `first_rank`; `queries` are further ones to suggest."""

    log: InputFile
    rankings: InputFile | None = None
    documents: InputFile | None = None
    truth: InputFile | None = None
    judged: bool = False
    lenient: bool = False
    completions: InputFile | None = None
    impressions: InputFile | None = None
    first_rank: int = 1
    queries: InputFile | None = None

    @classmethod
    def at(
        cls,
        log: Path | str,
        rankings: Path | str | None = None,
        documents: Path | str | None = None,
        truth: Path | str | None = None,
        *,
        judged: bool = False,
        lenient: bool = False,
        completions: Path | str | None = None,
        impressions: Path | str | None = None,
        first_rank: int = 1,
        queries: Path | str | None = None,
    ) -> "Inputs":
        """Open the files at these paths."""
        exported = _opened(rankings) if rankings is not None else None
        described, law, lists, shown, further = (
            InputFile(Path(path)) if path is not None else None
            for path in (documents, truth, completions, impressions, queries)
        )
        return cls(_opened(log), exported, described, law, judged, lenient, lists, shown, first_rank, further)

    def digest(self, file: InputFile | None) -> str | None:
        """The hash of a file's content."""
        return None if file is None else file.digest


def _opened(place: Path | str) -> InputFile:
    """A file of this machine, or what a URL names, which an engine reads."""
    return RemoteFile(str(place)) if is_url(place) else InputFile(Path(place))


def supplied(inputs: Inputs) -> tuple[str, ...]:
    """The stages with the numbered log, and what people intended if lists shown are given."""
    return (*SUPPLIED, "acceptance") if inputs.completions else SUPPLIED


def check_stage(settings: Config, inputs: Inputs) -> Stage:
    """The check of the log, the rankings and the impressions, before anything is learned from them."""
    given = Given(
        inputs.log,
        inputs.rankings,
        inputs.impressions,
        judged=inputs.judged,
        lenient=inputs.lenient,
        first_rank=inputs.first_rank,
    )
    return Stage(
        {
            "log file": inputs.digest(inputs.log),
            "rankings file": inputs.digest(inputs.rankings),
            "impressions file": inputs.digest(inputs.impressions),
            "judged": inputs.judged,
            "lenient": inputs.lenient,
            "first rank": inputs.first_rank,
            "max_unexplained": settings.rankings.max_unexplained,
            **settings.of_stage("check", "log"),
        },
        lambda new, _: check.write(new, given, settings),
        files=tuple(file for file in (inputs.log, inputs.rankings, inputs.impressions) if file),
    )


def learning_stages(
    settings: Config,
    inputs: Inputs,
    reporter: Progress,
    rankers: Mapping[str, DocumentRanker] = RANKERS,
) -> dict[str, Stage]:
    """The stages whose artefacts the index is built from."""
    measured = evaluation_measure(settings, inputs.judged)
    given = settings.propensity
    curve = InputFile(Path(given.file)) if given.source == "file" else None
    model, corrections = (
        InputFile(Path(path)) if path else None
        for path in (settings.completion.acceptance, settings.completion.variants)
    )
    return {
        "log": Stage(
            {"log file": inputs.digest(inputs.log), "judged": inputs.judged, **settings.of_stage("log")},
            lambda new, _: log.write(new, inputs.log, settings.log, judged=inputs.judged),
            files=(inputs.log,),
        ),
        "rankings": Stage(
            {
                "rankings file": inputs.digest(inputs.rankings),
                "documents file": availability.digest_without(inputs.documents) if inputs.documents else None,
                "queries file": inputs.digest(inputs.queries),
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
                queries=inputs.queries,
                rankers=rankers,
                judged=inputs.judged,
                lenient=inputs.lenient,
                source=str(inputs.log),
                progress=reporter,
            ),
            after=("log",),
            files=tuple(file for file in (inputs.rankings, inputs.documents, inputs.queries) if file),
        ),
        **(availability_stage(inputs.documents) if inputs.documents else {}),
        "contexts": Stage(
            settings.of_stage("prefixes"),
            lambda new, at: contexts.write(new, at, settings.prefixes),
            after=("log", "rankings"),
        ),
        **_impressions_stage(settings, inputs),
        "propensity": Stage(
            {"propensity file": inputs.digest(curve), **settings.of_stage("propensity")},
            lambda new, at: propensity.write(new, at, given, curve),
            after=("rankings", "impressions") if given.source == "log" else ("rankings",),
            files=(curve,) if curve else (),
        ),
        WORTH: Stage(
            {"judged": inputs.judged},
            lambda new, at: log_worth.write(new, at, judged=inputs.judged),
            after=("rankings", "propensity"),
        ),
        **_acceptance_stage(inputs, reporter),
        "demand": Stage(
            {"variant": measured.variant, **settings.of_stage("demand")},
            lambda new, at: demand.write(new, at, settings.demand, measured.variant, reporter),
            after=supplied(inputs),
        ),
        "completion": Stage(
            {
                "acceptance file": inputs.digest(model),
                "completions file": inputs.digest(inputs.completions),
                "variants file": inputs.digest(corrections),
                **settings.of_stage("prefixes", "completion"),
            },
            lambda new, at: completion.write(
                new,
                at,
                settings.prefixes,
                settings.completion,
                acceptance=model,
                corrections=corrections,
                completions=inputs.completions,
                progress=reporter,
            ),
            after=(*supplied(inputs), "demand"),
            files=tuple(file for file in (model, corrections, inputs.completions) if file),
        ),
    }


def availability_stage(documents: InputFile, *, needed: bool = False) -> dict[str, Stage]:
    """Which documents can be had; no stage that learns comes after it."""
    return {
        availability.STAGE: Stage(
            {"documents file": documents.digest},
            lambda new, at: availability.write(new, at, documents, needed=needed),
            after=("rankings",),
            files=(documents,),
        )
    }


def _impressions_stage(settings: Config, inputs: Inputs) -> dict[str, Stage]:
    """The stage of the impressions; without such a file there is no such stage."""
    shown = inputs.impressions
    if shown is None:
        if settings.propensity.source == "log":
            raise ConfigError(
                'Found propensity.source = "log" and no impressions; expected what each search showed. Give it with '
                '--impressions (`wayword ubi` writes such a table), or set source = "power" or "file".'
            )
        return {}
    return {
        "impressions": Stage(
            {"impressions file": inputs.digest(shown), "first rank": inputs.first_rank},
            lambda new, at: impressions.write(new, at, shown, first_rank=inputs.first_rank),
            after=("rankings",),
            files=(shown,),
        )
    }


def _acceptance_stage(inputs: Inputs, reporter: Progress) -> dict[str, Stage]:
    """The stage of acceptance and intended queries; without lists shown there is no such stage."""
    lists = inputs.completions
    if lists is None:
        return {}
    return {
        "acceptance": Stage(
            {"completions file": inputs.digest(lists)},
            lambda new, at: acceptance.write(new, at, lists, reporter),
            after=("rankings", "propensity"),
            files=(lists,),
        )
    }


def estimates_stage(
    settings: Config,
    inputs: Inputs,
    after: tuple[str, ...],
    reporter: Progress,
    load: LoadPolicies = load_policies,
    paper_settings: Mapping[str, Any] | None = None,
    served: Path | None = None,
) -> Stage:
    """The evaluation of what is served and of other policies; `paper_settings` are those of the paper's inference.

    `served` is the version of the index; without it, the policy of the workspace is evaluated.
    """
    if inputs.impressions:
        after = (*after, "impressions")
    if inputs.documents:
        after = (*after, availability.STAGE)
    depends = {
        "truth file": inputs.digest(inputs.truth),
        "measure": asdict(evaluation_measure(settings, inputs.judged)),
        "metrics": [*METRICS, "verdict"],
        "asked": paper_settings,
        **settings.of_stage("evaluation"),
    }
    return served_evaluation(settings, depends, after, reporter, load, served, truth=inputs.truth)


def served_evaluation(
    settings: Config,
    depends: Mapping[str, Any],
    after: tuple[str, ...],
    reporter: Progress,
    load: LoadPolicies,
    served: Path | None,
    *,
    truth: InputFile | None = None,
    ceilings: Path | None = None,
) -> Stage:
    """The stage `estimates`, given what it `depends` on beside what is served. Its report has what an evaluation of
    the same log needs to know later, when something else is served (`evaluated_again`).

    `ceilings` are earlier estimates on the same log, made with the truth.
    """
    inputs = {**depends, "served": {"policy": settings.index.policy, **_identity(served, settings)}}

    def make(new: Path, at: Folders) -> Report:
        report = estimates.write(
            new,
            at,
            settings,
            Measure(**depends["measure"]),
            truth=truth,
            load=load,
            served=(lambda: ServedPolicy.open(served, texts_of(at))) if served else None,
            ceilings=ceilings,
            progress=reporter,
        )
        return {**report, "depends": inputs, "after": list(after)}

    return Stage(inputs, make, after=after, files=(truth,) if truth else ())


def evaluated_again(
    workspace: Workspace, served: Path, reporter: Progress, load: LoadPolicies = load_policies
) -> Stage | None:
    """The evaluation of another version of the index, or of other overrides or block lists; None if the estimates of
    the workspace are of what is served."""
    report, about = workspace.report("estimates"), read_object(served / ABOUT)
    index = structs.replace(workspace.config.index, policy=about["policy"], block=about["block"])
    settings = structs.replace(workspace.config, index=index)
    known = report["depends"]
    if known["served"] == {"policy": index.policy, **_identity(served, settings)}:
        return None
    depends = {name: value for name, value in known.items() if name != "served"}
    ceilings = workspace.folder("estimates")
    optional = [stage for stage in (availability.STAGE,) if stage in workspace.manifest["stages"]]
    after = tuple(dict.fromkeys([*report["after"], *optional]))
    return served_evaluation(settings, depends, after, reporter, load, served, ceilings=ceilings)


def _identity(served: Path | None, settings: Config) -> dict[str, str]:
    return served_by(served.parent, served.name, settings.index.block) if served else {}


def texts_of(at: Folders) -> list[str]:
    """The queries of a workspace, in the order of their numbers."""
    texts: list[str] = tables.read(at["rankings"], "queries")["text"].to_pylist()
    return texts


def evaluation_measure(settings: Config, judged: bool) -> Measure:
    """The utility that the evaluation measures."""
    if judged:
        return Measure(settings.utility.judgments)
    return Measure("unbiased", settings.evaluation.max_ratio, settings.evaluation.max_weight)
