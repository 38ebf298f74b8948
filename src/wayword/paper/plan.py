"""The paper's two stages: a retriever that proposes queries, and a ranker that orders them."""

from dataclasses import asdict
from typing import Any

from msgspec import structs

from wayword.config import Config, RetrieverConfig
from wayword.errors import MissingExtra
from wayword.paper import pecos_model, ranker_stage, retriever_stage
from wayword.plan import SUPPLIED
from wayword.progress import Progress
from wayword.store.stage import Stage
from wayword.utility import Measure


def paper_stages(settings: Config, judged: bool, reporter: Progress) -> dict[str, Stage]:
    """`retriever` and `ranker`, to come after the log, the rankings, the contexts and the propensities."""
    filtered, labels = measures(settings, judged)
    model = choose_retriever(settings, reporter)
    return {
        "retriever": Stage(
            {"model": model, "measure": asdict(filtered), **trained_with(settings.retriever)},
            lambda new, at: retriever_stage.write(new, at, settings.retriever, model, filtered),
            after=SUPPLIED,
        ),
        "ranker": Stage(
            {
                "measure": asdict(labels),
                "asked": asked_of(settings.retriever),
                **settings.of_stage("features", "ranker"),
            },
            lambda new, at: ranker_stage.write(new, at, settings, labels, reporter),
            after=(*SUPPLIED, "retriever"),
        ),
    }


def choose_retriever(config: Config, reporter: Progress) -> str:
    """The retriever to train; without PECOS, `auto` says in one line what it does instead."""
    if config.retriever.model == "popular" or pecos_model.available():
        return "popular" if config.retriever.model == "popular" else "pecos"
    if config.retriever.model == "pecos":
        raise MissingExtra("pecos", 'The retriever "pecos"')
    reporter.note(
        "PECOS is not installed: candidates are the most popular completions. `pip install 'wayword[pecos]'` adds it."
    )
    return "popular"


def asked_of(config: RetrieverConfig) -> dict[str, Any]:
    """The settings that a retriever is asked with: more candidates do not need a new tree."""
    return {"candidates": config.candidates, "beam": config.beam}


def trained_with(config: RetrieverConfig) -> dict[str, Any]:
    """The settings that a retriever is trained with. `model` is not among them: `auto` is the same as the retriever
    that it stands for."""
    others = ("model", *asked_of(config))
    return {name: value for name, value in structs.asdict(config).items() if name not in others}


def measures(config: Config, judged: bool) -> tuple[Measure, Measure]:
    """The utility that the retriever's filter goes by, and the one that the ranker learns from."""
    if judged:
        return (Measure(config.utility.judgments),) * 2
    labels = config.utility
    return Measure("unbiased"), Measure(labels.variant, labels.max_ratio, labels.max_weight)
