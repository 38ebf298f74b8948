"""The stages that experiments share: the ranker's examples, the test's contexts, the baselines, and a ranker for every
kind of label and size of log. They differ in the labels alone: the features are computed once."""

from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword import utility
from wayword.completion.policies import Plain, Retrieved
from wayword.config import Config, UtilityConfig
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.evaluation import stage as estimates
from wayword.evaluation.ceiling import ceiling
from wayword.logs import contexts_stage as contexts
from wayword.logs.contexts import ContextColumns
from wayword.paper import ranker_stage as ranker
from wayword.paper.features.ranker_features import Featuriser
from wayword.paper.policies import Shuffled
from wayword.paper.rankers import RANKERS, Examples, reorder
from wayword.paper.retriever_stage import Retrievers
from wayword.pipeline import retriever_settings
from wayword.progress import Progress
from wayword.reproduction.material import LISTS, Material, save_list
from wayword.store.stage import (
    Folders,
    Report,
    Stage,
    threads,
)
from wayword.utility import DEEPEST

LABELS: tuple[str, ...] = get_args(get_type_hints(UtilityConfig)["variant"])
"""The kinds of labels that a ranker can learn from clicks."""
SIZES = {"1%": 0.01, "10%": 0.1, "50%": 0.5}
"""The shares of the ranker's training searches beside all of them (the paper's)."""
TABLES = ("rankings", "contexts", "propensity")


def of_labels(variant: str) -> str:
    """The stage whose ranker learns from these labels."""
    return f"ranker_{variant}"


def of_size(name: str) -> str:
    """The stage whose ranker learns from a part of the log."""
    return f"ranker_{name.removesuffix('%')}_percent"


def stages(config: Config, at: Folders, truth: Path, truth_hash: str, tell: Progress) -> dict[str, Stage]:
    """All of them by name."""
    asked = retriever_settings(config.retriever)[1]
    trained = {"asked": asked, **config.of_stage("features", "ranker")}

    def fitted(variant: str, share: float) -> Stage:
        return Stage(
            {"variant": variant, "share": share, **config.of_stage("ranker")},
            lambda new: write_ranker(new, at, config, variant, share, tell),
            after=("examples", "tests", "propensity"),
        )

    return {
        "examples": Stage(trained, lambda new: write_examples(new, at, config), after=(*TABLES, "retriever")),
        "tests": Stage(
            {}, lambda new: write_tests(new, at, config), after=(*TABLES, "retriever", "examples")
        ),
        "baselines": Stage(
            {"truth": truth_hash, "seed": config.evaluation.seed, **config.of_stage("prefixes")},
            lambda new: write_baselines(new, at, config, truth, tell),
            after=(*TABLES, "retriever", "tests"),
        ),
        **{of_labels(variant): fitted(variant, 1.0) for variant in LABELS},
        **{of_size(name): fitted("unbiased", share) for name, share in SIZES.items()},
    }


def write_examples(out: Path, at: Folders, config: Config) -> Report:
    """The contexts of the ranker's share of the log, their candidates, and the features of all pairs."""
    retrievers = Retrievers.load(at, config.retriever)
    with tables_in(out) as engine:
        ranker.fill(engine, at, config.ranker.share)
        chosen = ranker.training_contexts(engine, config.ranker.max_contexts)
    typed = contexts.load(at["contexts"]).take(pa.array(chosen))
    featuriser = ranker.featuriser_of(retrievers, config, ContextColumns.fit(typed))
    featuriser.save(out / ranker.FEATURES)
    return _save(out, chosen, typed, retrievers, featuriser, config)


def write_tests(out: Path, at: Folders, config: Config) -> Report:
    """The same for the contexts of the test searches with a click."""
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "numbered_clicks")
        tables.fetch(engine, at["contexts"], "instances")
        chosen = estimates.contexts_tested(engine)
    typed = contexts.load(at["contexts"]).take(pa.array(chosen))
    featuriser = Featuriser.load(at["examples"] / ranker.FEATURES)
    return _save(out, chosen, typed, Retrievers.load(at, config.retriever), featuriser, config)


def _save(
    out: Path,
    chosen: NDArray[np.int32],
    typed: pa.Table,
    retrievers: Retrievers,
    featuriser: Featuriser,
    config: Config,
) -> Report:
    candidates = retrievers.trained.retrieve(typed, config.retriever.candidates)
    features = featuriser.features(typed, candidates)
    Material(chosen, candidates, features).save(out)
    return {"contexts": len(chosen), "pairs": len(features), "features": features.shape[1]}


def write_baselines(out: Path, at: Folders, config: Config, truth: Path, progress: Progress) -> Report:
    """The lists of the policies that no label touches, and of the ceiling."""
    retrievers = Retrievers.load(at, config.retriever)
    numbers = Material.load(at["tests"]).contexts
    typed = contexts.load(at["contexts"]).take(pa.array(numbers))
    policies: dict[str, Plain] = {
        "random": Shuffled(retrievers.trained, config.retriever.candidates, config.evaluation.seed),
        "popular": Retrieved(retrievers.popular),
        "retriever": Retrieved(retrievers.trained),
    }
    for done, (name, policy) in enumerate(policies.items()):
        progress.advance(done, len(policies) + 1)
        save_list(out / LISTS / f"{name}.parquet", policy.complete(typed, DEEPEST))
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "queries", "documents", "rankings", "numbered_searches")
        tables.fetch(engine, at["propensity"], "propensity")
        tables.fetch(engine, at["contexts"], "contexts")
        best = ceiling(engine, truth, numbers, config.prefixes, DEEPEST)
    save_list(out / LISTS / "ceiling.parquet", best)
    return {"contexts": len(numbers)}


def write_ranker(
    out: Path, at: Folders, config: Config, variant: str, share: float, progress: Progress
) -> Report:
    """A ranker from these labels on a share of the examples' searches, and its lists for the test contexts."""
    examples = Material.load(at["examples"])
    measure = utility.Measure(variant)
    with tables_in(out) as engine:
        ranker.fill(engine, at, config.ranker.share * share)
        examples = examples.of_contexts(ranker.training_contexts(engine))
        labels, searches = ranker.labelled(engine, examples.candidates, examples.contexts, measure)
    learned = Examples.of(examples.features, labels, examples.candidates.context, searches)
    model = RANKERS[config.ranker.model].fit(learned, config.ranker, threads=threads(), progress=progress)
    model.save(out / ranker.MODEL)
    tests = Material.load(at["tests"])
    ordered = reorder(tests.candidates, model.score(tests.features)).top(DEEPEST)
    save_list(out / LISTS / f"{variant}.parquet", ordered)
    return {**ranker.counts(learned), "searches": int(searches.sum()), "labels": variant}
