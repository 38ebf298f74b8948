"""The stages that experiments share: the ranker's examples, the test's contexts, the baselines, and a ranker for every
kind of label and size of log. These differ in the labels alone: candidates and features are computed once."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates
from wayword.completion.policies import RetrieverPolicy, UnfilteredPolicy
from wayword.completion.popular import PopularRetriever, popularity
from wayword.config import Config, UtilityConfig
from wayword.engines.tables import fetch_numbered, tables_in
from wayword.evaluation import stage as estimates
from wayword.evaluation.ceiling import ceiling
from wayword.logs import contexts_stage as contexts
from wayword.logs.contexts import ContextColumns
from wayword.paper import ranker_stage as ranker
from wayword.paper.features.ranker_features import Featuriser
from wayword.paper.policies import Shuffled
from wayword.paper.presets import Preset
from wayword.paper.rankers import RANKERS, Examples, reorder
from wayword.paper.retriever_stage import Retrievers
from wayword.progress import Progress
from wayword.simulation.simulate import TRUTH
from wayword.store.stage import Folders, Report, Stage, threads
from wayword.utility import DEEPEST, Measure

LABELS: tuple[str, ...] = get_args(get_type_hints(UtilityConfig)["variant"])
"""The kinds of labels that a ranker can learn from clicks."""
SIZES = {"1%": 0.01, "10%": 0.1, "50%": 0.5}
"""The shares of the ranker's training searches beside all of them (the paper's)."""
SIZED = {size: f"ranker_{size.removesuffix('%')}_percent" for size in SIZES}
"""The stages whose rankers learn from a part of the log."""
TABLES = ("rankings", "contexts", "propensity")
FORMAT = 4
"""Of the files that these stages and the experiments write. A new number makes them anew."""


@dataclass(frozen=True)
class Task:
    """The arguments of a step: the folder to fill, those of earlier stages, the reproduction, and its progress."""

    out: Path
    at: Folders
    preset: Preset
    progress: Progress

    @property
    def config(self) -> Config:
        """The settings of the pipeline."""
        return self.preset.settings

    def retrievers(self) -> Retrievers:
        """The queries, and the trained retriever."""
        return Retrievers.load(self.at, self.config.retriever)

    def typed(self, numbers: NDArray[np.int32]) -> pa.Table:
        """The contexts with these numbers."""
        return contexts.load(self.at["contexts"]).take(pa.array(numbers))


@dataclass(frozen=True)
class Step:
    """A stage by the function that writes it and the stages it comes after."""

    write: Callable[[Task], Report]
    after: tuple[str, ...] = ()

    def stage(self, chosen: Preset, reporter: Progress) -> Stage:
        """The same as a stage of the pipeline, which depends on all settings of the reproduction."""
        effort = (chosen.encoded, chosen.effort, chosen.seed)
        inputs = {"format": FORMAT, "effort": effort, "settings": chosen.settings.saved()}
        return Stage(inputs, lambda new, at: self.write(Task(new, at, chosen, reporter)), self.after)


@dataclass(frozen=True)
class CandidateSet:
    """`contexts` are the numbers of the contexts, in order; the candidates refer to them by place."""

    contexts: NDArray[np.int32]
    candidates: Candidates
    features: NDArray[np.float32]

    def of_contexts(self, wanted: NDArray[np.int32]) -> "CandidateSet":
        """The part that belongs to some of the contexts."""
        kept = np.isin(self.contexts, wanted)
        rows = kept[self.candidates.context]
        place = (np.cumsum(kept) - 1).astype(np.int32)[self.candidates.context[rows]]
        few = Candidates(place, self.candidates.query[rows], self.candidates.score[rows])
        return CandidateSet(self.contexts[kept], few, self.features if rows.all() else self.features[rows])

    def save(self, folder: Path) -> None:
        """Write arrays that can be mapped into memory."""
        np.save(folder / "contexts.npy", self.contexts, allow_pickle=False)
        np.save(folder / "features.npy", self.features, allow_pickle=False)
        save_list(folder, "candidates", self.candidates)

    @classmethod
    def load(cls, folder: Path) -> "CandidateSet":
        """Read the output of `save`; the features stay on disk until they are used."""
        contexts = np.load(folder / "contexts.npy", allow_pickle=False)
        features = np.load(folder / "features.npy", mmap_mode="r", allow_pickle=False)
        return cls(contexts, load_list(folder, "candidates"), features)


def save_list(folder: Path, name: str, listed: Candidates) -> None:
    """Write candidates as a table."""
    rows = {"context": listed.context, "query": listed.query, "score": listed.score}
    pq.write_table(pa.table(rows), folder / f"{name}.parquet")


def load_list(folder: Path, name: str) -> Candidates:
    """Read the output of `save_list`."""
    rows = pq.read_table(folder / f"{name}.parquet")
    return Candidates(*(rows[column].to_numpy() for column in ("context", "query", "score")))


def of_labels(variant: str) -> str:
    """The stage whose ranker learns from these labels."""
    return f"ranker_{variant}"


def write_candidates(task: Task, *, tested: bool) -> Report:
    """The contexts of the ranker's share of the log, or of the test searches with a click; their candidates, and the
    features of all pairs."""
    config, retrievers = task.config, task.retrievers()
    with tables_in(task.out) as engine:
        ranker.fill(engine, task.at, config.ranker.share)
        most = config.ranker.max_contexts
        numbers = estimates.contexts_tested(engine) if tested else ranker.training_contexts(engine, most)
    typed = task.typed(numbers)
    if tested:
        featuriser = Featuriser.load(task.at["examples"] / ranker.FEATURES)
    else:
        featuriser = ranker.featuriser_of(retrievers, config, ContextColumns.fit(typed))
        featuriser.save(task.out / ranker.FEATURES)
    candidates = retrievers.trained.retrieve(typed, config.retriever.candidates)
    features = featuriser.features(typed, candidates)
    CandidateSet(numbers, candidates, features).save(task.out)
    return {"contexts": len(numbers), "pairs": len(features), "features": features.shape[1]}


def write_baselines(task: Task) -> Report:
    """The lists of the policies that learn from no label, and of the ceiling."""
    config, retrievers = task.config, task.retrievers()
    counts = popularity(task.at["rankings"], "retriever", "ranker")
    numbers = CandidateSet.load(task.at["tests"]).contexts
    typed = task.typed(numbers)
    policies: dict[str, UnfilteredPolicy] = {
        "random": Shuffled(retrievers.trained, config.retriever.candidates, config.evaluation.seed),
        "popular": RetrieverPolicy(PopularRetriever(retrievers.texts, counts)),
        "retriever": RetrieverPolicy(retrievers.trained),
    }
    for done, (name, policy) in enumerate(policies.items()):
        task.progress.advance(done, len(policies) + 1)
        save_list(task.out, name, policy.complete(typed, DEEPEST))
    with tables_in(task.out) as engine:
        fetch_numbered(engine, task.at)
        best = ceiling(engine, task.at["world"] / TRUTH, numbers, config.prefixes, DEEPEST)
    save_list(task.out, "ceiling", best)
    return {"contexts": len(numbers)}


def labelled(task: Task, examples: CandidateSet, variant: str, share: float = 1.0) -> Examples:
    """Training data of a ranker: the examples of a share of the searches, with these labels."""
    with tables_in(task.out) as engine:
        ranker.fill(engine, task.at, task.config.ranker.share * share)
        few = examples.of_contexts(ranker.training_contexts(engine))
        labels, searches = ranker.labelled(engine, few.candidates, few.contexts, Measure(variant))
    return Examples.of(few.features, labels, few.candidates.context, searches)


def write_ranker(task: Task, *, variant: str = "unbiased", share: float = 1.0) -> Report:
    """A ranker from these labels on a share of the examples' searches, and its lists for the test contexts."""
    config, tests = task.config.ranker, CandidateSet.load(task.at["tests"])
    learned = labelled(task, CandidateSet.load(task.at["examples"]), variant, share)
    model = RANKERS[config.model].fit(learned, config, threads=threads(), progress=task.progress)
    model.save(task.out / ranker.MODEL)
    save_list(task.out, variant, reorder(tests.candidates, model.score(tests.features)).top(DEEPEST))
    return {**ranker.counts(learned), "searches": int(learned.weights.sum()), "labels": variant}


_RETRIEVED = (*TABLES, "retriever")
_LABELLED = (*TABLES, "examples", "tests")
STEPS: dict[str, Step] = {
    "examples": Step(partial(write_candidates, tested=False), _RETRIEVED),
    "tests": Step(partial(write_candidates, tested=True), (*_RETRIEVED, "examples")),
    "baselines": Step(write_baselines, ("world", *_RETRIEVED, "tests")),
    **{of_labels(name): Step(partial(write_ranker, variant=name), _LABELLED) for name in LABELS},
    **{SIZED[name]: Step(partial(write_ranker, share=of), _LABELLED) for name, of in SIZES.items()},
}
