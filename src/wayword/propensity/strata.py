"""Strata: impressions and clicks of the same query and document in the same period, by rank.

Within a stratum relevance is the same at all ranks, so that clicks tell how the ranks differ. The rows of a swap
experiment form one stratum for each label `swap`: which of the documents stood higher was drawn at random there, so
that relevance is the same on average.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wayword.engines import Engine
from wayword.store.compressed_rows import CompressedRows

Period = Literal["none", "day", "week", "month"]
PERIODS: tuple[Period, ...] = get_args(Period)
DAYS = {"day": 1, "week": 7, "month": 30}
MICROSECONDS = 86_400_000_000
"""Of a day."""
_KEY = ("query", "document", "period")

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Strata:
    """Cells (a stratum at a rank), ordered by stratum: how often it was shown there, and how often clicked."""

    ranks: Integers
    """The distinct ranks, ascending; `cells.values` are positions in it."""
    cells: CompressedRows
    shown: Floats
    clicked: Floats
    query: Integers
    """The number of each stratum's query."""
    document: Integers

    @cached_property
    def owner(self) -> Integers:
        """The stratum of each cell."""
        return self.cells.owner

    @property
    def rank(self) -> Integers:
        """The place in `ranks` of each cell."""
        return self.cells.values

    @property
    def clicks(self) -> Floats:
        """The clicks of each stratum."""
        return self.by_stratum(self.clicked)

    def by_stratum(self, values: Floats) -> Floats:
        """Sum values of cells by stratum."""
        return _sum(self.owner, values, len(self.cells))

    def by_rank(self, values: Floats) -> Floats:
        """Sum values of cells by rank."""
        return _sum(self.rank, values, len(self.ranks))

    def select(self, kept: Flags) -> "Strata":
        """Some of the cells, at the same ranks; strata without any are left out."""
        lengths = np.bincount(self.owner[kept], minlength=len(self.cells)).astype(np.int64)
        some = lengths > 0
        return Strata(
            self.ranks,
            CompressedRows.from_lengths(self.rank[kept], lengths[some]),
            self.shown[kept],
            self.clicked[kept],
            self.query[some],
            self.document[some],
        )

    def at(self, ranks: Integers) -> "Strata":
        """The cells at some of the ranks, and only these ranks."""
        chosen = self.select(np.isin(self.ranks, ranks)[self.rank])
        places = np.searchsorted(ranks, self.ranks[chosen.rank])
        return replace(chosen, ranks=ranks, cells=CompressedRows(chosen.cells.offsets, places))

    def pooled(self) -> "Strata":
        """The periods of a query and document as one stratum."""
        names, of = np.unique(np.stack([self.query, self.document]), axis=1, return_inverse=True)
        cells, cell = np.unique(of[self.owner] * len(self.ranks) + self.rank, return_inverse=True)
        lengths = np.bincount(cells // len(self.ranks), minlength=names.shape[1]).astype(np.int64)
        return Strata(
            self.ranks,
            CompressedRows.from_lengths(cells % len(self.ranks), lengths),
            _sum(cell, self.shown, len(cells)),
            _sum(cell, self.clicked, len(cells)),
            *names,
        )

    def moved(self) -> Flags:
        """The cells of strata that were shown at several ranks."""
        return np.repeat(self.cells.lengths > 1, self.cells.lengths)

    def informative(self) -> Flags:
        """The cells of strata that were shown at several ranks and clicked: no other says how ranks differ."""
        return np.repeat((self.cells.lengths > 1) & (self.clicks > 0), self.cells.lengths)


@dataclass(frozen=True)
class Rows:
    """Impressions, ordered by search and rank: the cell of each, and whether it was clicked."""

    searches: Integers
    """Offsets of the searches' rows."""
    cell: Integers
    clicked: Flags

    def __len__(self) -> int:
        """The number of searches."""
        return len(self.searches) - 1

    @cached_property
    def search(self) -> Integers:
        """The search of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.searches))

    def select(self, kept: Flags) -> "Rows":
        """The rows of some cells, numbered as `Strata.select` numbers them; every search stays."""
        row = kept[self.cell]
        return Rows(
            np.r_[0, np.cumsum(row)][self.searches], (np.cumsum(kept) - 1)[self.cell[row]], self.clicked[row]
        )


@dataclass(frozen=True)
class Impressions:
    """The data of an estimate: strata, the rows in them by search, and the days between the first and the last."""

    strata: Strata
    rows: Rows
    days: float | None = None
    """None where the table has no times."""

    @classmethod
    def of(cls, engine: Engine, period: Period = "week") -> "Impressions":
        """Read the engine's table `impressions` (search_id, query, document, rank, clicked, time, swap)."""
        times = engine.arrow("SELECT min(time) AS first, max(time) AS last FROM impressions").to_pylist()[0]
        if times["first"] is None:
            return cls(*_read(engine, "none"))
        return cls(*_read(engine, period), (times["last"] - times["first"]) / MICROSECONDS)

    def select(self, kept: Flags) -> "Impressions":
        """Only some of the cells."""
        return replace(self, strata=self.strata.select(kept), rows=self.rows.select(kept))

    def at(self, ranks: Integers) -> "Impressions":
        """Only the cells at some of the ranks."""
        kept = np.isin(self.strata.ranks, ranks)[self.strata.rank]
        return replace(self, strata=self.strata.at(ranks), rows=self.rows.select(kept))

    def informative(self) -> "Impressions":
        """Only the strata that say how ranks differ."""
        return self.select(self.strata.informative())

    def of_searches(self, chosen: Flags) -> "Impressions":
        """Only some of the searches: their impressions and clicks are counted again."""
        row = chosen[self.rows.search]
        cell, clicked = self.rows.cell[row], self.rows.clicked[row]
        cells = len(self.strata.shown)
        counted = replace(
            self.strata,
            shown=np.bincount(cell, minlength=cells).astype(np.float64),
            clicked=_sum(cell, clicked, cells),
        )
        lengths = np.diff(self.rows.searches)[chosen]
        rows = Rows(np.r_[0, np.cumsum(lengths)], cell, clicked)
        return replace(self, strata=counted, rows=rows).select(counted.shown > 0)


def _read(engine: Engine, period: Period) -> tuple[Strata, Rows]:
    """Number searches and strata in the engine; count their cells as arrays.

    The label of a swap experiment stands for the query, after a line break, which no normalised query has.
    """
    moment = "0" if period == "none" else f"coalesce(floor(time / {DAYS[period] * MICROSECONDS}), -1)"
    engine.step(
        "keyed",
        f"""
        SELECT search_id, rank, clicked,
               CASE WHEN swap IS NULL THEN CAST(query AS STRING) ELSE concat(chr(10), swap) END AS query,
               CASE WHEN swap IS NULL THEN CAST(document AS STRING) ELSE '' END AS document,
               CAST({moment} AS BIGINT) AS period
        FROM impressions
        """,
    )
    key = ", ".join(_KEY)
    engine.step(
        "strata",
        f"""
        SELECT {key}, row_number() OVER (ORDER BY {key}) - 1 AS stratum,
               dense_rank() OVER (ORDER BY query) - 1 AS query_number,
               dense_rank() OVER (ORDER BY document) - 1 AS document_number
        FROM (SELECT DISTINCT {key} FROM keyed) AS keys
        """,
    )
    engine.step(
        "shown_searches",
        "SELECT search_id, row_number() OVER (ORDER BY search_id) - 1 AS search FROM keyed GROUP BY search_id",
    )
    rows = engine.arrow(
        f"""
        SELECT n.search, s.stratum, k.rank, k.clicked
        FROM keyed AS k JOIN strata AS s ON {" AND ".join(f"s.{name} = k.{name}" for name in _KEY)}
        JOIN shown_searches AS n ON n.search_id = k.search_id ORDER BY n.search, k.rank, s.stratum
        """
    )
    named = engine.arrow("SELECT query_number, document_number FROM strata ORDER BY stratum")
    return counted(
        rows["search"].to_numpy(),
        rows["stratum"].to_numpy(),
        rows["rank"].to_numpy(),
        rows["clicked"].to_numpy().astype(np.bool_),
        query=named["query_number"].to_numpy().astype(np.int64),
        document=named["document_number"].to_numpy().astype(np.int64),
    )


def counted(
    search: Integers,
    stratum: Integers,
    rank: Integers,
    clicked: Flags,
    *,
    query: Integers,
    document: Integers,
) -> tuple[Strata, Rows]:
    """Count the cells of impressions that are ordered by search; query and document are those of the strata.

    >>> search, names = np.array([0, 0, 1]), {"query": np.array([5, 5]), "document": np.array([8, 9])}
    >>> found, _ = counted(search, np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([False, False, True]), **names)
    >>> found.ranks[found.rank].tolist(), found.shown.tolist(), found.clicked.tolist()
    ([1, 2, 2], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0])
    """
    ranks = np.unique(rank).astype(np.int64)
    key = stratum.astype(np.int64) * len(ranks) + np.searchsorted(ranks, rank)
    cells, cell = np.unique(key, return_inverse=True)
    lengths = np.bincount(cells // len(ranks), minlength=len(query)).astype(np.int64)
    strata = Strata(
        ranks,
        CompressedRows.from_lengths(cells % len(ranks), lengths),
        np.bincount(cell, minlength=len(cells)).astype(np.float64),
        _sum(cell, clicked, len(cells)),
        query,
        document,
    )
    return strata, Rows(np.r_[0, np.cumsum(np.bincount(search))].astype(np.int64), cell, clicked)


def _sum(place: Integers, values: Floats | Flags, size: int) -> Floats:
    return np.bincount(place, values, size).astype(np.float64, copy=False)
