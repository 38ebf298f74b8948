"""Contexts, their candidates and the features of both: computed once, shared by every ranker of a reproduction."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates

LISTS = "lists"


@dataclass(frozen=True)
class Material:
    """`contexts` are the numbers of the contexts, in order; the candidates refer to them by place."""

    contexts: NDArray[np.int32]
    candidates: Candidates
    features: NDArray[np.float32]

    def of_contexts(self, wanted: NDArray[np.int32]) -> "Material":
        """The part that belongs to some of the contexts."""
        kept = np.isin(self.contexts, wanted)
        rows = kept[self.candidates.context]
        place = (np.cumsum(kept) - 1).astype(np.int32)
        few = Candidates(
            place[self.candidates.context[rows]], self.candidates.query[rows], self.candidates.score[rows]
        )
        return Material(self.contexts[kept], few, self.features if rows.all() else self.features[rows])

    def save(self, folder: Path) -> None:
        """Arrays as files that can be mapped into memory."""
        np.save(folder / "contexts.npy", self.contexts, allow_pickle=False)
        np.save(folder / "features.npy", self.features, allow_pickle=False)
        save_list(folder / "candidates.parquet", self.candidates)

    @classmethod
    def load(cls, folder: Path) -> "Material":
        """Read what `save` wrote; the features stay on disk until they are used."""
        return cls(
            np.load(folder / "contexts.npy", allow_pickle=False),
            load_list(folder / "candidates.parquet"),
            np.load(folder / "features.npy", mmap_mode="r", allow_pickle=False),
        )


def save_list(path: Path, found: Candidates) -> None:
    """Candidates as a table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"context": found.context, "query": found.query, "score": found.score}), path)


def load_list(path: Path) -> Candidates:
    """Read what `save_list` wrote."""
    rows = pq.read_table(path)
    return Candidates(rows["context"].to_numpy(), rows["query"].to_numpy(), rows["score"].to_numpy())


def load_lists(folder: Path) -> dict[str, Candidates]:
    """The lists that a stage made, by the names of their policies."""
    return {path.stem: load_list(path) for path in sorted((folder / LISTS).glob("*.parquet"))}
