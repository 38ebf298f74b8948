"""Policies: context → ordered list of queries. Evaluation and serving use the same objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from wayword.completion.candidates import Candidates, Retriever
from wayword.completion.expected_utility import ExpectedUtilityRetriever
from wayword.logs.contexts import PREFIX
from wayword.request import ANY

NAMES = ("logged", "random", "popular", "retriever", "unbiased", "expected", "wayword", "oracle")
DEFAULT = "wayword"
POOL = 50
"""Number of candidates from which those that continue the text are kept."""


class Policy(Protocol):
    """A policy that supports both modes."""

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """Return at most k queries for each context, best first; in mode `prefix` only continuations of its text."""
        ...


@dataclass(frozen=True)
class Expected:
    """Queries by expected utility, of all queries: the paper's objective, for people who take what they are shown."""

    retriever: ExpectedUtilityRetriever

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """See `Policy.complete`."""
        return self.retriever.retrieve(contexts, k, mode)


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
