"""Logging policies: where the lists come from that simulated people are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.policies import Policy, PrefixFiltered, RetrieverPolicy
from wayword.completion.popular import PopularRetriever
from wayword.completion.typing_outcomes import Lists
from wayword.logs.contexts import PREFIX
from wayword.request import ANY
from wayword.serving.completer import Completer, Served
from wayword.simulation.world import World
from wayword.store.compressed_rows import CompressedRows
from wayword.text import normalise
from wayword.text_arrays import begins, characters

COUNT_SCALE = 2.0**50
"""Probabilities times this, rounded up, are the counts of most popular completion."""


class LoggingPolicy(Protocol):
    """Shows a list at each typed text."""

    @property
    def texts(self) -> Sequence[str]:
        """All queries that it may suggest, in their normal form."""
        ...

    def shown(self, typed: Sequence[str], k: int) -> CompressedRows:
        """Return at most k suggestions for each text, best first, as numbers of `texts`."""
        ...


@dataclass(frozen=True)
class PolicyLists:
    """The lists of a policy, whose query numbers index `texts`."""

    policy: Policy
    texts: Sequence[str]
    mode: str = ANY

    def shown(self, typed: Sequence[str], k: int) -> CompressedRows:
        """See `LoggingPolicy.shown`."""
        contexts = pa.table({PREFIX: pa.array(typed, pa.string())})
        candidates = self.policy.complete(contexts, k, mode=self.mode)
        lengths = np.bincount(candidates.context, minlength=len(typed))
        return CompressedRows.from_lengths(candidates.query.astype(np.int64), lengths)


class WorkspaceLists:
    """The lists that a workspace's index serves, pinned queries included."""

    def __init__(self, served: Served, mode: str = ANY) -> None:
        self._served, self._mode = served, mode
        pinned = (normalise(query) for queries in served.overrides.pin.values() for query in queries)
        self.texts: Sequence[str] = list(dict.fromkeys([*served.index.texts, *pinned]))
        self._number = {text: number for number, text in enumerate(self.texts)}

    @classmethod
    def open(cls, workspace: Path | str, mode: str = ANY) -> "WorkspaceLists":
        """Open the current index of a workspace."""
        return cls(Completer.open(workspace).served, mode)

    def shown(self, typed: Sequence[str], k: int) -> CompressedRows:
        """See `LoggingPolicy.shown`."""
        complete, number = self._served.complete, self._number
        lists = [
            [number[normalise(one.query)] for one in complete(text, k, mode=self._mode)] for text in typed
        ]
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        return CompressedRows.from_lengths(
            np.array([number for one in lists for number in one], np.int64), lengths
        )


def popular_lists(world: World) -> PolicyLists:
    """Most popular completion by the world's own query probabilities: a shop with ordinary autocompletion."""
    intents = world.intents
    probability = np.bincount(intents.query, intents.probability, minlength=len(world.queries))
    queries = world.queries.to_pylist()
    order = sorted(range(len(queries)), key=queries.__getitem__)
    texts = [queries[number] for number in order]
    counts = np.ceil(probability[order] / probability.sum() * COUNT_SCALE)
    popular = RetrieverPolicy(PopularRetriever(texts, counts))
    return PolicyLists(PrefixFiltered(popular, texts, candidates=1000), texts)


def lists_at(
    typed: Sequence[str], policy: LoggingPolicy, numbers: NDArray[np.int64], queries: Sequence[str], k: int
) -> Lists:
    """Return the lists at these texts; `numbers` gives for each query of the policy its number in `queries`."""
    rows = policy.shown(typed, k)
    numbered = CompressedRows(rows.offsets, numbers[rows.values])
    distinct, place = np.unique(numbered.values, return_inverse=True)
    continues = begins(
        characters(typed), characters([queries[n] for n in distinct]), rows.owner, place.astype(np.int64)
    )
    return Lists(numbered, continues)


def numbers_of(policy: LoggingPolicy, queries: Sequence[str]) -> NDArray[np.int64]:
    """Return for each query of the policy its number in `queries`, which contain them all."""
    number = {text: place for place, text in enumerate(queries)}
    return np.fromiter((number[text] for text in policy.texts), np.int64, len(policy.texts))
