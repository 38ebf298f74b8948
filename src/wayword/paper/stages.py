"""The stages that experiments share: the ranker's examples, the test's contexts, the baselines, and a ranker for every
kind of label and size of log. These differ in the labels alone: candidates and features are computed once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates
from wayword.completion.policies import RetrieverPolicy, UnfilteredPolicy
from wayword.completion.popular import PopularRetriever, popularity
from wayword.config import RankerConfig, UtilityConfig
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
TABLES = ("rankings", "contexts", "propensity")
FORMAT = 4
"""Of the files that these stages and the experiments write. A new number makes them anew."""
Write = Callable[[Path, Folders, Preset, Progress], Report]


@dataclass(frozen=True)
class Step:
    """A stage by the function that writes it, the stages it comes after, and the settings that it depends on."""

    write: Write
    after: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    inputs: dict[str, Any] = field(default_factory=dict)

    def stage(self, chosen: Preset, reporter: Progress) -> Stage:
        """The same as a stage of the pipeline."""
        inputs = {"format": FORMAT, **self.inputs, **chosen.settings.of_stage(*self.settings)}
        return Stage(inputs, lambda new, at: self.write(new, at, chosen, reporter), self.after)


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


def of_size(name: str) -> str:
    """The stage whose ranker learns from a part of the log."""
    return f"ranker_{name.removesuffix('%')}_percent"


def write_candidates(out: Path, at: Folders, chosen: Preset, _: Progress, *, tested: bool) -> Report:
    """The contexts of the ranker's share of the log, or of the test searches with a click; their candidates, and the
    features of all pairs."""
    config = chosen.settings
    retrievers = Retrievers.load(at, config.retriever)
    with tables_in(out) as engine:
        ranker.fill(engine, at, config.ranker.share)
        most = config.ranker.max_contexts
        numbers = estimates.contexts_tested(engine) if tested else ranker.training_contexts(engine, most)
    typed = contexts.load(at["contexts"]).take(pa.array(numbers))
    if tested:
        featuriser = Featuriser.load(at["examples"] / ranker.FEATURES)
    else:
        featuriser = ranker.featuriser_of(retrievers, config, ContextColumns.fit(typed))
        featuriser.save(out / ranker.FEATURES)
    candidates = retrievers.trained.retrieve(typed, config.retriever.candidates)
    features = featuriser.features(typed, candidates)
    CandidateSet(numbers, candidates, features).save(out)
    return {"contexts": len(numbers), "pairs": len(features), "features": features.shape[1]}


def write_baselines(out: Path, at: Folders, chosen: Preset, progress: Progress) -> Report:
    """The lists of the policies that learn from no label, and of the ceiling."""
    config = chosen.settings
    retrievers = Retrievers.load(at, config.retriever)
    counts = popularity(at["rankings"], "retriever", "ranker")
    numbers = CandidateSet.load(at["tests"]).contexts
    typed = contexts.load(at["contexts"]).take(pa.array(numbers))
    policies: dict[str, UnfilteredPolicy] = {
        "random": Shuffled(retrievers.trained, config.retriever.candidates, config.evaluation.seed),
        "popular": RetrieverPolicy(PopularRetriever(retrievers.texts, counts)),
        "retriever": RetrieverPolicy(retrievers.trained),
    }
    for done, (name, policy) in enumerate(policies.items()):
        progress.advance(done, len(policies) + 1)
        save_list(out, name, policy.complete(typed, DEEPEST))
    with tables_in(out) as engine:
        fetch_numbered(engine, at)
        best = ceiling(engine, at["world"] / TRUTH, numbers, config.prefixes, DEEPEST)
    save_list(out, "ceiling", best)
    return {"contexts": len(numbers)}


def labelled(
    out: Path, at: Folders, config: RankerConfig, examples: CandidateSet, variant: str, share: float = 1.0
) -> Examples:
    """What a ranker learns from: the examples of a share of the searches, with these labels."""
    with tables_in(out) as engine:
        ranker.fill(engine, at, config.share * share)
        few = examples.of_contexts(ranker.training_contexts(engine))
        labels, searches = ranker.labelled(engine, few.candidates, few.contexts, Measure(variant))
    return Examples.of(few.features, labels, few.candidates.context, searches)


def write_ranker(
    out: Path, at: Folders, chosen: Preset, progress: Progress, *, variant: str, share: float
) -> Report:
    """A ranker from these labels on a share of the examples' searches, and its lists for the test contexts."""
    config, tests = chosen.settings.ranker, CandidateSet.load(at["tests"])
    learned = labelled(out, at, config, CandidateSet.load(at["examples"]), variant, share)
    model = RANKERS[config.model].fit(learned, config, threads=threads(), progress=progress)
    model.save(out / ranker.MODEL)
    save_list(out, variant, reorder(tests.candidates, model.score(tests.features)).top(DEEPEST))
    return {**ranker.counts(learned), "searches": int(learned.weights.sum()), "labels": variant}


def _ranker(variant: str, share: float = 1.0) -> Step:
    write = partial(write_ranker, variant=variant, share=share)
    after = (*TABLES, "examples", "tests")
    return Step(write, after, ("ranker",), {"variant": variant, "share": share})


_RETRIEVED = (*TABLES, "retriever")
_EXAMPLES, _TESTS = (partial(write_candidates, tested=tested) for tested in (False, True))
STEPS: dict[str, Step] = {
    "examples": Step(_EXAMPLES, _RETRIEVED, ("retriever", "features", "ranker")),
    "tests": Step(_TESTS, (*_RETRIEVED, "examples")),
    "baselines": Step(write_baselines, ("world", *_RETRIEVED, "tests"), ("prefixes", "evaluation")),
    **{of_labels(variant): _ranker(variant) for variant in LABELS},
    **{of_size(name): _ranker("unbiased", share) for name, share in SIZES.items()},
}
