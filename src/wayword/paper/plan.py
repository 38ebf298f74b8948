"""The paper's two stages: a retriever that proposes queries, and a ranker that orders them."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from msgspec import structs

from wayword.config import Config, FeaturesConfig, RetrieverConfig
from wayword.errors import MissingExtra
from wayword.paper import pecos_model, ranker_stage, retriever_stage
from wayword.plan import SUPPLIED
from wayword.progress import Progress
from wayword.store.input_file import InputFile
from wayword.store.stage import Stage
from wayword.utility import Measure


def paper_stages(settings: Config, judged: bool, reporter: Progress) -> dict[str, Stage]:
    """Build the stages `retriever` and `ranker`, which follow the log, rankings, contexts and propensity stages."""
    filtered, labels = measures(settings, judged)
    model = choose_retriever(settings, reporter)
    encoder = encoder_files(settings.features)
    hashes = {"encoder files": {file.path.name: file.digest for file in encoder}} if encoder else {}
    return {
        "retriever": Stage(
            {"model": model, "measure": asdict(filtered), **training_settings(settings.retriever)},
            lambda new, at: retriever_stage.write(new, at, settings.retriever, model, filtered),
            after=SUPPLIED,
        ),
        "ranker": Stage(
            {
                "measure": asdict(labels),
                "asked": retrieval_settings(settings.retriever),
                **settings.of_stage("features", "ranker"),
                **hashes,
            },
            lambda new, at: ranker_stage.write(new, at, settings, labels, reporter),
            after=(*SUPPLIED, "retriever"),
            files=encoder,
        ),
    }


def encoder_files(config: FeaturesConfig) -> tuple[InputFile, ...]:
    """Open the files of a text encoder that is given as a folder."""
    folder = Path(config.encoder)
    if config.encoder == "light" or not folder.is_dir():
        return ()
    return tuple(InputFile(path) for path in sorted(folder.iterdir()) if path.is_file())


def choose_retriever(config: Config, reporter: Progress) -> str:
    """Return the retriever to train; without PECOS, `auto` prints a note and is `popular`."""
    if config.retriever.model == "popular" or pecos_model.available():
        return "popular" if config.retriever.model == "popular" else "pecos"
    if config.retriever.model == "pecos":
        raise MissingExtra("pecos", 'The retriever "pecos"')
    reporter.note(
        "PECOS is not installed: candidates are the most popular completions. `pip install '.[pecos]'` adds it."
    )
    return "popular"


def retrieval_settings(config: RetrieverConfig) -> dict[str, Any]:
    """Return the settings used at retrieval: changing them does not need a new tree."""
    return {"candidates": config.candidates, "beam": config.beam}


def training_settings(config: RetrieverConfig) -> dict[str, Any]:
    """Return the settings used in training, without `model`: `auto` equals the retriever that it resolves to."""
    others = ("model", *retrieval_settings(config))
    return {name: value for name, value in structs.asdict(config).items() if name not in others}


def measures(config: Config, judged: bool) -> tuple[Measure, Measure]:
    """Return the utility that filters the retriever's labels, and the utility that the ranker learns from."""
    if judged:
        return (Measure(config.utility.judgments),) * 2
    labels = config.utility
    return Measure("unbiased"), Measure(labels.variant, labels.max_ratio, labels.max_weight)
