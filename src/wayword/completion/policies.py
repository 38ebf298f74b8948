"""Policies: context → ordered list of queries. The same objects answer in evaluation and for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.blending import dialled
from wayword.completion.candidates import Candidates, Retriever
from wayword.completion.diversify import diversify
from wayword.completion.expected_utility import GraphRetriever, Typed
from wayword.logs.contexts import PREFIX
from wayword.request import ANY
from wayword.store.compressed_rows import WeightedRows

NAMES = ("logged", "random", "popular", "retriever", "unbiased", "expected", "diverse", "oracle")
DEFAULT = "expected"
POOL = 50
"""So many best queries are looked at when a list is chosen by more than their utility."""


class Policy(Protocol):
    """What every policy does."""

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """At most k queries for each row of `contexts`, best first; in mode `prefix` only such as go on from it."""
        ...


@dataclass(frozen=True)
class Expected:
    """Queries by expected utility, over the whole universe: Wayword's own policy.

    `acceptance` moves from utility (0) to what people would have typed anyway (1): of the best queries and the most
    probable ones, the mean of both, each as a share of the best, decides. With `diverse`, the list as a whole is
    chosen: a query that leads where a better one already leads adds nothing (see `lists`).
    """

    retriever: GraphRetriever
    acceptance: float = 0.0
    diverse: bool = False
    exposures: csr_array | None = None
    same: NDArray[np.int32] | None = None

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """See `Policy.complete`."""
        if not self.acceptance and not self.diverse:
            return self.retriever.retrieve(contexts, k, mode)
        typed = self.retriever.typed(contexts)
        found = self.retriever.score(contexts, typed, max(k, POOL), typed.within(mode))
        if self.acceptance:
            found = self._accepted(contexts, typed, found, max(k, POOL), mode)
        if self.diverse and self.exposures is not None:
            return diversify(found, self.retriever.demand(contexts, typed), self.exposures, k, same=self.same)
        return found.top(k)

    def complete_text(self, text: str, k: int, *, mode: str = ANY) -> Candidates:
        """As `complete`, for one text of whose context nothing is known."""
        if not self.acceptance and not self.diverse:
            return self.retriever.retrieve_text(text, k, mode)
        return self.complete(pa.table({PREFIX: pa.array([text], pa.string())}), k, mode=mode)

    def _accepted(
        self, contexts: pa.Table, typed: Typed, useful: Candidates, k: int, mode: str
    ) -> Candidates:
        probable = self.retriever.accepted(typed, k, mode)
        rows = WeightedRows(
            np.searchsorted(probable.context, np.arange(contexts.num_rows + 1)).astype(np.int64),
            probable.query,
            probable.score,
        )
        return dialled(useful, self.retriever.score(contexts, typed, k, rows), probable, self.acceptance)


@dataclass(frozen=True)
class StartingWith:
    """Any other policy in both modes: in mode `prefix`, those of its queries that go on from the typed text."""

    policy: "Plain"
    texts: Sequence[str]
    candidates: int

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """See `Policy.complete`."""
        if mode == ANY:
            return self.policy.complete(contexts, k)
        return starting_with(
            self.policy.complete(contexts, max(k, self.candidates)), contexts, self.texts
        ).top(k)


def starting_with(candidates: Candidates, contexts: pa.Table, texts: Sequence[str]) -> Candidates:
    """Those that go on from what was typed: they start with it and are longer."""
    typed = contexts[PREFIX].to_pylist()
    rows = zip(candidates.context.tolist(), candidates.query.tolist(), strict=True)
    kept = [n for n, (context, query) in enumerate(rows) if _goes_on(texts[query], typed[context])]
    return candidates.take(np.array(kept, np.int64))


def _goes_on(text: str, typed: str) -> bool:
    return len(text) > len(typed) and text.startswith(typed)


class Plain(Protocol):
    """A policy that knows nothing of modes."""

    def complete(self, contexts: pa.Table, k: int) -> Candidates:
        """At most k queries for each row of `contexts`, best first."""
        ...


@dataclass(frozen=True)
class Retrieved:
    """The retriever's own order: `popular` and the paper's PECOS baseline."""

    retriever: Retriever

    def complete(self, contexts: pa.Table, k: int) -> Candidates:
        """See `Plain.complete`."""
        return self.retriever.retrieve(contexts, k)
