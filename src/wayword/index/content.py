"""The content of an index, however it was come by, and its way to the disk."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword import __version__
from wayword.completion import retriever_io as saved
from wayword.completion.expected_utility import ExpectedUtilityRetriever
from wayword.completion.policies import Expected
from wayword.config import IndexConfig
from wayword.index import completion_lists as lists
from wayword.index.completion_lists import Lists
from wayword.index.index import ABOUT, FORMAT, LIVE, PAGES, served_policy
from wayword.index.keys import Columns
from wayword.index.pages import Pages
from wayword.progress import SILENT, Progress
from wayword.request import MODES
from wayword.store.stage import Report
from wayword.store.strings import Strings

AT_ONCE = 4096


@dataclass(frozen=True)
class Asked:
    """Which contexts get a list, the keys that people's texts are found by, and the context of each key."""

    contexts: pa.Table
    keys: list[str]
    row: NDArray[np.int64]
    columns: Columns


@dataclass(frozen=True)
class Content:
    """Queries are numbered as those of the retriever."""

    shown: list[str]
    """How each query is shown; nothing for those that may not be kept."""
    retriever: ExpectedUtilityRetriever
    asked: Asked
    pages: Pages
    same: NDArray[np.int32] | None = None
    """With the policy `diverse`: queries with the same number are never in one list."""
    context: list[str] = field(default_factory=list)
    """The log's context columns."""

    def write(self, folder: Path, config: IndexConfig, progress: Progress = SILENT) -> Report:
        """Finish all lists, and fill the folder of a version."""
        policy = served_policy(self.retriever, config.policy, config.acceptance, self.same)
        asked = self.asked
        shown = Strings.of(text.replace(lists.LINE_END, " ") for text in self.shown)
        lists.write(
            folder,
            asked.keys,
            {mode: asked.row + number * asked.contexts.num_rows for number, mode in enumerate(MODES)},
            _lists(policy, asked.contexts, config.kept, progress),
            shown,
        )
        shown.save(folder, "shown")
        Strings.of(self.retriever.texts).save(folder, "texts")
        np.save(folder / "popularity.npy", self.retriever.popularity, allow_pickle=False)
        if self.same is not None:
            np.save(folder / "same.npy", self.same, allow_pickle=False)
        self.pages.save(folder / PAGES)
        (folder / LIVE).mkdir()
        saved.save(self.retriever, folder / LIVE)
        about = {
            "format": FORMAT,
            "wayword": __version__,
            "policy": config.policy,
            "acceptance": config.acceptance,
            "kept": config.kept,
            "columns": asked.columns.values,
            "context": self.context,
        }
        (folder / ABOUT).write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        return {"queries": len(self.shown), "texts": len(asked.keys), "lists": 2 * asked.contexts.num_rows}


def _lists(policy: Expected, asked: pa.Table, kept: int, progress: Progress) -> Lists:
    """All lists of the first mode, then those of the next. What a text may become is found once for all modes."""
    parts: dict[str, list[Lists]] = {mode: [] for mode in MODES}
    for first in range(0, asked.num_rows, AT_ONCE):
        part = asked.slice(first, AT_ONCE)
        for mode, found in parts.items():
            found.append(Lists.of(policy.complete(part, kept, mode=mode), part.num_rows))
        progress.advance(first + part.num_rows, asked.num_rows)
    return Lists.joined([found for mode in MODES for found in parts[mode]])
