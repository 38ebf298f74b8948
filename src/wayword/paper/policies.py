"""The paper's policies: candidates of a retriever, shuffled or in the order of a trained ranker."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates, Retriever
from wayword.completion.policies import Policy, PrefixFiltered, RetrieverPolicy, UnfilteredPolicy
from wayword.config import Config
from wayword.paper import ranker_stage
from wayword.paper.features.ranker_features import Featuriser
from wayword.paper.rankers import RANKERS, Ranker, reorder
from wayword.paper.retriever_stage import Retrievers
from wayword.store.stage import Folders

NAMES = ("random", "retriever", "unbiased")
CONTEXTS_AT_ONCE = 4096


def load(at: Folders, config: Config, *, threads: int = 1) -> Mapping[str, Policy]:
    """Read the paper's policies from the artefacts of its stages."""
    retrievers = Retrievers.load(at, config.retriever)
    wide = config.retriever.candidates
    plain: dict[str, UnfilteredPolicy] = {
        "random": Shuffled(retrievers.trained, wide, config.evaluation.seed),
        "retriever": RetrieverPolicy(retrievers.trained),
        "unbiased": load_ranked(retrievers.trained, at["ranker"], at["ranker"], config, threads=threads),
    }
    return {name: PrefixFiltered(policy, retrievers.texts, wide) for name, policy in plain.items()}


def load_ranked(
    retriever: Retriever, features: Path, model: Path, config: Config, *, threads: int = 1
) -> "Ranked":
    """Read a ranker from the folders of its features and its model, for the candidates of a retriever."""
    return Ranked(
        retriever,
        Featuriser.load(features / ranker_stage.FEATURES),
        RANKERS[config.ranker.model].load(model / ranker_stage.MODEL, threads=threads),
        config.retriever.candidates,
    )


@dataclass(frozen=True)
class Shuffled:
    """The retriever's candidates in a random order, fixed by context, query and seed."""

    retriever: Retriever
    candidates: int
    seed: int

    def complete(self, contexts: pa.Table, k: int) -> Candidates:
        """See `Policy.complete`."""
        candidates = self.retriever.retrieve(contexts, self.candidates)
        rows = zip(*(contexts[name].to_pylist() for name in contexts.column_names), strict=True)
        keys = np.array([zlib.crc32(repr(row).encode("utf-8", "replace")) for row in rows], dtype=np.uint64)
        mixed = _mix(
            keys[candidates.context] << np.uint64(32)
            ^ candidates.query.astype(np.uint64)
            ^ _mix(np.array(self.seed, np.uint64))
        )
        score = (mixed >> np.uint64(40)).astype(np.float32)
        return Candidates.sorted(candidates.context, candidates.query, score).top(k)


@dataclass(frozen=True)
class Ranked:
    """The retriever's candidates in the ranker's order: with unbiased labels, the paper's proposal."""

    retriever: Retriever
    featuriser: Featuriser
    ranker: Ranker
    candidates: int

    def complete(self, contexts: pa.Table, k: int) -> Candidates:
        """See `Policy.complete`."""
        chunks = [
            self._order(contexts.slice(start, CONTEXTS_AT_ONCE), start, k)
            for start in range(0, max(contexts.num_rows, 1), CONTEXTS_AT_ONCE)
        ]
        return Candidates(
            np.concatenate([chunk.context for chunk in chunks]),
            np.concatenate([chunk.query for chunk in chunks]),
            np.concatenate([chunk.score for chunk in chunks]),
        )

    def _order(self, contexts: pa.Table, start: int, k: int) -> Candidates:
        candidates = self.retriever.retrieve(contexts, self.candidates)
        score = self.ranker.score(self.featuriser.features(contexts, candidates))
        ordered = reorder(candidates, score).top(k)
        return Candidates(ordered.context + np.int32(start), ordered.query, ordered.score)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finaliser of splitmix64: every input bit affects every output bit."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
