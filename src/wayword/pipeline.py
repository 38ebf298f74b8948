"""From a click log to ranked completions: the stages in order, each only if something that it depends on has changed.

raw log ──log──► searches, clicks ──rankings──► the universe and the log in numbers
  ──contexts──► who typed what ──propensity──► p[rank] ──demand──► what people want behind each query
  ──retriever──► context → candidates ──ranker──► candidates → order ──estimates──► Utility@k
  ──index──► what is served
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from wayword.config import Config, RetrieverConfig
from wayword.demand import stage as demand
from wayword.engines.stages import Folders, Report
from wayword.errors import ConfigError, MissingExtra
from wayword.evaluation import stage as estimates
from wayword.evaluation.estimates import METRICS
from wayword.index.build import build as build_index
from wayword.logs import contexts_stage as contexts
from wayword.logs import stage as log_stage
from wayword.paper import pecos_model as xlinear
from wayword.paper import ranker_stage as ranker
from wayword.paper import retriever_stage as retriever
from wayword.progress import SILENT, Progress
from wayword.propensity import stage as propensity
from wayword.rankings import stage as rankings_stage
from wayword.store.artefact import digest_of_file
from wayword.store.workspace import Workspace, building
from wayword.utility import Measure


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
    reporter: Progress | None = None,
) -> Workspace:
    """Run every stage whose inputs have changed and return the workspace.

    `rankings` is an exported table (query, document, rank); without it, the embedded ranker named in `[rankings]`
    answers over `documents` (document, title). `judged` reads the log as graded judgments (query, document, grade).
    `truth`, from a simulated world, adds the ceiling to the estimates.
    """
    settings = config if isinstance(config, Config) else Config.load(config)
    tell = reporter or SILENT
    exported, described, law = (Path(p) if p is not None else None for p in (rankings, documents, truth))
    if exported is None and described is None:
        raise ConfigError(
            "Found neither rankings nor documents; give a rankings table, or documents to be ranked."
        )
    source = log_stage.Source(Path(log), judged, lenient)
    files = {p: digest_of_file(p) if p else None for p in (source.log, exported, described, law)}
    model = choose_retriever(settings, tell)

    with building(out, tell) as build:
        planned = stages(
            settings,
            source,
            at=build.folders,
            model=model,
            exported=exported,
            documents=described,
            truth=law,
            files=files,
            reporter=tell,
        )
        for name, stage in planned.items():
            build.stage(name, stage.inputs, stage.make, after=stage.after)
        workspace = build.finish(settings.saved())
    made = index_of(workspace, settings, tell)
    tell.finish([*build.made, *made])
    return workspace


def index_of(workspace: Workspace, settings: Config, reporter: Progress) -> list[str]:
    """Write what is served, unless it is there already; it is the current version afterwards."""
    reporter.begin("index")
    started = time.monotonic()
    _, made = build_index(workspace, settings.index, reporter)
    reporter.end("index", reused=not made, seconds=time.monotonic() - started)
    return ["index"] if made else []


@dataclass(frozen=True)
class Stage:
    """One artefact: what it depends on beside the artefacts of the stages it comes `after`, and how it is made."""

    inputs: dict[str, Any]
    make: Callable[[Path], Report]
    after: tuple[str, ...] = ()


def stages(
    settings: Config,
    source: log_stage.Source,
    *,
    at: Folders,
    model: str,
    exported: Path | None,
    documents: Path | None = None,
    truth: Path | None = None,
    files: dict[Path | None, str | None],
    reporter: Progress,
) -> dict[str, Stage]:
    """The diagram above, in order. `at` will hold the folder of each stage when the next one is made; `files` are the
    hashes of the input files, and `model` is the retriever."""
    filtered, labels, tested = _measures(settings, source.judged)
    trained, asked = retriever_settings(settings.retriever)
    return {
        "log": Stage(
            {"log file": files[source.log], "judged": source.judged, **settings.of_stage("log")},
            lambda new: log_stage.write(new, source, settings.log),
        ),
        "rankings": Stage(
            {
                "rankings file": files[exported],
                "documents file": files[documents],
                "lenient": source.lenient,
                **settings.of_stage("rankings"),
            },
            lambda new: rankings_stage.write(
                new,
                at,
                source,
                settings.rankings,
                exported=exported,
                documents=documents,
                progress=reporter,
            ),
            after=("log",),
        ),
        "contexts": Stage(
            settings.of_stage("prefixes"),
            lambda new: contexts.write(new, at, settings.prefixes),
            after=("rankings",),
        ),
        "propensity": Stage(
            settings.of_stage("propensity"),
            lambda new: propensity.write(new, at, settings.propensity),
            after=("rankings",),
        ),
        "demand": Stage(
            {"variant": tested.variant, **settings.of_stage("demand")},
            lambda new: demand.write(new, at, settings, tested.variant, reporter),
            after=("rankings", "contexts", "propensity"),
        ),
        "retriever": Stage(
            {"model": model, "measure": asdict(filtered), **trained},
            lambda new: retriever.write(new, at, settings.retriever, model, filtered),
            after=("rankings", "contexts", "propensity"),
        ),
        "ranker": Stage(
            {"measure": asdict(labels), "asked": asked, **settings.of_stage("features", "ranker")},
            lambda new: ranker.write(new, at, settings, labels, reporter),
            after=("rankings", "contexts", "propensity", "retriever"),
        ),
        "estimates": Stage(
            {"truth file": files[truth], "measure": asdict(tested), "metrics": list(METRICS), "asked": asked}
            | settings.of_stage("evaluation"),
            lambda new: estimates.write(new, at, settings, tested, truth=truth, progress=reporter),
            after=("rankings", "contexts", "propensity", "demand", "retriever", "ranker"),
        ),
    }


def choose_retriever(config: Config, reporter: Progress) -> str:
    """Which retriever to train; without PECOS, `auto` says in one line what it does instead."""
    if config.retriever.model == "popular" or xlinear.available():
        return "popular" if config.retriever.model == "popular" else "pecos"
    if config.retriever.model == "pecos":
        raise MissingExtra("pecos", 'The retriever "pecos"')
    reporter.note(
        "PECOS is not installed: candidates are the most popular completions. `pip install 'wayword[pecos]'` adds it."
    )
    return "popular"


def retriever_settings(config: RetrieverConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the retriever is trained with, and what it is asked with: more candidates do not need a new tree.

    `model` is in neither: `auto` is the same as the retriever that it stands for.
    """
    settings = {name: value for name, value in msgspec.to_builtins(config).items() if name != "model"}
    asked = {name: settings.pop(name) for name in ("candidates", "beam")}
    return settings, asked


def _measures(config: Config, judged: bool) -> tuple[Measure, Measure, Measure]:
    """What the retriever's filter goes by, what the ranker learns from, and what the evaluation measures."""
    if judged:
        measure = Measure(config.utility.judgments)
        return measure, measure, measure
    labels, test = config.utility, config.evaluation
    return (
        Measure("unbiased"),
        Measure(labels.variant, labels.max_ratio, labels.max_weight),
        Measure("unbiased", test.max_ratio, test.max_weight),
    )
