"""Index content in memory, and how it is saved."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword import __version__
from wayword.completion import list_policy_io, retriever_io
from wayword.completion.list_policy import ListPolicy
from wayword.completion.policies import Expected
from wayword.config import IndexConfig
from wayword.index import completion_lists as lists
from wayword.index.block_list import ENGLISH
from wayword.index.completion_lists import Lists
from wayword.index.earlier_lists import EarlierLists, merged, part
from wayword.index.index import ABOUT, FORMAT, LIVE, PAGES, SEARCHES
from wayword.index.keys import Columns
from wayword.index.pages import Pages
from wayword.logs.contexts import PREFIX
from wayword.progress import SILENT, Progress
from wayword.request import MODES
from wayword.store.stage import Report
from wayword.store.strings import Strings

AT_ONCE = 2
"""Number of batches that are made at once."""
BATCH = 4096
ServedPolicy = ListPolicy | Expected


@dataclass(frozen=True)
class ListedContexts:
    """The contexts with precomputed lists; `row[i]` is the context of `keys[i]`."""

    contexts: pa.Table
    keys: list[str]
    row: NDArray[np.int64]
    columns: Columns


@dataclass(frozen=True)
class Content:
    """Everything that an index contains. Query numbers are the retriever's."""

    shown: list[str]
    """The displayed text of each query; empty for private ones."""
    policy: ServedPolicy
    """Computes the lists, of all queries."""
    live: ServedPolicy
    """Completes other texts, without private queries."""
    listed: ListedContexts
    pages: Pages
    context: list[str] = field(default_factory=list)
    """The log's context columns."""
    popularity: NDArray[np.float64] | None = None
    """Searches of each query; None for those of the live policy, which may count private ones as searches of others."""

    def write(
        self,
        folder: Path,
        config: IndexConfig,
        progress: Progress = SILENT,
        earlier: EarlierLists | None = None,
    ) -> Report:
        """Compute all lists, but those that are copied from `earlier` ones, and write a version into `folder`."""
        listed, retriever = self.listed, self.live.retriever
        shown = Strings.of(text.replace("\n", " ") for text in self.shown)
        computed, copied = self._lists(config.kept, progress, earlier)
        lists.write(
            folder,
            listed.keys,
            {mode: listed.row + number * listed.contexts.num_rows for number, mode in enumerate(MODES)},
            computed,
            shown,
        )
        shown.save(folder, "shown")
        Strings.of(retriever.texts).save(folder, "texts")
        popularity = retriever.popularity if self.popularity is None else self.popularity
        np.save(folder / "popularity.npy", popularity, allow_pickle=False)
        self.pages.save(folder / PAGES)
        (folder / LIVE).mkdir()
        if not np.array_equal(popularity, retriever.popularity):
            np.save(folder / LIVE / SEARCHES, retriever.popularity, allow_pickle=False)
        retriever_io.save(retriever, folder / LIVE)
        if isinstance(self.live, ListPolicy):
            list_policy_io.save(self.live, folder / LIVE)
        about = {
            "format": FORMAT,
            "wayword": __version__,
            "policy": config.policy,
            "kept": config.kept,
            "columns": listed.columns.values,
            "context": self.context,
            "block": str(Path(config.block).resolve()) if config.block not in ("", ENGLISH) else config.block,
        }
        (folder / ABOUT).write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        counts = {
            "queries": len(self.shown),
            "texts": len(listed.keys),
            "lists": 2 * listed.contexts.num_rows,
        }
        return {**counts, "copied lists": copied} if earlier else counts

    def _lists(self, kept: int, progress: Progress, earlier: EarlierLists | None) -> tuple[Lists, int]:
        """The lists of all contexts, mode after mode, and how many were copied."""
        listed, policy = self.listed, self.policy
        if earlier is None or not isinstance(policy, ListPolicy):
            return _lists(policy, listed.contexts, kept, progress), 0
        earlier = earlier.touching(self.live.retriever.texts, policy.queries.shown_as)
        keys = [""] * listed.contexts.num_rows  # a row without a key has no list to copy
        rows, first = np.unique(listed.row, return_index=True)
        for row, place in zip(rows.tolist(), first.tolist(), strict=True):
            keys[row] = listed.keys[place]
        typed = listed.contexts[PREFIX].to_pylist()
        taken = {mode: earlier.take(keys, typed, mode, policy.queries.shown_as) for mode in MODES}
        both = np.logical_and.reduce([copied for _, copied in taken.values()])
        made = _lists(policy, listed.contexts.filter(pa.array(~both)), kept, progress)
        parts = []
        for number, mode in enumerate(MODES):
            of_mode, copied = taken[mode]
            n = int((~both).sum())
            parts.append(
                merged(part(of_mode, both[copied]), part(made, slice(number * n, (number + 1) * n)), both)
            )
        return Lists.joined(parts), len(MODES) * int(both.sum())


def _lists(policy: ServedPolicy, contexts: pa.Table, kept: int, progress: Progress) -> Lists:
    """The lists of all contexts, mode after mode. Some batches are made at once: what one of them does in Python, the
    compiled parts of others do not wait for."""

    def make(first: int) -> list[Lists]:
        part = contexts.slice(first, BATCH)
        if isinstance(policy, ListPolicy):
            found = policy.complete_in_modes(part, kept, MODES)
        else:
            found = [policy.complete(part, kept, mode=mode) for mode in MODES]
        return [Lists.of(candidates, part.num_rows) for candidates in found]

    firsts = range(0, contexts.num_rows, BATCH)
    made: list[list[Lists]] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        parts = map(make, firsts) if len(firsts) < AT_ONCE else pool.map(make, firsts)
        for first, of_modes in zip(firsts, parts, strict=True):
            made.append(of_modes)
            progress.advance(min(first + BATCH, contexts.num_rows), contexts.num_rows)
    return Lists.joined([one[number] for number in range(len(MODES)) for one in made])
