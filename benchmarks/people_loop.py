"""Closed loop for `people.py --loop`: people use the lists of an index, and the next index learns from what they did.

One query is pushed: it stands first on every list. Some take it who intended another, so that its share among the
issued queries grows. By what people probably intended (`wayword run --completions`) it should not. What stands first on
every list says little about how often the first position is read, so acceptance is learned better without the push.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import wayword
from wayword.completion.acceptance import MODEL, PRIOR, Acceptance
from wayword.completion.popular import popularity
from wayword.engines import tables
from wayword.simulation.logging_policy import LoggingPolicy, WorkspaceLists
from wayword.simulation.people_log import write_people
from wayword.simulation.queries import Queries
from wayword.simulation.world import World
from wayword.store.compressed_rows import CompressedRows
from wayword.store.workspace import Workspace

CANDIDATES = 300
IDS = ("search_id", "typing_session")


@dataclass(frozen=True)
class Pushed:
    """The lists of another policy, where one query stands first on every list."""

    lists: LoggingPolicy
    query: int

    @property
    def texts(self) -> Sequence[str]:
        """See `LoggingPolicy.texts`."""
        return self.lists.texts

    def shown(self, typed: Sequence[str], k: int) -> CompressedRows:
        """See `LoggingPolicy.shown`."""
        rows = self.lists.shown(typed, k)
        lists = [self._first(rows.values[rows.offsets[n] : rows.offsets[n + 1]], k) for n in range(len(rows))]
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        return CompressedRows.from_lengths(np.concatenate([np.zeros(0, np.int64), *lists]), lengths)

    def _first(self, shown: np.ndarray, k: int) -> np.ndarray:
        return np.r_[self.query, shown[shown != self.query]][:k].astype(np.int64)


def query_to_push(queries: Queries) -> str:
    """Of the most probable queries, the one that shares most words with what others intend."""
    likely = np.argsort(-queries.probability, kind="stable")[:CANDIDATES]
    everybody = np.flatnonzero(queries.probability)
    pairs = np.tile(everybody, len(likely)), np.repeat(likely, len(everybody))
    shared = np.where(pairs[0] == pairs[1], 0.0, queries.jaccard(*pairs)).reshape(len(likely), -1)
    return queries.texts[likely[np.argmax(shared @ queries.probability[everybody])]]


@dataclass(frozen=True)
class Round:
    """An index: what people find and type with it, and what its log says about the pushed query."""

    found: float
    keys: float
    issued: float
    """Its share of the searches by the issued query."""
    intended: float
    """Its share by what was probably intended."""
    reading: float
    """r_1, learned from the lists; at first that of the prior."""

    def row(self, number: int) -> str:
        """A line of the table."""
        cells = [self.found, self.keys, self.issued, self.intended, self.reading]
        return f"| {number} | " + " | ".join(f"{cell:.4f}" for cell in cells) + " |"


HEADS = ("round", "found", "keystrokes", "issued", "intended", "r_1")


@dataclass(frozen=True)
class Loop:
    """People in a world, and the lists that they are shown."""

    world: World
    people: str
    query: str
    """The query whose share is told."""
    push: bool
    """Whether it stands first on every list."""
    lists_shown: int
    folder: Path
    measured: Callable[[LoggingPolicy], tuple[float, float]]
    """Tells what people find and type with lists."""

    def rounds(self, workspace: Workspace, first: Path, count: int) -> Iterator[Round]:
        """Serve, log and learn in turn, from the index of a workspace, whose log is in the folder `first`.

        People are measured without the push.
        """
        logs = [first]
        for number in range(count + 1):
            lists = WorkspaceLists.open(workspace.path)
            yield Round(
                *self.measured(lists), *shares(workspace, self.query), acceptance_of(workspace).reading[0]
            )
            if number < count:
                logs.append(self._serve(lists, number))
                workspace = self._learn(logs, number)

    def _serve(self, lists: LoggingPolicy, number: int) -> Path:
        pushed = Pushed(lists, list(lists.texts).index(self.query))
        return write_people(
            self.world,
            people=self.people,
            lists_shown=self.lists_shown,
            out=self.folder / f"people-{number}",
            policy=pushed if self.push else lists,
            seed=number,
        )

    def _learn(self, logs: Sequence[Path], number: int) -> Workspace:
        joined = join(logs, self.folder / f"joined-{number}")
        return wayword.run(
            joined / "clicks.parquet",
            joined / "rankings.parquet",
            completions=joined / "completions.parquet",
            out=self.folder / f"workspace-{number}",
        )


def acceptance_of(workspace: Workspace) -> Acceptance:
    """The learned model, or the prior."""
    if "acceptance" not in workspace.manifest["stages"]:
        return PRIOR
    return Acceptance.load(workspace.folder("acceptance") / MODEL)


def join(folders: Sequence[Path], out: Path) -> Path:
    """Join the files of logs; searches are named after their log."""
    out.mkdir(parents=True, exist_ok=True)
    for name in ("clicks.parquet", "completions.parquet", "rankings.parquet"):
        parts = [
            _named(pq.read_table(folder / name), number)
            for number, folder in enumerate(folders)
            if (folder / name).exists()
        ]
        table = pa.concat_tables(parts, promote_options="default")
        if name.startswith("rankings"):
            table = table.group_by(table.column_names).aggregate([])
        pq.write_table(table, out / name)
    return out


def _named(table: pa.Table, number: int) -> pa.Table:
    for place, column in enumerate(table.column_names):
        if column in IDS:
            names = pc.binary_join_element_wise(str(number), table[column].cast(pa.string()), "-")
            table = table.set_column(place, column, names)
    return table


def shares(workspace: Workspace, query: str) -> tuple[float, float]:
    """The share of a query among the searches of a log, by issue and by what was intended."""
    rankings = workspace.folder("rankings")
    number = tables.read(rankings, "queries")["text"].to_pylist().index(query)
    learned = workspace.folder("acceptance") if "acceptance" in workspace.manifest["stages"] else None
    issued = popularity(rankings, "retriever", "ranker")
    intended = popularity(rankings, "retriever", "ranker", acceptance=learned)
    return float(issued[number] / issued.sum()), float(intended[number] / intended.sum())
