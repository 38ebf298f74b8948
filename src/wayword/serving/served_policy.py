"""The lists that an index serves, with overrides and block lists, as a policy that can be evaluated.

Suggestions have the numbers of the workspace's queries. A pinned query that is not among these is left out: what it
returns is unknown.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.list_policy import ListPolicy
from wayword.completion.policies import Policy
from wayword.completion.survival import with_survival
from wayword.index import block_list
from wayword.index.block_list import BlockList
from wayword.index.index import MAX_CANDIDATES, Index
from wayword.index.overrides import Overrides
from wayword.logs.contexts import PREFIX
from wayword.request import ANY
from wayword.serving.completer import Served
from wayword.store.stage import threads
from wayword.text import normalise


def served_by(root: Path, version: str, block: str) -> dict[str, str]:
    """Identify what is served: a version of an index, with the overrides and the block lists as they are now.

    `root` is the folder of versions, `block` the block list that the settings of the index name.
    """
    named = BlockList.named(block, needed=True).tag if block else ""
    beside = BlockList.load(root / block_list.FILE).tag
    return {"index": version, "overrides": Overrides.load(root).tag, "blocked": f"{beside} {named}".strip()}


@dataclass(frozen=True)
class ServedPolicy:
    """Completes contexts as `Completer` does."""

    served: Served
    texts: Sequence[str]
    """The queries of the workspace, sorted."""
    _numbers: dict[str, int] = field(default_factory=dict, repr=False)
    _remembering: dict[str, ListPolicy] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, folder: Path, texts: Sequence[str]) -> "ServedPolicy":
        """Open a version of an index, with the overrides and block lists beside it."""
        index, root = Index.open(folder), folder.parent
        named = str(index.about.get("block", ""))
        blocks = [BlockList.load(root / block_list.FILE), *([BlockList.named(named)] if named else [])]
        return cls(Served.of(index, Overrides.load(root), *blocks), texts)

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """See `Policy.complete`."""
        rows = zip(contexts[PREFIX].to_pylist(), self._values(contexts), strict=True)
        context, query, score, source = [], [], [], []
        for row, (typed, values) in enumerate(rows):
            for one in self.served.answer(typed, k, values, mode)[0]:
                if (number := self._number(one.query)) >= 0:
                    context.append(row)
                    query.append(number)
                    score.append(one.score)
                    source.append(SOURCES.index(one.source) if one.source in SOURCES else 0)
        return Candidates(
            np.array(context, np.int32),
            np.array(query, np.int32),
            np.array(score, np.float32),
            np.array(source, np.int8),
        )

    def with_keystroke_value(self, value: float, queries: Sequence[str]) -> "Policy | None":
        """The lists with another keystroke value, without pinned queries, for texts on the way to these queries.

        None if the index serves a policy that has no such value.
        """
        policy = self.served.index.policy
        if not isinstance(policy, ListPolicy):
            return None
        if not self._remembering:
            parallel = policy.retriever.with_threads(threads())
            self._remembering["policy"] = replace(policy, retriever=parallel).remembering()
        changed = replace(self._remembering["policy"], keystroke_value=value)
        return _WithoutHidden(with_survival(changed, queries), self.served.hidden)

    def _values(self, contexts: pa.Table) -> list[dict[str, Any]]:
        """The known values of the informative context columns of each row."""
        names = [name for name in self.served.index.columns.values if name in contexts.column_names]
        return (
            [
                {name: value for name, value in row.items() if value is not None}
                for row in contexts.select([PREFIX, *names]).drop_columns([PREFIX]).to_pylist()
            ]
            if names
            else [{}] * contexts.num_rows
        )

    def _number(self, query: str) -> int:
        """The number of a displayed query in the workspace; -1 if it is not among its queries."""
        if query not in self._numbers:
            text = normalise(query)
            place = bisect_left(self.texts, text)
            self._numbers[query] = place if self.texts[place : place + 1] == [text] else -1
        return self._numbers[query]


@dataclass(frozen=True)
class _WithoutHidden:
    """A policy without the queries that are denied or blocked; it and these have the numbers of the workspace."""

    policy: Policy
    hidden: frozenset[int]

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """See `Policy.complete`."""
        most = min(k + len(self.hidden), max(k, MAX_CANDIDATES))
        found = self.policy.complete(contexts, most, mode=mode)
        hidden = np.isin(found.query, np.fromiter(self.hidden, np.int64, len(self.hidden)))
        return found.take(np.flatnonzero(~hidden)).top(k)
