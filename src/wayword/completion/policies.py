"""Policies: context → ordered list of queries. Evaluation and serving use the same objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.blending import mix_acceptance
from wayword.completion.candidates import Candidates, Retriever
from wayword.completion.diversify import diversify
from wayword.completion.expected_utility import ExpectedUtilityRetriever, Intents
from wayword.logs.contexts import PREFIX
from wayword.request import ANY
from wayword.store.compressed_rows import WeightedRows

NAMES = ("logged", "random", "popular", "retriever", "unbiased", "expected", "diverse", "oracle")
DEFAULT = "expected"
POOL = 50
"""Number of queries of highest utility that acceptance and diversity choose from."""


class Policy(Protocol):
    """A policy that supports both modes."""

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """Return at most k queries for each context, best first; in mode `prefix` only continuations of its text."""
        ...


@dataclass(frozen=True)
class Expected:
    """Queries by expected utility, of all queries: the default policy.

    `acceptance` weighs utility (0) against the probability that the user intends the query (1), each relative to the
    best query (see `blending`). `diverse` maximises the utility of the list as a whole (see `diversify`).
    """

    retriever: ExpectedUtilityRetriever
    acceptance: float = 0.0
    diverse: bool = False
    exposures: csr_array | None = None
    same: NDArray[np.int32] | None = None

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """See `Policy.complete`."""
        if not self.acceptance and not self.diverse:
            return self.retriever.retrieve(contexts, k, mode)
        intents = self.retriever.intents(contexts)
        candidates = self.retriever.score(contexts, intents, max(k, POOL), intents.within(mode))
        if self.acceptance:
            candidates = self._mixed(contexts, intents, candidates, max(k, POOL), mode)
        if self.diverse and self.exposures is not None:
            demand = self.retriever.demand(contexts, intents)
            return diversify(candidates, demand, self.exposures, k, same=self.same)
        return candidates.top(k)

    def _mixed(
        self, contexts: pa.Table, intents: Intents, useful: Candidates, k: int, mode: str
    ) -> Candidates:
        probable = self.retriever.most_probable(intents, k, mode)
        rows = WeightedRows(
            np.searchsorted(probable.context, np.arange(contexts.num_rows + 1)).astype(np.int64),
            probable.query,
            probable.score,
        )
        return mix_acceptance(
            useful, self.retriever.score(contexts, intents, k, rows), probable, self.acceptance
        )


@dataclass(frozen=True)
class PrefixFiltered:
    """Adds mode `prefix` to a policy: keeps the suggestions that continue the typed text."""

    policy: "UnfilteredPolicy"
    texts: Sequence[str]
    candidates: int

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """See `Policy.complete`."""
        if mode == ANY:
            return self.policy.complete(contexts, k)
        return filter_by_prefix(
            self.policy.complete(contexts, max(k, self.candidates)), contexts, self.texts
        ).top(k)


def filter_by_prefix(candidates: Candidates, contexts: pa.Table, texts: Sequence[str]) -> Candidates:
    """Keep the candidates that start with the typed text and are longer."""
    typed = contexts[PREFIX].to_pylist()
    rows = zip(candidates.context.tolist(), candidates.query.tolist(), strict=True)
    kept = [n for n, (context, query) in enumerate(rows) if _continues(texts[query], typed[context])]
    return candidates.take(np.array(kept, np.int64))


def _continues(text: str, typed: str) -> bool:
    return len(text) > len(typed) and text.startswith(typed)


class UnfilteredPolicy(Protocol):
    """A policy without modes."""

    def complete(self, contexts: pa.Table, k: int) -> Candidates:
        """Return at most k queries for each row of `contexts`, best first."""
        ...


@dataclass(frozen=True)
class RetrieverPolicy:
    """Suggests a retriever's candidates in its order: `popular` and the paper's PECOS baseline."""

    retriever: Retriever

    def complete(self, contexts: pa.Table, k: int) -> Candidates:
        """See `UnfilteredPolicy.complete`."""
        return self.retriever.retrieve(contexts, k)
